//! What model disks did for the phases, as their recorders tell: requests, how far apart they lay,
//! where their time went, and what was written to the medium.

use super::costs::grouped;
use crate::terms;
use fsdyno_model::disk_use::{Causes, Tallied};
use fsdyno_model::{Bytes, DiskUse, Nanos, ResultSet, Sample};

/// All that the recorders tell.
#[derive(Debug, Clone)]
pub struct Disks {
    /// What stands above it: the disk.
    pub heading: String,
    /// What the figures are, for a reader.
    pub about: String,
    /// The phases; empty where no contender ran on a model disk.
    pub phases: Vec<OnDisks>,
}

/// One phase.
#[derive(Debug, Clone)]
pub struct OnDisks {
    /// The workload and the phase, as a heading.
    pub place: String,
    /// One for each contender; where it has several disks, one for each of them behind it.
    pub rows: Vec<Row>,
}

/// What the disks of a contender did, all together or one of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The contender, by its place.
    pub contender: usize,
    /// The disk, where it is one of several.
    pub disk: Option<u32>,
    /// What was done, until the phase was durable.
    pub did: DiskUse,
    /// Bytes of file data that the phase stored, where it stores any.
    pub stored: Option<u64>,
}

/// A figure: its heading, how soon it gives way where a line is narrow (0: never), and its text
/// with what it sorts by; none where it is unknown.
#[derive(Debug)]
pub struct Column {
    /// What stands above it.
    pub heading: &'static str,
    /// The larger, the sooner it is left out.
    pub gives_way: u8,
    /// The figure.
    pub of: fn(&Row) -> Option<(String, f64)>,
    /// Whether it is left out where it is zero throughout.
    rare: bool,
}

impl Column {
    /// Whether it tells of the device itself, whoever waited: see [`ABOUT_DEVICE`].
    pub fn is_of_the_device(&self) -> bool {
        ["seeking", "turning", "moving"].contains(&self.heading)
    }
}

const fn column(
    heading: &'static str,
    gives_way: u8,
    of: fn(&Row) -> Option<(String, f64)>,
) -> Column {
    Column {
        heading,
        gives_way,
        of,
        rare: false,
    }
}

const fn rare(
    heading: &'static str,
    gives_way: u8,
    of: fn(&Row) -> Option<(String, f64)>,
) -> Column {
    Column {
        rare: true,
        ..column(heading, gives_way, of)
    }
}

/// What was asked of the disks, and what they did for it.
const REQUESTS: [Column; 15] = [
    column("reads", 0, |row| Some(number(row.did.reads.requests))),
    column("each", 1, |row| mean(&row.did.reads)),
    column("writes", 0, |row| Some(number(row.did.writes.requests))),
    column("each", 1, |row| mean(&row.did.writes)),
    column("flushes", 2, |row| Some(number(row.did.flushes.requests))),
    rare("discards", 4, |row| Some(number(row.did.discards.requests))),
    rare("failed", 0, |row| Some(number(row.did.failed()))),
    column("seeks", 0, |row| Some(number(row.did.seeks))),
    column("apart", 1, |row| row.did.mean_seek_distance().map(short)),
    column("x data", 3, |row| {
        let of = row.did.write_amplification(row.stored?)?;
        Some((format!("{}x", terms::ratio(of)), of))
    }),
    column("read", 6, |row| Some(size(row.did.reads.bytes))),
    column("written", 5, |row| Some(size(row.did.writes.bytes))),
    column("on medium", 7, |row| {
        Some(size(row.did.work.medium_written))
    }),
    rare("arm moves", 8, |row| Some(number(row.did.work.seeks))),
    column("slowest", 9, |row| Some(time(row.did.slowest.0))),
];

/// Where the time of the requests went: all of it, and the share of each cause.
const TIMES: [Column; 12] = [
    column("waited", 0, |row| Some(time(row.did.causes.total()))),
    rare("seek", 0, |row| share(row, |of| of.seek)),
    rare("rotation", 0, |row| share(row, |of| of.rotation)),
    rare("transfer", 0, |row| share(row, |of| of.transfer)),
    rare("flush", 1, |row| share(row, |of| of.flush)),
    rare("queue", 0, |row| share(row, |of| of.queue)),
    rare("overhead", 4, |row| share(row, |of| of.overhead)),
    rare("cache", 2, |row| share(row, |of| of.cache)),
    rare("fault", 3, |row| share(row, |of| of.fault)),
    rare("seeking", 7, |row| Some(time(row.did.work.seek_ns))),
    rare("turning", 6, |row| Some(time(row.did.work.rotation_ns))),
    rare("moving", 5, |row| Some(time(row.did.work.transfer_ns))),
];

fn number(number: u64) -> (String, f64) {
    (grouped(number), number as f64)
}

fn size(bytes: u64) -> (String, f64) {
    (Bytes(bytes).to_string(), bytes as f64)
}

fn time(ns: u64) -> (String, f64) {
    (Nanos(ns).to_string(), ns as f64)
}

