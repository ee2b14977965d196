//! Removes a tree, following no link and crossing into no other file system.

use crate::mounts::table;
use crate::place::Place;
use fsdyno_files::open_parent;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::fs::{fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Maximum depth of directories that are held open. Deeper ones are first moved to the top of the
/// tree.
const DEPTH: usize = 128;

/// Maximum number of passes over a directory: a listing may skip entries while others of the same
/// directory are removed.
const ROUNDS: u32 = 4;

/// Removes a file, or a directory with its contents. A missing file is no error.
///
/// The path is absolute. No symbolic link is followed, so that nobody who can rename a directory on
/// the path can redirect the removal. Refuses, before anything is removed, while a file system is
/// mounted at the path or below. Enters no directory of another device, should one be mounted
/// later.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match open_parent(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => remove_entry(opened?, path, None),
    }
}

/// Removes what `made` holds open from its place. Refuses anything else that has its name by now.
pub(crate) fn remove_made(place: &Place, made: &OwnedFd) -> io::Result<()> {
    remove_entry((place, place.name()), place.path(), Some(fstat(made)?))
}

/// Removes a name of a directory. `made` is what the name must lead to.
fn remove_entry<P: AsFd>(
    (parent, name): (P, &OsStr),
    path: &Path,
    made: Option<Stat>,
) -> io::Result<()> {
    let replaced = |stat: &Stat| {
        made.is_some_and(|made| (made.st_dev, made.st_ino) != (stat.st_dev, stat.st_ino))
    };
    let foreign = || {
        let why = format!("{} is not what fsdyno made there", path.display());
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    };
    match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        // A mount point has the number of what is mounted there, and is refused below.
        Ok(stat) if replaced(&stat) && table::mounted_below(path)?.is_empty() => {
            return Err(foreign());
        }
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    match unlinkat(&parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        // EISDIR on Linux, EPERM by POSIX: it may be a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    if let Some(mounted) = table::mounted_below(path)?.first() {
        return Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("something is mounted at {}", mounted.display()),
        ));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = openat(&parent, name, flags, Mode::empty())?;
    let stat = fstat(&top)?;
    if replaced(&stat) {
        return Err(foreign());
    }
    let removal = Removal {
        top: top.as_fd(),
        device: stat.st_dev,
        moved: 0.into(),
    };
    let mut barren = 0;
    loop {
        removal.empty(top.as_fd(), 0)?;
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // Directories that were moved up are met in the next round.
            Err(Errno::NOTEMPTY) if removal.moved.replace(0) > 0 => {}
            Err(Errno::NOTEMPTY) if barren < ROUNDS => barren += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

struct Removal<'a> {
    top: BorrowedFd<'a>,
    device: u64,
    /// Directories moved up in this round.
    moved: std::cell::Cell<u64>,
}

impl Removal<'_> {
    /// Removes the contents of a directory.
    fn empty(&self, directory: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        let mut entries = Dir::read_from(directory)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                self.entry_of_directory(directory, name, depth)?;
            } else {
                ignore_missing(unlinkat(directory, name, AtFlags::empty()))?;
            }
        }
        Ok(())
    }

    fn entry_of_directory(
        &self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        depth: usize,
    ) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let child = match openat(parent, name, flags, Mode::empty()) {
            Ok(child) => child,
            Err(Errno::NOENT) => return Ok(()),
            // No directory after all.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return ignore_missing(unlinkat(parent, name, AtFlags::empty()));
            }
            // A directory without permission to list may still be empty.
            Err(error) => {
                return unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(|_| error.into());
            }
        };
        if fstat(&child)?.st_dev != self.device {
            let shown = name.to_string_lossy();
            return Err(io::Error::new(
                io::ErrorKind::CrossesDevices,
                format!("`{shown}` in it is on another device"),
            ));
        }
        if depth >= DEPTH {
            let number = self.moved.get();
            self.moved.set(number + 1);
            let upper = format!(".fsdyno-removal-{}-{number}", fstat(&child)?.st_ino);
            renameat(parent, name, self.top, upper)?;
            return Ok(());
        }
        for _ in 0..ROUNDS {
            self.empty(child.as_fd(), depth + 1)?;
            match unlinkat(parent, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY) => {}
                result => return ignore_missing(result),
            }
        }
        ignore_missing(unlinkat(parent, name, AtFlags::REMOVEDIR))
    }
}

fn ignore_missing(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_tree_goes_and_what_its_links_lead_to_stays() {
        let work_dir = tempfile::tempdir().unwrap();
        let (tree, other) = (work_dir.path().join("tree"), work_dir.path().join("other"));
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("kept"), "x").unwrap();
        fs::write(tree.join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink(&other, tree.join("a/link")).unwrap();
        std::os::unix::fs::symlink("nowhere", tree.join("broken")).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert!(other.join("kept").exists());
        remove_tree(&tree).unwrap();
        let link = work_dir.path().join("link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        remove_tree(&link).unwrap();
        assert!(other.join("kept").exists());
    }

    #[test]
    fn depth_is_not_bounded_by_open_files_or_path_length() {
        let work_dir = tempfile::tempdir().unwrap();
        let tree = work_dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::open(&tree, flags, Mode::empty()).unwrap();
        let name = "a-name-of-some-length";
        for _ in 0..2000 {
            rustix::fs::mkdirat(&at, name, Mode::RWXU).unwrap();
            at = openat(&at, name, flags, Mode::empty()).unwrap();
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
    }
}
