//! The outcomes of faults of a disk: a sentence on flipped data for each contender, and a table of
//! all faults.

use crate::advice::DeadDisks;
use crate::document::{Block, Cell, Column, Document, Label, Overflow, Row, Section, Table};
use crate::terms;
use fsdyno_model::{
    BlockRole, Contender, DiskFault, DiskWork, FaultOutcome, FaultTests, InjectedFault, Nanos,
    SlowWork, StopReason,
};
use fsdyno_stats::{median, proportion_interval};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The outcomes of the faults: those of data by fault, and those of metadata in total; or all by
/// role and fault.
pub fn document(tests: &FaultTests, by_role: bool) -> Document {
    let names: Vec<String> = tests
        .tests
        .iter()
        .map(|one| one.contender.clone())
        .collect();
    let roles: BTreeSet<BlockRole> = tests.faults().filter_map(|(_, one)| one.role).collect();
    let shown = roles
        .into_iter()
        .filter(|role| by_role || *role == BlockRole::Data);
    let by_fault = of_roles(tests, &names, shown);
    let mut blocks = if !tests.faults().any(|(_, one)| one.role.is_some()) {
        Vec::new()
    } else if by_role {
        vec![Block::Table(by_fault)]
    } else {
        let data = Section::new("data", "Faults of data").with(Block::Table(by_fault));
        let metadata = Block::Table(of_metadata(tests, &names));
        let metadata = Section::new("metadata", "Faults of metadata").with(metadata);
        vec![Block::Section(data), Block::Section(metadata)]
    };
    if let Some(of_disks) = of_disks(tests, &names) {
        let section = Section::new("disks", "Faults of a whole disk");
        blocks.push(Block::Section(section.with(Block::Table(of_disks))));
    }
    if let Some(times) = of_times(tests, &names) {
        let section = Section::new("times", "Slow disks and rebuilds");
        let section = section.with(Block::Table(times));
        let legend = format!(
            "A slow disk takes {} times as long for all that it does. Reading: all files after the mount; \
             writing: 4 KiB, with fsync; the smallest and the largest multiple of the time without the \
             fault. Reads from it: its part of the read requests of all tests, and that without the \
             fault. Rebuild: the median time of the rebuild or scrub of a disk that died and returned; \
             md restores whole disks, which are small here.",
            DiskFault::SLOWNESS
        );
        blocks.push(Block::Section(section.with(Block::Legend(legend.into()))));
    }
    let seen: BTreeSet<FaultOutcome> = tests.faults().map(|(_, one)| one.outcome).collect();
    let legend: Vec<String> = seen
        .into_iter()
        .map(|outcome| format!("{}: {}", short_name(outcome), meaning(outcome)))
        .collect();
    blocks.push(Block::Legend(format!("{}.", legend.join("; ")).into()));
    let guest = tests.tests.first().map_or("", |one| &*one.guest);
    blocks.extend(untested(tests));
    let scope = format!(
        "{}; seed {}, at most {} of each kind in blocks of each role. Other files, options and \
         kernels were not tested.",
        terms::printable(guest),
        tests.info.seed,
        terms::count(tests.info.draws as usize, "fault"),
    );
    blocks.push(Block::Paragraph(scope.into()));
    Document {
        lead: sentences(tests).into_iter().map(Into::into).collect(),
        blocks,
        ..Document::new("fsdyno: faults of a disk, and what came of them")
    }
}

/// The contenders that were not tested.
pub fn untested(tests: &FaultTests) -> Option<Block> {
    let is_tested = |label: &str| tests.tests.iter().any(|one| one.contender == label);
    let contenders = tests.info.contenders.iter();
    let untested = contenders.filter(|one| !is_tested(&one.label));
    let untested: Vec<String> = untested.map(|one| terms::printable(&one.label)).collect();
    let text = format!("Not tested: {}.", untested.join(", "));
    (!untested.is_empty()).then(|| Block::Paragraph(text.into()))
}

