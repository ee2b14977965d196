-- The tables of a store. A document is the JSON form of a type of the model; the other columns are
-- taken from it, so that lists need not parse it. The document is last: SQLite reads no further
-- than the last column that it needs. `views.rs` adds the views.

CREATE TABLE record (
    id              TEXT    NOT NULL PRIMARY KEY
        CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*'),
    kind            TEXT    NOT NULL 
        CHECK (kind IN ('run', 'series', 'exploration', 'fault-tests')),
    planned         INTEGER NOT NULL,
    started_unix_ns INTEGER NOT NULL AS (document ->> '$.started_unix_ns') STORED,
    ended_unix_ns   INTEGER AS (document ->> '$.ended_unix_ns') STORED,
    stop            TEXT    AS (document ->> '$.stop') STORED,
    sharded         INTEGER NOT NULL AS (
        coalesce(document ->> '$.shard', document ->> '$.plan.shard') IS NOT NULL
    ) STORED,
    varies          TEXT    AS (document ->> '$.plan.variant.run') STORED,
    advice          TEXT    AS (document ->> '$.plan.advice.first') STORED,
    question        TEXT    AS (document ->> '$.plan.advice.question') STORED,
    document        TEXT    NOT NULL CHECK (document ->> '$.id' = id)
) STRICT;

CREATE INDEX record_by_start ON record (kind, started_unix_ns);

CREATE TABLE part (
    key      INTEGER NOT NULL PRIMARY KEY,
    record   TEXT    NOT NULL REFERENCES record (id) ON UPDATE CASCADE ON DELETE CASCADE,
    place    INTEGER NOT NULL,
    outcome  TEXT    AS (document ->> '$.outcome.outcome') STORED,
    took_ns  INTEGER AS (document ->> '$.took_ns') STORED,
    document TEXT    NOT NULL CHECK (json_type(document) = 'object'),
    UNIQUE (record, place)
) STRICT;

CREATE INDEX part_listed ON part (record, outcome, took_ns);

CREATE TABLE tag (
    run TEXT NOT NULL REFERENCES record (id) ON UPDATE CASCADE ON DELETE CASCADE,
    tag TEXT NOT NULL
        CHECK (length(tag) BETWEEN 1 AND 100 AND tag NOT GLOB '*[^A-Za-z0-9._-]*'),
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
