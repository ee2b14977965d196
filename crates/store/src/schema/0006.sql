-- Version 6: how long requests took by their kind, and how long model disks had any; unknown of
-- what was recorded before.

ALTER TABLE sample ADD COLUMN device_reads_ns INTEGER;
ALTER TABLE sample ADD COLUMN device_writes_ns INTEGER;
ALTER TABLE sample ADD COLUMN device_discards_ns INTEGER;
ALTER TABLE sample ADD COLUMN device_flushes_ns INTEGER;
ALTER TABLE disk_use ADD COLUMN reads_ns INTEGER;
ALTER TABLE disk_use ADD COLUMN writes_ns INTEGER;
ALTER TABLE disk_use ADD COLUMN discards_ns INTEGER;
ALTER TABLE disk_use ADD COLUMN flushes_ns INTEGER;
ALTER TABLE disk_use ADD COLUMN busy_ns INTEGER;
