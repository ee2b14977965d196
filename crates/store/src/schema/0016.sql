-- Version 16: the speed of the machine just before a sample.

ALTER TABLE sample ADD COLUMN probe_system_ns INTEGER;
ALTER TABLE sample ADD COLUMN probe_device_ns INTEGER;
