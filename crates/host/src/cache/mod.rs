//! Caches: drops them, evicts single files, and proves what they contain.
//!
//! The lab decides which cache state a phase needs.

mod files;
mod pages;

use fsdyno_model::CancelToken;
use pages::Counting;
use rustix::fs::{
    Advice, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fadvise, futimens, open,
    syncfs,
};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The resident pages of the files of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residency {
    /// Regular files whose pages were counted; a file with two names counts twice.
    pub files: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    /// Pages that hold all of it.
    pub pages: u64,
    /// Pages of them found in memory.
    pub resident_pages: u64,
    /// Files and directories that could not be opened: of these nothing is known.
    pub unopened: u64,
    /// How pages were counted: `cachestat` or `mincore`.
    pub method: &'static str,
}

/// The error of a walk through a tree.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The state of a file or directory could not be read.
    #[error("cannot look into the cache of {}: {cause}", path.display())]
    Path {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("stopped on request")]
    Stopped,
}

/// Drops page cache, dentries and inodes of the whole machine. Dirty data stays: sync first. Needs
/// root.
pub fn drop_caches() -> io::Result<()> {
    std::fs::write("/proc/sys/vm/drop_caches", "3")
}

/// Counts the pages in memory of all regular files of a tree. No data is read.
///
/// The proof itself fills the caches of names and inodes. For a cold phase, prove first, then call
/// [`drop_caches`] again, which loads no page of data.
pub fn residency(tree: &Path, stop: &CancelToken) -> Result<Residency, CacheError> {
    count(tree, stop, false)
}

/// Requests the kernel to drop the clean pages of every file of a tree, which needs no privilege, and
/// counts those that stay. Dirty pages stay: call [`sync_filesystem`] first. Names and inodes stay
/// too.
pub fn evict_and_count(tree: &Path, stop: &CancelToken) -> Result<Residency, CacheError> {
    count(tree, stop, true)
}

/// Sets the access times of a tree to 1970, so that the kernel writes them again when files are read
/// (`relatime`). Other attributes, except for the time of change, and caches stay as they are.
pub fn forget_access_times(tree: &Path, stop: &CancelToken) -> Result<(), CacheError> {
    let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let times = Timestamps {
        last_access: time(0),
        last_modification: time(UTIME_OMIT),
    };
    let visited = files::visit(tree, stop, |file, _| Ok(futimens(file, &times)?));
    visited.map(drop)
}

impl CacheError {
    fn of(path: &Path, cause: io::Error) -> Self {
        Self::Path {
            path: path.to_owned(),
            cause,
        }
    }
}

fn count(tree: &Path, stop: &CancelToken, evict: bool) -> Result<Residency, CacheError> {
    // An older kernel, a sandbox, or an unsupported file: from then on mincore(2), which counts pages
    // as resident where it may not see them.
    let by_mincore = AtomicBool::new(false);
    let [files, bytes, pages, in_memory] = [const { AtomicU64::new(0) }; 4];
    let page = rustix::param::page_size() as u64;
    let unopened = files::visit(tree, stop, |file, about| {
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Ok(());
        }
        let length = u64::try_from(about.st_size).unwrap_or_default();
        if evict {
            fadvise(file, 0, None, Advice::DontNeed)?;
        }
        let way = counting(&by_mincore);
        let resident = match way.resident(file, length) {
            Err(error) if way == Counting::Cachestat && no_cachestat(&error) => {
                by_mincore.store(true, Relaxed);
                Counting::Mincore.resident(file, length)?
            }
            result => result?,
        };
        files.fetch_add(1, Relaxed);
        bytes.fetch_add(length, Relaxed);
        pages.fetch_add(length.div_ceil(page), Relaxed);
        in_memory.fetch_add(resident, Relaxed);
        Ok(())
    })?;
    Ok(Residency {
        files: files.into_inner(),
        bytes: bytes.into_inner(),
        pages: pages.into_inner(),
        resident_pages: in_memory.into_inner(),
        unopened,
        method: counting(&by_mincore).name(),
    })
}

