//! The guest of the crash explorer: it performs programs on a recorded disk and recovers the states
//! that the host puts there. Without the lab kernel, the tests are skipped by name.

use crate::support::{have, lab_kernel};
use fsdyno_crash::{
    CrashStates, Data, EntryKind, Equivalence, Operation, Program, Role, Source, Target, Trace,
    TraceEvent, Tree, WriteKind,
};
use fsdyno_host::journal::Journal;
use fsdyno_lab::explorer::{
    Checker, Contents, ExplorerGuest, Performed, Prepared, RecoveryOptions, RecoveryReport,
    SectorSet, disk_size,
};
use fsdyno_lab::{GuestLab, GuestLabError};
use fsdyno_model::{Bytes, CancelToken, Contender, GuestSize, KernelChoice, LabChoice, StateClass};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A lab in a directory of its own.
struct Lab {
    directory: tempfile::TempDir,
    guests: GuestLab,
    stop: CancelToken,
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
        let lab = GuestLab::for_crash_tests(&choice, size, scratch, journal, stop.clone());
        let program = Path::new(env!("CARGO_BIN_EXE_fsdyno"));
        let lab = lab.unwrap().with_program(program);
        Self {
            directory,
            guests: lab,
            stop,
        }
    }

    fn guest(&self, contender: &Contender) -> ExplorerGuest<'_> {
        let model = fsdyno_lab::model_disk(Path::new("sata-2008")).unwrap();
        let size = disk_size(contender);
        ExplorerGuest::start(&self.guests, contender, &model, size).unwrap()
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
    without: None,
    thorough: true,
    recorded: true,
    repair: false,
    trial: None,
    check: None,
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

