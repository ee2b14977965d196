//! The files that the phases leave, and the results of the engine `null`.

use super::worker::Limits;
use super::workers::{Done, Op};
use super::{Parameters, Phase, check_share, prepare, prepare_share};
use crate::clock::{self, Deadline};
use crate::engines::Engine;
use crate::engines::mmap::MmapEngine;
use crate::engines::null::{NullCalls, NullEngine};
use crate::engines::sync::{SyncEngine, SystemCalls};
use crate::engines::uring::{Ring, UringEngine};
use crate::phases::Job;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Nanos;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn parameters(phase: Phase, pairs: &[(&str, &str)]) -> Parameters {
    let given: BTreeMap<String, String> = pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    Parameters::read(phase, &given)
}

fn run(home: &Path, phase: Phase, pairs: &[(&str, &str)]) -> Tally {
    run_by::<SyncEngine>(home, phase, pairs)
}

fn run_by<E: Engine>(home: &Path, phase: Phase, pairs: &[(&str, &str)]) -> Tally {
    let stop = CancelToken::new();
    let job = Job::bare(home, &stop);
    let parameters = parameters(phase, pairs);
    prepare(phase, &parameters, &job).unwrap();
    let mut op = Op::new::<E>(phase, parameters);
    let mut calls = E::calls(op.facts());
    op.run::<E>(&mut calls, &job).unwrap().tally
}

/// Whether this kernel permits `io_uring`.
fn rings() -> bool {
    let file = tempfile::tempfile().unwrap();
    let mut buffer = [0; 512];
    Ring::new(&file.into(), &mut buffer, 512).is_ok()
}

/// All names below a directory except those of directories of the layout, sorted.
fn names(home: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            if !name.starts_with(['d', 'w', 'o']) {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

fn with(letter: char, numbers: std::ops::Range<u64>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("{letter}{number:010}"))
}

#[test]
fn each_phase_leaves_its_files_from_any_earlier_state() {
    let (one, shared) = (("workers", "1"), ("place", "shared"));
    for pair in [one, ("workers", "3"), shared] {
        let home = tempfile::tempdir().unwrap();
        let given = [
            ("files", "103"),
            ("files-per-dir", "10"),
            ("bytes", "5"),
            pair,
        ];
        let also = if pair == shared {
            ("workers", "4")
        } else {
            ("pin", "yes")
        };
        let given: Vec<_> = given.into_iter().chain([also]).collect();
        // From an empty directory, each phase first creates its input.
        for phase in Phase::ALL.into_iter().filter(|phase| !phase.on_data()) {
            for _ in 0..2 {
                let tally = run(home.path(), phase, &given);
                assert_eq!(tally.files, 103, "{phase:?}");
            }
            let mut left: Vec<String> = with('f', 0..103).collect();
            match phase {
                Phase::Mkdir => left.extend(with('l', 0..103).chain(with('m', 0..103))),
                Phase::Link | Phase::Rmdir => left.extend(with('l', 0..103)),
                Phase::Unlink => left.clear(),
                _ => {}
            }
            left.sort();
            assert_eq!(names(home.path()), left, "{phase:?} {pair:?}");
        }
    }
}

#[test]
fn each_rename_is_an_operation_and_every_other_phase_has_one_for_each_file() {
    let home = tempfile::tempdir().unwrap();
    let stop = CancelToken::new();
    let job = Job::bare(home.path(), &stop);
    for phase in Phase::ALL.into_iter().filter(|phase| !phase.on_data()) {
        let parameters = parameters(
            phase,
            &[("files", "103"), ("files-per-dir", "10"), ("workers", "2")],
        );
        prepare(phase, &parameters, &job).unwrap();
        let mut op = Op::new::<SyncEngine>(phase, parameters);
        let done = op
            .run::<SyncEngine>(&mut SystemCalls::default(), &job)
            .unwrap();
        let rate = &done.figures[0];
        assert_eq!(rate.unit, "1/s");
        let operations = rate.value * done.returned.0 as f64 / 1e9;
        let expected = if phase == Phase::Rename { 206.0 } else { 103.0 };
        assert!(
            (operations - expected).abs() < 0.5,
            "{phase:?}: {operations}"
        );
    }
}

#[test]
fn worker_processes_give_the_same_results_as_threads() {
    let home = tempfile::tempdir().unwrap();
    let stop = CancelToken::new();
    let job = Job::bare(home.path(), &stop);
    for workers in ["1", "3"] {
        for phase in Phase::ALL {
            let pairs = [
                ("files", "103"),
                ("files-per-dir", "10"),
                ("size", "3000000"),
                ("operations", "200"),
                ("workers", workers),
            ];
            let done = ["thread", "process"].map(|what| {
                let pairs: Vec<_> = pairs.into_iter().chain([("worker-type", what)]).collect();
                let parameters = parameters(phase, &pairs);
                prepare(phase, &parameters, &job).unwrap();
                let mut op = Op::new::<SyncEngine>(phase, parameters);
                op.run::<SyncEngine>(&mut SystemCalls::default(), &job)
                    .unwrap()
            });
            let [threads, processes] = done;
            assert_eq!(threads.tally, processes.tally, "{phase:?}");
            let counts = |done: &Done| {
                let whole = done.timeline.progress.as_ref().unwrap().whole();
                (done.timeline.latencies[0].count, whole)
            };
            assert_eq!(counts(&threads), counts(&processes), "{phase:?}");
            assert!(processes.returned.0 > 0);
            assert_eq!(threads.used_by_processes, [Nanos(0); 2]);
        }
    }
}

#[test]
fn an_error_in_a_worker_process_keeps_its_error_number() {
    let home = tempfile::tempdir().unwrap();
    let stop = CancelToken::new();
    let job = Job::bare(home.path(), &stop);
    let given = [
        ("files", "10"),
        ("workers", "2"),
        ("worker-type", "process"),
    ];
    // There is no directory in which to create files.
    let mut op = Op::new::<SyncEngine>(Phase::Create, parameters(Phase::Create, &given));
    let error = op
        .run::<SyncEngine>(&mut SystemCalls::default(), &job)
        .unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOENT), "{error}");
    assert!(error.to_string().contains("openat"), "{error}");
}

