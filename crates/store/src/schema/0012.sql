-- Version 12: requests to disks, as a part of the kernel's work.

ALTER TABLE kernel_work ADD COLUMN disk_requests INTEGER NOT NULL DEFAULT 0;
