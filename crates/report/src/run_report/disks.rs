//! The requests of phases to model disks, from their recorders: requests, seeks, times by cause,
//! and writes to the media.

use super::Lab;
use crate::document::{Block, Cell, Column, Group, Row, Section, Table};
use crate::terms;
use crate::why::median_sample;
use fsdyno_model::disk_use::{Causes, Tallied};
use fsdyno_model::{Bytes, DiskUse, Nanos, ResultSet, Sample};

/// The disks of a contender in a phase, summed or single.
struct Used {
    contender: usize,
    /// The index of the disk, if it is one of several.
    disk: Option<u32>,
    /// The requests, until the phase was durable.
    did: DiskUse,
    /// Bytes of stored file data, if the phase stores any.
    stored: Option<u64>,
}

/// A quantity: its heading, its drop priority, whether it is omitted if it is zero everywhere, and
/// its cell.
struct Kind {
    heading: &'static str,
    gives_way: u8,
    is_rare: bool,
    cell: fn(&Used) -> Cell,
}

const fn kind(heading: &'static str, gives_way: u8, cell: fn(&Used) -> Cell) -> Kind {
    Kind {
        heading,
        gives_way,
        is_rare: false,
        cell,
    }
}

const fn rare(heading: &'static str, gives_way: u8, cell: fn(&Used) -> Cell) -> Kind {
    Kind {
        is_rare: true,
        ..kind(heading, gives_way, cell)
    }
}

/// The requests and their handling by the disks.
const REQUESTS: [Kind; 15] = [
    kind("reads", 0, |one| Cell::Count(one.did.reads.requests)),
    kind("mean read", 1, |one| mean(&one.did.reads)),
    kind("writes", 0, |one| Cell::Count(one.did.writes.requests)),
    kind("mean write", 1, |one| mean(&one.did.writes)),
    kind("flushes", 2, |one| Cell::Count(one.did.flushes.requests)),
    rare("discards", 4, |one| Cell::Count(one.did.discards.requests)),
    rare("failed", 0, |one| Cell::Count(one.did.failed())),
    kind("seeks", 0, |one| Cell::Count(one.did.seeks)),
    kind("mean seek", 1, |one| {
        Cell::known(one.did.mean_seek_distance(), Cell::MeanSize)
    }),
    kind("media/data", 3, |one| {
        let ratio = one
            .stored
            .and_then(|data| one.did.write_amplification(data));
        Cell::known(ratio, Cell::Ratio)
    }),
    kind("read", 6, |one| Cell::Size(Bytes(one.did.reads.bytes))),
    kind("written", 5, |one| Cell::Size(Bytes(one.did.writes.bytes))),
    kind("on media", 7, |one| {
        Cell::Size(Bytes(one.did.work.medium_written))
    }),
    rare("device seeks", 8, |one| Cell::Count(one.did.work.seeks)),
    kind("slowest", 9, |one| Cell::Duration(one.did.slowest)),
];

/// The time of the requests: the total, and the share of each cause.
const TIMES: [Kind; 12] = [
    kind("waited", 0, |one| {
        Cell::Duration(Nanos(one.did.causes.total()))
    }),
    rare("seek", 0, |one| share(one, |of| of.seek)),
    rare("rotation", 0, |one| share(one, |of| of.rotation)),
    rare("transfer", 0, |one| share(one, |of| of.transfer)),
    rare("flush", 1, |one| share(one, |of| of.flush)),
    rare("queue", 0, |one| share(one, |of| of.queue)),
    rare("overhead", 4, |one| share(one, |of| of.overhead)),
    rare("cache", 2, |one| share(one, |of| of.cache)),
    rare("fault", 3, |one| share(one, |of| of.fault)),
    rare("device seek", 7, |one| {
        Cell::Duration(Nanos(one.did.work.seek_ns))
    }),
    rare("device rotation", 6, |one| {
        Cell::Duration(Nanos(one.did.work.rotation_ns))
    }),
    rare("media transfer", 5, |one| {
        Cell::Duration(Nanos(one.did.work.transfer_ns))
    }),
];

fn mean(kind: &Tallied) -> Cell {
    Cell::known(kind.mean(), Cell::MeanSize)
}

