//! Another user exchanges files and directories for symbolic links while root works there. That user
//! is a thread with their rights.

use super::{WorkDir, lab};
use fsdyno_host::image::{Image, ImageError, Scratch};
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{mount, mountinfo};
use fsdyno_model::Bytes;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Uid;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const OTHER: u32 = 65_534;

/// How often root tries each act.
const TRIES: u32 = 50;

/// The names that are attacked: an image, a mount point, and a tree.
const NAMES: [&str; 3] = ["disk0.img", "mnt", "tree"];

/// A directory of root that nobody else may change, with a file.
struct Precious(PathBuf);

impl Precious {
    fn new(work_dir: &WorkDir) -> Self {
        let directory = work_dir.path().join("precious");
        fs::create_dir(&directory).unwrap();
        for name in ["file", "disk0.img", "mnt"] {
            fs::write(directory.join(name), "precious").unwrap();
        }
        Self(directory)
    }

    fn assert_untouched(&self) {
        for name in ["file", "disk0.img", "mnt"] {
            assert_eq!(fs::read(self.0.join(name)).unwrap(), b"precious", "{name}");
        }
        assert_eq!(fs::read_dir(&self.0).unwrap().count(), 3);
        assert_ne!(mountinfo(&self.0).unwrap().target, self.0);
    }
}

/// Exchanges the names in a directory for links until `done`. Counts the successful exchanges.
fn attack(place: &Path, precious: &Path, done: &AtomicBool, exchanged: &AtomicU64) {
    rustix::thread::set_thread_res_uid(Uid::from_raw(OTHER), Uid::from_raw(OTHER), None).unwrap();
    let file = precious.join("file");
    let links = NAMES.map(|name| {
        let link = place.join(format!("link-{name}"));
        symlink(if name == "disk0.img" { &file } else { precious }, &link).unwrap();
        (place.join(name), link)
    });
    while !done.load(Ordering::Relaxed) {
        for (name, link) in &links {
            let both = renameat_with(CWD, link, CWD, name, RenameFlags::EXCHANGE);
            let planted = both.is_err() && symlink(precious, name).is_ok();
            if both.is_ok() || planted {
                exchanged.fetch_add(1, Ordering::Relaxed);
                // Root finds the link, or makes its own in the free name.
                thread::yield_now();
            }
            if both.is_ok() {
                let _ = renameat_with(CWD, link, CWD, name, RenameFlags::EXCHANGE);
            }
            let _ = fs::remove_file(name);
        }
    }
}

/// Root makes, uses and removes an image, a mount and a tree. Returns how many it could make.
fn work(work_dir: &WorkDir, place: &Path) -> [Result<(), ImageError>; 3] {
    let journal = &work_dir.journal;
    let image = Image::create(&place.join("disk0.img"), Bytes(1 << 20), journal).map(|image| {
        if let Ok(device) = Loop::attach(&image.file().unwrap(), journal) {
            let device = fs::OpenOptions::new().write(true).open(device.device());
            device.unwrap().write_all_at(&[0; 4096], 0).unwrap();
        }
    });
    let mounted = Scratch::create(&place.join("mnt"), journal).map(|target| {
        let options = ["size=64k".to_owned()];
        if let Ok(mounted) = mount("tmpfs", "race", target.path(), &options, journal) {
            fs::write(mounted.target().join("file"), "new").unwrap();
            mounted.unmount().unwrap();
        }
    });
    let tree = Scratch::inside(&place.join("tree"), journal).map(|tree| {
        fs::write(tree.path().join("new"), "new").unwrap();
    });
    [image, mounted, tree]
}

fn race(test: &str, permissions: u32, owner: u32) -> Option<(u32, Vec<ImageError>)> {
    if !lab(test) {
        return None;
    }
    let work_dir = WorkDir::new();
    let precious = Precious::new(&work_dir);
    let place = work_dir.path().join("place");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(work_dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&place, Permissions::from_mode(permissions)).unwrap();
    chown(&place, Some(owner), Some(owner)).unwrap();
    let (done, exchanged) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut made, mut refused) = (0, Vec::new());
    thread::scope(|scope| {
        let attacker = scope.spawn(|| attack(&place, &precious.0, &done, &exchanged));
        while exchanged.load(Ordering::Relaxed) == 0 && !attacker.is_finished() {
            thread::yield_now();
        }
        for _ in 0..TRIES {
            for result in work(&work_dir, &place) {
                match result {
                    Ok(()) => made += 1,
                    Err(error) => refused.push(error),
                }
            }
            precious.assert_untouched();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(exchanged.load(Ordering::Relaxed) > 0);
    Some((made, refused))
}

#[test]
fn in_a_directory_of_another_user_root_makes_nothing() {
    let test = "in_a_directory_of_another_user_root_makes_nothing";
    for (mode, owner) in [(0o755, OTHER), (0o777, 0)] {
        let Some((made, refused)) = race(test, mode, owner) else {
            return;
        };
        assert_eq!(made, 0);
        for error in refused {
            assert!(matches!(error, ImageError::Place { .. }), "{error}");
        }
    }
}

#[test]
fn in_a_sticky_directory_another_user_exchanges_nothing_of_root() {
    let test = "in_a_sticky_directory_another_user_exchanges_nothing_of_root";
    let Some((_, refused)) = race(test, 0o1777, 0) else {
        return;
    };
    // The other user had the name first.
    for error in refused {
        assert!(matches!(error, ImageError::Exists { .. }), "{error}");
    }
}