/// The outcomes of each fault in blocks of each role, a column for each contender.
fn of_roles(tests: &FaultTests, names: &[String], roles: impl Iterator<Item = BlockRole>) -> Table {
    let kinds = roles.flat_map(|role| {
        let faults = DiskFault::OF_SECTORS.into_iter();
        faults.map(move |fault| (format!("{}: {fault}", role.name()), fault, Some(role)))
    });
    by_contender("Outcomes of faults", (tests, names), kinds)
}

/// The outcomes of each fault of a whole disk, a column for each contender with several; none without
/// such faults.
fn of_disks(tests: &FaultTests, names: &[String]) -> Option<Table> {
    let has = |name: &&String| tests.of(name).any(|one| one.role.is_none());
    let names: Vec<String> = names.iter().filter(has).cloned().collect();
    let kinds = DiskFault::OF_DISKS.into_iter();
    let kinds = kinds.map(|fault| (fault.name().to_owned(), fault, None));
    let title = "Outcomes of faults of a whole disk";
    (!names.is_empty()).then(|| by_contender(title, (tests, &names), kinds))
}

/// The times with slow disks and of rebuilds, a row for each contender; none without any.
fn of_times(tests: &FaultTests, names: &[String]) -> Option<Table> {
    let columns = [
        Column::of_text("reading"),
        Column::of_text("writing"),
        Column::new("reads from it"),
        Column::new("without fault"),
        Column::new("rebuild"),
    ];
    let rows = names.iter().filter_map(|name| {
        let slow = SlowDisks::among(tests.of(name));
        let rebuilt = tests
            .of(name)
            .filter_map(|one| Some(seconds(one.rebuilt_ns?)));
        let rebuilt = median(&rebuilt.collect::<Vec<f64>>());
        if slow.is_none() && rebuilt.is_none() {
            return None;
        }
        let times = |of: fn(&SlowDisks) -> (f64, f64)| {
            Cell::known(slow.as_ref().map(of), |ends| Cell::Text(factors(ends)))
        };
        let of_slow = |of: fn(&SlowDisks) -> f64| slow.as_ref().map(of);
        let share =
            |of: fn(&SlowDisks) -> f64| Cell::known(of_slow(of), |of| Cell::Percent(100.0 * of));
        let cells = vec![
            times(|one| one.reading),
            times(|one| one.writing),
            share(|one| one.share),
            share(|one| one.usual_share),
            Cell::known(rebuilt, |s| {
                Cell::Duration(Duration::from_secs_f64(s).into())
            }),
        ];
        Some(Row::new(Label::contender(terms::printable(name)), cells))
    });
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        overflow: Overflow::Split,
        ..Table::new("Slow disks and rebuilds", "contender", columns, rows)
    })
}

fn seconds(ns: Nanos) -> f64 {
    Duration::from_nanos(ns.0).as_secs_f64()
}

/// The tests with a slow disk in which nothing failed.
struct SlowDisks {
    tests: usize,
    /// The smallest and the largest factor of times.
    reading: (f64, f64),
    writing: (f64, f64),
    /// The part of the reads that goes to the disk, and that without the fault.
    share: f64,
    usual_share: f64,
    /// In how many tests a message of the kernel was there.
    logged: usize,
}

