//! Warnings about the environment of a run: memory that holds the dataset, processors that change
//! their frequency, image files without a disk. They apply to the whole run.

use super::WarningSummary;
use crate::terms;
use fsdyno_model::{Bytes, CacheState, DeviceChoice, ResultSet, WarningKind};

/// The warnings about the environment of a run, one of each kind, without kinds that are in
/// `known`.
pub(super) fn warning_summaries(set: &ResultSet, known: &[WarningSummary]) -> Vec<WarningSummary> {
    [
        smaller_than_memory(set),
        speeds(set).or_else(|| governor(set)),
        images_on_no_device(set),
    ]
    .into_iter()
    .flatten()
    .filter(|warning_summary| !known.iter().any(|other| other.kind == warning_summary.kind))
    .collect()
}

fn of_run(kind: WarningKind, message: &str, advice: &str) -> WarningSummary {
    WarningSummary {
        kind,
        count: 1,
        places: Vec::new(),
        message: terms::printable(message),
        varies: false,
        advice: advice.to_owned(),
    }
}

/// A dataset that fits in memory and stayed there before a cold phase. If no page was resident, the
/// size of memory is irrelevant.
fn smaller_than_memory(set: &ResultSet) -> Option<WarningSummary> {
    let memory = set.run.provenance.memory_bytes;
    let samples = set.cells.iter().flat_map(|record| &record.samples);
    let data = samples
        .filter(|sample| sample.cache.requested == CacheState::Cold && !sample.cache.proven)
        .filter(|sample| sample.cache.resident_pages != Some(0))
        .map(|sample| sample.cache.bytes_checked)
        .filter(|data| (1..memory).contains(data))
        .max()?;
    Some(of_run(
        WarningKind::SmallerThanCache,
        &format!(
            "where cold is not proven, the data ({}) fit into memory ({}): phases may have read \
             from there",
            Bytes(data),
            Bytes(memory)
        ),
        "raise --scale until the data exceed memory, or run where cold can be proven (fsdyno \
         doctor)",
    ))
}

/// Samples in which the fastest processor was much slower than in others. The frequency is read
/// before and after each phase, when at least one processor was just busy.
fn speeds(set: &ResultSet) -> Option<WarningSummary> {
    /// Smaller ratios are steps between adjacent frequencies, or readings at an unfavourable
    /// moment.
    const MAX_RATIO: f64 = 1.2;
    let samples = set.cells.iter().flat_map(|record| &record.samples);
    let fastest = samples.filter_map(|sample| sample.observed.as_ref()?.frequency);
    let fastest: Vec<u64> = fastest
        .map(|of| of.most_khz)
        .filter(|khz| *khz > 0)
        .collect();
    let (least, most) = (*fastest.iter().min()?, *fastest.iter().max()?);
    (most as f64 > MAX_RATIO * least as f64).then(|| {
        let gigahertz = |khz: u64| khz as f64 / 1e6;
        of_run(
            WarningKind::Frequency,
            &format!(
                "the fastest processor ran at {:.2} GHz in one sample and at {:.2} in another",
                gigahertz(least),
                gigahertz(most)
            ),
            "cpupower frequency-set -g performance, and let it cool down between runs",
        )
    })
}

fn governor(set: &ResultSet) -> Option<WarningSummary> {
    let governor = set.run.provenance.governor.as_deref()?;
    (governor != "performance").then(|| {
        of_run(
            WarningKind::Frequency,
            &format!("the frequency governor is {governor}: processors change their speed"),
            "cpupower frequency-set -g performance",
        )
    })
}

/// Image files on a file system without a block device, usually in memory.
fn images_on_no_device(set: &ResultSet) -> Option<WarningSummary> {
    if !matches!(
        set.run.plan.device,
        DeviceChoice::Loop { memory: false, .. }
    ) {
        return None;
    }
    let facts = set.run.provenance.devices.iter();
    let mut below = facts.filter(|facts| facts.size_bytes == 0);
    let kind = below.find_map(|facts| facts.host_filesystem.as_deref())?;
    Some(of_run(
        WarningKind::Device,
        &format!("the image files are on {kind}, which has no block device of its own"),
        "figures are those of memory, a network or a pool, not of a disk: choose another place \
         with --work-dir",
    ))
}
