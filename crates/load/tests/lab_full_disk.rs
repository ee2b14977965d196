//! A disk that becomes full during a phase. Needs root, to mount a small file system in memory.

mod phases;

use fsdyno_datasets::work_dir::WorkDir;
use phases::{phase, run};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The mount point, in cargo's directory.
const PLACE: &str = env!("CARGO_TARGET_TMPDIR");

/// Mounts a small file system in memory in a private mount namespace. The mount ends with its
/// thread, also if the test panics or is killed. None if this user may not mount.
fn mount_small(test: &str) -> Option<&'static Path> {
    // SAFETY: only the mounts of this thread change, and no descriptor.
    let alone = unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok();
    let mount = |words: &[&str]| {
        let status = Command::new("mount").args(words).status();
        status.is_ok_and(|status| status.success())
    };
    // A mount below a shared one would propagate.
    if alone
        && mount(&["--make-rprivate", "/"])
        && mount(&["-t", "tmpfs", "-o", "size=1m", "none", PLACE])
    {
        return Some(Path::new(PLACE));
    }
    println!("SKIP root: {test}");
    None
}

/// Fills slightly more than half of it.
fn fill(root: &Path) -> WorkDir {
    let mut work_dir = WorkDir::new(root);
    let tree = root.join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..6 {
        fs::write(tree.join(number.to_string()), vec![number; 100_000]).unwrap();
    }
    work_dir.trees.push(tree);
    work_dir
}

#[test]
fn a_full_disk_is_reported_by_its_error_number() {
    for engine in ["sync", "tools"] {
        let Some(small) = mount_small("a_full_disk_is_reported_by_its_error_number") else {
            return;
        };
        let mut work_dir = fill(small);
        let error = run(&mut work_dir, engine, &phase("copy")).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOSPC), "{engine}: {error}");
        assert!(error.to_string().contains("copy-1"), "{engine}: {error}");
        assert_eq!(work_dir.trees.len(), 1);
    }
}

#[test]
fn a_full_disk_under_a_mapping_is_reported_as_well_and_ends_no_program() {
    let test = "a_full_disk_under_a_mapping_is_reported_as_well_and_ends_no_program";
    let Some(small) = mount_small(test) else {
        return;
    };
    let mut work_dir = WorkDir::new(small);
    let mut phase = phase("op-write");
    for (name, value) in [("size", "4194304"), ("block", "65536"), ("workers", "2")] {
        phase.parameters.insert(name.to_owned(), value.to_owned());
    }
    fs::create_dir(small.join("op")).unwrap();
    let error = run(&mut work_dir, "mmap", &phase).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOSPC), "{error}");
    assert!(error.to_string().contains("op/large00"), "{error}");
}
