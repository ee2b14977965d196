//! The engine `sync`: one system call after another, relative to open directories. It builds no
//! path and allocates nothing for an entry. The path in an error is read from `/proc`.

use super::listing::Listing;
use super::meta::{Kind, Meta, Timestamp};
use super::null::Facts;
use super::{Calls, DataFile, Engine, EngineInfo, Target};
use crate::descriptor::close;
use crate::error::LoadError;
use fsdyno_datasets::{DatasetError, packed};
use fsdyno_files::uninterrupted;
use fsdyno_model::plan::CopyMethod;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    self, AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub const NAME: &str = "sync";

pub(crate) enum SyncEngine {}

impl Engine for SyncEngine {
    const INFO: EngineInfo = EngineInfo {
        name: NAME,
        title: "blocking system calls, one at a time per worker",
        programs: &[],
        touches_files: true,
    };
    type Calls = SystemCalls;

    fn calls(_facts: Facts) -> SystemCalls {
        SystemCalls::default()
    }
}

/// System calls, one after the other.
#[derive(Debug, Default)]
pub struct SystemCalls {
    calls: u64,
}

impl SystemCalls {
    /// Counts a call on a descriptor, and adds the path to its error.
    #[inline]
    fn on<T>(
        &mut self,
        operation: &'static str,
        fd: &OwnedFd,
        result: Result<T, Errno>,
    ) -> Result<T, LoadError> {
        self.calls += 1;
        result.map_err(|errno| LoadError::io(operation, path_of(fd), errno.into()))
    }

    /// Counts a call on a name in a directory, and adds the path to its error.
    #[inline]
    fn at<T>(
        &mut self,
        operation: &'static str,
        dir: &OwnedFd,
        name: &CStr,
        result: Result<T, Errno>,
    ) -> Result<T, LoadError> {
        self.calls += 1;
        result.map_err(|errno| LoadError::io_in(operation, &path_of(dir), name, errno.into()))
    }

    /// Counts a call on any target, and adds the path to its error.
    #[inline]
    fn target<T>(
        &mut self,
        operation: &'static str,
        target: &Target<'_, Self>,
        result: Result<T, Errno>,
    ) -> Result<T, LoadError> {
        match target {
            Target::File(fd) | Target::Directory(fd) => self.on(operation, fd, result),
            Target::Entry(dir, name) => self.at(operation, dir, name, result),
        }
    }
}

/// The path of an open file, for a message.
#[cold]
pub(super) fn path_of(fd: &OwnedFd) -> PathBuf {
    let number = fd.as_raw_fd();
    // Workers have separate descriptor tables.
    std::fs::read_link(format!("/proc/thread-self/fd/{number}"))
        .unwrap_or_else(|_| PathBuf::from(format!("(descriptor {number})")))
}

#[inline]
fn meta(stat: &fs::Stat) -> Meta {
    // The integer types of `stat` differ between architectures; all fit.
    #[expect(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "differs by architecture"
    )]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "nanoseconds are below 10^9"
    )]
    Meta {
        kind: Kind::of_mode(stat.st_mode),
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        dev: stat.st_dev as u64,
        ino: stat.st_ino as u64,
        links: stat.st_nlink as u64,
        rdev: stat.st_rdev as u64,
        size: stat.st_size as u64,
        space: stat.st_blocks as u64 * 512,
        accessed: Timestamp {
            seconds: stat.st_atime as i64,
            nanos: stat.st_atime_nsec as u32,
        },
        modified: Timestamp {
            seconds: stat.st_mtime as i64,
            nanos: stat.st_mtime_nsec as u32,
        },
    }
}

fn timespec(timestamp: Timestamp) -> Timespec {
    Timespec {
        tv_sec: timestamp.seconds,
        tv_nsec: timestamp.nanos.into(),
    }
}

/// `getdents64(2)`.
#[inline]
fn getdents(fd: BorrowedFd<'_>, space: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most `space.len()` bytes into an exclusively borrowed buffer.
    let bytes = unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            fd.as_raw_fd(),
            space.as_mut_ptr(),
            space.len(),
        )
    };
    usize::try_from(bytes).map_err(|_| last_errno())
}

#[cold]
fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// `NONBLOCK`: opening must not block if a FIFO replaced a file after the listing.
const EXISTING: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const READ: OFlags = EXISTING.union(OFlags::RDONLY);
const WRITE: OFlags = EXISTING.union(OFlags::WRONLY);
const CHANGE: OFlags = EXISTING.union(OFlags::RDWR);

