//! The guest of the crash explorer: it performs programs on a recorded disk and recovers the states
//! that the host puts there. Without the lab kernel, the tests are skipped by name.

mod support;

use fsdyno_crash::{
    Data, EntryKind, Operation, Program, Source, Target, Trace, TraceEvent, Tree, WriteKind,
};
use fsdyno_host::journal::Journal;
use fsdyno_lab::GuestLab;
use fsdyno_lab::explorer::{
    Checker, Contents, ExplorerGuest, Performed, Prepared, RecoveryOptions, RecoveryReport,
};
use fsdyno_model::{Bytes, CancelToken, Contender, GuestSize, KernelChoice, LabChoice};
use std::path::{Path, PathBuf};
use std::time::Instant;
use support::{have, lab_kernel};

/// A lab in a directory of its own.
struct Lab {
    directory: tempfile::TempDir,
    lab: GuestLab,
}

impl Lab {
    fn new(kernel: PathBuf) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(&directory.path().join("journal")).unwrap();
        let size = GuestSize {
            memory: Bytes(256 << 20),
            kernel: Some(KernelChoice::File(kernel)),
            ..GuestSize::default()
        };
        let scratch = directory.path().to_owned();
        let (choice, stop) = (LabChoice::Uml, CancelToken::new());
        let lab = GuestLab::for_crash_tests(&choice, size, scratch, journal, stop);
        let program = Path::new(env!("CARGO_BIN_EXE_fsdyno"));
        let lab = lab.unwrap().with_program(program);
        Self { directory, lab }
    }

    fn guest(&self, contender: &Contender, size: u64) -> ExplorerGuest<'_> {
        let model = fsdyno_lab::model_disk(Path::new("sata-2008")).unwrap();
        ExplorerGuest::start(&self.lab, contender, &model, Bytes(size)).unwrap()
    }
}

fn target(path: &str) -> Target {
    Target::Path(path.to_owned())
}

/// A file that is written and fsynced, then renamed.
fn program() -> Program {
    let path = |path: &str| path.to_owned();
    let write = |length| Operation::Write {
        target: target("A/foo"),
        offset: None,
        length,
        kind: WriteKind::Plain,
    };
    Program {
        setup: vec![Operation::Mkdir { path: path("A") }],
        operations: vec![
            Operation::Create {
                path: path("A/foo"),
            },
            write(8192),
            Operation::Fsync {
                target: target("A/foo"),
            },
            Operation::Rename {
                from: path("A/foo"),
                to: path("A/bar"),
            },
            Operation::Fsync {
                target: target("A"),
            },
        ],
    }
}

/// The contents after all requests up to an event.
fn state(performed: &Performed, events: usize) -> Contents {
    let mut contents = Contents::of(performed.base.clone());
    for event in &performed.trace.events[..events] {
        let TraceEvent::Write { sector, data, .. } = event else {
            continue;
        };
        match data {
            Data::Bytes(bytes) => contents.put(*sector, bytes),
            Data::Zeros { sectors } | Data::Discarded { sectors } => {
                contents.put(*sector, &vec![0; usize::try_from(sectors * 512).unwrap()]);
            }
        }
    }
    contents
}

fn returned(trace: &Trace, operation: u32) -> usize {
    let mark = TraceEvent::Returned { operation };
    trace
        .events
        .iter()
        .position(|event| *event == mark)
        .unwrap()
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.entries.keys().map(String::as_str).collect()
}

const THOROUGH: RecoveryOptions = RecoveryOptions {
    thorough: true,
    recorded: true,
};

fn report(guest: &mut ExplorerGuest<'_>, state: Contents) -> RecoveryReport {
    let recovered = guest.recover(state, THOROUGH).unwrap();
    *recovered.end.unwrap()
}

fn prepared(guest: &mut ExplorerGuest<'_>) -> (Prepared, Performed) {
    let prepared = guest.prepare().unwrap();
    let performed = guest.perform(&prepared.base, &program()).unwrap();
    assert_eq!(performed.failed, None);
    (prepared, performed)
}

/// Every mark of an fsync comes after the flush that made it durable, and after the writes before.
fn assert_ordered(trace: &Trace) {
    let mut open = 0;
    let mut flushed = 0;
    for event in &trace.events {
        match event {
            TraceEvent::Flush { .. } | TraceEvent::Write { .. } => open += 1,
            TraceEvent::Completed { .. } => {
                open -= 1;
                flushed += 1;
            }
            TraceEvent::Returned { operation: 3 | 5 } => {
                assert!(flushed > 0, "{trace:?}");
                flushed = 0;
            }
            _ => {}
        }
    }
    assert_eq!(open, 0);
}

