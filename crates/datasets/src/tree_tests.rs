//! Trees with unusual entries, copied like `cp -a`.

use super::*;
use crate::trees::{Comparison, compare};
use fsdyno_model::{Bytes, Capabilities};
use rustix::fs::{CWD, Mode};
use std::ffi::{CString, OsStr};
use std::fs as files;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

/// A tree with all unusual entries that any user can create.
fn odd_tree(at: &Path) {
    files::create_dir_all(at.join("empty")).unwrap();
    files::create_dir_all(at.join("dir")).unwrap();
    files::write(at.join(OsStr::from_bytes(b"not \xff utf-8")), "x").unwrap();
    files::write(at.join("new\nline"), "y").unwrap();
    files::write(at.join("-rf *"), "z").unwrap();
    files::write(at.join("empty file"), "").unwrap();
    files::hard_link(at.join("new\nline"), at.join("dir/same")).unwrap();
    files::hard_link(at.join("new\nline"), at.join("dir/same too")).unwrap();
    symlink("nowhere/at all", at.join("dangling")).unwrap();
    symlink("/etc", at.join("out")).unwrap();
    let mut sparse = files::File::create(at.join("sparse")).unwrap();
    sparse.write_all(b"begin").unwrap();
    sparse.seek(SeekFrom::Start(8 << 20)).unwrap();
    sparse.write_all(b"middle").unwrap();
    sparse.set_len(1 << 26).unwrap();
    for kind in [fs::FileType::Fifo, fs::FileType::Socket] {
        let name = format!("{kind:?}");
        fs::mknodat(CWD, at.join(name), kind, Mode::RUSR | Mode::WGRP, 0).unwrap();
    }
    let mode = |name: &str, mode| {
        files::set_permissions(at.join(name), files::Permissions::from_mode(mode)).unwrap();
    };
    mode("-rf *", 0o2751);
    mode("dir", 0o1577);
    mode("empty", 0o700);
    let name = CString::new(at.join("empty file").as_os_str().as_bytes()).unwrap();
    // If the file system of the test stores none, the others stay.
    let flags = fs::XattrFlags::empty();
    let _ = fs::lsetxattr(&name, c"user.color", b"blue\0green", flags);
    let _ = fs::lsetxattr(&name, c"user.long", &[7; 1500], flags);
}

fn create(from: &Path, place: &Path) -> (PathBuf, Vec<Warning>) {
    let dataset = Tree::open(from, &CancelToken::new()).unwrap();
    let mut work_dir = WorkDir::new(place);
    let warnings = dataset
        .create(&mut work_dir, Form::Tree, &CancelToken::new())
        .unwrap();
    (work_dir.newest().unwrap().clone(), warnings)
}

fn compared(a: &Path, b: &Path) -> Comparison {
    compare(a, b, &CancelToken::new()).unwrap()
}

#[test]
fn an_odd_tree_is_created_as_by_cp() {
    let place = tempfile::tempdir().unwrap();
    let (odd, by_cp) = (place.path().join("odd"), place.path().join("cp"));
    files::create_dir(&odd).unwrap();
    odd_tree(&odd);
    let status = Command::new("cp")
        .arg("-a")
        .arg(&odd)
        .arg(&by_cp)
        .status()
        .unwrap();
    assert!(status.success());
    let work_dir = place.path().join("ground");
    files::create_dir(&work_dir).unwrap();
    let (created, warnings) = create(&odd, &work_dir);
    assert!(warnings.is_empty(), "{warnings:?}");
    for (a, b) in [(&odd, &created), (&by_cp, &created), (&odd, &by_cp)] {
        let found = compared(a, b);
        assert!(
            found.equal(),
            "{} {}: {:?}",
            a.display(),
            b.display(),
            found.differences
        );
        assert_eq!((found.files, found.directories), (11, 2));
    }
    let stat = created.join("sparse").metadata().unwrap();
    assert_eq!(stat.size(), 1 << 26);
    assert!(
        stat.blocks() * 512 < 4 << 20,
        "holes stay holes: {} blocks",
        stat.blocks()
    );
}

#[test]
fn facts_count_links_once_and_holes_as_no_space() {
    let place = tempfile::tempdir().unwrap();
    odd_tree(place.path());
    let dataset = Tree::open(place.path(), &CancelToken::new()).unwrap();
    let facts = dataset.facts();
    assert_eq!((facts.files, facts.directories), (11, 2));
    assert_eq!(facts.bytes.0, (1 << 26) + 3);
    assert!(facts.footprint.0 < 4 << 20, "{:?}", facts.footprint);
}

#[test]
fn device_nodes_are_created_by_root() {
    let place = tempfile::tempdir().unwrap();
    let odd = place.path().join("odd");
    files::create_dir(&odd).unwrap();
    let device = fs::makedev(1, 3);
    let null = odd.join("null");
    if fs::mknodat(
        CWD,
        &null,
        fs::FileType::CharacterDevice,
        Mode::RUSR,
        device,
    )
    .is_err()
    {
        println!("SKIP root (CAP_MKNOD): device_nodes_are_created_by_root");
        return;
    }
    std::os::unix::fs::chown(&null, Some(4321), Some(1234)).unwrap();
    let work_dir = place.path().join("ground");
    files::create_dir(&work_dir).unwrap();
    let (created, _) = create(&odd, &work_dir);
    let found = compared(&odd, &created);
    assert!(found.equal(), "{:?}", found.differences);
    assert_eq!(created.join("null").metadata().unwrap().rdev(), device);
}