#[test]
fn files_have_the_requested_size_and_are_made_again_where_they_differ() {
    let home = tempfile::tempdir().unwrap();
    let given = [("files", "20"), ("files-per-dir", "7"), ("bytes", "1000")];
    assert_eq!(run(home.path(), Phase::Open, &given).bytes.0, 20_000);
    let given = [("files", "20"), ("files-per-dir", "7"), ("bytes", "10")];
    assert_eq!(run(home.path(), Phase::Open, &given).bytes.0, 200);
    let given = [("files", "10"), ("files-per-dir", "7"), ("bytes", "10")];
    assert_eq!(run(home.path(), Phase::Open, &given).bytes.0, 100);
    assert_eq!(names(home.path()).len(), 10);
}

#[test]
fn large_files_are_written_and_read_whole_by_any_number_of_workers() {
    large_files::<SyncEngine>();
}

#[test]
fn through_a_ring_large_files_become_the_same() {
    if rings() {
        large_files::<UringEngine>();
    } else {
        println!("SKIP io_uring: through_a_ring_large_files_become_the_same");
    }
}

#[test]
fn the_mmap_engine_writes_the_same_large_files() {
    large_files::<MmapEngine>();
}

fn large_files<E: Engine>() {
    for place in ["private", "shared"] {
        for workers in ["1", "3"] {
            let home = tempfile::tempdir().unwrap();
            let given = [
                ("size", "3145728"),
                ("block", "65536"),
                ("operations", "100"),
                ("workers", workers),
                ("place", place),
                ("depth", "7"),
            ];
            for phase in Phase::ALL.into_iter().filter(|phase| phase.on_data()) {
                let tally = run_by::<E>(home.path(), phase, &given);
                let bytes = match phase {
                    Phase::Write | Phase::Read => 3_145_728,
                    _ => 100 * 65_536,
                };
                assert_eq!(tally.bytes.0, bytes, "{phase:?} {workers} {place}");
            }
            let op = home.path().join("op");
            let files = fs::read_dir(op).unwrap().map(|entry| entry.unwrap().path());
            let contents: Vec<Vec<u8>> = files.map(|file| fs::read(file).unwrap()).collect();
            assert_eq!(contents.iter().map(Vec::len).sum::<usize>(), 3_145_728);
            let blocks: std::collections::HashSet<&[u8]> =
                contents.iter().flat_map(|file| file.chunks(4096)).collect();
            let all = 3_145_728 / 4096;
            assert_eq!(blocks.len(), all, "no two blocks are alike");
        }
    }
}

