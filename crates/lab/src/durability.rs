//! Phases that returned as durable although nothing of them can be: data was written to a device
//! with a volatile cache, and no request emptied the cache.

use fsdyno_host::sysfs::Block;
use fsdyno_model::{Bytes, DeviceUse, Sample, Warning, WarningKind};
use std::path::Path;

/// Adds the warning to a sample if its model disks received writes and no flush. These disks offer
/// no FUA; `volatile`: they have a volatile cache.
pub(crate) fn warn_by_disks(sample: &mut Sample, volatile: bool) {
    if let Some(used) = sample.on_disks().filter(|_| volatile) {
        let written = Bytes(used.writes.bytes);
        let flushes = used.flushes.requests;
        warn(sample, (used.writes.requests, written, flushes), CALLS);
    }
}

/// Adds it by the counters of devices of the kernel, if those can prove it.
pub(crate) fn warn_by_counters(sample: &mut Sample, devices: &[String]) {
    let proves =
        |used: &DeviceUse| used.waits.is_some() && devices.iter().all(|d| needs_flushes(d));
    if let Some(used) = sample.device.filter(proves) {
        let counted = (used.writes, used.written_bytes, used.flushes);
        warn(sample, counted, CALLS);
    }
}

/// Adds it by the counts of disks with a volatile cache, to which nothing is written with FUA.
/// `sync` is what returned.
pub(crate) fn warn_by_counted(sample: &mut Sample, sync: &str) {
    if let Some(used) = sample.device {
        warn(
            sample,
            (used.writes, used.written_bytes, used.flushes),
            sync,
        );
    }
}

/// What returned when the phase was taken for durable.
const CALLS: &str = "fsync and syncfs";

/// Whether only a flush makes writes to a device durable, and the kernel counts its flushes. It
/// counts them for devices with request queues only (block/blk-flush.c), and not the writes with FUA.
fn needs_flushes(name: &str) -> bool {
    let Ok(Some(block)) = Block::named_by(&Path::new("/dev").join(name)) else {
        return false;
    };
    let queue = |key: &str| block.disk_attribute(&format!("queue/{key}"));
    let counts = block
        .whole()
        .is_ok_and(|disk| disk.folder().join("mq").exists());
    counts
        && queue("write_cache").as_deref() == Some("write back")
        && queue("fua").as_deref() == Some("0")
}

fn warn(sample: &mut Sample, (writes, written, flushes): (u64, Bytes, u64), sync: &str) {
    let known = sample
        .warnings
        .iter()
        .any(|w| w.kind == WarningKind::NotDurable);
    if sample.durable_ns.is_none() || writes == 0 || flushes > 0 || known {
        return;
    }
    sample.warnings.push(Warning::new(
        WarningKind::NotDurable,
        format!(
            "{}: {written} were written to a device with a volatile cache, and no flush followed: \
             nothing of it was durable when {sync} returned",
            sample.label
        ),
        "do not choose it by this figure for work that has to survive a power cut",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::tests::sample;
    use fsdyno_model::{DiskFigures, DiskUse, Nanos};

    #[test]
    fn only_a_durable_phase_with_writes_and_no_flush_is_warned_of() {
        let check = |volatile, durable, [writes, flushes]: [u64; 2]| {
            let mut used = DiskUse::default();
            used.writes.requests = writes;
            used.flushes.requests = flushes;
            let figures = DiskFigures {
                to_durable: used,
                ..DiskFigures::default()
            };
            let mut sample = Sample {
                durable_ns: Some(Nanos(2)).filter(|_| durable),
                disks: vec![figures],
                ..sample(0)
            };
            warn_by_disks(&mut sample, volatile);
            sample.is_not_durable()
        };
        assert!(check(true, true, [1, 0]));
        assert!(!check(true, true, [1, 1]), "a flush follows");
        assert!(!check(true, true, [0, 0]), "nothing was written");
        assert!(!check(true, false, [1, 0]), "a phase that only reads");
        assert!(
            !check(false, true, [1, 0]),
            "the disk has no volatile cache"
        );
    }
}
