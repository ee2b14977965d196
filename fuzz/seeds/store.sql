-- A store of schema 8 with a run and a series: one row of every kind. The target opens it as any
-- older store, so that migrations bring it up to date.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
INSERT INTO run VALUES('r','quick',1,NULL,NULL,320,'3fe86a66b0314d9f','{"schema":1,"name":"quick","seed":18446744073709551615,"vary":"dataset-seed","scale":0.30000000000000004,"contenders":[{"label":"alpha","filesystem":"alpha","mkfs":["-O","^dir_index"],"mount":["noatime"],"layout":{"name":"pool","devices":2},"directory":null,"state":{"fill_permille":950,"age":3},"handicap_permille":50,"lab":"uml"},{"label":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}","filesystem":"beta","mkfs":[],"mount":[],"layout":{"name":"single","devices":1},"directory":"/mnt/somewhere else"}],"workloads":[{"name":"of mixed","dataset":{"kind":"generated","name":"mixed"},"phases":[{"label":"grep","kind":"grep","cache":"cold","pattern":null,"parameters":{"command":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"}}]},{"name":"of tree:/t","dataset":{"kind":"tree","name":"/t"},"phases":[{"label":"grep","kind":"grep","cache":"warm","pattern":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}","parameters":{"command":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"}}]},{"name":"of tar:/t.tar","dataset":{"kind":"tar","name":"/t.tar"},"phases":[{"label":"grep","kind":"grep","cache":"as-left","pattern":null,"parameters":{"command":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"}}]},{"name":"of file:/f","dataset":{"kind":"file","name":"/f"},"phases":[{"label":"grep","kind":"grep","cache":"cold","pattern":null,"parameters":{"command":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"}}]}],"repeats":3,"adaptive":{"precision":0.005,"most":40},"margin":0.05,"budget":18446744073709551615,"cell_budget":18446744073709551614,"device":{"on":"loop","size":1099511627776,"directory":"/images"},"engine":"sync","copy_method":"reflink","verify":true,"check":false,"fragments":true,"trace":true,"fragments_floor":16385,"guest":{"memory":536870912},"disk":{"profile":"null","text":"title = \"nothing\"","faults":"seed = 7\n","time":"real"},"disk_record":{"directory":"/records","payloads":true}}','{"fsdyno":"0.1.0","kernel":"Linux","kernel_build":"#1 SMP","distribution":"Debian","processor":"a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}","processors":4294967295,"memory_bytes":18446744073709551615,"virtualisation":"none","governor":"performance","devices":[{"name":"","role":"","model":null,"size_bytes":0,"rotational":null,"scheduler":null,"write_cache":null,"logical_block_bytes":0,"host_filesystem":null},{"name":"sda","role":"image files","model":"QEMU","size_bytes":1125899906842624,"rotational":false,"scheduler":"none","write_cache":"write back","logical_block_bytes":4096,"host_filesystem":"somefs"}],"programs":[["mkfs.alpha","1.47"]],"root":true}','["fsdyno","run","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}",""]');
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
INSERT INTO cell VALUES(1,'r',0,2,1,0,1795000000000000000,7,'measured',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO cell VALUES(2,'r',2,2,1,0,1795000000000000000,7,'skipped','root',replace('a''b"c\ \n	','\n',char(10)),'',NULL,NULL,NULL,NULL);
INSERT INTO cell VALUES(3,'r',3,2,1,0,1795000000000000000,7,'failed',NULL,NULL,NULL,'device',NULL,replace('a''b"c\ \n	','\n',char(10)),NULL);
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
    space_after_bytes      INTEGER NOT NULL, device_reads_ns INTEGER, device_writes_ns INTEGER, device_discards_ns INTEGER, device_flushes_ns INTEGER,
    PRIMARY KEY (cell, place)
) STRICT, WITHOUT ROWID;
INSERT INTO sample VALUES(1,0,0,'copy 0','copy','sync','read-write','cold',1,'remount, drop_caches','cachestat',1,2,3,replace('a''b"c\ \n	','\n',char(10)),4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,175,-177,23,24,25,26);
INSERT INTO sample VALUES(1,1,1,'copy 1','copy','sync','read-write','cold',0,'','',0,0,NULL,NULL,1004,NULL,1006,1007,1008,1009,1010,1011,1012,1013,1014,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1175,-1177,NULL,NULL,NULL,NULL);
INSERT INTO sample VALUES(1,2,2,'copy 2','copy','sync','read-write','as-left',1,'remount, drop_caches','cachestat',2001,2002,2003,replace('a''b"c\ \n	','\n',char(10)),2004,2005,2006,2007,2008,2009,2010,2011,2012,2013,2014,2015,2016,2017,2018,2019,2020,2021,2022,2175,-2177,2023,2024,2025,2026);
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
INSERT INTO command VALUES(1,0,'device',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,1,'make',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,2,'mount',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,3,'describe',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,4,'prepare',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,5,'cache',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,6,'verify',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,7,'unmount',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,8,'check',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,9,'clean-up',NULL,'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',1,0,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,10,'phase',replace('a''b"c\ \n	','\n',char(10)),'["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',0,NULL,5,replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO command VALUES(1,11,'phase','','["mkfs","a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}"]',0,-1,5,replace('a''b"c\ \n	','\n',char(10)),'');
CREATE TABLE effective (
    cell   INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    place  INTEGER NOT NULL,
    source TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    PRIMARY KEY (cell, place)
) STRICT;
INSERT INTO effective VALUES(1,0,'mountinfo',replace('a''b"c\ \n	','\n',char(10)));
INSERT INTO effective VALUES(1,1,'mountinfo','');
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
INSERT INTO warning VALUES(1,'r',1,0,'too-short',replace('a''b"c\ \n	','\n',char(10)),'make it longer');
INSERT INTO warning VALUES(2,'r',1,2,'too-short',replace('a''b"c\ \n	','\n',char(10)),'make it longer');
INSERT INTO warning VALUES(3,'r',1,NULL,'too-short',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(4,'r',1,NULL,'cache-unproven',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(5,'r',1,NULL,'not-from-device',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(6,'r',1,NULL,'free-copy',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(7,'r',1,NULL,'not-quiet',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(8,'r',1,NULL,'background-load',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(9,'r',1,NULL,'steal',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(10,'r',1,NULL,'frequency',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(11,'r',1,NULL,'drift',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(12,'r',1,NULL,'outlier',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(13,'r',1,NULL,'imprecise',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(14,'r',1,NULL,'smaller-than-cache',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(15,'r',1,NULL,'entry',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(16,'r',1,NULL,'device',replace('a''b"c\ \n	','\n',char(10)),'');
INSERT INTO warning VALUES(17,'r',1,NULL,'unobserved',replace('a''b"c\ \n	','\n',char(10)),'');
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
INSERT INTO fragmentation VALUES(1,0,177,178,179,180,181,'[182,0,183]',replace('a''b"c\ \n	','\n',char(10)));
INSERT INTO fragmentation VALUES(1,2,2177,2178,2179,2180,2181,'[2182,0,2183]',replace('a''b"c\ \n	','\n',char(10)));
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
INSERT INTO told VALUES(1,0,0,replace('a''b"c\ \n	','\n',char(10)),0.10000000000000000555,'KiB/s','higher');
INSERT INTO told VALUES(1,0,1,'',-1.0000000000000000047e+300,'','lower');
INSERT INTO told VALUES(1,2,0,replace('a''b"c\ \n	','\n',char(10)),0.10000000000000000555,'KiB/s','higher');
INSERT INTO told VALUES(1,2,1,'',-1.0000000000000000047e+300,'','lower');
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
, disk TEXT CHECK (disk IS NULL OR json_valid(disk))) STRICT;
INSERT INTO series VALUES('19700101-0000-plug',5,NULL,NULL,2,-1,'{"memory":268435456,"kernel":"lab","processors":2}','/var/tmp/a b','[{"label":"ext2","filesystem":"ext2","mkfs":[],"mount":[],"layout":{"name":"single","devices":1},"directory":null,"lab":"uml"},{"label":"xfs","filesystem":"xfs","mkfs":[],"mount":[],"layout":{"name":"single","devices":1},"directory":null,"lab":"uml"}]','{"fsdyno":"","kernel":"Linux 6.1","kernel_build":"","distribution":"","processor":"","processors":0,"memory_bytes":0,"virtualisation":"","governor":null,"devices":[],"programs":[],"root":true}','["fsdyno","plug"]',NULL);
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
    images        TEXT    NOT NULL CHECK (json_valid(images)), disk TEXT CHECK (disk IS NULL OR json_valid(disk)),
    PRIMARY KEY (series, place),
    UNIQUE (series, contender, number)
) STRICT, WITHOUT ROWID;
INSERT INTO cut VALUES('19700101-0000-plug',0,0,1,7,'Linux 6.1 (User-mode Linux), #1',1500000000,400,9000000,NULL,NULL,NULL,1,NULL,0,'{"files":30,"lost":{},"told":[]}',NULL,'[]',NULL);
INSERT INTO cut VALUES('19700101-0000-plug',1,1,1,7,'Linux 6.1 (User-mode Linux), #1',1500000000,400,9000000,NULL,NULL,NULL,1,NULL,0,'{"files":30,"lost":{},"told":[]}',NULL,'[]','{"lost":0,"torn":0,"landed":0,"under_way":0,"sectors_lost":0,"digest":""}');
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
    jumps                INTEGER NOT NULL,
    jumped_bytes         INTEGER NOT NULL,
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
INSERT INTO disk_use VALUES(1,0,0,0,'durable',64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,92,93,94,95,96,97,98,99,100,87,88,89,90,91);
INSERT INTO disk_use VALUES(1,0,0,0,'return',27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,55,56,57,58,59,60,61,62,63,50,51,52,53,54);
INSERT INTO disk_use VALUES(1,0,1,3,'durable',138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,166,167,168,169,170,171,172,173,174,161,162,163,164,165);
INSERT INTO disk_use VALUES(1,0,1,3,'return',101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,129,130,131,132,133,134,135,136,137,124,125,126,127,128);
INSERT INTO disk_use VALUES(1,2,0,0,'durable',2064,2065,2066,2067,2068,2069,2070,2071,2072,2073,2074,2075,2076,2077,2078,2079,2080,2081,2082,2083,2084,2085,2086,2092,2093,2094,2095,2096,2097,2098,2099,2100,2087,2088,2089,2090,2091);
INSERT INTO disk_use VALUES(1,2,0,0,'return',2027,2028,2029,2030,2031,2032,2033,2034,2035,2036,2037,2038,2039,2040,2041,2042,2043,2044,2045,2046,2047,2048,2049,2055,2056,2057,2058,2059,2060,2061,2062,2063,2050,2051,2052,2053,2054);
INSERT INTO disk_use VALUES(1,2,1,3,'durable',2138,2139,2140,2141,2142,2143,2144,2145,2146,2147,2148,2149,2150,2151,2152,2153,2154,2155,2156,2157,2158,2159,2160,2166,2167,2168,2169,2170,2171,2172,2173,2174,2161,2162,2163,2164,2165);
INSERT INTO disk_use VALUES(1,2,1,3,'return',2101,2102,2103,2104,2105,2106,2107,2108,2109,2110,2111,2112,2113,2114,2115,2116,2117,2118,2119,2120,2121,2122,2123,2129,2130,2131,2132,2133,2134,2135,2136,2137,2124,2125,2126,2127,2128);
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
INSERT INTO latency VALUES(1,0,0,'file',184,-186,186,187,'[[188,189],[18446744073709551425,191]]');
INSERT INTO latency VALUES(1,0,1,replace('a''b"c\ \n	','\n',char(10)),192,-194,194,195,'[[196,197],[18446744073709551417,199]]');
INSERT INTO latency VALUES(1,2,0,'file',2184,-2186,2186,2187,'[[2188,2189],[18446744073709549425,2191]]');
INSERT INTO latency VALUES(1,2,1,replace('a''b"c\ \n	','\n',char(10)),2192,-2194,2194,2195,'[[2196,2197],[18446744073709549417,2199]]');
CREATE TABLE progress (
    cell     INTEGER NOT NULL,
    sample   INTEGER NOT NULL,
    slice_ns INTEGER NOT NULL,
    slices   TEXT    NOT NULL CHECK (json_valid(slices)),
    PRIMARY KEY (cell, sample),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO progress VALUES(1,0,200,'[[201,18446744073709551413],[203,18446744073709551411],[205,18446744073709551409]]');
INSERT INTO progress VALUES(1,2,2200,'[[2201,18446744073709549413],[2203,18446744073709549411],[2205,18446744073709549409]]');
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
    flushes_asked          INTEGER,
    unobserved             TEXT    NOT NULL CHECK (json_valid(unobserved)),
    PRIMARY KEY (cell, sample),
    FOREIGN KEY (cell, sample) REFERENCES sample (cell, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO observed VALUES(1,0,207,7,208,209,210,211,212,213,214,215,216,217,218,219,-221,replace('a''b"c\ \n	','\n',char(10)),221,222,223,224,225,226,227,228,229,'["a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}","throttling: none"]');
INSERT INTO observed VALUES(1,2,2207,7,2208,2209,2210,2211,2212,2213,2214,2215,2216,2217,2218,2219,-2221,replace('a''b"c\ \n	','\n',char(10)),2221,2222,2223,2224,2225,2226,2227,2228,2229,'["a''b\"c\\ \n\t\u0000 � 💾 {\"$.x\": null}","throttling: none"]');
CREATE INDEX run_by_start ON run (started_unix_ns);
CREATE INDEX warning_by_run ON warning (run);
CREATE INDEX warning_by_cell ON warning (cell, sample);
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

PRAGMA application_id=1718838393;
PRAGMA user_version=8;
COMMIT;