#[test]
fn the_null_engine_reports_the_same_number_of_operations() {
    let stop = CancelToken::new();
    let job = Job::bare(Path::new("/"), &stop);
    for phase in Phase::ALL {
        let given = [
            ("files", "1000"),
            ("size", "1048576"),
            ("operations", "1000"),
            ("workers", "2"),
        ];
        let mut op = Op::new::<NullEngine>(phase, parameters(phase, &given));
        let done = op
            .run::<NullEngine>(&mut NullCalls::new(op.facts()), &job)
            .unwrap();
        assert!(done.tally.calls >= 8, "{phase:?}");
        assert!(done.figures.len() >= 6, "{phase:?}");
    }
}

/// The data ranges of a sparse file.
fn data_in(path: &Path) -> Vec<(u64, u64)> {
    use rustix::fs::{SeekFrom, seek};
    let file = fs::File::open(path).unwrap();
    let mut found = Vec::new();
    let mut at = 0;
    while let Ok(start) = seek(&file, SeekFrom::Data(at)) {
        at = seek(&file, SeekFrom::Hole(start)).unwrap();
        found.push((start, at));
    }
    found
}

#[test]
fn random_offsets_in_a_file_of_a_tebibyte_are_right_on_every_engine() {
    const SIZE: u64 = 1 << 40;
    let (size, operations) = (SIZE.to_string(), 64);
    let given = [
        ("size", size.as_str()),
        ("operations", "64"),
        ("lay", "sparse"),
        ("depth", "8"),
    ];
    let mut offsets = super::random::RandomOffsets::new(SIZE / 4096, 0, 0);
    let mut offsets: Vec<u64> = (0..operations).map(|_| offsets.next().0 * 4096).collect();
    assert!(offsets.iter().any(|at| *at > SIZE / 2));
    offsets.sort_unstable();
    tebibyte::<SyncEngine>(&offsets, &given);
    tebibyte::<MmapEngine>(&offsets, &given);
    if rings() {
        tebibyte::<UringEngine>(&offsets, &given);
    } else {
        println!("SKIP io_uring: random_offsets_in_a_file_of_a_tebibyte_are_right_on_every_engine");
    }
}

/// Writes and reads at these offsets in a sparse file of 1 TiB.
fn tebibyte<E: Engine>(offsets: &[u64], given: &[(&str, &str)]) {
    const SIZE: u64 = 1 << 40;
    let engine = E::INFO.name;
    let home = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile_in(home.path()).unwrap();
    if file.set_len(SIZE).is_err() {
        println!(
            "SKIP files of 1 TiB: random_offsets_in_a_file_of_a_tebibyte_are_right_on_every_engine"
        );
        return;
    }
    run_by::<E>(home.path(), Phase::RandomWrite, given);
    let path = home.path().join("op/large000");
    assert_eq!(fs::metadata(&path).unwrap().len(), SIZE);
    let data = data_in(&path);
    // A file system may allocate more around each write, but not in other places.
    let holds = |at: &u64| data.iter().any(|(start, end)| start <= at && at < end);
    assert!(offsets.iter().all(holds), "{engine}: {data:?}");
    let allocated: u64 = data.iter().map(|(start, end)| end - start).sum();
    assert!(allocated <= 64 << 20, "{engine}: {data:?}");
    let again = &given[..2];
    let tally = run_by::<E>(home.path(), Phase::RandomRead, again);
    assert_eq!(tally.bytes.0, offsets.len() as u64 * 4096, "{engine}");
}

