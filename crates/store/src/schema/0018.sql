-- The tables of a store of version 0.2, from which later versions start.

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

CREATE TABLE fragmentation (
    cell              INTEGER NOT NULL,
    place             INTEGER NOT NULL,
    min_file_bytes       INTEGER NOT NULL,
    files             INTEGER NOT NULL,
    fragmented_files  INTEGER NOT NULL,
    extents         INTEGER NOT NULL,
    data_bytes        INTEGER NOT NULL,
    extents_by_size TEXT    NOT NULL CHECK (json_valid(extents_by_size)),
    unavailable       TEXT,
    PRIMARY KEY (cell, place),
    FOREIGN KEY (cell, place) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE "reported" (
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
, disk TEXT CHECK (disk IS NULL OR json_valid(disk)), shard TEXT) STRICT;

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
    before_check       TEXT    CHECK (before_check IS NULL OR json_valid(before_check)),
    images        TEXT    NOT NULL CHECK (json_valid(images)), disk TEXT CHECK (disk IS NULL OR json_valid(disk)),
    PRIMARY KEY (series, place),
    UNIQUE (series, contender, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE disk_use (
    cell                 INTEGER NOT NULL,
    sample               INTEGER NOT NULL,
    place                INTEGER NOT NULL,
    disk                 INTEGER NOT NULL,
    until                TEXT    NOT NULL CHECK (until IN ('return', 'durable')),
    reads                INTEGER NOT NULL,
    read_bytes           INTEGER NOT NULL,
    reads_failed         INTEGER NOT NULL,
    writes               INTEGER NOT NULL,
    written_bytes        INTEGER NOT NULL,
    writes_failed        INTEGER NOT NULL,
    discards             INTEGER NOT NULL,
    discarded_bytes      INTEGER NOT NULL,
    discards_failed      INTEGER NOT NULL,
    flushes              INTEGER NOT NULL,
    flushed_bytes        INTEGER NOT NULL,
    flushes_failed       INTEGER NOT NULL,
    seeks                INTEGER NOT NULL,
    seek_distance_bytes         INTEGER NOT NULL,
    queue_ns             INTEGER NOT NULL,
    overhead_ns          INTEGER NOT NULL,
    seek_ns              INTEGER NOT NULL,
    rotation_ns          INTEGER NOT NULL,
    transfer_ns          INTEGER NOT NULL,
    flush_ns             INTEGER NOT NULL,
    cache_ns             INTEGER NOT NULL,
    fault_ns             INTEGER NOT NULL,
    slowest_ns           INTEGER NOT NULL,
    arm_moves            INTEGER NOT NULL,
    arm_cylinders        INTEGER NOT NULL,
    device_seek_ns       INTEGER NOT NULL,
    device_rotation_ns   INTEGER NOT NULL,
    device_transfer_ns   INTEGER NOT NULL,
    medium_read_bytes    INTEGER NOT NULL,
    medium_written_bytes INTEGER NOT NULL,
    erases               INTEGER NOT NULL,
    cache_hits           INTEGER NOT NULL, reads_ns INTEGER, writes_ns INTEGER, discards_ns INTEGER, flushes_ns INTEGER, busy_ns INTEGER,
    PRIMARY KEY (cell, sample, place, until),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

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

CREATE TABLE observed (
    cell                   INTEGER NOT NULL,
    sample                 INTEGER NOT NULL,
    over_ns                INTEGER NOT NULL,
    processors             INTEGER NOT NULL,
    least_khz              INTEGER,
    mean_khz               INTEGER,
    most_khz               INTEGER,
    throttled              INTEGER,
    cpu_some_ns            INTEGER,
    io_some_ns             INTEGER,
    io_full_ns             INTEGER,
    memory_some_ns         INTEGER,
    memory_full_ns         INTEGER,
    kernel_threads_ns      INTEGER,
    others_ns              INTEGER,
    other_requests         INTEGER,
    other_bytes            INTEGER,
    other_busiest          TEXT,
    other_busiest_ns       INTEGER,
    below_bytes            INTEGER,
    metadata_reads         INTEGER,
    metadata_read_bytes    INTEGER,
    metadata_writes        INTEGER,
    metadata_written_bytes INTEGER,
    forced_writes          INTEGER,
    forced_bytes           INTEGER,
    flushes_requested          INTEGER,
    unobserved             TEXT    NOT NULL CHECK (json_valid(unobserved)),
    PRIMARY KEY (cell, sample),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE "sample" (
    cell                   INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    place                  INTEGER NOT NULL,
    phase                  INTEGER NOT NULL,
    label                  TEXT    NOT NULL,
    kind                   TEXT    NOT NULL,
    engine                 TEXT    NOT NULL,
    method                 TEXT    NOT NULL,
    cache_requested            TEXT    NOT NULL CHECK (cache_requested IN ('cold', 'warm', 'as-is')),
    cache_proven           INTEGER NOT NULL CHECK (cache_proven IN (0, 1)),
    cache_method           TEXT    NOT NULL,
    cache_checked_by       TEXT    NOT NULL,
    cache_files_checked    INTEGER NOT NULL,
    cache_bytes_checked    INTEGER NOT NULL,
    cache_resident_pages   INTEGER,
    cache_unproven            TEXT,
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
    device_flushes_ns      INTEGER, probe_system_ns INTEGER, probe_device_ns INTEGER,
    PRIMARY KEY (cell, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
    run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    tag TEXT NOT NULL
        CHECK (length(tag) BETWEEN 1 AND 100 AND tag NOT GLOB '*[^A-Za-z0-9._-]*'),
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;

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
    threads                TEXT    NOT NULL CHECK (json_valid(threads)), disk_requests INTEGER NOT NULL DEFAULT 0, waits INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cell, sample, until),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

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
    requested_bytes INTEGER NOT NULL, nested_checks INTEGER NOT NULL DEFAULT 0, skipped_windows INTEGER NOT NULL DEFAULT 0,
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