/// A share of the time, percent; unknown if there is no time.
fn share(one: &Used, of: fn(&Causes) -> u64) -> Cell {
    let (part, total) = (of(&one.did.causes), one.did.causes.total());
    let percent = (total > 0).then(|| 100.0 * part as f64 / total as f64);
    Cell::known(percent, Cell::Percent)
}

/// The section; `None` if no contender ran on a model disk.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let phases = phases(lab.set);
    if phases.is_empty() {
        return None;
    }
    let profile = lab.set.run.plan.disk.as_ref();
    let profile = profile.map_or_else(String::new, |disk| terms::printable(&disk.profile));
    let heading = format!("On the model disk {profile}");
    let requests = Section::new("", "Requests")
        .with(Block::Legend(about(lab.set, &phases).into()))
        .with(table(lab, "Requests", &REQUESTS, &phases));
    let times = Section::new("", "Where the time went")
        .with(Block::Legend(
            "waited: the time of all requests together, which may be more than the phase took, \
             because many wait at once; then the share of each cause. device seek, device \
             rotation, media transfer: the time that the device spent on each, whether or not a \
             request waited."
                .into(),
        ))
        .with(table(lab, "Where the time went", &TIMES, &phases));
    Some(
        Section::new("disks", heading.trim_end())
            .with(requests)
            .with(times),
    )
}

/// A table with these quantities.
fn table(lab: &Lab<'_>, name: &str, kinds: &[Kind], phases: &[(String, Vec<Used>)]) -> Table {
    let is_met = |kind: &&Kind| {
        let mut all = phases.iter().flat_map(|(_, rows)| rows);
        !kind.is_rare || all.any(|one| (kind.cell)(one).sort_value() > Some(0.0))
    };
    let kinds: Vec<&Kind> = kinds.iter().filter(is_met).collect();
    let groups = phases.iter().map(|(place, rows)| {
        let rows = rows.iter().map(|one| Row {
            detail: one.disk.map(|disk| format!("disk {disk}")),
            ..Row::new(
                lab.label(one.contender),
                kinds.iter().map(|kind| (kind.cell)(one)).collect(),
            )
        });
        Group::of_phase(place.clone(), rows.collect())
    });
    let columns = kinds.iter();
    let columns = columns.map(|kind| Column::giving_way(kind.heading, kind.gives_way));
    Table::grouped(name, ["phase", "contender"], columns, groups)
}

/// The phases, each with the disks of all contenders.
fn phases(set: &ResultSet) -> Vec<(String, Vec<Used>)> {
    let plan = &set.run.plan;
    let mut all = Vec::new();
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let samples = set.samples_of_all(w, p).into_iter().enumerate();
            let rows = samples.flat_map(|(contender, mut samples)| {
                samples.retain(|(_, sample)| !sample.disks.is_empty());
                median_sample(&samples).map_or_else(Vec::new, |sample| rows(contender, sample))
            });
            let rows: Vec<Used> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let place = terms::phase(
                plan.workloads.len(),
                &terms::printable(&workload.name),
                &terms::printable(&phase.label),
            );
            all.push((place, rows));
        }
    }
    all
}

fn rows(contender: usize, sample: &Sample) -> Vec<Used> {
    let data = sample.tally.bytes.0;
    let stored = (sample.durable_ns.is_some() && data > 0).then_some(data);
    let row = |disk, did, stored| Used {
        contender,
        disk,
        did,
        stored,
    };
    let all = sample.on_disks().map(|did| row(None, did, stored));
    let each = sample.disks.iter().filter(|_| sample.disks.len() > 1);
    // The distribution of data over the disks is unknown.
    let each = each.map(|figures| row(Some(figures.disk), figures.whole(), None));
    all.into_iter().chain(each).collect()
}

fn about(set: &ResultSet, phases: &[(String, Vec<Used>)]) -> String {
    let mut text =
        "Until durable, without what happens between phases. seeks: reads and writes that \
                    did not begin where the one before ended; mean seek: how far away they began. \
                    media/data: bytes written to the media for each byte of data that a \
                    phase stored."
            .to_owned();
    let mut all = phases.iter().flat_map(|(_, rows)| rows);
    let several = all.any(|one| one.disk.is_some());
    if several {
        text += " Of several disks, all together first.";
    }
    if set.run.plan.repeats > 1 {
        text += " Of several repeats, the one with the median time.";
    }
    text
}