/// The system calls of a phase on the engine that makes none.
fn calls_of(phase: Phase, pairs: &[(&str, &str)]) -> u64 {
    let stop = CancelToken::new();
    let job = Job::bare(Path::new("/"), &stop);
    let sizes = [
        ("files", "100"),
        ("size", "409600"),
        ("block", "4096"),
        ("operations", "100"),
        ("workers", "2"),
    ];
    let pairs: Vec<_> = sizes.into_iter().chain(pairs.iter().copied()).collect();
    let mut op = Op::new::<NullEngine>(phase, parameters(phase, &pairs));
    let mut calls = NullCalls::new(op.facts());
    op.run::<NullEngine>(&mut calls, &job).unwrap().tally.calls
}

#[test]
fn data_are_made_durable_as_often_as_requested() {
    for phase in Phase::ALL.into_iter().filter(|phase| phase.writes()) {
        let none = calls_of(phase, &[("fsync", "no")]);
        let operations = if phase == Phase::Rename { 200 } else { 100 };
        // 50 operations of each of two workers; `renames` has two for each file.
        for (fsync, calls) in [
            ("each", operations),
            ("7", operations / 2 / 7 * 2),
            ("end", 2),
        ] {
            let with = calls_of(phase, &[("fsync", fsync)]);
            assert_eq!(with - none, calls, "{phase:?} fsync={fsync}");
        }
        let by_default = calls_of(phase, &[]) - none;
        assert_eq!(by_default, if phase.on_data() { 2 } else { 0 }, "{phase:?}");
    }
}

#[test]
fn a_mixed_phase_writes_its_share_and_leaves_the_rest() {
    mixed::<SyncEngine>();
    mixed::<MmapEngine>();
    if rings() {
        mixed::<UringEngine>();
    } else {
        println!("SKIP io_uring: a_mixed_phase_writes_its_share_and_leaves_the_rest");
    }
}

fn mixed<E: Engine>() {
    let home = tempfile::tempdir().unwrap();
    let given = [
        ("size", "40894464"),
        ("operations", "2000"),
        ("reads", "70"),
        ("fsync", "100"),
        ("depth", "4"),
    ];
    run(home.path(), Phase::Write, &given[..1]);
    let path = home.path().join("op/large000");
    let before = fs::read(&path).unwrap();
    let tally = run_by::<E>(home.path(), Phase::RandomWrite, &given);
    assert_eq!(tally.bytes.0, 2000 * 4096);
    let after = fs::read(&path).unwrap();
    let blocks = before.chunks(4096).zip(after.chunks(4096));
    let changed = blocks.filter(|(before, after)| before != after).count();
    // 600 writes to random blocks of 9984; some blocks are written twice.
    assert!(
        (520..=640).contains(&changed),
        "{}: {changed}",
        E::INFO.name
    );
}

#[test]
fn combinations_that_an_engine_cannot_run_are_refused_with_a_remedy() {
    fn check<E: Engine>(pairs: &[(&str, &str)]) -> String {
        let parameters = parameters(Phase::RandomWrite, pairs);
        super::check::<E>(Phase::RandomWrite, &parameters).unwrap_err()
    }
    let direct = ("cache", "direct");
    for (message, expected) in [
        (check::<MmapEngine>(&[direct]), "leave out `cache=direct`"),
        (
            check::<MmapEngine>(&[("dsync", "yes")]),
            "leave out `dsync=yes`",
        ),
        (check::<UringEngine>(&[("rate", "10")]), "leave out `rate`"),
        (
            check::<SyncEngine>(&[direct, ("block", "1000")]),
            "multiple of 512",
        ),
    ] {
        assert!(message.contains(expected), "{message}");
    }
    let fine = parameters(Phase::RandomWrite, &[direct, ("dsync", "yes")]);
    super::check::<SyncEngine>(Phase::RandomWrite, &fine).unwrap();
    super::check::<UringEngine>(Phase::RandomWrite, &fine).unwrap();
}

