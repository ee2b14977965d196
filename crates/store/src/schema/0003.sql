-- Version 3: series of cuts.

CREATE TABLE series (
    id                 TEXT    NOT NULL PRIMARY KEY
        CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*'),
    started_unix_ns    INTEGER NOT NULL,
    ended_unix_ns      INTEGER,
    stop               TEXT    CHECK (stop IN ('complete', 'interrupted')),
    cuts_planned       INTEGER NOT NULL,
    seed               INTEGER NOT NULL,
    guest_size         TEXT    NOT NULL CHECK (json_valid(guest_size)),
    work_dir           TEXT    NOT NULL,
    contenders         TEXT    NOT NULL CHECK (json_valid(contenders)),
    provenance         TEXT    NOT NULL CHECK (json_valid(provenance)),
    command_line       TEXT    NOT NULL CHECK (json_valid(command_line))
) STRICT;

CREATE TABLE cut (
    series        TEXT    NOT NULL REFERENCES series (id) ON DELETE CASCADE,
    place         INTEGER NOT NULL,
    contender     INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    seed          INTEGER NOT NULL,
    guest         TEXT    NOT NULL,
    after_ns      INTEGER NOT NULL,
    acknowledged  INTEGER NOT NULL,
    recovery_ns   INTEGER NOT NULL,
    corrected_by  TEXT,
    refused       TEXT,
    beyond_repair TEXT,
    clean         INTEGER CHECK (clean IN (0, 1)),
    found         TEXT,
    lost_files    INTEGER CHECK ((lost_files IS NULL) = (judgement IS NULL)),
    judgement     TEXT    CHECK (judgement IS NULL OR json_valid(judgement)),
    as_left       TEXT    CHECK (as_left IS NULL OR json_valid(as_left)),
    images        TEXT    NOT NULL CHECK (json_valid(images)),
    PRIMARY KEY (series, place),
    UNIQUE (series, contender, number)
) STRICT, WITHOUT ROWID;