impl SlowDisks {
    fn among<'a>(faults: impl Iterator<Item = &'a InjectedFault>) -> Option<Self> {
        let with_work: Vec<(&InjectedFault, SlowWork)> =
            { faults.filter_map(|one| Some((one, one.slow?))) }.collect();
        let ends = |of: &dyn Fn(&SlowWork) -> f64| {
            let figures = with_work.iter().map(|(_, work)| of(work));
            let ends = (f64::INFINITY, 0.0_f64);
            figures.fold(ends, |ends, one| (ends.0.min(one), ends.1.max(one)))
        };
        let share = |of: &dyn Fn(&SlowWork) -> DiskWork| {
            let works = with_work.iter().map(|(_, work)| of(work));
            let (own, all) = works.fold((0, 0), |sum, one| {
                (sum.0 + one.reads, sum.1 + one.reads_of_all)
            });
            (all > 0).then(|| own as f64 / all as f64)
        };
        Some(Self {
            tests: with_work.len(),
            reading: ends(&|work| work.ratios().0),
            writing: ends(&|work| work.ratios().1),
            share: share(&|work| work.with)?,
            usual_share: share(&|work| work.without)?,
            logged: { with_work.iter() }
                .filter(|(one, _)| one.outcome == FaultOutcome::SlowLogged)
                .count(),
        })
    }
}

/// `1.02`, `1.02 to 19.4`.
fn factors((low, high): (f64, f64)) -> String {
    let [low, high] = [low, high].map(terms::ratio);
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// A mirror reads at most this part of what it read before of a disk that it avoids.
const AVOIDED: f64 = 0.5;

/// How much slower work becomes with a slow disk, and whether anything reports or avoids it.
fn of_slow_disks(tests: &FaultTests) -> Vec<String> {
    let contenders = tests.info.contenders.iter();
    let all = contenders.filter_map(|one| Some((one, SlowDisks::among(tests.of(&one.label))?)));
    let all: Vec<(&Contender, SlowDisks)> = all.collect();
    if all.is_empty() {
        return Vec::new();
    }
    let name = |one: &Contender| terms::printable(&one.label);
    let times = all.iter().map(|(one, slow)| {
        let (reading, writing) = (factors(slow.reading), factors(slow.writing));
        format!("{} {reading} and {writing}", name(one))
    });
    let times: Vec<String> = times.collect();
    let count = |of: fn(&SlowDisks) -> usize| all.iter().map(|(_, slow)| of(slow)).sum::<usize>();
    let reported = match count(|slow| slow.logged) {
        0 => "Neither an error nor a message of the kernel showed it".to_owned(),
        logged => format!(
            "The kernel log had a message in {logged} of {} tests, and no call failed",
            count(|slow| slow.tests)
        ),
    };
    let mut sentences = vec![format!(
        "If one disk takes {} times as long for all that it does, the times of reading all files and of \
         writing with fsync are multiplied by: {}. {reported}.",
        DiskFault::SLOWNESS,
        times.join("; ")
    )];
    let several = all.iter().filter(|(one, _)| one.layout.devices > 1);
    let (avoid, use_it): (Vec<_>, Vec<_>) =
        several.partition(|(_, slow)| slow.share <= AVOIDED * slow.usual_share);
    for (those, what) in [
        (avoid, "read less from the slow disk"),
        (use_it, "kept reading from the slow disk"),
    ] {
        let those: Vec<String> = those.iter().map(|(one, _)| name(one)).collect();
        if !those.is_empty() {
            sentences.push(format!("{} {what}.", terms::list(&those)));
        }
    }
    sentences
}

/// What became of a disk that died and returned; none if that was not tested.
fn of_rebuilt(tests: &FaultTests, name: &str) -> Option<String> {
    let rebuilt = tests
        .of(name)
        .filter(|one| one.fault == DiskFault::ReturnedDisk);
    let outcomes: Vec<FaultOutcome> = rebuilt.map(|one| one.outcome).collect();
    let of = "after a disk had died, returned and been rebuilt or scrubbed";
    if outcomes.is_empty() {
        return None;
    }
    let silent = share(&outcomes, |one| one == FaultOutcome::WrongData);
    let unprotected = share(&outcomes, |one| one == FaultOutcome::Unprotected);
    let full = share(&outcomes, |one| one == FaultOutcome::Rebuilt);
    Some(match (silent, unprotected, full) {
        (Some(silent), ..) => format!("silently returned wrong data in {silent} tests {of}"),
        (_, Some(bad), _) => {
            format!("did not survive the loss of another disk in {bad} tests {of}")
        }
        (.., Some(full)) => format!("survived the loss of another disk in {full} tests {of}"),
        (None, None, None) => format!("failed {of}"),
    })
}

/// The outcomes of some kinds of faults, a column for each contender.
fn by_contender(
    title: &str,
    (tests, names): (&FaultTests, &[String]),
    kinds: impl Iterator<Item = (String, DiskFault, Option<BlockRole>)>,
) -> Table {
    let columns = names.iter().map(|name| {
        let name = Label::contender(terms::printable(name));
        Column {
            is_text: true,
            ..Column::new(name)
        }
    });
    let columns = columns.collect::<Vec<_>>();
    let mut rows = Vec::new();
    for (title, fault, role) in kinds {
        let cells = names.iter().map(|name| {
            let chosen = tests
                .of(name)
                .filter(|one| one.fault == fault && one.role == role);
            Some(outcomes(chosen)).filter(|text| !text.is_empty())
        });
        let cells: Vec<Option<String>> = cells.collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter();
            let cells = cells.map(|text| text.map_or(Cell::Empty, Cell::Text));
            rows.push(Row::new(title, cells.collect()));
        }
    }
    Table {
        overflow: Overflow::Split,
        ..Table::new(title, "fault", columns, rows)
    }
}