#[test]
fn the_method_names_the_flags_and_when_data_become_durable() {
    let method = |phase, pairs: &[(&str, &str)]| {
        super::describe::<SyncEngine>(phase, &parameters(phase, pairs), None)
    };
    assert_eq!(method(Phase::Write, &[]), "pwrite; fsync at the end");
    assert_eq!(method(Phase::Create, &[]), "openat O_EXCL, write, close");
    let each = ("fsync", "each");
    assert_eq!(
        method(Phase::Unlink, &[each]),
        "unlinkat; fsync of the directory after each"
    );
    let given = [
        ("cache", "direct"),
        ("dsync", "yes"),
        ("reads", "30"),
        ("fsync", "8"),
    ];
    assert_eq!(
        method(Phase::RandomWrite, &given),
        "pwrite at random offsets, O_DIRECT, O_DSYNC; 30 % read; fsync after every 8"
    );
    assert_eq!(
        method(Phase::RandomRead, &given),
        "pread at random offsets, O_DIRECT"
    );
}

#[test]
fn a_large_file_is_opened_with_the_requested_flags() {
    use crate::engines::{Calls, DataFile};
    use rustix::fs::{OFlags, fcntl_getfl};
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("f"), "data").unwrap();
    let mut calls = SystemCalls::default();
    let dir = calls.open_work_dir(home.path()).unwrap();
    let how = DataFile {
        writes: true,
        makes: false,
        direct: false,
        dsync: true,
        also_reads: true,
        appends: false,
    };
    let file = calls.open_data(&dir, c"f", how).unwrap();
    let flags = fcntl_getfl(&file).unwrap();
    assert!(flags.contains(OFlags::DSYNC | OFlags::RDWR), "{flags:?}");
}

/// All files or blocks of a worker.
const ALL: u64 = u64::MAX;

/// Runs one worker of a phase, as a process of its own would.
fn run_worker(home: &Path, phase: Phase, pairs: &[(&str, &str)], worker: usize) {
    let stop = CancelToken::new();
    let job = Job::bare(home, &stop);
    let parameters = parameters(phase, pairs);
    let mut op = Op::of_share::<SyncEngine>(phase, parameters, worker..worker + 1);
    let mut calls = SyncEngine::calls(op.facts());
    op.run::<SyncEngine>(&mut calls, &job).unwrap();
}

#[test]
fn workers_in_several_processes_leave_what_a_check_expects() {
    let blocks = ["segmented", "strided"].map(|blocks| ("blocks", blocks));
    for (place, blocks) in [
        ("private", blocks[0]),
        ("shared", blocks[0]),
        ("shared", blocks[1]),
    ] {
        let home = tempfile::tempdir().unwrap();
        let (home, stop) = (home.path(), CancelToken::new());
        let pairs = [
            ("files", "20"),
            ("files-per-dir", "3"),
            ("bytes", "10"),
            ("workers", "3"),
            ("size", "98304"),
            ("block", "8192"),
            ("place", place),
            blocks,
        ];
        for phase in [Phase::Create, Phase::Link, Phase::Mkdir, Phase::Write] {
            let parameters = parameters(phase, &pairs);
            for worker in 0..3 {
                let job = Job::bare(home, &stop);
                prepare_share(phase, &parameters, &job, worker..worker + 1).unwrap();
            }
            let check = |worker| check_share(phase, &parameters, home, worker, ALL);
            assert!(check(0).is_err(), "{phase:?} has not run");
            for worker in 0..3 {
                run_worker(home, phase, &pairs, worker);
            }
            let entries: u64 = (0..3).map(|worker| check(worker).unwrap().entries).sum();
            assert_eq!(
                entries,
                if phase.on_data() { 3 } else { 20 },
                "{phase:?} {place}"
            );
        }
        let create = parameters(Phase::Create, &pairs);
        let write = parameters(Phase::Write, &pairs);
        let bytes = (0..3).map(|at| {
            check_share(Phase::Write, &write, home, at, ALL)
                .unwrap()
                .bytes
        });
        assert_eq!(bytes.sum::<u64>(), 98304);
        // Another content, a lost block, another size, and a file too many.
        let file = home.join("op/w000/d0000000/f0000000000");
        fs::write(&file, [0; 10]).unwrap();
        let wrong = check_share(Phase::Create, &create, home, 0, ALL).unwrap_err();
        assert!(
            wrong.to_string().contains("not those that were written"),
            "{wrong}"
        );
        fs::write(&file, [0; 9]).unwrap();
        let wrong = check_share(Phase::Create, &create, home, 0, ALL).unwrap_err();
        assert!(
            wrong.to_string().contains("9 bytes instead of 10"),
            "{wrong}"
        );
        let large = home.join("op/large000");
        let mut data = fs::read(&large).unwrap();
        data[8192 + 4096..8192 + 4096 + 64].fill(0);
        fs::write(&large, data).unwrap();
        let lost = (0..3).find_map(|at| check_share(Phase::Write, &write, home, at, ALL).err());
        let lost = lost.unwrap().to_string();
        assert!(lost.contains("has other data"), "{lost}");
        for worker in 0..3 {
            if worker != 1 {
                run_worker(home, Phase::Unlink, &pairs, worker);
            }
        }
        let unlink = parameters(Phase::Unlink, &pairs);
        assert!(check_share(Phase::Unlink, &unlink, home, 0, ALL).is_ok());
        let left = check_share(Phase::Unlink, &unlink, home, 1, ALL).unwrap_err();
        assert!(
            left.to_string().contains("it exists, and was removed"),
            "{left}"
        );
    }
}

