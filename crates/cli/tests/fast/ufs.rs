//! `fsdyno ufs make` and `fsdyno ufs check` on files.

use crate::support::Home;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn image(home: &Home, name: &str, bytes: u64) -> PathBuf {
    let path = home.path(name);
    File::create_new(&path).unwrap().set_len(bytes).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn check_accepts_a_new_file_system_and_names_damage() {
    let home = Home::new();
    for (version, superblock) in [("1", 8192), ("2", 65_536)] {
        let path = image(&home, version, 24 << 20);
        let words = [
            "ufs",
            "make",
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
        let found = home.fsdyno(&["ufs", "check", text(&path)]);
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
        let found = home.fsdyno(&["ufs", "check", text(&path)]);
        assert_eq!(found.code, Some(1), "{}", found.out);
        assert!(
            found.out.contains("superblock, free blocks"),
            "{}",
            found.out
        );
    }
}

#[test]
fn a_file_with_content_is_overwritten_only_with_consent_and_a_copy() {
    let home = Home::new();
    let path = image(&home, "thesis.txt", 8 << 20);
    let mut bytes = fs::read(&path).unwrap();
    bytes[5 << 20..][..8].copy_from_slice(b"precious");
    fs::write(&path, &bytes).unwrap();
    for words in [
        &["ufs", "make"][..],
        &["ufs", "make", "--erase", "other"],
        &["ufs", "make", "--erase-fstab", "thesis.txt"],
    ] {
        let printed = home.fsdyno(&[words, &[text(&path)]].concat());
        assert!(matches!(printed.code, Some(2 | 3)), "{}", printed.err);
        assert!(fs::read(&path).unwrap() == bytes, "{words:?}");
    }
    let printed = home.fsdyno(&["ufs", "make", text(&path)]);
    assert_eq!(printed.code, Some(3), "{}", printed.err);
    for words in ["byte 5242880", "--erase 'thesis.txt'"] {
        assert!(printed.err.contains(words), "{}", printed.err);
    }
    // An environment variable that anyone can set does not replace the consent.
    let mut command = home.command(&["ufs", "make", text(&path)]);
    let parent = std::process::id().to_string();
    let printed = command.env("FSDYNO_STEP_OF", parent).output().unwrap();
    assert_eq!(printed.status.code(), Some(3));
    assert!(fs::read(&path).unwrap() == bytes);

    let printed = home.fsdyno(&["ufs", "make", "--erase", "thesis.txt", text(&path)]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert_eq!(copies(&home), 1, "{}", printed.err);
    // The file now holds a file system, which is protected too.
    let printed = home.fsdyno(&["ufs", "make", text(&path)]);
    assert_eq!(printed.code, Some(3), "{}", printed.err);
    assert!(
        printed.err.contains("--erase 'thesis.txt:ufs'"),
        "{}",
        printed.err
    );
}

/// Number of kept records of overwritten signatures.
fn copies(home: &Home) -> usize {
    let kept = walk(home.root.path());
    let of_signatures = |path: &PathBuf| {
        let text = path.to_string_lossy();
        text.contains("/signatures/") && text.ends_with(".json")
    };
    kept.iter().filter(|path| of_signatures(path)).count()
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn soft_updates_and_non_disks_are_refused_before_any_write() {
    let home = Home::new();
    let path = image(&home, "image", 4 << 20);
    for flag in ["-U", "-j"] {
        let printed = home.fsdyno(&["ufs", "make", flag, text(&path)]);
        assert_eq!(printed.code, Some(2), "{}", printed.err);
        assert!(
            printed.err.contains("only in BSD kernels"),
            "{}",
            printed.err
        );
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
        let printed = home.fsdyno(&["ufs", "make", text(path)]);
        assert_eq!(printed.code, Some(code), "{}", printed.err);
        assert!(printed.err.contains(words), "{}", printed.err);
    }
    assert!(!absent.exists());
}
