-- Version 14: the shard of a crash series that is distributed.

ALTER TABLE series ADD COLUMN shard TEXT;