fn counting(by_mincore: &AtomicBool) -> Counting {
    if by_mincore.load(Relaxed) {
        Counting::Mincore
    } else {
        Counting::Cachestat
    }
}

fn no_cachestat(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP)
    )
}

/// Writes back all dirty data of the file system that contains a path, and waits for it.
pub fn sync_filesystem(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let place = open(path, flags, Mode::empty())?;
    Ok(syncfs(&place)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_regular_file_counts_and_no_link_is_followed() {
        let work_dir = tempfile::tempdir().unwrap();
        let tree = work_dir.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/one"), vec![1; 10_000]).unwrap();
        fs::write(tree.join("two"), vec![1; 5000]).unwrap();
        fs::write(tree.join("empty"), "").unwrap();
        fs::write(work_dir.path().join("outside"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("../outside", tree.join("link")).unwrap();
        std::os::unix::fs::symlink("..", tree.join("up")).unwrap();
        let stop = CancelToken::new();
        let seen = residency(&tree, &stop).unwrap();
        assert_eq!((seen.files, seen.bytes, seen.unopened), (3, 15_000, 0));
        assert!(seen.resident_pages > 0, "{seen:?}");
        if rustix::param::page_size() == 4096 {
            assert_eq!(seen.pages, 5);
        }
        assert_eq!(evict_and_count(&tree, &stop).unwrap().files, 3);
        let one = residency(&work_dir.path().join("outside"), &stop).unwrap();
        assert_eq!((one.files, one.bytes), (1, 100_000));
    }

    #[test]
    fn forgotten_access_times_are_written_again_and_nothing_else_changes() {
        use std::os::unix::fs::MetadataExt as _;
        let work_dir = tempfile::tempdir().unwrap();
        let (directory, file) = (work_dir.path().join("d"), work_dir.path().join("d/file"));
        fs::create_dir(&directory).unwrap();
        fs::write(&file, "x").unwrap();
        let times = |path: &Path| {
            let about = fs::metadata(path).unwrap();
            (about.atime(), (about.mtime(), about.mtime_nsec()))
        };
        let before = [&directory, &file].map(|path| times(path).1);
        forget_access_times(work_dir.path(), &CancelToken::new()).unwrap();
        let after = [&directory, &file].map(|path| times(path));
        assert_eq!(after, before.map(|modified| (0, modified)));
    }

    #[test]
    fn files_deeper_than_path_max_are_counted() {
        let work_dir = tempfile::tempdir().unwrap();
        let mut directory = open(work_dir.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
        let name = "d".repeat(100);
        for _ in 0..90 {
            rustix::fs::mkdirat(&directory, &name, Mode::RWXU).unwrap();
            directory =
                rustix::fs::openat(&directory, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let flags = OFlags::CREATE | OFlags::WRONLY;
        let bottom = rustix::fs::openat(&directory, "bottom", flags, Mode::RUSR).unwrap();
        rustix::io::write(&bottom, b"deep").unwrap();
        let stop = CancelToken::new();
        let seen = residency(work_dir.path(), &stop).unwrap();
        assert_eq!((seen.files, seen.bytes, seen.unopened), (1, 4, 0));
        let evicted = evict_and_count(work_dir.path(), &stop).unwrap();
        assert_eq!((evicted.files, evicted.unopened), (1, 0));
    }

    #[test]
    fn cancellation_ends_the_walk_and_a_missing_tree_is_named() {
        let work_dir = tempfile::tempdir().unwrap();
        fs::write(work_dir.path().join("file"), "x").unwrap();
        let stop = CancelToken::new();
        stop.request();
        let error = residency(work_dir.path(), &stop).unwrap_err();
        assert!(matches!(error, CacheError::Stopped), "{error}");
        let error = residency(Path::new("/no/such/tree"), &CancelToken::new()).unwrap_err();
        assert!(error.to_string().contains("/no/such/tree"), "{error}");
    }
}