#[test]
fn limits_end_a_phase_early_without_an_error() {
    let set = |moment| {
        let deadline = Deadline::default();
        deadline.set(moment);
        deadline
    };
    let (over, far) = (set(clock::now()), set(clock::now() + 3_600_000_000_000));
    for (engine, run) in [
        (
            "sync",
            run_within::<SyncEngine> as fn(&Path, Phase, Limits<'_>) -> Done,
        ),
        ("mmap", run_within::<MmapEngine>),
    ] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let within = |phase, most, deadline| {
            let deadline = Some(deadline);
            run(home, phase, Limits { most, deadline }).tally
        };
        let left = |phase, most| check_share(phase, &limited(phase), home, 0, most);
        fs::create_dir_all(home.join("op/w000/d0000000")).unwrap();
        fs::create_dir_all(home.join("op/w000/d0000001")).unwrap();
        assert_eq!(within(Phase::Create, 7, &far).files, 7, "{engine}");
        assert_eq!(left(Phase::Create, 7).unwrap().entries, 7);
        assert!(left(Phase::Create, 6).is_err(), "a file too many");
        assert!(left(Phase::Create, 8).is_err(), "a file too few");
        // The operation in flight completes.
        assert_eq!(within(Phase::Stat, 7, &over).files, 1);
        assert_eq!(within(Phase::Rename, 7, &far).files, 7);
        assert_eq!(within(Phase::Unlink, 7, &far).files, 7);
        assert!(left(Phase::Unlink, 7).is_ok());
        assert_eq!(within(Phase::Write, 5, &far).bytes.0, 5 << 12, "{engine}");
        assert_eq!(left(Phase::Write, 5).unwrap().bytes, 5 << 12);
        assert!(left(Phase::Write, 6).is_err(), "a block too few");
        assert_eq!(within(Phase::Read, 5, &far).bytes.0, 5 << 12, "{engine}");
        assert_eq!(within(Phase::Read, 5, &over).bytes.0, 0);
    }
}

fn limited(phase: Phase) -> Parameters {
    let pairs = [
        ("files", "20"),
        ("files-per-dir", "5"),
        ("size", "65536"),
        ("block", "4096"),
    ];
    parameters(phase, &pairs)
}

fn run_within<E: Engine>(home: &Path, phase: Phase, limits: Limits<'_>) -> Done {
    let stop = CancelToken::new();
    let mut op = Op::new::<E>(phase, limited(phase));
    let mut calls = E::calls(op.facts());
    op.run_within::<E>(&mut calls, &Job::bare(home, &stop), limits)
        .unwrap()
}
