//! Walks a tree once before anything is created: counts its contents, and finds entries that cannot
//! be copied.

use crate::entry::{self, DEEPEST};
use crate::{DatasetError, Facts, Refusal};
use fsdyno_model::CancelToken;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The number of refusals, or mounts, that are reported by name.
const REPORTED: usize = 5;

#[derive(Debug)]
pub struct Survey {
    pub facts: Facts,
    /// Directories where another file system is mounted: treated as empty (the first few).
    pub mounts: Vec<PathBuf>,
    /// The number of these directories.
    pub mount_count: u64,
}

/// Walks the tree. Entries that the current user cannot read or create are an error.
pub fn survey(root: &Path, stop: &CancelToken) -> Result<Survey, DatasetError> {
    let directory = open_root(root)?;
    let stat = fs::fstat(&directory).map_err(|errno| DatasetError::io("examine", root, errno))?;
    let mut surveyor = Surveyor {
        stop,
        path: root.to_owned(),
        device: stat.st_dev,
        may_make_devices: may_make_devices(),
        linked: HashSet::new(),
        refused: Vec::new(),
        refused_count: 0,
        survey: Survey {
            facts: Facts::default(),
            mounts: Vec::new(),
            mount_count: 0,
        },
    };
    surveyor.directory(&directory, 0)?;
    if surveyor.refused_count > 0 {
        return Err(DatasetError::Refused {
            tree: root.to_owned(),
            count: surveyor.refused_count,
            first: surveyor.refused,
        });
    }
    Ok(surveyor.survey)
}

/// Opens the root of a tree; its path may contain symbolic links.
pub fn open_root(root: &Path) -> Result<OwnedFd, DatasetError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::openat(CWD, root, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOTDIR => DatasetError::WrongKind {
            path: root.to_owned(),
            is: "no directory",
            wanted: "a tree",
            remedy: "for an archive write tar:FILE, for a single file file:FILE",
        },
        errno => DatasetError::io("open", root, errno),
    })
}

fn may_make_devices() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::MKNOD))
}

struct Surveyor<'a> {
    stop: &'a CancelToken,
    path: PathBuf,
    device: u64,
    may_make_devices: bool,
    /// Files with several names, of which one was found.
    linked: HashSet<(u64, u64)>,
    refused: Vec<Refusal>,
    refused_count: u64,
    survey: Survey,
}

impl Surveyor<'_> {
    fn directory(&mut self, directory: &OwnedFd, depth: usize) -> Result<(), DatasetError> {
        let path = self.path.clone();
        entry::each_name(
            directory,
            |errno| DatasetError::io("list", &path, errno),
            |name| {
                self.path.push(OsStr::from_bytes(name.to_bytes()));
                let seen = self.entry(directory.as_fd(), name, depth);
                self.path.pop();
                seen
            },
        )
    }

    fn entry(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        depth: usize,
    ) -> Result<(), DatasetError> {
        self.stop.check()?;
        let stat = match entry::stat(directory, name) {
            Ok(stat) => stat,
            Err(errno) => {
                self.refuse(&reason(errno));
                return Ok(());
            }
        };
        match entry::kind(&stat) {
            FileType::Directory => return self.below(directory, name, &stat, depth),
            FileType::RegularFile => self.file(directory, name, &stat),
            FileType::BlockDevice | FileType::CharacterDevice if !self.may_make_devices => {
                self.refuse("a device node; only root can make one: exclude it or run as root");
            }
            FileType::Unknown => self.refuse("an entry of unknown type"),
            _ => self.survey.facts.add_name(),
        }
        Ok(())
    }

    fn below(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        stat: &Stat,
        depth: usize,
    ) -> Result<(), DatasetError> {
        self.survey.facts.add_directory();
        if stat.st_dev != self.device {
            self.survey.mount_count += 1;
            if self.survey.mounts.len() < REPORTED {
                self.survey.mounts.push(self.path.clone());
            }
            return Ok(());
        }
        if depth >= DEEPEST {
            self.refuse("nested too deep: fsdyno takes 300 levels");
            return Ok(());
        }
        match entry::open_directory(directory, name) {
            Ok(below) => self.directory(&below, depth + 1),
            Err(errno) => {
                self.refuse(&reason(errno));
                Ok(())
            }
        }
    }

    fn file(&mut self, directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) {
        if let Err(errno) = fs::accessat(directory, name, Access::READ_OK, AtFlags::EACCESS) {
            self.refuse(&reason(errno));
            return;
        }
        if stat.st_nlink > 1 && !self.linked.insert((stat.st_dev, stat.st_ino)) {
            self.survey.facts.add_name();
            return;
        }
        let size = entry::size(stat);
        if is_sparse(stat) {
            // With compression, the size on the device does not show holes: query them.
            let data = stored(directory, name, size).unwrap_or(size);
            self.survey.facts.add_sparse(size, data);
        } else {
            self.survey.facts.add_file(size);
        }
    }

    fn refuse(&mut self, reason: &str) {
        self.refused_count += 1;
        if self.refused.len() < REPORTED {
            self.refused.push(Refusal {
                path: self.path.clone(),
                reason: reason.to_owned(),
            });
        }
    }
}

/// Whether a file may have holes: it has fewer blocks than its size requires.
pub fn is_sparse(stat: &Stat) -> bool {
    u64::try_from(stat.st_blocks).unwrap_or(0) * 512 < entry::size(stat)
}

fn stored(directory: BorrowedFd<'_>, name: &CStr, size: u64) -> rustix::io::Result<u64> {
    entry::data_of(entry::open_file(directory, name)?, size)
}

fn reason(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}
