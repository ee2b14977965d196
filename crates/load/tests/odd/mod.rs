//! A tree with all unusual kinds of entries, and a description of trees for comparisons.

use fsdyno_datasets::work_dir::WorkDir;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A temporary directory with a work directory that contains the odd tree.
pub fn work_dir() -> (tempfile::TempDir, WorkDir) {
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let tree = home.path().join("tree");
    make(&tree);
    work_dir.trees.push(tree);
    (home, work_dir)
}

fn times(path: &Path, seconds: i64, nanos: i64) {
    let moment = |tv_sec| Timespec {
        tv_sec,
        tv_nsec: nanos,
    };
    let times = Timestamps {
        last_access: moment(seconds + 1),
        last_modification: moment(seconds),
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Creates the odd tree.
pub fn make(tree: &Path) {
    let text = |lines: usize| "line after line: foo-libtool.tar\nand a gap\n".repeat(lines);
    fs::create_dir_all(tree.join("a/b/empty")).unwrap();
    let odd = tree.join(OsStr::from_bytes(b"\xff\xfe new\nline"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join(OsStr::from_bytes(b"-rf \xc3\x28\n")), text(3)).unwrap();
    fs::write(tree.join("nothing"), "").unwrap();
    fs::write(tree.join("large"), text(10_000)).unwrap();
    fs::write(tree.join("exactly"), vec![b'x'; 128 * 1024]).unwrap();
    fs::write(tree.join("no end of line"), "foo-libtool.tar").unwrap();
    fs::write(
        tree.join("binary"),
        b"foo-libtool.tar\n\0foo-libtool.tar\nfoo-libtool.tar\n",
    )
    .unwrap();
    fs::write(tree.join("other binary"), b"\0\0foo\0foo").unwrap();
    let sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.write_all_at(b"middle", 1 << 20).unwrap();
    sparse.write_all_at(b"end", 3 << 20).unwrap();
    sparse.set_len(4 << 20).unwrap();
    fs::write(tree.join("first name"), "linked").unwrap();
    fs::hard_link(tree.join("first name"), tree.join("a/second name")).unwrap();
    fs::hard_link(tree.join("first name"), odd.join("third name")).unwrap();
    symlink("../nowhere/\u{e4}", tree.join("a/dangling")).unwrap();
    symlink("/etc", tree.join("away")).unwrap();
    let fifo = tree.join("pipe");
    rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, 0o640.into(), 0).unwrap();
    drop(std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap());
    if rustix::process::geteuid().is_root() {
        let device = tree.join("device");
        let null = rustix::fs::makedev(1, 3);
        let kind = rustix::fs::FileType::CharacterDevice;
        rustix::fs::mknodat(CWD, &device, kind, 0o666.into(), null).unwrap();
        std::os::unix::fs::lchown(tree.join("large"), Some(12), Some(34)).unwrap();
        std::os::unix::fs::lchown(tree.join("away"), Some(12), Some(34)).unwrap();
        std::os::unix::fs::lchown(tree.join("a/b"), Some(12), Some(34)).unwrap();
    }
    let attributed = tree.join("nothing");
    // Some file systems do not support them.
    let _ = rustix::fs::setxattr(&attributed, "user.fsdyno", b"kept\0", XattrFlags::empty());
    let _ = rustix::fs::setxattr(tree.join("a"), "user.fsdyno", b"too", XattrFlags::empty());
    let deep = (0..60).fold(tree.join("deep"), |path, level| {
        path.join(level.to_string())
    });
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("bottom"), "!").unwrap();
    chmod(&tree.join("large"), 0o4750);
    chmod(&tree.join("exactly"), 0o400);
    chmod(&tree.join("nothing"), 0o666);
    times(&tree.join("a/dangling"), 1_111_111_111, 111);
    times(&tree.join("large"), 1_000_000_000, 999_999_999);
    times(&tree.join("pipe"), 7, 5);
    times(&tree.join("first name"), -86_400, 500_000_000);
    chmod(&tree.join("a/b/empty"), 0o1777);
    chmod(&tree.join("a/b"), 0o2755);
    if rustix::process::geteuid().is_root() {
        // Other users could not remove its contents.
        chmod(&odd, 0o500);
    }
    for (path, seconds) in [("a/b/empty", 1), ("a/b", 2), ("a", 3), ("deep", 4), ("", 5)] {
        times(&tree.join(path), seconds, 123_456_789);
    }
}

/// The compared properties of each entry of a tree, by path.
pub fn describe(tree: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(path) = left.pop() {
        let full = tree.join(&path);
        let meta = fs::symlink_metadata(&full).unwrap();
        let kind = meta.file_type();
        let mut description = format!(
            "mode {:o} links {} owner {}:{} device {} modified {}.{:09}",
            meta.mode(),
            if kind.is_dir() { 0 } else { meta.nlink() },
            meta.uid(),
            meta.gid(),
            if kind.is_char_device() {
                meta.rdev()
            } else {
                0
            },
            meta.mtime(),
            meta.mtime_nsec(),
        );
        if kind.is_dir() {
            left.extend(
                fs::read_dir(&full)
                    .unwrap()
                    .map(|entry| path.join(entry.unwrap().file_name())),
            );
        } else if kind.is_file() {
            let data = fs::read(&full).unwrap();
            let sum = data.iter().fold(5381_u64, |sum, byte| {
                sum.wrapping_mul(33).wrapping_add((*byte).into())
            });
            let holes = meta.blocks() * 512 < meta.len();
            let size = meta.len();
            write!(description, " size {size} sum {sum:x} holes {holes}").unwrap();
        } else if kind.is_symlink() {
            let target = fs::read_link(&full).unwrap();
            write!(description, " to {}", target.display()).unwrap();
        }
        if kind.is_dir() || kind.is_file() {
            let mut value = [0; 64];
            if let Ok(bytes) = rustix::fs::getxattr(&full, "user.fsdyno", &mut value) {
                write!(description, " attribute {:?}", &value[..bytes]).unwrap();
            }
        }
        found.insert(path, description);
    }
    found
}

/// Fails if two trees differ, and names the first difference.
#[track_caller]
pub fn assert_same(one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>, what: &str) {
    for path in one.keys().chain(other.keys()) {
        assert_eq!(one.get(path), other.get(path), "{what}: {}", path.display());
    }
}
