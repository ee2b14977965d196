-- Version 13: words of the field. What was asked is requested, the doubt about a cache state is the
-- reason why it is unproven, and the floor of a count of extents is the size of the smallest file.

DROP VIEW figure;

ALTER TABLE sample RENAME COLUMN cache_asked TO cache_requested;
ALTER TABLE sample RENAME COLUMN cache_doubt TO cache_unproven;
ALTER TABLE observed RENAME COLUMN flushes_asked TO flushes_requested;
ALTER TABLE fragmentation RENAME COLUMN floor_bytes TO min_file_bytes;

CREATE VIEW figure AS
SELECT
    cell.run AS run,
    json_extract(run.plan, '$.contenders[' || cell.contender || '].label') AS contender,
    json_extract(run.plan, '$.workloads[' || cell.workload || '].name') AS workload,
    cell.block AS block,
    sample.label AS phase,
    sample.kind AS kind,
    sample.cache_requested AS cache_requested,
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