/// How often each outcome followed a fault of metadata, a row for each contender.
fn of_metadata(tests: &FaultTests, names: &[String]) -> Table {
    let of_metadata = |name| tests.of(name).filter(|one| one.is_of_metadata());
    let seen: BTreeSet<FaultOutcome> = names
        .iter()
        .flat_map(|name| of_metadata(name).map(|one| one.outcome))
        .collect();
    let columns = seen.iter().map(|outcome| Column::new(short_name(*outcome)));
    let rows = names.iter().map(|name| {
        let cells = seen.iter().map(|outcome| {
            let count = of_metadata(name).filter(|one| one.outcome == *outcome);
            Cell::Count(count.count() as u64)
        });
        Row::new(Label::contender(terms::printable(name)), cells.collect())
    });
    let rows: Vec<Row> = rows.collect();
    Table {
        overflow: Overflow::Split,
        ..Table::new(
            "Outcomes of faults of metadata",
            "contender",
            columns.collect::<Vec<_>>(),
            rows,
        )
    }
}

/// Every fault, for CSV.
pub fn figures(tests: &FaultTests) -> Table {
    let columns = ["fault", "role", "disk", "sector", "outcome", "detail"].map(Column::of_text);
    let rows = tests.faults().map(|(contender, one)| {
        let cells = vec![
            Cell::Text(one.fault.name().to_owned()),
            one.role
                .map_or(Cell::Empty, |role| Cell::Text(role.name().to_owned())),
            Cell::Count(one.disk.into()),
            Cell::Count(one.sector),
            Cell::Text(short_name(one.outcome).to_owned()),
            Cell::Text(terms::printable(one.detail.as_deref().unwrap_or_default())),
        ];
        Row::new(terms::printable(contender), cells)
    });
    Table::new("faults", "contender", columns, rows)
}