/// Asserts that all requests of an fsync have completed when it has returned, a flush last.
fn assert_ordered(trace: &Trace) {
    let mut open = BTreeSet::new();
    let mut flushes = BTreeSet::new();
    let mut last = None;
    for event in &trace.events {
        match event {
            TraceEvent::Flush { order } => {
                flushes.insert(*order);
                assert!(open.insert(*order));
            }
            TraceEvent::Write { order, .. } => assert!(open.insert(*order)),
            TraceEvent::Completed { order } => {
                assert!(open.remove(order));
                last = Some(*order);
            }
            TraceEvent::Returned { operation: 3 | 5 } => {
                assert!(open.is_empty());
                assert!(last.take().is_some_and(|last| flushes.contains(&last)));
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
}

/// The test of a file system.
struct Case {
    name: &'static str,
    /// Its programs.
    needs: &'static [&'static str],
    /// Whether an fsync makes names durable, by a flush of the disk.
    names: bool,
    /// The number of recoveries of a state.
    repeats: u32,
}

fn check(case: &Case) {
    let test = format!("the_guest_recovers_the_states_of_{}", case.name);
    let Some(kernel) = lab_kernel(&test).filter(|_| have(case.needs, &test)) else {
        return;
    };
    let lab = Lab::new(kernel);
    let contender = Contender::plain(case.name);
    let mut guest = lab.guest(&contender);
    assert!(guest.about().starts_with("Linux "), "{}", guest.about());
    let (prepared, performed) = self::prepared(&mut guest);
    if case.names {
        assert_ordered(&performed.trace);
    }
    let with = |more: &[&str]| {
        let mut all: Vec<&str> = paths(&prepared.tree);
        all.extend(more);
        all.sort_unstable();
        all.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = performed.trace.events.len();
    let synced = returned(&performed.trace, 3);
    let renamed = returned(&performed.trace, 5);
    let (old, new) = (with(&["A", "A/foo"]), with(&["A", "A/bar"]));
    let mut states = vec![(0, with(&["A"])), (all, new.clone())];
    if case.names {
        states.extend([(synced, old), (renamed, new.clone())]);
    }
    for (events, expected) in states {
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
    assert_deterministic(case, &mut guest, &performed, synced);

    let recovered = guest.recover(state(&performed, synced), THOROUGH).unwrap();
    assert_eq!(
        recovered.trace.events.is_empty(),
        recovered.written.is_empty()
    );
    if let Some(mut checker) = Checker::new(&lab.guests, &contender, &performed.base).unwrap() {
        let found = checker.check(&performed.base, &recovered.changes).unwrap();
        assert_eq!(found, None);
        // Before the recovery its superblock is gone.
        let mut broken = Contents::of(performed.base.clone());
        broken.put(0, &vec![0xa5; 2 << 20]);
        let found = checker.check(&performed.base, broken.delta()).unwrap();
        assert!(found.is_some());
        let found = checker.check(&performed.base, &recovered.changes).unwrap();
        assert_eq!(found, None);
    }

    let mut lost = state(&performed, synced);
    lost.lose(0..1 << 12);
    let lost = report(&mut guest, lost);
    assert!(lost.refused.is_some(), "{lost:?}");
    // The guest is alive.
    let report = report(&mut guest, state(&performed, all));
    assert_eq!(paths(&report.tree.unwrap()), new);
    drop(guest);
    let left: Vec<_> = std::fs::read_dir(lab.directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the journal: {left:?}");
}

/// A state has one tree, however often it is recovered, and a program one trace.
fn assert_deterministic(
    case: &Case,
    guest: &mut ExplorerGuest<'_>,
    performed: &Performed,
    events: usize,
) {
    let mut first = None;
    for _ in 0..case.repeats {
        let state = state(performed, events);
        let recovered = guest.recover(state, RecoveryOptions::default()).unwrap();
        let report = recovered.end.unwrap();
        let found = (report.tree.unwrap(), recovered.reads);
        let first = first.get_or_insert_with(|| found.clone());
        assert!(first.0 == found.0, "{:?}", found.0);
        assert!(first.1 == found.1, "the order of reads differs");
    }
    let prepared = guest.prepare().unwrap();
    let again = guest.perform(&prepared.base, &program()).unwrap();
    assert!(again.trace == performed.trace);
    // A mkfs may write uninitialised memory to the log.
    if case.names {
        assert_eq!(again.base.differing(&performed.base), [0; 0]);
    }
}

/// The cases of file systems: examples of each kind of recovery.
const CASES: [Case; 9] = [
    Case {
        name: "ext2",
        needs: &["mkfs.ext2", "e2fsck"],
        names: false,
        repeats: 10,
    },
    Case {
        name: "ext3",
        needs: &["mkfs.ext3", "e2fsck"],
        names: true,
        repeats: 10,
    },
    Case {
        name: "ext4",
        needs: &["mkfs.ext4", "e2fsck"],
        names: true,
        repeats: 100,
    },
    Case {
        name: "xfs",
        needs: &["mkfs.xfs", "xfs_repair"],
        names: true,
        repeats: 100,
    },
    Case {
        name: "btrfs",
        needs: &["mkfs.btrfs", "btrfs"],
        names: true,
        repeats: 100,
    },
    Case {
        name: "reiserfs",
        needs: &["mkfs.reiserfs", "reiserfsck"],
        names: true,
        repeats: 10,
    },
    Case {
        name: "jfs",
        needs: &["mkfs.jfs", "jfs_fsck"],
        names: false,
        repeats: 10,
    },
    Case {
        name: "f2fs",
        needs: &["mkfs.f2fs", "fsck.f2fs"],
        names: true,
        repeats: 10,
    },
    Case {
        name: "nilfs2",
        needs: &["mkfs.nilfs2"],
        names: true,
        repeats: 10,
    },
];

#[test]
fn a_file_system_with_a_journal_is_recovered_in_one_guest() {
    check(&CASES[2]);
}

#[test]
fn a_file_system_that_copies_on_write_is_recovered_in_one_guest() {
    check(&CASES[4]);
}

#[test]
fn a_file_system_with_a_large_log_is_recovered_in_one_guest() {
    check(&CASES[3]);
}

#[test]
fn file_systems_that_need_their_programs_are_recovered_in_one_guest() {
    check(&CASES[0]);
    check(&CASES[6]);
}

#[test]
fn older_and_other_file_systems_are_recovered_in_one_guest() {
    for case in [1, 5, 7, 8] {
        check(&CASES[case]);
    }
}

#[test]
fn a_kernel_that_panics_on_a_state_is_an_outcome_and_the_next_state_is_recovered() {
    let test = "a_kernel_that_panics_on_a_state_is_an_outcome_and_the_next_state_is_recovered";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let lab = Lab::new(kernel);
    let mut contender = Contender::plain("ext4");
    contender.mount.push("errors=panic".to_owned());
    let mut guest = lab.guest(&contender);
    let (_, performed) = prepared(&mut guest);
    let all = performed.trace.events.len();
    let mut broken = state(&performed, all);
    // Its directories are gone, with their checksums.
    let whole = broken.snapshot();
    for (at, page) in whole.written() {
        let is_directory = |block: &&[u8]| block.windows(10).any(|name| name == b"lost+found");
        let blocks = page.chunks(1024).zip(0..);
        for (block, number) in blocks.filter(|(block, _)| is_directory(block)) {
            let mut block = block.to_vec();
            block[..512].fill(0x5a);
            broken.put(at / 512 + number * 2, &block);
        }
    }
    let recovered = guest.recover(broken, RecoveryOptions::default()).unwrap();
    let death = recovered.end.unwrap_err();
    assert!(!recovered.reads.is_empty());
    let console = death.console.join("\n");
    assert!(console.contains("panic forced after error"), "{death:?}");
    let report = report(&mut guest, state(&performed, all));
    assert!(report.tree.unwrap().entries.contains_key("A/bar"));
}

#[test]
fn concurrent_guests_agree_and_end_when_the_user_cancels() {
    let test = "concurrent_guests_agree_and_end_when_the_user_cancels";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let lab = Lab::new(kernel);
    let contender = Contender::plain("ext4");
    let prepared = lab.guest(&contender).prepare().unwrap();
    let explore = || {
        let mut guest = lab.guest(&contender);
        guest.adopt(&prepared);
        let performed = guest.perform(&prepared.base, &program()).unwrap();
        let events = (0..performed.trace.events.len()).step_by(5);
        let recover = |events| {
            let recovered = guest.recover(state(&performed, events), THOROUGH).unwrap();
            (recovered.end.unwrap(), recovered.reads)
        };
        let recovered: Vec<_> = events.map(recover).collect();
        (performed.trace, recovered)
    };
    let (one, two) = thread::scope(|threads| {
        let one = threads.spawn(explore);
        (explore(), one.join().unwrap())
    });
    assert!(one == two);

    let mut guest = lab.guest(&contender);
    guest.adopt(&prepared);
    let stop = lab.stop.clone();
    let recovered = thread::scope(|threads| {
        threads.spawn(move || {
            thread::sleep(Duration::from_millis(100));
            stop.request();
        });
        // Cancellation is noticed while a guest starts, too.
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            guest.perform(&prepared.base, &program())?;
        }
        Ok(())
    });
    assert!(
        matches!(recovered, Err(GuestLabError::Stopped)),
        "{recovered:?}"
    );
    drop(guest);
    let left: Vec<_> = std::fs::read_dir(lab.directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the journal: {left:?}");
}

/// Recovers legal states of each window. Their files are those that the acknowledged operations
/// promise, and states that agree in all that a recovery reads have one tree.
fn check_states(name: &str, needs: &[&str]) {
    let test = format!("legal_states_of_{name}_are_recovered");
    let Some(kernel) = lab_kernel(&test).filter(|_| have(needs, &test)) else {
        return;
    };
    let lab = Lab::new(kernel);
    let contender = Contender::plain(name);
    let mut guest = lab.guest(&contender);
    let (_, performed) = prepared(&mut guest);
    let base = &performed.base;
    let read = |sector: u64, into: &mut [u8]| base.read(sector * 512, into);
    let states = CrashStates::with_base(&performed.trace, read).unwrap();
    let varying = states.varying();
    let logged: Arc<SectorSet> = Arc::new(varying.iter().copied().collect());
    let mut equivalence = Equivalence::new(varying);
    let mut trees: Vec<Tree> = Vec::new();
    let mut seen = BTreeSet::new();
    for window in states.windows() {
        let window = states.window(window.number).unwrap();
        let role = |_: u64, _: &[u8]| Role::Unknown;
        for class in [StateClass::C0, StateClass::C2] {
            for selection in window.select(class, 20, 1, &role) {
                let overlay = states.overlay(&selection).unwrap();
                let marks = states.marks(&selection).unwrap();
                if !seen.insert(overlay.key().0) {
                    continue;
                }
                let mut contents = Contents::of(base.clone());
                for (sector, bytes) in overlay.iter() {
                    contents.put(sector, bytes);
                }
                contents.log_only(Arc::clone(&logged));
                let recovered = guest.recover(contents, RecoveryOptions::default()).unwrap();
                let report = recovered.end.unwrap();
                let tree = report.tree.clone();
                let tree = tree.unwrap_or_else(|| panic!("{selection:?}: {report:?}"));
                let (old, new) = (tree.entries.get("A/foo"), tree.entries.get("A/bar"));
                if marks.returned.contains(&3) {
                    let entry = old.or(new).unwrap();
                    let EntryKind::File { size, runs } = &entry.kind else {
                        panic!("{entry:?}");
                    };
                    assert_eq!((*size, runs.len()), (8192, 1), "{selection:?}");
                    assert_eq!(runs[0].source, Source::Operation(2), "{selection:?}");
                }
                if marks.returned.contains(&5) {
                    assert!(old.is_none() && new.is_some(), "{selection:?}");
                }
                if let Some(outcome) = equivalence.lookup(&overlay) {
                    assert!(trees[outcome] == tree, "{selection:?}");
                    continue;
                }
                let number = trees.len();
                let inserted = equivalence.insert(&recovered.reads, &overlay, number);
                assert_eq!(inserted, Ok(number), "{selection:?}");
                trees.push(tree);
            }
        }
    }
    assert!(seen.len() > 10, "{}", seen.len());
}

#[test]
fn legal_states_keep_what_was_acknowledged() {
    check_states("ext4", &["mkfs.ext4"]);
    check_states("xfs", &["mkfs.xfs"]);
    check_states("btrfs", &["mkfs.btrfs"]);
}