#[test]
fn a_path_that_is_not_a_tree_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    files::write(&file, "").unwrap();
    let error = Tree::open(&file, &CancelToken::new()).unwrap_err();
    assert!(
        error.to_string().contains("no directory, not a tree"),
        "{error}"
    );
    let error = Tree::open(&place.path().join("missing"), &CancelToken::new()).unwrap_err();
    assert_eq!(error.errno(), Some(2), "{error}");
}

#[test]
fn a_tree_is_not_copied_into_itself() {
    let place = tempfile::tempdir().unwrap();
    let work_dir = place.path().join("work/ground");
    files::create_dir_all(&work_dir).unwrap();
    let dataset = Tree::open(place.path(), &CancelToken::new()).unwrap();
    let error = dataset
        .create(
            &mut WorkDir::new(&work_dir),
            Form::Tree,
            &CancelToken::new(),
        )
        .unwrap_err();
    assert!(matches!(error, DatasetError::Inside { .. }), "{error}");
    assert!(files::read_dir(&work_dir).unwrap().next().is_none());
}

#[test]
fn a_tree_nested_too_deep_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let mut deep = place.path().to_owned();
    for _ in 0..310 {
        deep.push("d");
    }
    files::create_dir_all(&deep).unwrap();
    let error = Tree::open(place.path(), &CancelToken::new()).unwrap_err();
    assert!(error.to_string().contains("nested too deep"), "{error}");
}

#[test]
fn refusals_are_listed_and_counted() {
    let refusal = |path: &str| crate::Refusal {
        path: path.into(),
        reason: "Permission denied (os error 13)".into(),
    };
    let error = DatasetError::Refused {
        tree: "/t".into(),
        count: 9,
        first: vec![refusal("/t/a"), refusal("/t/b\n")],
    };
    let text = error.to_string();
    assert!(text.contains("/t/a (Permission denied"), "{text}");
    assert!(
        text.ends_with("/t/b\\n (Permission denied (os error 13)) and 7 more"),
        "{text}"
    );
}

#[test]
fn what_a_user_cannot_read_is_refused_before_anything_is_made() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    files::create_dir_all(tree.join("closed")).unwrap();
    files::write(tree.join("secret"), "").unwrap();
    files::write(tree.join("open"), "").unwrap();
    for (path, mode) in [
        ("closed", 0o700),
        ("secret", 0o600),
        ("open", 0o644),
        ("", 0o755),
    ] {
        files::set_permissions(tree.join(path), files::Permissions::from_mode(mode)).unwrap();
    }
    files::set_permissions(place.path(), files::Permissions::from_mode(0o755)).unwrap();
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: what_a_user_cannot_read_is_refused_before_anything_is_made");
        return;
    }
    // The identity is that of the thread alone: the system call knows no process.
    let nobody = rustix::fs::Uid::from_raw(65_534);
    let error = std::thread::spawn(move || {
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        Tree::open(&tree, &CancelToken::new())
            .unwrap_err()
            .to_string()
    })
    .join()
    .unwrap();
    assert!(error.contains("tree/secret (Permission denied"), "{error}");
    assert!(error.contains("tree/closed (Permission denied"), "{error}");
    assert!(!error.contains("open ("), "{error}");
}

#[test]
fn another_file_system_is_left_out_by_name() {
    // Below /dev there are others on any system: /dev/shm, /dev/pts.
    let dev = Path::new("/dev");
    let device = |path: &str| files::metadata(path).map(|stat| stat.dev());
    if device("/dev/shm").ok() == device("/dev").ok() {
        println!("SKIP mounts below /dev: another_file_system_is_left_out_by_name");
        return;
    }
    let Ok(dataset) = Tree::open(dev, &CancelToken::new()) else {
        println!("SKIP root: another_file_system_is_left_out_by_name");
        return;
    };
    let warnings = dataset.warnings(Lost::default());
    assert!(
        warnings
            .iter()
            .any(|warning| warning.message.contains("/dev/")),
        "{warnings:?}"
    );
}

#[test]
fn entries_that_a_file_system_cannot_store_are_left_out_and_counted() {
    let place = tempfile::tempdir().unwrap();
    let (from, work) = (place.path().join("from"), place.path().join("work"));
    for directory in [&from, &work] {
        files::create_dir(directory).unwrap();
    }
    files::write(from.join("file"), "data").unwrap();
    files::write(from.join("large"), [0; 200]).unwrap();
    files::hard_link(from.join("file"), from.join("hard")).unwrap();
    std::os::unix::fs::symlink("file", from.join("link")).unwrap();
    files::create_dir(from.join("Name")).unwrap();
    files::write(from.join("Name/below"), "").unwrap();
    let dataset = Tree::open(&from, &CancelToken::new()).unwrap();
    let mut work_dir = WorkDir::new(&work);
    work_dir.stores = Capabilities {
        hard_links: false,
        symlinks: false,
        owners: false,
        largest_file: Some(Bytes(100)),
        case_folding: true,
        ..Capabilities::ALL
    };
    let stop = CancelToken::new();
    let warnings = dataset.create(&mut work_dir, Form::Tree, &stop).unwrap();
    assert!(
        warnings[0].message.starts_with("3 entries were left out"),
        "{warnings:?}"
    );
    let tree = work_dir.newest().unwrap();
    let mut names: Vec<_> = files::read_dir(tree)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    // Of the two names of one file, only the first one is copied.
    assert_eq!((names.len(), &*names[0]), (2, "Name"));
    assert!(tree.join("Name/below").exists());
}
