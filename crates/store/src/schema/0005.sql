-- Version 5: series of cuts on model disks.

ALTER TABLE series ADD COLUMN disk TEXT CHECK (disk IS NULL OR json_valid(disk));

ALTER TABLE cut ADD COLUMN disk TEXT CHECK (disk IS NULL OR json_valid(disk));