fn check(name: &str, programs: &[&str], size: u64) {
    let test = format!("the_guest_recovers_the_states_of_{name}");
    let Some(kernel) = lab_kernel(&test).filter(|_| have(programs, &test)) else {
        return;
    };
    let lab = Lab::new(kernel);
    let contender = Contender::plain(name);
    let began = Instant::now();
    let mut guest = lab.guest(&contender, size);
    println!("{}: boot {:?}", guest.about(), began.elapsed());
    let began = Instant::now();
    let (prepared, performed) = self::prepared(&mut guest);
    println!(
        "prepare and perform {:?}, {} events",
        began.elapsed(),
        performed.trace.events.len()
    );
    assert_ordered(&performed.trace);
    let with = |more: &[&str]| {
        let mut all: Vec<&str> = paths(&prepared.tree);
        all.extend(more);
        all.sort_unstable();
        all.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = performed.trace.events.len();
    let synced = returned(&performed.trace, 3);
    let renamed = returned(&performed.trace, 5);
    for (events, expected) in [
        (0, with(&["A"])),
        (synced, with(&["A", "A/foo"])),
        (renamed, with(&["A", "A/bar"])),
        (all, with(&["A", "A/bar"])),
    ] {
        let report = report(&mut guest, state(&performed, events));
        assert_eq!(report.refused, None, "{events}: {report:?}");
        assert_eq!(
            (report.unstable, report.unusable, report.stuck),
            (None, None, None)
        );
        let tree = report.tree.unwrap();
        assert_eq!(paths(&tree), expected, "{events} events");
        if let Some(entry) = tree.entries.get("A/bar") {
            let EntryKind::File { size, runs } = &entry.kind else {
                panic!("{entry:?}");
            };
            assert_eq!((*size, runs.len()), (8192, 1));
            assert_eq!(runs[0].source, Source::Operation(2));
        }
    }
    let mut trees = Vec::new();
    let mut reads = Vec::new();
    let began = Instant::now();
    for _ in 0..100 {
        let recovered = guest.recover(state(&performed, synced), RecoveryOptions::default());
        let recovered = recovered.unwrap();
        trees.push(recovered.end.unwrap().tree.unwrap());
        reads.push(recovered.reads);
    }
    println!("{name}: {:?} a state", began.elapsed() / 100);
    assert!(trees.iter().all(|tree| *tree == trees[0]));
    assert!(
        reads.iter().all(|read| *read == reads[0]),
        "{name} reads differ"
    );
    let began = Instant::now();
    let recovered = guest.recover(state(&performed, synced), THOROUGH).unwrap();
    println!(
        "thorough {:?}, {} reads",
        began.elapsed(),
        recovered.reads.len()
    );
    let checker = Checker::new(&lab.lab, &contender, &performed.base).unwrap();
    let mut checker = checker.unwrap();
    let began = Instant::now();
    let found = checker.check(&performed.base, &recovered.changes).unwrap();
    println!("check {:?}", began.elapsed());
    assert_eq!(found, None);
    let mut lost = state(&performed, synced);
    lost.lose(0..1 << 11);
    let lost = report(&mut guest, lost);
    assert!(lost.refused.is_some(), "{lost:?}");
    println!("unreadable: {:?} {:?}", lost.refused, lost.kernel);
    // The guest is alive.
    let report = report(&mut guest, state(&performed, all));
    assert_eq!(paths(&report.tree.unwrap()), with(&["A", "A/bar"]));
    drop(guest);
    drop(checker);
    let left: Vec<_> = std::fs::read_dir(lab.directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the journal: {left:?}");
}

#[test]
fn the_guest_recovers_the_states_of_ext4() {
    check("ext4", &["mkfs.ext4", "e2fsck"], 64 << 20); // example
}

#[test]
fn the_guest_recovers_the_states_of_btrfs() {
    check("btrfs", &["mkfs.btrfs", "btrfs"], 128 << 20); // example
}

#[test]
fn the_guest_recovers_the_states_of_xfs() {
    check("xfs", &["mkfs.xfs", "xfs_repair"], 300 << 20); // example
}
