//! Runs of ranks that are threads.

use super::cells::RankRun;
use super::{End, Environment, SHORT, agree};
use crate::group::{Alarm, Group as _, Wait, threads};
use crate::options::Options;
use clap::{Args as _, FromArgMatches as _};
use fsdyno_model::{CancelToken, CellRecord, Event, Figure, Outcome, Sample, Stage, Warning};
use std::fs;
use std::path::{Path, PathBuf};

/// The options of a run of these phases with these settings.
fn options(directory: &Path, phases: &str, arguments: &[&str], settings: &[&str]) -> Options {
    let command = Options::augment_args(clap::Command::new("fsdyno-mpi"));
    let directory = directory.display().to_string();
    let words = ["fsdyno-mpi", &directory, "--phases", phases]
        .into_iter()
        .chain(arguments.iter().copied())
        .chain(settings.iter().flat_map(|setting| ["--set", setting]));
    Options::from_arg_matches(&command.get_matches_from(words)).unwrap()
}

/// Runs the ranks as threads; returns the end of each, and the cells.
fn run(size: usize, options: &Options, stop: &CancelToken) -> (Vec<End>, Vec<CellRecord>) {
    let alarm = Alarm::default();
    let results = threads::run(size, |group| {
        let environment = Environment {
            program: Path::new("/nonexistent"),
            store: PathBuf::new(),
            addresses: Vec::new(),
            library: "threads".to_owned(),
            command_line: Vec::new(),
            stop,
            signals: None,
            alarm: &alarm,
        };
        let wait = Wait::new(&alarm, SHORT, "test");
        let (plan, members) = agree(group, options, &wait).unwrap().unwrap();
        let mut conduct = RankRun {
            group,
            options,
            environment: &environment,
            plan: &plan,
            members: &members,
            record: (group.rank() == 0).then(Vec::<Event>::new),
            failed: false,
        };
        let end = conduct.all().unwrap();
        (end, conduct.record.unwrap_or_default())
    });
    let ends = results.iter().map(|(end, _)| *end).collect();
    let cells = results.into_iter().flat_map(|(_, events)| events);
    let cells = cells.filter_map(|event| match event {
        Event::CellEnded { record } => Some(*record),
        _ => None,
    });
    (ends, cells.collect())
}

fn figure(sample: &Sample, name: &str) -> f64 {
    let found = sample.figures.iter().find(|one: &&Figure| one.name == name);
    found
        .unwrap_or_else(|| panic!("{name}: {:?}", sample.figures))
        .value
}

const PHASES: &str = "op-create as-is,op-stat as-is,op-open as-is,op-rename as-is,\
                      op-link as-is,op-mkdir as-is,op-rmdir as-is,op-unlink as-is,\
                      op-write as-is,op-read as-is,op-random-write as-is";

