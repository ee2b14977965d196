-- Version 11: the work of a guest's kernel, where it counts it.

CREATE TABLE kernel_work (
    cell                   INTEGER NOT NULL,
    sample                 INTEGER NOT NULL,
    until                  TEXT    NOT NULL CHECK (until IN ('return', 'durable')),
    process_blocks         INTEGER NOT NULL,
    kthread_blocks         INTEGER NOT NULL,
    interrupt_blocks       INTEGER NOT NULL,
    system_calls           INTEGER NOT NULL,
    copied_bytes           INTEGER NOT NULL,
    cleared_bytes          INTEGER NOT NULL,
    checksummed_bytes      INTEGER NOT NULL,
    charged_ns             INTEGER NOT NULL,
    threads                TEXT    NOT NULL CHECK (json_valid(threads)),
    PRIMARY KEY (cell, sample, until),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
