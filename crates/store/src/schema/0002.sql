-- Version 2: how files lie on their devices, and what programs tell of themselves.

CREATE TABLE fragmentation (
    cell              INTEGER NOT NULL,
    place             INTEGER NOT NULL,
    floor_bytes       INTEGER NOT NULL,
    files             INTEGER NOT NULL,
    fragmented_files  INTEGER NOT NULL,
    fragments         INTEGER NOT NULL,
    data_bytes        INTEGER NOT NULL,
    fragments_by_size TEXT    NOT NULL CHECK (json_valid(fragments_by_size)),
    unavailable       TEXT,
    PRIMARY KEY (cell, place),
    FOREIGN KEY (cell, place) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE told (
    cell   INTEGER NOT NULL,
    sample INTEGER NOT NULL,
    place  INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    value  REAL    NOT NULL,
    unit   TEXT    NOT NULL,
    better TEXT    NOT NULL CHECK (better IN ('higher', 'lower')),
    PRIMARY KEY (cell, sample, place),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
