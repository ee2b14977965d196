-- Version 15: explorations of the states that a power cut can leave.

CREATE TABLE exploration (
    id               TEXT    NOT NULL PRIMARY KEY
        CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*'),
    started_unix_ns  INTEGER NOT NULL,
    ended_unix_ns    INTEGER,
    stop             TEXT CHECK (stop IN ('complete', 'budget', 'interrupted')),
    contenders       TEXT    NOT NULL CHECK (json_valid(contenders)),
    search           TEXT    NOT NULL CHECK (json_valid(search)),
    programs_planned INTEGER NOT NULL,
    budget_ns        INTEGER,
    shard            TEXT CHECK (shard IS NULL OR json_valid(shard)),
    guest_size       TEXT    NOT NULL CHECK (json_valid(guest_size)),
    disk             TEXT    NOT NULL CHECK (json_valid(disk)),
    work_dir         TEXT    NOT NULL,
    provenance       TEXT    NOT NULL CHECK (json_valid(provenance)),
    command_line     TEXT    NOT NULL CHECK (json_valid(command_line))
) STRICT;

CREATE TABLE explored (
    exploration     TEXT    NOT NULL REFERENCES exploration (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    contender       INTEGER NOT NULL,
    program         TEXT    NOT NULL,
    kinds           TEXT    NOT NULL CHECK (json_valid(kinds)),
    guest           TEXT    NOT NULL,
    failed          TEXT,
    windows         INTEGER NOT NULL,
    classes         TEXT    NOT NULL CHECK (json_valid(classes)),
    distinct_states INTEGER NOT NULL,
    recovered       INTEGER NOT NULL,
    equivalent      INTEGER NOT NULL,
    nested          INTEGER NOT NULL,
    trees           INTEGER NOT NULL,
    operations      INTEGER NOT NULL,
    took_ns         INTEGER NOT NULL,
    flushes         INTEGER NOT NULL,
    written_bytes   INTEGER NOT NULL,
    requested_bytes INTEGER NOT NULL,
    PRIMARY KEY (exploration, number, contender)
) STRICT, WITHOUT ROWID;

CREATE TABLE finding (
    exploration TEXT    NOT NULL,
    number      INTEGER NOT NULL,
    contender   INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    signature   TEXT    NOT NULL,
    violation   TEXT    NOT NULL,
    class       TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    states      INTEGER NOT NULL,
    minimal     TEXT CHECK (minimal IS NULL OR json_valid(minimal)),
    kernel      TEXT    NOT NULL CHECK (json_valid(kernel)),
    checker     TEXT,
    PRIMARY KEY (exploration, number, contender, place),
    FOREIGN KEY (exploration, number, contender)
        REFERENCES explored (exploration, number, contender) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