fn mean(kind: &Tallied) -> Option<(String, f64)> {
    kind.mean().map(short)
}

/// A mean in few characters: a table has many.
fn short(mean: Bytes) -> (String, f64) {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let value = mean.0 as f64;
    let mut scaled = (value, 0);
    while scaled.0 >= 999.5 && scaled.1 + 1 < UNITS.len() {
        scaled = (scaled.0 / 1024.0, scaled.1 + 1);
    }
    let (shown, unit) = (scaled.0, UNITS[scaled.1]);
    let digits = usize::from(shown < 9.95 && scaled.1 > 0);
    (format!("{shown:.digits$} {unit}"), value)
}

/// A part of the time in percent; none where there is no time.
fn share(row: &Row, of: fn(&Causes) -> u64) -> Option<(String, f64)> {
    let (part, total) = (of(&row.did.causes), row.did.causes.total());
    let percent = (total > 0).then(|| 100.0 * part as f64 / total as f64)?;
    let text = match percent {
        0.0 => "0".to_owned(),
        of if of < 0.05 => "<0.1".to_owned(),
        of => format!("{of:.1}"),
    };
    Some((text, percent))
}

impl Disks {
    pub(super) fn of(set: &ResultSet) -> Self {
        let phases = phases(set);
        let profile = set.run.plan.disk.as_ref();
        let profile = profile.map_or_else(String::new, |disk| terms::printable(&disk.profile));
        let heading = format!("On the model disk {profile}");
        Self {
            heading: heading.trim_end().to_owned(),
            about: about(set, &phases),
            phases,
        }
    }

    /// The columns of what was asked for.
    pub fn requests(&self) -> Vec<&'static Column> {
        self.met(&REQUESTS)
    }

    /// The columns of where the time went.
    pub fn times(&self) -> Vec<&'static Column> {
        self.met(&TIMES)
    }

    fn met(&self, columns: &'static [Column]) -> Vec<&'static Column> {
        let met = |column: &&Column| {
            let mut rows = self.phases.iter().flat_map(|phase| &phase.rows);
            !column.rare || rows.any(|row| (column.of)(row).is_some_and(|(_, value)| value > 0.0))
        };
        columns.iter().filter(met).collect()
    }
}

fn phases(set: &ResultSet) -> Vec<OnDisks> {
    let plan = &set.run.plan;
    let mut all = Vec::new();
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let samples = set.samples_of_all(w, p).into_iter().enumerate();
            let rows = samples.flat_map(|(contender, samples)| {
                middle(&samples).map_or_else(Vec::new, |sample| rows(contender, sample))
            });
            let rows: Vec<Row> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let place = terms::phase(
                plan.workloads.len(),
                &terms::printable(&workload.name),
                &terms::printable(&phase.label),
            );
            all.push(OnDisks { place, rows });
        }
    }
    all
}

/// Of the samples that have figures, the one in the middle by its time; the shorter of the middle
/// two where their number is even.
fn middle<'a>(samples: &[(u32, &'a Sample)]) -> Option<&'a Sample> {
    let told = samples.iter().map(|(_, sample)| *sample);
    let mut told: Vec<&Sample> = told.filter(|sample| !sample.disks.is_empty()).collect();
    told.sort_by_key(|sample| sample.whole_ns());
    let last = told.len().checked_sub(1)?;
    Some(told[last / 2])
}

fn rows(contender: usize, sample: &Sample) -> Vec<Row> {
    let data = sample.tally.bytes.0;
    let stored = (sample.durable_ns.is_some() && data > 0).then_some(data);
    let row = |disk, did, stored| Row {
        contender,
        disk,
        did,
        stored,
    };
    let all = sample.on_disks().map(|did| row(None, did, stored));
    let each = sample.disks.iter().filter(|_| sample.disks.len() > 1);
    // How the data were divided among disks, nobody tells.
    let each = each.map(|figures| row(Some(figures.disk), figures.whole(), None));
    all.into_iter().chain(each).collect()
}

fn about(set: &ResultSet, phases: &[OnDisks]) -> String {
    let mut text = "Until durable, nothing of what lies between phases. Jumps: reads and writes \
                    that did not begin where the one before ended; apart: how far away they \
                    began, on average. x data: bytes written to the medium for each byte of \
                    data that a phase stored."
        .to_owned();
    let several = phases.iter().any(|phase| {
        let mut rows = phase.rows.iter();
        rows.any(|row| row.disk.is_some())
    });
    if several {
        text += " Of several disks, all together first.";
    }
    if set.run.plan.repeats > 1 {
        text += " Of several repeats, the one in the middle by its time.";
    }
    text
}

/// What the shares are, for a reader.
pub const ABOUT_TIMES: &str = "The time of all requests together, which may be more than the \
                               phase took: many wait at once. By cause, in percent.";

/// What the times of the device itself are, where there is room for them.
pub const ABOUT_DEVICE: &str = "Seeking, turning, moving: what the device itself spent on the \
                                arm, on waiting for sectors and on data, whoever waited.";
