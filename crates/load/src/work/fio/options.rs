//! The options of fio: those that are translated, and those that change no operation.

use super::BY_FIO;
use super::parse::Setting;
use crate::work::WorkError;

/// Options that are translated.
const TRANSLATED: [&str; 27] = [
    "rw",
    "bs",
    "bssplit",
    "size",
    "filesize",
    "io_size",
    "nrfiles",
    "numjobs",
    "filename",
    "fsync",
    "fdatasync",
    "rwmixread",
    "rwmixwrite",
    "runtime",
    "time_based",
    "loops",
    "direct",
    "buffered",
    "file_service_type",
    "sync",
    "overwrite",
    "thinktime",
    "rate",
    "rate_iops",
    "stonewall",
    "name",
    "description",
];

/// Options that change no operation, and what replaces them.
const WITHOUT_MEANING: [(&str, &[&str]); 9] = [
    (
        "reports and figures are those of fsdyno",
        &[
            "group_reporting",
            "new_group",
            "unified_rw_reporting",
            "per_job_logs",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_max_value",
            "log_offset",
            "percentile_list",
            "clat_percentiles",
            "slat_percentiles",
            "lat_percentiles",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw",
            "disable_bw_measurement",
            "gtod_reduce",
            "bwavgtime",
            "iopsavgtime",
            "significant_figures",
            "disk_util",
        ],
    ),
    (
        "each worker performs one operation at a time, by the engine of the run",
        &[
            "ioengine",
            "iodepth",
            "iodepth_batch",
            "iodepth_batch_submit",
            "iodepth_batch_complete",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
            "thread",
            "hipri",
            "fixedbufs",
            "registerfiles",
        ],
    ),
    (
        "the contents are incompressible",
        &[
            "refill_buffers",
            "scramble_buffers",
            "zero_buffers",
            "buffer_pattern",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "dedupe_percentage",
        ],
    ),
    (
        "offsets are drawn from the seed of the run (--set work.seed=N), and may repeat",
        &[
            "randseed",
            "randrepeat",
            "allrandrepeat",
            "norandommap",
            "softrandommap",
            "random_generator",
        ],
    ),
    (
        "files are in the directory of the contender, and have its names",
        &[
            "directory",
            "filename_format",
            "unlink",
            "create_serialize",
            "create_on_open",
        ],
    ),
    (
        "new files are not preallocated",
        &["fallocate", "create_fsync"],
    ),
    (
        "the time to durable includes what has not reached the disk",
        &["end_fsync", "fsync_on_close"],
    ),
    (
        "the phase sets the state of the caches",
        &["invalidate", "fadvise_hint", "pre_read"],
    ),
    (
        "the kernel places workers, which begin at once",
        &[
            "cpus_allowed",
            "cpus_allowed_policy",
            "cpumask",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "nice",
            "prio",
            "prioclass",
            "ramp_time",
        ],
    ),
];

/// Values of `ioengine` and `iodepth` that are as here.
const ONE_AT_A_TIME: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "1"];

/// Other engines that read and write files.
const ENGINES: [&str; 5] = ["libaio", "posixaio", "io_uring", "mmap", "splice"];

/// Why an option has no meaning here; none if it is translated. One that is not known is refused, since
/// it may change the operations.
pub(super) fn left_out(setting: &Setting) -> Result<Option<&'static str>, WorkError> {
    let key = setting.key.as_str();
    let value = setting.value.as_deref().unwrap_or_default();
    let is_same = ["ioengine", "iodepth"].contains(&key) && ONE_AT_A_TIME.contains(&value);
    if is_same || TRANSLATED.contains(&key) {
        return Ok(None);
    }
    if key == "ioengine" && !ENGINES.contains(&value) {
        return Err(setting.wrong("this engine has no equivalent", BY_FIO));
    }
    if key == "verify" {
        return match value {
            "0" | "null" => Ok(None),
            _ => {
                let what = "a workload does not read what it wrote to check it";
                Err(setting.wrong(what, BY_FIO))
            }
        };
    }
    if key == "rate_process" && value == "linear" {
        return Ok(None);
    }
    let mut all = WITHOUT_MEANING.iter();
    let found = all.find(|(_, keys)| keys.contains(&key));
    let (why, _) = found.ok_or_else(|| setting.wrong("it has no translation", BY_FIO))?;
    Ok(Some(why))
}
