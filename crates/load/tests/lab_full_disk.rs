//! A disk that runs full in the middle of a phase. Needs root, to mount a small file system in
//! memory.

mod phases;

use fsdyno_load::ground::Ground;
use phases::{phase, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A small file system in memory, unmounted in the end.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(home.path())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(home))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Fills a bit more than half of it.
fn fill(root: &Path) -> Ground {
    let mut ground = Ground::new(root);
    let tree = root.join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..6 {
        fs::write(tree.join(number.to_string()), vec![number; 100_000]).unwrap();
    }
    ground.trees.push(tree);
    ground
}

#[test]
fn a_full_disk_is_told_by_its_error_number() {
    for engine in ["sync", "tools"] {
        let Some(small) = Small::mount() else {
            println!("SKIP root: a_full_disk_is_told_by_its_error_number");
            return;
        };
        let mut ground = fill(small.0.path());
        let error = run(&mut ground, engine, &phase("copy")).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOSPC), "{engine}: {error}");
        assert!(error.to_string().contains("copy-1"), "{engine}: {error}");
        assert_eq!(ground.trees.len(), 1);
    }
}

#[test]
fn a_full_disk_under_a_mapping_is_told_as_well_and_ends_no_program() {
    let Some(small) = Small::mount() else {
        println!("SKIP root: a_full_disk_under_a_mapping_is_told_as_well_and_ends_no_program");
        return;
    };
    let mut ground = Ground::new(small.0.path());
    let mut phase = phase("op-write");
    for (name, value) in [("size", "4194304"), ("block", "65536"), ("workers", "2")] {
        phase.parameters.insert(name.to_owned(), value.to_owned());
    }
    fs::create_dir(small.0.path().join("op")).unwrap();
    let error = run(&mut ground, "mmap", &phase).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOSPC), "{error}");
    assert!(error.to_string().contains("op/large00"), "{error}");
}
