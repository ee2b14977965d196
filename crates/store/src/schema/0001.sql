-- Version 1. What each column means stands in schema.md; a test holds the two together.
-- Lists that are only ever read whole (plan, provenance, argv) are JSON; every figure is a column.

CREATE TABLE run (
    id              TEXT    NOT NULL PRIMARY KEY
        CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*'),
    name            TEXT    NOT NULL,
    started_unix_ns INTEGER NOT NULL,
    ended_unix_ns   INTEGER,
    stop            TEXT    CHECK (stop IN ('complete', 'budget', 'interrupted')),
    cells_planned   INTEGER NOT NULL,
    plan_hash       TEXT    NOT NULL,
    plan            TEXT    NOT NULL CHECK (json_valid(plan)),
    provenance      TEXT    NOT NULL CHECK (json_valid(provenance)),
    command_line    TEXT    NOT NULL CHECK (json_valid(command_line))
) STRICT;

CREATE INDEX run_by_start ON run (started_unix_ns);

CREATE TABLE cell (
    id               INTEGER NOT NULL PRIMARY KEY,
    run              TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    cell_index       INTEGER NOT NULL,
    block            INTEGER NOT NULL,
    contender        INTEGER NOT NULL,
    workload         INTEGER NOT NULL,
    started_unix_ns  INTEGER NOT NULL,
    took_ns          INTEGER NOT NULL,
    outcome          TEXT    NOT NULL CHECK (outcome IN ('measured', 'skipped', 'failed')),
    skip_requirement TEXT    CHECK ((skip_requirement IS NOT NULL) = (outcome = 'skipped')),
    skip_reason      TEXT    CHECK ((skip_reason IS NOT NULL) = (outcome = 'skipped')),
    skip_remedy      TEXT    CHECK ((skip_remedy IS NOT NULL) = (outcome = 'skipped')),
    failure_stage    TEXT    CHECK ((failure_stage IS NOT NULL) = (outcome = 'failed')),
    failure_phase    TEXT    CHECK ((failure_phase IS NOT NULL) = (failure_stage IS 'phase')),
    failure_message  TEXT    CHECK ((failure_message IS NOT NULL) = (outcome = 'failed')),
    failure_errno    TEXT    CHECK (failure_errno IS NULL OR outcome = 'failed'),
    UNIQUE (run, cell_index)
) STRICT;

CREATE TABLE sample (
    cell                   INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    place                  INTEGER NOT NULL,
    phase                  INTEGER NOT NULL,
    label                  TEXT    NOT NULL,
    kind                   TEXT    NOT NULL,
    engine                 TEXT    NOT NULL,
    method                 TEXT    NOT NULL,
    cache_asked            TEXT    NOT NULL CHECK (cache_asked IN ('cold', 'warm', 'as-left')),
    cache_proven           INTEGER NOT NULL CHECK (cache_proven IN (0, 1)),
    cache_method           TEXT    NOT NULL,
    cache_checked_by       TEXT    NOT NULL,
    cache_files_checked    INTEGER NOT NULL,
    cache_bytes_checked    INTEGER NOT NULL,
    cache_resident_pages   INTEGER,
    cache_doubt            TEXT,
    return_ns              INTEGER NOT NULL,
    durable_ns             INTEGER,
    files                  INTEGER NOT NULL,
    directories            INTEGER NOT NULL,
    data_bytes             INTEGER NOT NULL,
    calls                  INTEGER NOT NULL,
    matches                INTEGER NOT NULL,
    user_ns                INTEGER NOT NULL,
    system_ns              INTEGER NOT NULL,
    machine_busy_ns        INTEGER NOT NULL,
    steal_ns               INTEGER NOT NULL,
    device_reads           INTEGER,
    device_read_bytes      INTEGER CHECK ((device_read_bytes IS NULL) = (device_reads IS NULL)),
    device_writes          INTEGER CHECK ((device_writes IS NULL) = (device_reads IS NULL)),
    device_written_bytes   INTEGER CHECK ((device_written_bytes IS NULL) = (device_reads IS NULL)),
    device_discards        INTEGER CHECK ((device_discards IS NULL) = (device_reads IS NULL)),
    device_discarded_bytes INTEGER
        CHECK ((device_discarded_bytes IS NULL) = (device_reads IS NULL)),
    device_flushes         INTEGER CHECK ((device_flushes IS NULL) = (device_reads IS NULL)),
    device_busy_ns         INTEGER CHECK ((device_busy_ns IS NULL) = (device_reads IS NULL)),
    space_before_bytes     INTEGER NOT NULL,
    space_after_bytes      INTEGER NOT NULL,
    PRIMARY KEY (cell, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE command (
    cell           INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    place          INTEGER NOT NULL,
    stage          TEXT    NOT NULL,
    stage_phase    TEXT    CHECK ((stage_phase IS NOT NULL) = (stage = 'phase')),
    argv           TEXT    NOT NULL CHECK (json_valid(argv)),
    by_system_call INTEGER NOT NULL CHECK (by_system_call IN (0, 1)),
    status         INTEGER,
    took_ns        INTEGER NOT NULL,
    stdout         TEXT    NOT NULL,
    stderr         TEXT    NOT NULL,
    PRIMARY KEY (cell, place)
) STRICT;

CREATE TABLE effective (
    cell   INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    place  INTEGER NOT NULL,
    source TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    PRIMARY KEY (cell, place)
) STRICT;

CREATE TABLE warning (
    id      INTEGER NOT NULL PRIMARY KEY,
    run     TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    cell    INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    sample  INTEGER,
    scope   TEXT    NOT NULL GENERATED ALWAYS AS (
        CASE WHEN sample IS NOT NULL THEN 'sample' ELSE 'cell' END
    ) VIRTUAL,
    kind    TEXT    NOT NULL,
    message TEXT    NOT NULL,
    advice  TEXT    NOT NULL,
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT;

CREATE INDEX warning_by_run ON warning (run);
CREATE INDEX warning_by_cell ON warning (cell, sample);

-- For people with a `sqlite3` prompt: every sample with the names that its numbers stand for.
CREATE VIEW figure AS
SELECT
    cell.run AS run,
    json_extract(run.plan, '$.contenders[' || cell.contender || '].label') AS contender,
    json_extract(run.plan, '$.workloads[' || cell.workload || '].name') AS workload,
    cell.block AS block,
    sample.label AS phase,
    sample.kind AS kind,
    sample.cache_asked AS cache_asked,
    sample.cache_proven AS cache_proven,
    coalesce(sample.durable_ns, sample.return_ns) AS whole_ns,
    sample.return_ns AS return_ns,
    sample.durable_ns AS durable_ns,
    sample.user_ns AS user_ns,
    sample.system_ns AS system_ns,
    sample.data_bytes AS data_bytes,
    sample.device_read_bytes AS device_read_bytes,
    sample.device_written_bytes AS device_written_bytes,
    cell.outcome AS outcome
FROM sample
JOIN cell ON cell.id = sample.cell
JOIN run ON run.id = cell.run;
