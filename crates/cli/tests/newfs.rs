//! `fsdyno newfs` and `fsdyno fsck` as a user types them, on files.

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use support::Home;

fn image(home: &Home, name: &str, bytes: u64) -> PathBuf {
    let path = home.path(name);
    File::create_new(&path).unwrap().set_len(bytes).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn what_newfs_makes_fsck_finds_whole_and_what_is_damaged_it_names() {
    let home = Home::new();
    for (version, superblock) in [("1", 8192), ("2", 65_536)] {
        let path = image(&home, version, 24 << 20);
        let words = [
            "newfs",
            "-O",
            version,
            "-m",
            "5",
            "-L",
            "scratch",
            text(&path),
        ];
        let made = home.fsdyno(&words);
        assert_eq!(made.code, Some(0), "{}", made.err);
        assert!(
            made.out.contains(&format!("UFS{version}: ")),
            "{}",
            made.out
        );
        let found = home.fsdyno(&["fsck", text(&path)]);
        assert_eq!(found.code, Some(0), "{}", found.out);
        assert!(
            found.out.contains("0 files, 1 directories"),
            "{}",
            found.out
        );
        assert!(found.out.contains("agrees with itself"), "{}", found.out);

        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(&bytes[superblock + 680..][..7], b"scratch");
        // The number of free blocks.
        bytes[superblock + 1016] ^= 1;
        fs::write(&path, bytes).unwrap();
        let found = home.fsdyno(&["fsck", text(&path)]);
        assert_eq!(found.code, Some(1), "{}", found.out);
        assert!(
            found.out.contains("superblock, free blocks"),
            "{}",
            found.out
        );
    }
}

#[test]
fn soft_updates_and_what_is_no_disk_are_refused_before_anything_is_written() {
    let home = Home::new();
    let path = image(&home, "image", 4 << 20);
    for flag in ["-U", "-j"] {
        let said = home.fsdyno(&["newfs", flag, text(&path)]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("only in BSD kernels"), "{}", said.err);
    }
    assert!(fs::read(&path).unwrap().iter().all(|byte| *byte == 0));
    let small = image(&home, "small", 60_000);
    let absent = home.path("absent");
    for (path, code, words) in [
        (small.as_path(), 2, "are too few"),
        (absent.as_path(), 1, "truncate -s SIZE"),
        (home.root.path(), 2, "is a directory"),
        (Path::new("/dev/null"), 2, "is a character device"),
    ] {
        let said = home.fsdyno(&["newfs", text(path)]);
        assert_eq!(said.code, Some(code), "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
    }
    assert!(!absent.exists());
}
