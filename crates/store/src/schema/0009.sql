-- Version 9: words of the field. The cache state `as-left` is `as-is`, a warning of kind `humps` is
-- `multimodal`, jumps are seeks, fragments of files are extents, figures that programs told are
-- reported, and what was judged as left is judged before the check.
--
-- A CHECK cannot be altered, so that `sample` is made anew (https://sqlite.org/lang_altertable.html,
-- section 7). Foreign keys are off while a store is migrated, and checked before the commit.

DROP VIEW figure;

CREATE TABLE sample_new (
    cell                   INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    place                  INTEGER NOT NULL,
    phase                  INTEGER NOT NULL,
    label                  TEXT    NOT NULL,
    kind                   TEXT    NOT NULL,
    engine                 TEXT    NOT NULL,
    method                 TEXT    NOT NULL,
    cache_asked            TEXT    NOT NULL CHECK (cache_asked IN ('cold', 'warm', 'as-is')),
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
    device_reads_ns        INTEGER,
    device_writes_ns       INTEGER,
    device_discards_ns     INTEGER,
    device_flushes_ns      INTEGER,
    PRIMARY KEY (cell, place)
) STRICT, WITHOUT ROWID;

INSERT INTO sample_new SELECT
    cell, place, phase, label, kind, engine, method,
    CASE cache_asked WHEN 'as-left' THEN 'as-is' ELSE cache_asked END,
    cache_proven, cache_method, cache_checked_by, cache_files_checked, cache_bytes_checked,
    cache_resident_pages, cache_doubt, return_ns, durable_ns, files, directories, data_bytes, calls,
    matches, user_ns, system_ns, machine_busy_ns, steal_ns, device_reads, device_read_bytes,
    device_writes, device_written_bytes, device_discards, device_discarded_bytes, device_flushes,
    device_busy_ns, space_before_bytes, space_after_bytes, device_reads_ns, device_writes_ns,
    device_discards_ns, device_flushes_ns
FROM sample;

DROP TABLE sample;
ALTER TABLE sample_new RENAME TO sample;

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

ALTER TABLE told RENAME TO reported;
ALTER TABLE disk_use RENAME COLUMN jumps TO seeks;
ALTER TABLE disk_use RENAME COLUMN jumped_bytes TO seek_distance_bytes;
ALTER TABLE fragmentation RENAME COLUMN fragments TO extents;
ALTER TABLE fragmentation RENAME COLUMN fragments_by_size TO extents_by_size;
ALTER TABLE cut RENAME COLUMN as_left TO before_check;

UPDATE warning SET kind = 'multimodal' WHERE kind = 'humps';
UPDATE cut SET
    judgement = replace(judgement, '"told":[', '"messages":['),
    before_check = replace(before_check, '"told":[', '"messages":['),
    disk = replace(disk, '"under_way":', '"in_flight":');