const CREATE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Calls for SystemCalls {
    const ENGINE: &'static str = NAME;

    type Dir = OwnedFd;
    type File = OwnedFd;

    fn another(&self) -> Self {
        Self::default()
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    fn open_work_dir(&mut self, path: &Path) -> Result<OwnedFd, LoadError> {
        self.calls += 1;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        uninterrupted(|| fs::open(path, flags, Mode::empty()))
            .map_err(|errno| LoadError::io("open", path, errno.into()))
    }

    #[inline]
    fn open_dir(&mut self, at: &OwnedFd, name: &CStr) -> Result<OwnedFd, LoadError> {
        let result = uninterrupted(|| fs::openat(at, name, DIRECTORY, Mode::empty()));
        self.at("openat", at, name, result)
    }

    #[inline]
    fn list(&mut self, dir: &mut OwnedFd, into: &mut Listing) -> Result<bool, LoadError> {
        let result = uninterrupted(|| getdents(dir.as_fd(), into.space()));
        let bytes = self.on("getdents64", dir, result)?;
        into.filled(bytes);
        Ok(bytes > 0)
    }

    #[inline]
    fn close_dir(&mut self, dir: OwnedFd) {
        self.calls += 1;
        // Nothing was written: its result says nothing.
        let _ = close(dir);
    }

    #[inline]
    fn make_dir(&mut self, at: &OwnedFd, name: &CStr, mode: u32) -> Result<(), LoadError> {
        let result = fs::mkdirat(at, name, Mode::from_raw_mode(mode));
        self.at("mkdirat", at, name, result)
    }

    #[inline]
    fn remove_dir(&mut self, at: &OwnedFd, name: &CStr) -> Result<bool, LoadError> {
        let result = match uninterrupted(|| fs::unlinkat(at, name, AtFlags::REMOVEDIR)) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            result => result.map(|()| true),
        };
        self.at("rmdir", at, name, result)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the target and uses a part of the result: half the instructions"
    )]
    fn stat(&mut self, of: &Target<'_, Self>) -> Result<Meta, LoadError> {
        let (operation, result) = match of {
            Target::File(fd) | Target::Directory(fd) => ("fstat", fs::fstat(fd)),
            Target::Entry(dir, name) => (
                "newfstatat",
                uninterrupted(|| fs::statat(dir, *name, AtFlags::SYMLINK_NOFOLLOW)),
            ),
        };
        self.target(operation, of, result.map(|stat| meta(&stat)))
    }

    fn exists(&mut self, at: &OwnedFd, name: &CStr) -> Result<bool, LoadError> {
        let result = match uninterrupted(|| fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Err(Errno::NOENT) => Ok(false),
            result => result.map(|_| true),
        };
        self.at("newfstatat", at, name, result)
    }

    #[inline]
    fn open(&mut self, at: &OwnedFd, name: &CStr) -> Result<OwnedFd, LoadError> {
        let result = uninterrupted(|| fs::openat(at, name, READ, Mode::empty()));
        self.at("openat", at, name, result)
    }

    #[inline]
    fn open_to_write(&mut self, at: &OwnedFd, name: &CStr) -> Result<OwnedFd, LoadError> {
        let result = uninterrupted(|| fs::openat(at, name, WRITE, Mode::empty()));
        self.at("openat", at, name, result)
    }

    fn open_to_change(&mut self, at: &OwnedFd, name: &CStr) -> Result<OwnedFd, LoadError> {
        let result = uninterrupted(|| fs::openat(at, name, CHANGE, Mode::empty()));
        self.at("openat", at, name, result)
    }

    fn open_data(
        &mut self,
        at: &OwnedFd,
        name: &CStr,
        how: DataFile,
    ) -> Result<OwnedFd, LoadError> {
        let mut flags = match how {
            DataFile { makes: true, .. } => CREATE,
            DataFile {
                also_reads: true, ..
            } => CHANGE,
            DataFile { writes: true, .. } => WRITE,
            DataFile { .. } => READ,
        };
        flags.set(OFlags::DIRECT, how.direct);
        flags.set(OFlags::DSYNC, how.dsync);
        flags.set(OFlags::APPEND, how.appends);
        let result = uninterrupted(|| fs::openat(at, name, flags, Mode::from_raw_mode(0o600)));
        self.at("openat", at, name, result)
    }

    #[inline]
    fn create(&mut self, at: &OwnedFd, name: &CStr, mode: u32) -> Result<OwnedFd, LoadError> {
        let result = uninterrupted(|| fs::openat(at, name, CREATE, Mode::from_raw_mode(mode)));
        self.at("openat", at, name, result)
    }

    #[inline]
    fn close(&mut self, file: OwnedFd) -> Result<(), LoadError> {
        self.calls += 1;
        // The call has closed the descriptor, so its path is no longer available.
        close(file).map_err(|errno| LoadError::io("close", "(a file just written)", errno.into()))
    }

    fn make_durable(&mut self, file: &mut OwnedFd) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::fsync(&*file));
        self.on("fsync", file, result)
    }

    fn make_data_durable(&mut self, file: &mut OwnedFd) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::fdatasync(&*file));
        self.on("fdatasync", file, result)
    }

    fn make_dir_durable(&mut self, dir: &OwnedFd) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::fsync(dir));
        self.on("fsync", dir, result)
    }

    fn make_all_durable(&mut self, dir: &OwnedFd) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::syncfs(dir));
        self.on("syncfs", dir, result)
    }

    #[inline]
    fn read(&mut self, file: &mut OwnedFd, into: &mut [u8]) -> Result<usize, LoadError> {
        let result = uninterrupted(|| rustix::io::read(&*file, &mut *into));
        self.on("read", file, result)
    }

    #[inline]
    fn write(&mut self, file: &mut OwnedFd, mut data: &[u8]) -> Result<(), LoadError> {
        while !data.is_empty() {
            let result = match uninterrupted(|| rustix::io::write(&*file, data)) {
                Ok(0) => Err(Errno::IO),
                result => result,
            };
            let written = self.on("write", file, result)?;
            data = &data[written..];
        }
        Ok(())
    }

    #[inline]
    fn read_at(
        &mut self,
        file: &mut OwnedFd,
        into: &mut [u8],
        offset: u64,
    ) -> Result<usize, LoadError> {
        let result = uninterrupted(|| rustix::io::pread(&*file, &mut *into, offset));
        self.on("pread", file, result)
    }

    #[inline]
    fn write_at(
        &mut self,
        file: &mut OwnedFd,
        mut data: &[u8],
        mut offset: u64,
    ) -> Result<(), LoadError> {
        while !data.is_empty() {
            let result = match uninterrupted(|| rustix::io::pwrite(&*file, data, offset)) {
                Ok(0) => Err(Errno::IO),
                result => result,
            };
            let written = self.on("pwrite", file, result)?;
            data = &data[written..];
            offset += written as u64;
        }
        Ok(())
    }

    fn seek(&mut self, file: &mut OwnedFd, offset: u64) -> Result<(), LoadError> {
        let result = fs::seek(&*file, fs::SeekFrom::Start(offset));
        self.on("lseek", file, result.map(|_| ()))
    }

    fn data_after(
        &mut self,
        file: &mut OwnedFd,
        offset: u64,
        _size: u64,
    ) -> Result<Option<(u64, u64)>, LoadError> {
        let start = match fs::seek(&*file, fs::SeekFrom::Data(offset)) {
            Err(Errno::NXIO) => Ok(None),
            result => result.map(Some),
        };
        let Some(start) = self.on("lseek", file, start)? else {
            return Ok(None);
        };
        let end = fs::seek(&*file, fs::SeekFrom::Hole(start));
        let end = self.on("lseek", file, end)?;
        self.seek(file, start)?;
        Ok(Some((start, end)))
    }

    fn set_size(&mut self, file: &mut OwnedFd, size: u64) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::ftruncate(&*file, size));
        self.on("ftruncate", file, result)
    }

    fn share(&mut self, from: &OwnedFd, to: &mut OwnedFd) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::ioctl_ficlone(&*to, from));
        self.calls += 1;
        result.map_err(|errno| match errno {
            Errno::OPNOTSUPP | Errno::INVAL | Errno::XDEV | Errno::NOTTY => LoadError::Method {
                operation: "ioctl FICLONE",
                path: path_of(from),
                method: CopyMethod::Reflink,
                source: errno.into(),
            },
            _ => LoadError::io("ioctl FICLONE", path_of(from), errno.into()),
        })
    }

    fn copy_range(
        &mut self,
        from: &mut OwnedFd,
        to: &mut OwnedFd,
        length: u64,
    ) -> Result<u64, LoadError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let result = uninterrupted(|| fs::copy_file_range(&*from, None, &*to, None, length));
        self.calls += 1;
        result
            .map(|bytes| bytes as u64)
            .map_err(|errno| match errno {
                Errno::OPNOTSUPP | Errno::INVAL | Errno::XDEV | Errno::NOSYS => LoadError::Method {
                    operation: "copy_file_range",
                    path: path_of(from),
                    method: CopyMethod::CopyFileRange,
                    source: errno.into(),
                },
                _ => LoadError::io("copy_file_range", path_of(to), errno.into()),
            })
    }

    fn read_link(
        &mut self,
        at: &OwnedFd,
        name: &CStr,
        into: &mut [u8],
    ) -> Result<usize, LoadError> {
        let result = fs::readlinkat_raw(at, name, into);
        self.at("readlinkat", at, name, result)
    }

    fn symlink(&mut self, target: &CStr, at: &OwnedFd, name: &CStr) -> Result<(), LoadError> {
        let result = fs::symlinkat(target, at, name);
        self.at("symlinkat", at, name, result)
    }

    fn link(
        &mut self,
        from: (&OwnedFd, &CStr),
        at: &OwnedFd,
        name: &CStr,
    ) -> Result<(), LoadError> {
        let result = fs::linkat(from.0, from.1, at, name, AtFlags::empty());
        self.at("linkat", at, name, result)
    }

    #[inline]
    fn rename(&mut self, at: &OwnedFd, from: &CStr, to: &CStr) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::renameat(at, from, at, to));
        self.at("renameat", at, from, result)
    }

    fn make_node(
        &mut self,
        at: &OwnedFd,
        name: &CStr,
        kind: Kind,
        mode: u32,
        rdev: u64,
    ) -> Result<(), LoadError> {
        let file_type = match kind {
            Kind::Fifo => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::Character => FileType::CharacterDevice,
            Kind::Block => FileType::BlockDevice,
            Kind::File | Kind::Directory | Kind::Symlink => FileType::RegularFile,
        };
        let result = fs::mknodat(at, name, file_type, Mode::from_raw_mode(mode), rdev);
        self.at("mknodat", at, name, result)
    }

    #[inline]
    fn unlink(&mut self, at: &OwnedFd, name: &CStr) -> Result<(), LoadError> {
        let result = uninterrupted(|| fs::unlinkat(at, name, AtFlags::empty()));
        self.at("unlinkat", at, name, result)
    }

    #[inline]
    fn set_times(
        &mut self,
        on: &Target<'_, Self>,
        accessed: Timestamp,
        modified: Timestamp,
    ) -> Result<(), LoadError> {
        let times = Timestamps {
            last_access: timespec(accessed),
            last_modification: timespec(modified),
        };
        let result = match on {
            Target::File(fd) | Target::Directory(fd) => fs::futimens(fd, &times),
            Target::Entry(dir, name) => {
                fs::utimensat(dir, *name, &times, AtFlags::SYMLINK_NOFOLLOW)
            }
        };
        self.target("utimensat", on, result)
    }

    fn set_owner(
        &mut self,
        on: &Target<'_, Self>,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<bool, LoadError> {
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        let result = match on {
            Target::File(fd) | Target::Directory(fd) => fs::fchown(fd, uid, gid),
            Target::Entry(dir, name) => {
                fs::chownat(dir, *name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
            }
        };
        let result = match result {
            Err(Errno::PERM) => Ok(false),
            result => result.map(|()| true),
        };
        self.target("fchown", on, result)
    }

    fn set_mode(&mut self, on: &Target<'_, Self>, mode: u32) -> Result<(), LoadError> {
        let mode = Mode::from_raw_mode(mode);
        let result = match on {
            Target::File(fd) | Target::Directory(fd) => fs::fchmod(fd, mode),
            // fchmodat follows links; it is only called on nodes that were just created.
            Target::Entry(dir, name) => fs::chmodat(dir, *name, mode, AtFlags::empty()),
        };
        self.target("fchmod", on, result)
    }

    #[inline]
    fn list_attributes(
        &mut self,
        of: &Target<'_, Self>,
        into: &mut [u8],
    ) -> Result<Option<usize>, LoadError> {
        let (Target::File(fd) | Target::Directory(fd)) = of else {
            return Ok(None);
        };
        let result = match fs::flistxattr(fd, into) {
            Err(Errno::OPNOTSUPP) => Ok(None),
            result => result.map(Some),
        };
        self.on("flistxattr", fd, result)
    }

    fn attribute(
        &mut self,
        of: &Target<'_, Self>,
        name: &CStr,
        into: &mut [u8],
    ) -> Result<Option<usize>, LoadError> {
        let (Target::File(fd) | Target::Directory(fd)) = of else {
            return Ok(None);
        };
        let result = match fs::fgetxattr(fd, name, into) {
            Err(Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS | Errno::NODATA) => Ok(None),
            result => result.map(Some),
        };
        self.on("fgetxattr", fd, result)
    }

    fn set_attribute(
        &mut self,
        on: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> Result<bool, LoadError> {
        let (Target::File(fd) | Target::Directory(fd)) = on else {
            return Ok(false);
        };
        let result = match fs::fsetxattr(fd, name, value, XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS) => Ok(false),
            result => result.map(|()| true),
        };
        self.on("fsetxattr", fd, result)
    }

    fn archive(
        &mut self,
        path: &Path,
        stop: &fsdyno_model::CancelToken,
    ) -> Result<Box<dyn Read + Send>, LoadError> {
        let stream = packed::open(path, u64::MAX, stop).map_err(|error| match error {
            DatasetError::Stopped => LoadError::Stopped,
            error => LoadError::Archive {
                path: path.to_owned(),
                reason: error.to_string(),
            },
        })?;
        Ok(Box::new(stream))
    }
}
