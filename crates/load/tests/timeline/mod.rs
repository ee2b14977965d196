//! The timelines of phases contain each operation once, with any number of workers.

use crate::odd;
use crate::phases::{phase, run};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_load::measure::{self, Measured};
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::PhasePlan;

fn given(kind: &str, parameters: &str) -> PhasePlan {
    let pairs = parameters.split_whitespace();
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap());
    PhasePlan {
        parameters: pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        ..phase(kind)
    }
}

/// Checks the timeline of a phase: this number of operations of that name, all bytes of the tally
/// in its slices, and no time beyond the end.
fn check(measured: &Measured, kind: &str, operation: &str, operations: u64) {
    let [latencies] = &measured.latencies[..] else {
        panic!("{kind}: {:?}", measured.latencies);
    };
    let recorded = (latencies.operation.as_str(), latencies.count);
    assert_eq!(recorded, (operation, operations), "{kind}");
    let classes: u64 = latencies.buckets.iter().map(|(_, count)| count).sum();
    assert_eq!(classes, operations, "{kind}");
    assert!(latencies.buckets.is_sorted(), "{kind}");
    assert!(latencies.min_ns <= latencies.max_ns, "{kind}");
    assert!(latencies.max_ns <= measured.return_ns.0, "{kind}");
    let progress = measured.progress.as_ref().unwrap();
    let whole = progress.whole();
    assert_eq!(whole.operations, operations, "{kind}");
    assert_eq!(whole.bytes, measured.tally.bytes, "{kind}");
    let reaches = progress.slice_ns.0 * progress.slices.len() as u64;
    assert!(reaches >= measured.return_ns.0, "{kind}: {progress:?}");
    assert!(
        reaches - progress.slice_ns.0 <= measured.return_ns.0,
        "{kind}"
    );
    assert!(progress.slices.len() <= 128, "{kind}");
}

#[test]
fn every_file_of_a_tree_is_in_the_timeline_of_its_phase() {
    let (_home, mut work_dir) = odd::work_dir();
    for parameters in ["", "workers=3"] {
        for kind in ["copy", "read", "stat-walk", "grep", "delete"] {
            let measured = run(&mut work_dir, "sync", &given(kind, parameters)).unwrap();
            assert!(measured.tally.files > 5, "{kind}");
            check(&measured, kind, "file", measured.tally.files);
        }
    }
    // Programs have no timeline.
    let measured = run(&mut work_dir, "tools", &phase("copy")).unwrap();
    assert_eq!((measured.latencies, measured.progress), (vec![], None));
}

#[test]
fn workers_and_rounds_are_in_one_timeline() {
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let workers = "files=500 each=50 bytes=100 workers=3";
    for (kind, parameters, operation, operations) in [
        ("op-create", workers, "create", 500),
        ("op-open", workers, "open", 500),
        ("op-mkdir", workers, "mkdir", 500),
        ("op-write", "size=1M block=4096", "write", 256),
        (
            "op-random-read",
            "size=1M block=4096 operations=300",
            "random-read",
            300,
        ),
        ("bonnie-write", "size=1M chunk=8192", "chunk", 128),
        ("bonnie-rewrite", "size=1M chunk=8192", "chunk", 128),
        ("bonnie-create", "files=300 max=2000", "file", 300),
        ("bonnie-delete", "files=300 max=2000", "file", 300),
        ("mongo-create", "bytes=100K processes=2 rounds=2", "file", 0),
        ("mongo-copy", "bytes=100K processes=2 rounds=2", "file", 0),
        ("mongo-append", "bytes=100K processes=2 rounds=2", "file", 0),
        ("mongo-rename", "bytes=100K processes=2 rounds=2", "file", 0),
        ("mongo-delete", "bytes=100K processes=2 rounds=2", "file", 0),
    ] {
        let parameters = parameters
            .replace("1M", "1048576")
            .replace("100K", "100000");
        let phase = given(kind, &parameters);
        if !kind.starts_with("mongo") {
            measure::prepare(&phase, &work_dir, None, &CancelToken::new()).unwrap();
        }
        let measured = run(&mut work_dir, "sync", &phase).unwrap();
        let operations = match operations {
            0 => measured.tally.files,
            known => known,
        };
        assert!(operations > 100, "{kind}");
        check(&measured, kind, operation, operations);
    }
}

#[test]
fn a_repeated_phase_reports_the_timeline_of_its_first_pass() {
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let phase = given("bonnie-stat", "files=50");
    measure::prepare(&phase, &work_dir, None, &CancelToken::new()).unwrap();
    let measured = run(&mut work_dir, "sync", &phase).unwrap();
    let progress = measured.progress.unwrap();
    assert_eq!(progress.whole().operations, 50);
    let count = measured.latencies[0].count;
    assert!(count > 50 && count.is_multiple_of(50), "{count}");
}
