//! Directories of image files that are full or not writable. Needs root.

use crate::support::{Home, outcomes, root_and};
use std::path::Path;
use std::process::Command;

/// A small tmpfs, unmounted on drop.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path, options: &str) -> Self {
        std::fs::create_dir(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at);
        assert!(mount.status().unwrap().success());
        Self(at)
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn run_in(home: &Home, directory: &Path) -> crate::support::Printed {
    let place = directory.display().to_string();
    let args = ["run", "--fs", "xfs", "--work-dir", &place];
    let more = ["--scale", "0.002", "--repeats", "1"];
    home.fsdyno(&args.into_iter().chain(more).collect::<Vec<_>>())
}

#[test]
fn an_image_that_cannot_grow_fails_its_cell_and_names_the_full_directory() {
    let test = "an_image_that_cannot_grow_fails_its_cell_and_names_the_full_directory";
    if !root_and(&["mkfs.xfs"], test) {
        return;
    }
    let home = Home::new();
    let place = home.path("small");
    let _small = Small::mount(&place, "size=20M");
    let output = run_in(&home, &place);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let why = format!(
        "{}, the directory of the image files, is full",
        place.display()
    );
    assert!(output.err.contains(&why), "{}", output.err);
    let ends = outcomes(&home.result("last"));
    assert!(ends.len() == 2 && ends.iter().all(|(_, end)| end == "failed"));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn an_unwritable_directory_is_refused_before_the_run_starts() {
    let test = "an_unwritable_directory_is_refused_before_the_run_starts";
    if !root_and(&["mkfs.xfs"], test) {
        return;
    }
    let home = Home::new();
    let file = home.path("file");
    std::fs::write(&file, "").unwrap();
    let sealed = home.path("sealed");
    let _sealed = Small::mount(&sealed, "size=50M,ro");
    for place in [&file, &sealed] {
        let output = run_in(&home, place);
        assert_eq!(output.code, Some(2), "{}{}", output.out, output.err);
        assert!(output.err.contains("--work-dir"), "{}", output.err);
    }
    assert!(!home.path("data").exists(), "a run was begun");
}
