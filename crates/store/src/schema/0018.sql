-- Version 18: waits of processes, as a part of the kernel's work.

ALTER TABLE kernel_work ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