/// The answer: which file systems silently return wrong data, and what works without a disk.
pub fn sentences(tests: &FaultTests) -> Vec<String> {
    let names: Vec<&str> = tests.tests.iter().map(|one| &*one.contender).collect();
    let mut sentences = Vec::new();
    if tests.info.stop != Some(StopReason::Complete) {
        sentences.push("The tests did not end: some faults were not injected.".to_owned());
    }
    let each = |of: &dyn Fn(&str) -> Option<String>| {
        let all = names.iter().filter_map(|name| Some((*name, of(name)?)));
        together(all)
    };
    if tests.info.kinds.contains(&DiskFault::BitFlip) {
        sentences.extend(each(&|name| Some(of_flipped_data(tests, name))));
    }
    let lost = names.iter().filter_map(|name| {
        let metadata = tests.of(name).filter(|one| one.is_of_metadata());
        let metadata: Vec<FaultOutcome> = metadata.map(|one| one.outcome).collect();
        let bad = metadata.iter().filter(|one| one.is_loss()).count();
        let name = terms::printable(name);
        (!metadata.is_empty()).then(|| (bad, format!("{name} {}", part(bad, metadata.len()))))
    });
    let lost: Vec<(usize, String)> = lost.collect();
    if lost.iter().any(|(bad, _)| *bad > 0) {
        let lost: Vec<String> = lost.into_iter().map(|(_, text)| text).collect();
        sentences.push(format!(
            "Faults of metadata after which files were wrong, gone or out of reach, or the kernel \
             stopped: {}.",
            lost.join("; ")
        ));
    }
    sentences.extend(each(&|name| {
        DeadDisks::among(tests.of(name)).map(DeadDisks::describe)
    }));
    sentences.extend(each(&|name| of_old_disk(tests, name)));
    sentences.extend(each(&|name| of_rebuilt(tests, name)));
    sentences.extend(of_slow_disks(tests));
    sentences
}

/// A sentence for all contenders that did the same.
fn together<'n>(all: impl Iterator<Item = (&'n str, String)>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, did) in all {
        let name = terms::printable(name);
        match groups.iter_mut().find(|(other, _)| *other == did) {
            Some((_, names)) => names.push(name),
            None => groups.push((did, vec![name])),
        }
    }
    let sentence = |(did, names): (String, Vec<String>)| {
        let each = if names.len() > 1 { " each" } else { "" };
        format!("{}{each} {did}.", terms::list(&names))
    };
    groups.into_iter().map(sentence).collect()
}

/// What a contender did with flipped data blocks.
fn of_flipped_data(tests: &FaultTests, name: &str) -> String {
    let is_flipped =
        |one: &&InjectedFault| one.fault == DiskFault::BitFlip && one.role == Some(BlockRole::Data);
    let flipped: Vec<FaultOutcome> = { tests.of(name).filter(is_flipped) }
        .map(|one| one.outcome)
        .collect();
    let silent = share(&flipped, |one| one == FaultOutcome::WrongData);
    let healed = share(&flipped, |one| {
        matches!(one, FaultOutcome::Healed | FaultOutcome::HealedByScrub)
    });
    let noticed = share(&flipped, |one| {
        !matches!(one, FaultOutcome::WrongData | FaultOutcome::NoEffect)
    });
    match (silent, healed, noticed) {
        (Some(silent), ..) => {
            format!("silently returned wrong data for {silent} flipped data blocks")
        }
        (_, Some(healed), _) => format!("repaired {healed} flipped data blocks"),
        (_, _, Some(noticed)) => format!("noticed {noticed} flipped data blocks"),
        (None, None, None) if flipped.is_empty() => {
            "was not tested with flipped data blocks".to_owned()
        }
        (None, None, None) => "noticed no flipped data block".to_owned(),
    }
}

/// What a contender did with old contents of one of its disks; none if that was not tested.
fn of_old_disk(tests: &FaultTests, name: &str) -> Option<String> {
    let old = tests.of(name).filter(|one| one.fault == DiskFault::OldDisk);
    let outcomes: Vec<FaultOutcome> = old.map(|one| one.outcome).collect();
    let silent = share(&outcomes, |one| one == FaultOutcome::WrongData);
    let bad = share(&outcomes, FaultOutcome::is_loss);
    let of = "tests with old contents of a disk";
    match (silent, bad) {
        _ if outcomes.is_empty() => None,
        (Some(silent), _) => Some(format!("silently returned wrong data in {silent} {of}")),
        (None, Some(bad)) => Some(format!("lost data in {bad} {of}")),
        (None, None) => Some(format!("had all data in {} {of}", outcomes.len())),
    }
}

