-- Version 7: how long single operations took, and what a phase did when; unknown of what was
-- recorded before.

CREATE TABLE latency (
    cell       INTEGER NOT NULL,
    sample     INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    operation  TEXT    NOT NULL,
    operations INTEGER NOT NULL,
    sum_ns     INTEGER NOT NULL,
    min_ns     INTEGER NOT NULL,
    max_ns     INTEGER NOT NULL,
    classes    TEXT    NOT NULL CHECK (json_valid(classes)),
    PRIMARY KEY (cell, sample, place),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE progress (
    cell     INTEGER NOT NULL,
    sample   INTEGER NOT NULL,
    slice_ns INTEGER NOT NULL,
    slices   TEXT    NOT NULL CHECK (json_valid(slices)),
    PRIMARY KEY (cell, sample),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
