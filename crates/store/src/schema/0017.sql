-- Version 17: power cuts during the checkers and repair programs of crash states, and windows of long
-- programs that were not explored.

ALTER TABLE explored ADD COLUMN nested_checks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explored ADD COLUMN skipped_windows INTEGER NOT NULL DEFAULT 0;
