//! The memory of the machine: total, and available without swapping.

use fsdyno_model::Bytes;
use std::fs;

/// Memory available without swapping (`MemAvailable`, `proc_meminfo(5)`); none if it is not
/// available.
pub fn memory_available() -> Option<Bytes> {
    reported("MemAvailable")
}

/// Total memory; none if it is not available.
pub fn memory_total() -> Option<Bytes> {
    reported("MemTotal")
}

fn reported(key: &str) -> Option<Bytes> {
    value(&fs::read_to_string("/proc/meminfo").ok()?, key)
}

fn value(meminfo: &str, key: &str) -> Option<Bytes> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes = line.strip_prefix(':')?.trim().strip_suffix("kB")?;
    let kibibytes: u64 = kibibytes.trim().parse().ok()?;
    Some(Bytes(kibibytes.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_and_a_missing_line_is_none() {
        let text = "MemTotal:        8000 kB\nMemAvailable:    5 kB\nMemAvail: x kB\n";
        assert_eq!(value(text, "MemAvailable"), Some(Bytes(5120)));
        assert_eq!(value(text, "MemTotal"), Some(Bytes(8_192_000)));
        assert_eq!(value(text, "MemAvail"), None);
        assert_eq!(value(text, "SwapFree"), None);
        assert!(memory_available() <= memory_total());
    }
}
