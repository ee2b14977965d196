//! Several workers on one tree give the same results as one.

mod odd;
mod phases;

use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_load::engines;
use fsdyno_load::measure::LoadError;
use fsdyno_model::plan::{CopyMethod, PhasePlan};
use fsdyno_model::sample::Tally;
use odd::{assert_same, describe};
use phases::{phase, run, run_by};
use std::fs;
use std::path::Path;

fn by(workers: usize, kind: &str) -> PhasePlan {
    let mut phase = phase(kind);
    let workers = workers.to_string();
    phase.parameters.insert("workers".to_owned(), workers);
    phase
}

/// The work done, without the calls: workers open directories that other workers found.
fn counted(work_dir: &mut WorkDir, phase: &PhasePlan) -> Tally {
    let tally = run(work_dir, "sync", phase).unwrap().tally;
    Tally { calls: 0, ..tally }
}

/// Creates below `tree` `wide` directories on each of this number of levels, with hard-linked
/// files.
fn grow(tree: &Path, wide: usize, levels: usize, first: &Path) {
    fs::create_dir(tree).unwrap();
    for number in 0..4 {
        fs::write(
            tree.join(format!("file {number}")),
            "a libtool\n".repeat(number),
        )
        .unwrap();
    }
    fs::hard_link(first, tree.join("linked")).unwrap();
    if levels > 0 {
        for number in 0..wide {
            grow(
                &tree.join(format!("directory {number}")),
                wide,
                levels - 1,
                first,
            );
        }
    }
}

/// A work directory with a tree of 156 directories below one.
fn grown() -> (tempfile::TempDir, WorkDir) {
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let tree = home.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let first = tree.join("first");
    fs::write(&first, "libtool, and its other names").unwrap();
    grow(&tree.join("grown"), 5, 3, &first);
    work_dir.trees.push(tree);
    (home, work_dir)
}

#[test]
fn several_workers_copy_and_delete_like_one() {
    for (home, mut work_dir) in [odd::work_dir(), grown()] {
        let original = describe(&work_dir.trees[0]);
        let alone = counted(&mut work_dir, &phase("copy"));
        for workers in [2, 3, 8] {
            let copied = counted(&mut work_dir, &by(workers, "copy"));
            assert_eq!(copied, alone, "{workers}");
            let context = format!("{workers} workers");
            assert_same(&original, &describe(work_dir.newest().unwrap()), &context);
            let deleted = counted(&mut work_dir, &by(workers, "delete"));
            assert_eq!(deleted.directories, copied.directories, "{workers}");
            assert_eq!(deleted.files, copied.files, "{workers}");
        }
        counted(&mut work_dir, &by(2, "delete"));
        // Only the original is left, unchanged.
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert_same(&original, &describe(&work_dir.trees[0]), "the original");
    }
}

#[test]
fn several_workers_find_what_one_finds() {
    for (_home, mut work_dir) in [odd::work_dir(), grown()] {
        for kind in ["read", "stat-walk", "grep"] {
            let alone = counted(&mut work_dir, &phase(kind));
            for workers in [2, 5] {
                let parallel = counted(&mut work_dir, &by(workers, kind));
                assert_eq!(parallel, alone, "{kind} by {workers}");
            }
        }
    }
}

#[test]
fn a_failure_of_one_worker_ends_all_and_is_reported() {
    let mut work_dir = WorkDir::new("/nowhere");
    work_dir.trees.push("/nowhere/tree".into());
    for kind in ["read", "copy", "delete"] {
        let error = run(&mut work_dir, "sync", &by(4, kind)).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOENT), "{kind}: {error}");
    }
    // If blocks cannot be shared, the first copied file fails.
    let (_home, mut work_dir) = grown();
    let shared = run_by(&mut work_dir, "sync", &by(4, "copy"), CopyMethod::Reflink);
    assert!(
        matches!(shared, Ok(_) | Err(LoadError::Method { .. })),
        "{shared:?}"
    );
}

#[test]
fn the_engine_tools_refuses_several_workers() {
    let (_home, mut work_dir) = odd::work_dir();
    let error = run(&mut work_dir, "tools", &by(2, "copy")).unwrap_err();
    assert!(error.to_string().contains("engine sync"), "{error}");
    run(&mut work_dir, "tools", &by(1, "copy")).unwrap();
}

#[test]
fn several_workers_do_as_much_as_one_on_the_null_engine() {
    for engine in engines::ALL.iter().filter(|engine| engine.name == "null") {
        for kind in ["copy", "read", "stat-walk", "delete"] {
            let count = |phase: &PhasePlan| {
                let mut work_dir = WorkDir::new("/nowhere");
                let tally = run(&mut work_dir, engine.name, phase).unwrap().tally;
                Tally { calls: 0, ..tally }
            };
            assert_eq!(count(&by(4, kind)), count(&phase(kind)), "{kind}");
        }
    }
}