#[test]
fn ranks_share_the_work_and_read_what_others_wrote() {
    for place in ["private", "shared"] {
        let directory = tempfile::tempdir().unwrap();
        let place = format!("op.place={place}");
        let set = [
            "op.files=50",
            "op.bytes=100",
            "op.size=1152K",
            "op.block=4K",
            "op.operations=100",
            "op.blocks=strided",
            "op.files-per-dir=7",
            &place,
        ];
        let arguments = ["-n", "1", "--clients", "1,3"];
        let options = options(directory.path(), PHASES, &arguments, &set);
        let (ends, cells) = run(3, &options, &CancelToken::new());
        assert_eq!(ends, [End::Complete; 3], "{cells:#?}");
        assert_eq!(cells.len(), 2);
        for cell in &cells {
            assert_eq!(cell.outcome, Outcome::Measured);
            for sample in &cell.samples {
                let count = match sample.kind.as_str() {
                    "op-write" | "op-read" => 288,
                    "op-random-write" | "op-rename" => 100,
                    _ => 50,
                };
                assert_eq!(sample.latencies[0].count, count, "{}", sample.kind);
                let last = figure(sample, "last rank's end");
                assert!(figure(sample, "first rank's end") <= last);
                assert!((last - sample.return_ns.0 as f64).abs() < 1.0);
            }
            let bytes: Vec<u64> = cell.samples.iter().map(|one| one.tally.bytes.0).collect();
            assert_eq!(bytes[0], 5000);
            assert_eq!(bytes[2], 5000, "all files of other ranks were read");
            assert_eq!(bytes[9], 288 << 12);
            let ranks = cell
                .effective
                .iter()
                .find(|one| one.source == "ranks")
                .unwrap();
            assert!(
                ranks.text.contains("op-unlink: first end"),
                "{}",
                ranks.text
            );
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_stonewall_ends_phases_and_later_ones_find_what_was_made() {
    for place in ["private", "shared"] {
        let directory = tempfile::tempdir().unwrap();
        let place = format!("op.place={place}");
        // At this rate the whole work of a phase takes days.
        let set = [
            "op.files=90000000",
            "op.files-per-dir=90000000",
            "op.bytes=100",
            "op.size=90000M",
            "op.block=4K",
            "op-create.rate=300",
            "op-write.rate=300",
            &place,
        ];
        let phases = "op-create as-is,op-stat as-is,op-open as-is,op-rename as-is,\
                      op-unlink as-is,op-write as-is,op-read as-is";
        let arguments = ["-n", "1", "--stonewall", "0.2"];
        let options = options(directory.path(), phases, &arguments, &set);
        let (ends, cells) = run(2, &options, &CancelToken::new());
        // The comparison of files expects exactly what was made.
        assert_eq!(ends, [End::Complete; 2], "{cells:#?}");
        let samples = &cells[0].samples;
        let files: Vec<u64> = samples[..5].iter().map(|one| one.tally.files).collect();
        assert!(files[0] > 0 && files[0] < 90_000_000, "{files:?}");
        assert_eq!(
            files[3..],
            [files[0]; 2],
            "all made files are renamed and removed"
        );
        let bytes = |at: usize| samples[at].tally.bytes.0;
        assert_eq!(bytes(0), files[0] * 100);
        assert!(bytes(5) > 0 && bytes(6) > 0 && bytes(6) <= bytes(5));
        for stopped in [0, 5] {
            let sample = &samples[stopped];
            let of = |which: &str| figure(sample, &format!("{which} operations of a rank"));
            let all = sample.latencies[0].count as f64;
            assert!((of("mean") - all / 2.0).abs() < 0.1);
            assert!(of("fewest") <= of("mean") && of("mean") <= of("most"));
            let warned = |one: &Warning| one.message.contains("the stonewall ended 2 of 2");
            assert!(sample.warnings.iter().any(warned), "{:?}", sample.warnings);
        }
        let complete = &samples[4];
        let warned = |one: &Warning| one.message.contains("an earlier stonewall left");
        assert!(complete.warnings.iter().any(warned));
        let figures: Vec<&String> = complete.figures.iter().map(|one| &one.name).collect();
        assert!(!figures.iter().any(|name| name.contains("of a rank")));
    }
}

#[test]
fn phases_on_trees_run_on_every_rank() {
    let directory = tempfile::tempdir().unwrap();
    let phases = "copy as-is,read as-is,stat-walk as-is,delete as-is";
    let arguments = ["-n", "1", "--dataset", "portage", "--scale", "0.001"];
    let options = options(directory.path(), phases, &arguments, &[]);
    let (ends, cells) = run(2, &options, &CancelToken::new());
    assert_eq!(ends, [End::Complete; 2], "{cells:#?}");
    let files: Vec<u64> = cells[0].samples.iter().map(|one| one.tally.files).collect();
    assert!(files[0] > 0 && files[0].is_multiple_of(2), "{files:?}");
    assert_eq!(files[0], files[1]);
    assert!(
        cells[0]
            .samples
            .iter()
            .all(|one| one.latencies[0].operation == "file")
    );
}

#[test]
fn phases_of_mongo_and_bonnie_run_on_every_rank() {
    let directory = tempfile::tempdir().unwrap();
    let phases = "mongo-create as-is,mongo-read as-is,mongo-delete as-is,\
                  bonnie-create as-is,bonnie-stat as-is,bonnie-delete as-is,\
                  bonnie-write as-is,bonnie-read as-is";
    let set = ["mongo.bytes=100K", "bonnie.files=30", "bonnie.size=64K"];
    let arguments = ["-n", "1", "--clients", "1,2"];
    let options = options(directory.path(), phases, &arguments, &set);
    let (ends, cells) = run(2, &options, &CancelToken::new());
    assert_eq!(ends, [End::Complete; 2], "{cells:#?}");
    let tallies = |clients: u32| -> Vec<(u64, u64)> {
        let mut cells = cells.iter();
        let cell = cells.find(|one| one.cell.workload == clients - 1).unwrap();
        let tallies = cell.samples.iter().map(|one| one.tally);
        tallies.map(|tally| (tally.files, tally.bytes.0)).collect()
    };
    let (one, two) = (tallies(1), tallies(2));
    assert!(one[..6].iter().all(|(files, _)| *files > 0), "{one:?}");
    assert_eq!(one[3].0, 30);
    assert_eq!(one[6].1, 64 << 10);
    let twice = one.iter().map(|(files, bytes)| (2 * files, 2 * bytes));
    assert_eq!(
        two,
        twice.collect::<Vec<_>>(),
        "each rank has its own files"
    );
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    let stop = CancelToken::new();
    stop.request();
    let options = options(directory.path(), "op-create as-is", &["-n", "2"], &[]);
    let (ends, cells) = run(2, &options, &stop);
    assert_eq!(ends, [End::Interrupted; 2]);
    assert_eq!(cells.len(), 1, "the second repeat does not begin");
    assert!(matches!(&cells[0].outcome, Outcome::Failed(_)));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn files_that_another_rank_lost_fail_the_cell_by_name() {
    let directory = tempfile::tempdir().unwrap();
    // The file system loses every file: the phase that reads them finds none.
    let phases = "op-create as-is,op-unlink as-is,op-stat as-is";
    let options = options(directory.path(), phases, &["-n", "1"], &["op.files=4"]);
    let (ends, cells) = run(2, &options, &CancelToken::new());
    assert_eq!(ends, [End::Failed; 2]);
    let Outcome::Failed(failure) = &cells[0].outcome else {
        panic!("{cells:?}");
    };
    assert_eq!(failure.stage, Stage::Phase("op-stat".to_owned()));
    assert_eq!(failure.errno.as_deref(), Some("ENOENT"));
    assert!(failure.message.contains("rank 0 (") && failure.message.contains("rank 1 ("));
    assert_eq!(
        cells[0].samples.len(),
        2,
        "what was measured before is kept"
    );
}
