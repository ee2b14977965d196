//! Recordings of what is no system call: requests of `io_uring` and `io_submit`, and page faults of
//! mapped files. And of more than the recorder can read. fio does the work.

use fsdyno_model::CancelToken;
use fsdyno_recorder::ebpf::{BUFFER, Probes};
use fsdyno_recorder::observation::Target;
use fsdyno_recorder::session::{Request, record};
use fsdyno_trace::{Action, Ending, Item, Operation, Reader, Recorder, Via};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

const BLOCK: u64 = 4096;
const SIZE: u64 = 64 * BLOCK;

/// Records a command in a directory; none if eBPF is not available.
fn recorded(root: &Path, argv: &[&str], buffer: u32) -> Option<(Vec<Operation>, Ending)> {
    if let Err(why) = Probes::attach(root, &Target::Processes(Vec::new()), buffer) {
        println!("SKIP eBPF ({why}): recordings of {}", argv[0]);
        return None;
    }
    if Command::new(argv[0]).arg("--version").output().is_err() {
        println!("SKIP {}: recordings of it", argv[0]);
        return None;
    }
    let request = Request {
        root: root.to_owned(),
        target: Target::Command {
            argv: argv.iter().map(OsString::from).collect(),
            mark: None,
        },
        recorded: Vec::new(),
        recorder: Some(Recorder::Ebpf),
        duration: None,
        anonymous: false,
        buffer,
    };
    let (bytes, ending) = record(&request, Vec::new(), &CancelToken::new(), |_| ()).unwrap();
    assert_eq!(ending.exit_status, Some(0));
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut operations = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Operation(operation) = item {
            operations.push(operation);
        }
    }
    Some((operations, ending))
}

fn fio(root: &Path, engine: &str, more: &[&str]) -> Option<(Vec<Operation>, Ending)> {
    let directory = format!("--directory={}", root.display());
    let engine = format!("--ioengine={engine}");
    let size = format!("--size={SIZE}");
    let mut argv = vec!["fio", "--name=job", "--bs=4k", "--output=/dev/null"];
    argv.extend([&*directory, &engine, &size]);
    argv.extend(more);
    recorded(root, &argv, BUFFER)
}

/// Has fio write each block of a file, 8 at a time, and checks that each write is an operation.
fn check_requests(engine: &str, via: Via, more: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let more = [&["--rw=randwrite", "--iodepth=8", "--end_fsync=1"], more].concat();
    let Some((operations, ending)) = fio(&root, engine, &more) else {
        return;
    };
    assert!(ending.complete(), "{ending:?}");
    let mut offsets: Vec<u64> = Vec::new();
    let mut overlapping = false;
    let mut until = 0;
    for operation in operations.iter().filter(|one| one.via == via) {
        let Action::Write {
            offset: Some(offset),
            length,
            ..
        } = operation.action
        else {
            continue;
        };
        assert_eq!((length, operation.result), (BLOCK, 4096));
        offsets.push(offset);
        overlapping |= operation.start_ns < until;
        until = until.max(operation.end_ns);
    }
    offsets.sort_unstable();
    let all: Vec<u64> = (0..SIZE / BLOCK).map(|block| block * BLOCK).collect();
    assert_eq!(offsets, all);
    assert!(overlapping, "requests were submitted in groups of 8");
}

#[test]
fn requests_of_io_uring_are_operations() {
    check_requests("io_uring", Via::IoUring, &[]);
}

#[test]
fn requests_of_io_uring_on_registered_files_are_operations() {
    check_requests("io_uring", Via::IoUring, &["--registerfiles=1"]);
}

#[test]
fn requests_of_io_submit_are_operations() {
    let groups = ["--iodepth_batch=8", "--iodepth_batch_complete_min=8"];
    check_requests("libaio", Via::Aio, &groups);
}

#[test]
fn page_faults_of_mapped_files_are_operations() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let Some((operations, ending)) = fio(&root, "mmap", &["--rw=write"]) else {
        return;
    };
    assert!(ending.complete(), "{ending:?}");
    if !ending_observes_faults(&root) {
        println!("SKIP page faults on this processor: page faults of mapped files");
        return;
    }
    let mut written: Vec<u64> = operations
        .iter()
        .filter_map(|one| match one.action {
            Action::Fault {
                offset,
                write: true,
                ..
            } => Some(offset / BLOCK),
            _ => None,
        })
        .collect();
    written.sort_unstable();
    written.dedup();
    // Each page of a shared mapping faults when it is first written.
    assert_eq!(written, (0..SIZE / BLOCK).collect::<Vec<u64>>());
}

fn ending_observes_faults(root: &Path) -> bool {
    let probes = Probes::attach(root, &Target::Processes(Vec::new()), BUFFER);
    probes.is_ok_and(|probes| probes.observes().faults)
}

#[test]
fn events_without_space_are_counted_and_the_recording_is_not_complete() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    std::fs::write(root.join("old"), vec![b'x'; 100_000]).unwrap();
    let from = format!("if={}", root.join("old").display());
    let to = format!("of={}", root.join("new").display());
    // A page has space for 24 events; they are read every few milliseconds.
    let argv = ["dd", &from, &to, "bs=1", "status=none"];
    let Some((operations, ending)) = recorded(&root, &argv, 4096) else {
        return;
    };
    assert!(ending.lost > 0, "{ending:?}");
    assert!(!ending.complete());
    // 100,000 reads and writes: each is recorded or lost. Without the event of their open, those that
    // were reported count as outside.
    let known = operations.len() as u64 + ending.unknown + ending.outside;
    assert!(known + ending.lost >= 200_000, "{ending:?}");
}
