//! The columns of model disks: those of a sample summed over its disks, and those of each disk.

use super::{DISK_COLUMNS, safe};
use fsdyno_model::Sample;
use fsdyno_model::disk_use::{DiskFigures, DiskUse, Tallied};

/// All disks of a sample together; empty where there are no figures of them.
pub fn all(sample: &Sample) -> Vec<String> {
    let until_return = sample.disks.iter().map(|disk| disk.to_return);
    match (sample.on_disks(), until_return.reduce(|sum, one| sum + one)) {
        (Some(whole), Some(until_return)) => columns(String::new(), &whole, &until_return),
        _ => none(),
    }
}

/// Each of them, where they are several.
pub fn each(sample: &Sample) -> impl Iterator<Item = Vec<String>> {
    let several = sample.disks.iter().filter(|_| sample.disks.len() > 1);
    several.map(|disk: &DiskFigures| columns(disk.disk.to_string(), &disk.whole(), &disk.to_return))
}

/// Nothing is known.
pub fn none() -> Vec<String> {
    vec![String::new(); DISK_COLUMNS.len()]
}

/// The phase that a row of a disk belongs to.
pub fn whose(sample: &Sample) -> [String; 2] {
    [safe(&sample.label), safe(&sample.kind)]
}

fn columns(disk: String, whole: &DiskUse, until_return: &DiskUse) -> Vec<String> {
    let kind = |kind: &Tallied| [kind.requests, kind.bytes, kind.failed];
    let extents = [&whole.reads, &whole.writes, &whole.discards].map(kind);
    let flushes = [whole.flushes.requests, whole.flushes.failed];
    let seeks = [until_return.requests(), whole.seeks, whole.seek_distance.0];
    let numbers = extents.into_iter().flatten().chain(flushes).chain(seeks);
    let numbers = numbers
        .chain(whole.causes.parts())
        .chain([whole.slowest.0])
        .chain(whole.work.parts());
    let numbers = numbers.map(|number| number.to_string());
    let waits = whole.waits.map(|waits| waits.parts().map(Some));
    let late = waits.unwrap_or_default().into_iter();
    let late = late.chain([whole.busy.map(|busy| busy.0)]);
    let late = late.map(|ns| ns.map_or_else(String::new, |ns| ns.to_string()));
    [disk].into_iter().chain(numbers).chain(late).collect()
}
