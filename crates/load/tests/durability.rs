//! The effects of every engine on large files: its durability calls, counted by strace, and the
//! bytes that it leaves.

mod phases;

use fsdyno_datasets::work_dir::WorkDir;
use phases::{phase, run};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// The variable with the engine of the traced process.
const ENGINE: &str = "FSDYNO_WATCHED_ENGINE";
/// The variable with its directory.
const WORK_DIR: &str = "FSDYNO_WATCHED_GROUND";
const WORKERS: usize = 2;

fn write_large(engine: &str, home: &Path, kinds: &[&str]) {
    let mut work_dir = WorkDir::new(home);
    for kind in kinds {
        let mut phase = phase(kind);
        for (name, value) in [
            ("size", "1048576"),
            ("block", "16384"),
            ("operations", "64"),
            ("workers", "2"),
        ] {
            phase.parameters.insert(name.to_owned(), value.to_owned());
        }
        run(&mut work_dir, engine, &phase).unwrap();
    }
}

#[test]
fn the_process_that_is_watched() {
    if let (Ok(engine), Ok(home)) = (std::env::var(ENGINE), std::env::var(WORK_DIR)) {
        write_large(&engine, Path::new(&home), &["op-write", "op-random-write"]);
    }
}

/// The calls of a kind in strace's output.
fn count(trace: &str, call: &str) -> usize {
    let begun = |line: &&str| line.contains(&format!("{call}(")) && !line.contains("resumed");
    trace.lines().filter(begun).count()
}

/// All large files, in the order of their names.
fn bytes(home: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for worker in 0..WORKERS {
        let bytes = fs::read(home.join(format!("op/large{worker:03}"))).unwrap();
        assert_eq!(bytes.len(), 1 << 19);
        all.extend(bytes);
    }
    all
}

fn hash(bytes: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn large_files_are_made_durable_by_one_call_a_worker_and_have_the_same_bytes() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("SKIP strace: large_files_are_made_durable_by_one_call_a_worker");
        return;
    }
    let mut hashes = Vec::new();
    // strace does not see the requests of a ring, so only its bytes are checked, below.
    for (engine, call) in [("sync", "fsync"), ("mmap", "msync")] {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("op")).unwrap();
        let trace_path = home.path().join("trace");
        let watched = Command::new("strace")
            .args([
                "-f",
                "-qq",
                "-e",
                "trace=fsync,fdatasync,msync,sync_file_range",
            ])
            .arg("-o")
            .arg(&trace_path)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "the_process_that_is_watched"])
            .env(ENGINE, engine)
            .env(WORK_DIR, home.path())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&watched.stdout);
        assert!(watched.status.success(), "{engine}: {words}");
        let trace = fs::read_to_string(&trace_path).unwrap();
        let others =
            ["fsync", "fdatasync", "msync", "sync_file_range"].map(|one| count(&trace, one));
        assert_eq!(
            others.iter().sum::<usize>(),
            2 * WORKERS,
            "{engine}: {trace}"
        );
        assert_eq!(count(&trace, call), 2 * WORKERS, "{engine}: {trace}");
        hashes.push(hash(bytes(home.path())));
    }
    assert_eq!(hashes[0], hashes[1]);
}

/// The buffers of the ring contain different random data, so only the mark that makes each block
/// unique is compared: it must be the same at every offset.
#[test]
fn through_a_ring_the_same_blocks_are_written_in_the_same_places() {
    if io_uring::IoUring::new(1).is_err() {
        println!("SKIP io_uring: through_a_ring_the_same_blocks_are_written_in_the_same_places");
        return;
    }
    let hashes = ["sync", "mmap", "uring"].map(|engine| {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("op")).unwrap();
        write_large(engine, home.path(), &["op-write"]);
        let bytes = bytes(home.path());
        let marks: Vec<&[u8]> = bytes.chunks(4096).map(|part| &part[..16]).collect();
        hash(marks)
    });
    assert_eq!(hashes, [hashes[0]; 3]);
}