/// `9 of 10 (55-100 %)`; none if there is none.
fn share(outcomes: &[FaultOutcome], counts: impl Fn(FaultOutcome) -> bool) -> Option<String> {
    let hits = outcomes.iter().filter(|one| counts(**one)).count();
    (hits > 0).then(|| part(hits, outcomes.len()))
}

/// `9 of 10 (55-100 %)`.
fn part(hits: usize, all: usize) -> String {
    let interval = proportion_interval(hits as u64, all as u64);
    format!(
        "{hits} of {all} ({:.0}\u{2013}{:.0} %)",
        interval.low * 100.0,
        interval.high * 100.0
    )
}

/// `wrong 9, none 1`.
fn outcomes<'a>(faults: impl Iterator<Item = &'a InjectedFault>) -> String {
    let mut counts: BTreeMap<FaultOutcome, usize> = BTreeMap::new();
    for one in faults {
        *counts.entry(one.outcome).or_default() += 1;
    }
    let counts = counts.into_iter();
    let parts: Vec<String> = counts
        .map(|(outcome, count)| format!("{} {count}", short_name(outcome)))
        .collect();
    parts.join(", ")
}

fn short_name(outcome: FaultOutcome) -> &'static str {
    match outcome {
        FaultOutcome::WrongData => "WRONG",
        FaultOutcome::WrongDataLogged => "wrong+log",
        FaultOutcome::Unmountable => "unmountable",
        FaultOutcome::Damaged => "damaged",
        FaultOutcome::Crash => "crash",
        FaultOutcome::Hang => "hang",
        FaultOutcome::ReadOnly => "read-only",
        FaultOutcome::Error => "error",
        FaultOutcome::Repaired => "repaired",
        FaultOutcome::Unprotected => "unprotected",
        FaultOutcome::MountedDegraded => "degraded-mount",
        FaultOutcome::Degraded => "degraded",
        FaultOutcome::SlowLogged => "slow+log",
        FaultOutcome::Slow => "slow",
        FaultOutcome::Rebuilt => "rebuilt",
        FaultOutcome::Warning => "log",
        FaultOutcome::FoundByCheck => "check",
        FaultOutcome::HealedByScrub => "scrub",
        FaultOutcome::Healed => "healed",
        FaultOutcome::NoEffect => "none",
    }
}

fn meaning(outcome: FaultOutcome) -> &'static str {
    match outcome {
        FaultOutcome::WrongData => {
            "silently wrong data or names: no error, no message of the kernel"
        }
        FaultOutcome::WrongDataLogged => {
            "wrong data or names, with a message of the kernel or an error elsewhere"
        }
        FaultOutcome::Unmountable => {
            "cannot be mounted, also after its routine repair if it has one"
        }
        FaultOutcome::Damaged => "files damaged or gone after a repair",
        FaultOutcome::Crash => "the kernel crashed",
        FaultOutcome::Hang => "the kernel hung",
        FaultOutcome::ReadOnly => "became read-only",
        FaultOutcome::Error => "a system call failed, the rest is right",
        FaultOutcome::Repaired => "the repair program restored all",
        FaultOutcome::MountedDegraded => "works without the disk once mounted as degraded",
        FaultOutcome::Degraded => "works without the disk",
        FaultOutcome::Unprotected => {
            "right after the disk was rebuilt or scrubbed, but not without another one"
        }
        FaultOutcome::SlowLogged => "right and slower, and the kernel log has a message",
        FaultOutcome::Slow => "right and slower, and nothing reports it",
        FaultOutcome::Rebuilt => {
            "right after the disk was rebuilt or scrubbed, also without another one"
        }
        FaultOutcome::Warning => "only the kernel log has a message",
        FaultOutcome::FoundByCheck => "only the checker or a scrub finds it",
        FaultOutcome::HealedByScrub => "a scrub restores the block",
        FaultOutcome::Healed => "the block was restored",
        FaultOutcome::NoEffect => "no effect",
    }
}
