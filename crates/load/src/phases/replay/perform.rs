//! Performs the operations of a recording below one directory.
//!
//! Paths of a recording may be hostile. Each is resolved by openat2(2) with `RESOLVE_BENEATH` and
//! `RESOLVE_NO_MAGICLINKS`, or is a single name in a directory that was, without following a link.
//! No device is created or opened, no file becomes set-user-ID, and sync(2) becomes syncfs(2).

use super::calls;
use super::plan::{Plan, Step};
use crate::phases::buffer::Buffer;
use fsdyno_datasets::recorded::{Place, link_text};
use fsdyno_trace::{Action, Object, Operation, PathId, Paths};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    self, AtFlags, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags,
    SeekFrom, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::{Errno, ReadWriteFlags};
use std::ffi::{CStr, CString};
use std::io::{IoSlice, IoSliceMut};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest transfer in one system call; longer ones take several.
pub(super) const PIECE: usize = 1 << 20;

/// The least length of a read that reached the end of its file in the recording.
const PAST_END: u64 = 128 << 10;

/// The flags of open(2) that a replay passes on.
const OPEN_FLAGS: i32 = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_DSYNC
    | libc::O_SYNC
    | libc::O_DIRECT
    | libc::O_DIRECTORY
    | libc::O_NOFOLLOW
    | libc::O_NOATIME
    | libc::O_TMPFILE;

/// The flags that are permitted with `O_PATH`.
const PATH_FLAGS: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;

/// The permission bits that are kept.
const PERMISSIONS: u32 = 0o1777;

/// Errors of transfers whose cause is not in the tree: such a transfer is not repeated.
const TRANSIENT: [i32; 8] = [
    libc::EAGAIN,
    libc::EINTR,
    libc::EFAULT,
    libc::EBADF,
    libc::EIO,
    libc::ENOMEM,
    libc::ENOSPC,
    libc::EDQUOT,
];

/// The tree of a replay, with its open files. All workers share it.
pub(super) struct Stage<'a> {
    root: Arc<OwnedFd>,
    paths: &'a Paths,
    /// The last name of each path.
    names: Vec<CString>,
    /// The directories of the tree that are open, by their inodes in the model.
    directories: Slots,
    /// How many more directories may stay open.
    room: AtomicUsize,
    handles: Slots,
    mappings: Slots,
    /// What is written.
    content: &'a Buffer,
}

/// Descriptors by number. Who performs an operation keeps the descriptor until its end, so that no
/// other file gets its number meanwhile.
struct Slots(Box<[Mutex<Option<Arc<OwnedFd>>>]>);

impl Slots {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::new(None)).collect())
    }

    fn slot(&self, number: Option<u32>) -> Option<&Mutex<Option<Arc<OwnedFd>>>> {
        self.0.get(number? as usize)
    }

    fn get(&self, number: Option<u32>) -> rustix::io::Result<Arc<OwnedFd>> {
        let slot = self.slot(number).ok_or(Errno::BADF)?;
        let held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        held.clone().ok_or(Errno::BADF)
    }

    fn set(&self, number: Option<u32>, descriptor: Option<Arc<OwnedFd>>) -> Option<Arc<OwnedFd>> {
        let slot = self.slot(number)?;
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, descriptor)
    }
}

/// The result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The return value, an error as its negative number.
    Returned(i64),
    /// It is not repeated.
    NotRepeated,
}

/// The object of an operation: a name in a directory, or an open file.
enum Target<'s> {
    Name(Arc<OwnedFd>, &'s CStr),
    File(Arc<OwnedFd>),
}

impl<'a> Stage<'a> {
    /// Opens the tree. At most so many directories stay open.
    pub fn new(
        root: OwnedFd,
        paths: &'a Paths,
        plan: &Plan,
        content: &'a Buffer,
        most_directories: usize,
    ) -> Self {
        let ids = 0..u32::try_from(paths.count()).unwrap_or(u32::MAX);
        let name = |id| match paths.name(PathId(id)) {
            b"" => CString::from(c"."),
            name => CString::new(name).unwrap_or_default(),
        };
        Self {
            root: Arc::new(root),
            names: ids.map(name).collect(),
            paths,
            directories: Slots::new(plan.nodes),
            room: AtomicUsize::new(most_directories),
            handles: Slots::new(plan.handles),
            mappings: Slots::new(plan.mappings),
            content,
        }
    }

    /// Performs an operation. `number` is its number, which chooses what it writes.
    pub fn perform(
        &self,
        number: usize,
        operation: &Operation,
        step: &Step,
        buffer: &mut [u8],
    ) -> Outcome {
        let mut call = Call {
            stage: self,
            number,
            step,
            recorded: operation.result,
            buffer,
        };
        match call.perform(&operation.action) {
            Ok(Some(value)) => Outcome::Returned(i64::try_from(value).unwrap_or(i64::MAX)),
            Ok(None) => Outcome::NotRepeated,
            Err(errno) => Outcome::Returned(-i64::from(errno.raw_os_error())),
        }
    }

    /// Opens a path below the root.
    fn open_below(&self, path: PathId, flags: OFlags, mode: u32) -> rustix::io::Result<OwnedFd> {
        let text = self.paths.path(path);
        let text = text.as_os_str().as_bytes();
        let text = if text.is_empty() { b"." } else { text };
        open_beneath(&*self.root, text, flags, mode)
    }

    /// The directory of a path.
    fn directory(&self, place: Place, path: PathId) -> rustix::io::Result<Arc<OwnedFd>> {
        let above = match self.paths.parent(path) {
            None | Some(PathId::ROOT) => return Ok(Arc::clone(&self.root)),
            Some(above) => above,
        };
        if let Ok(open) = self.directories.get(place.directory) {
            return Ok(open);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = Arc::new(self.open_below(above, flags, 0)?);
        let take = |room: usize| room.checked_sub(1);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if place.directory.is_some() && self.room.fetch_update(set, get, take).is_ok() {
            self.directories
                .set(place.directory, Some(Arc::clone(&open)));
        }
        Ok(open)
    }

    fn name(&self, path: PathId) -> &CStr {
        self.names.get(path.0 as usize).map_or(c".", |name| name)
    }
}

/// `openat2` that does not leave the directory.
fn open_beneath(
    directory: impl AsFd,
    path: impl rustix::path::Arg,
    flags: OFlags,
    mode: u32,
) -> rustix::io::Result<OwnedFd> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    fs::openat2(directory, path, flags, Mode::from_raw_mode(mode), within)
}

/// The flags of open(2) as a replay passes them: it never waits for the other end of a FIFO, and no
/// terminal becomes its own.
fn open_flags(recorded: u32) -> OFlags {
    let recorded = recorded.cast_signed();
    let flags = if recorded & libc::O_PATH != 0 {
        recorded & PATH_FLAGS
    } else {
        recorded & OPEN_FLAGS | libc::O_NONBLOCK | libc::O_NOCTTY
    };
    OFlags::from_bits_retain(flags.cast_unsigned()) | OFlags::CLOEXEC
}

/// One operation being performed.
struct Call<'c, 'a> {
    stage: &'c Stage<'a>,
    number: usize,
    step: &'c Step,
    recorded: i64,
    buffer: &'c mut [u8],
}

type Done = rustix::io::Result<Option<u64>>;

fn done(result: rustix::io::Result<()>) -> Done {
    result.map(|()| Some(0))
}

impl Call<'_, '_> {
    fn perform(&mut self, action: &Action) -> Done {
        match action {
            Action::Open {
                path, flags, mode, ..
            } => self.open(*path, *flags, *mode),
            Action::Inherit {
                path,
                flags,
                position,
                ..
            } => {
                let kept = (libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC).cast_unsigned();
                self.open(*path, flags & !kept, 0)?;
                if *position > 0 {
                    fs::seek(self.handle(0)?, SeekFrom::Start(*position))?;
                }
                Ok(None)
            }
            Action::Close { .. } => {
                let closed = self.stage.handles.set(self.numbers()[0], None);
                closed.map(|_| Some(0)).ok_or(Errno::BADF)
            }
            Action::Read {
                offset,
                length,
                flags,
                ..
            } => self.read(*offset, *length, *flags),
            Action::SendFile {
                offset,
                length,
                to: None,
                ..
            }
            | Action::SpliceFrom { offset, length, .. } => self.read(*offset, *length, 0),
            Action::Write { offset, flags, .. } => self.write(*offset, *flags),
            Action::SpliceTo { offset, .. } => self.write(*offset, 0),
            Action::Seek { offset, whence, .. } => self.seek(*offset, *whence),
            Action::Fsync { .. } => done(fs::fsync(self.handle(0)?)),
            Action::Fdatasync { .. } => done(fs::fdatasync(self.handle(0)?)),
            Action::SyncRange {
                offset,
                length,
                flags,
                ..
            } => calls::sync_range(self.handle(0)?, *offset, *length, *flags).map(Some),
            // Only the file system under test.
            Action::SyncFs { .. } | Action::Sync {} => {
                let root = fs::openat(
                    &*self.stage.root,
                    c".",
                    OFlags::RDONLY | OFlags::CLOEXEC,
                    Mode::empty(),
                )?;
                done(fs::syncfs(root))
            }
            Action::TruncateHandle { length, .. } => done(fs::ftruncate(self.handle(0)?, *length)),
            Action::Allocate {
                mode,
                offset,
                length,
                ..
            } => self.allocate(*mode, *offset, *length),
            Action::Advise {
                offset,
                length,
                advice,
                ..
            } => calls::advise(self.handle(0)?, *offset, *length, *advice).map(Some),
            Action::ReadAhead { offset, length, .. } => {
                let length = usize::try_from(*length).unwrap_or(usize::MAX);
                calls::read_ahead(self.handle(0)?, *offset, length).map(Some)
            }
            Action::Copy {
                from_offset,
                to_offset,
                ..
            } => self.copy(*from_offset, *to_offset),
            Action::SendFile { offset, .. } => self.copy(*offset, None),
            Action::Clone {
                from_offset,
                to_offset,
                length,
                ..
            } => self.clone_range(*from_offset, *to_offset, *length),
            Action::ReadDirectory { length, .. } => self.list(*length),
            Action::Wait { .. } => Ok(None),
            other => self.on_mapping(other),
        }
    }

    /// Operations on mappings: their file stays open.
    fn on_mapping(&mut self, action: &Action) -> Done {
        match action {
            Action::Map { .. } => {
                let file = self.handle(0)?;
                self.stage.mappings.set(self.numbers()[1], Some(file));
                Ok(Some(0))
            }
            Action::Unmap { .. } => {
                let unmapped = self.stage.mappings.set(self.numbers()[0], None);
                unmapped.map(|_| Some(0)).ok_or(Errno::BADF)
            }
            Action::SyncMap { flags, .. } => {
                let file = self.stage.mappings.get(self.numbers()[0])?;
                if flags & libc::MS_SYNC.cast_unsigned() != 0 {
                    fs::fdatasync(file)?;
                }
                Ok(Some(0))
            }
            Action::Fault { write, .. } => self.fault(*write),
            on_path => self.on_path(on_path),
        }
    }

    /// Operations on names.
    fn on_path(&mut self, action: &Action) -> Done {
        match action {
            Action::Truncate { path, length } => {
                let file = self.open_path(0, *path, OFlags::WRONLY | OFlags::NONBLOCK, 0)?;
                done(fs::ftruncate(file, *length))
            }
            Action::Rename { from, to, flags } => {
                let (old, new) = (self.parent(0, *from)?, self.parent(1, *to)?);
                self.release();
                let flags = RenameFlags::from_bits_retain(*flags);
                let names = (self.stage.name(*from), self.stage.name(*to));
                done(fs::renameat_with(old, names.0, new, names.1, flags))
            }
            Action::Link { from, to, .. } => self.link(*from, *to),
            Action::LinkHandle { to, .. } => {
                let (file, new) = (self.handle(0)?, self.parent(0, *to)?);
                let name = self.stage.name(*to);
                done(fs::linkat(file, c"", new, name, AtFlags::EMPTY_PATH))
            }
            Action::Symlink { path, target } => {
                let text = link_text(self.stage.paths, *path, target);
                let directory = self.parent(0, *path)?;
                let name = self.stage.name(*path);
                done(fs::symlinkat(text.as_slice(), directory, name))
            }
            Action::MakeDirectory { path, mode } => {
                let directory = self.parent(0, *path)?;
                let mode = Mode::from_raw_mode(mode & PERMISSIONS);
                done(fs::mkdirat(directory, self.stage.name(*path), mode))
            }
            Action::MakeNode { path, mode } => {
                let kind = match FileType::from_raw_mode(*mode) {
                    FileType::Socket => FileType::Socket,
                    FileType::RegularFile | FileType::Unknown => FileType::RegularFile,
                    _ => FileType::Fifo,
                };
                let directory = self.parent(0, *path)?;
                let mode = Mode::from_raw_mode(mode & PERMISSIONS);
                let name = self.stage.name(*path);
                done(fs::mknodat(directory, name, kind, mode, 0))
            }
            Action::Unlink { path } => {
                let directory = self.parent(0, *path)?;
                let name = self.stage.name(*path);
                done(fs::unlinkat(directory, name, AtFlags::empty()))
            }
            Action::RemoveDirectory { path } => {
                let directory = self.parent(0, *path)?;
                self.release();
                let name = self.stage.name(*path);
                done(fs::unlinkat(directory, name, AtFlags::REMOVEDIR))
            }
            Action::ReadLink { path, .. } => {
                let directory = self.parent(0, *path)?;
                let name = self.stage.name(*path);
                let length = fs::readlinkat_raw(directory, name, &mut *self.buffer)?;
                Ok(Some(length as u64))
            }
            on_object => self.on_object(on_object),
        }
    }

    fn link(&self, from: PathId, to: PathId) -> Done {
        let name = self.stage.name(to);
        // As in the kernel, an error of the old path is found before one of the new.
        if self.step.resolved.places[0].followed {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let file = self.stage.open_below(from, flags, 0)?;
            let new = self.parent(1, to)?;
            return done(fs::linkat(file, c"", new, name, AtFlags::EMPTY_PATH));
        }
        let old = self.parent(0, from)?;
        let from = self.stage.name(from);
        match self.parent(1, to) {
            Ok(new) => done(fs::linkat(old, from, new, name, AtFlags::empty())),
            Err(errno) => {
                fs::statat(old, from, AtFlags::SYMLINK_NOFOLLOW)?;
                Err(errno)
            }
        }
    }

    /// Operations on a path or an open file.
    fn on_object(&mut self, action: &Action) -> Done {
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        match action {
            Action::Stat { object } => match self.target(*object)? {
                Target::Name(directory, name) => {
                    fs::statat(directory, name, nofollow).map(|_| Some(0))
                }
                Target::File(file) => fs::statat(file, c"", AtFlags::EMPTY_PATH).map(|_| Some(0)),
            },
            Action::Access { object, mode } => {
                let mode = fs::Access::from_bits_retain(mode & 7);
                match self.target(*object)? {
                    Target::Name(directory, name) => {
                        done(fs::accessat(directory, name, mode, nofollow))
                    }
                    Target::File(file) => done(fs::accessat(file, c"", mode, AtFlags::EMPTY_PATH)),
                }
            }
            Action::StatFs { object } => match self.target(*object)? {
                Target::Name(directory, _) | Target::File(directory) => {
                    fs::fstatfs(directory).map(|_| Some(0))
                }
            },
            Action::ChangeMode { object, mode } => self.change_mode(*object, mode & PERMISSIONS),
            // Owners are not recorded: the inode changes, its owner stays.
            Action::ChangeOwner { object } => {
                let owner = Some(rustix::process::geteuid());
                let group = Some(rustix::process::getegid());
                self.change_owner(*object, owner, group)
            }
            Action::SetTimes { object } => {
                let now = Timespec {
                    tv_sec: 0,
                    tv_nsec: fs::UTIME_NOW,
                };
                let times = Timestamps {
                    last_access: now,
                    last_modification: now,
                };
                match self.target(*object)? {
                    Target::Name(directory, name) => {
                        done(fs::utimensat(directory, name, &times, nofollow))
                    }
                    Target::File(file) => {
                        done(fs::utimensat(file, c"", &times, AtFlags::EMPTY_PATH))
                    }
                }
            }
            attribute => self.attribute(attribute),
        }
    }

    fn change_owner(&self, object: Object, owner: Option<Uid>, group: Option<Gid>) -> Done {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        match self.target(object)? {
            Target::Name(directory, name) => {
                done(fs::chownat(directory, name, owner, group, flags))
            }
            Target::File(file) => done(fs::chownat(file, c"", owner, group, AtFlags::EMPTY_PATH)),
        }
    }

    fn change_mode(&self, object: Object, mode: u32) -> Done {
        if let Target::Name(directory, name) = self.target(object)? {
            match calls::change_mode(&directory, name, mode) {
                Err(Errno::NOSYS) => {}
                changed => return changed.map(Some),
            }
        }
        done(fs::fchmod(self.to_read(object)?, Mode::from_raw_mode(mode)))
    }

    /// Operations on extended attributes. Before Linux 6.13 no system call accesses those of a name
    /// in a directory, which procfs reaches.
    fn attribute(&mut self, action: &Action) -> Done {
        let (object, name) = match action {
            Action::GetXattr { object, name, .. }
            | Action::SetXattr { object, name, .. }
            | Action::RemoveXattr { object, name } => (*object, name.as_str()),
            Action::ListXattrs { object, .. } => (*object, ""),
            // All others are in `perform`, `on_path` and `on_object`.
            _ => return Ok(None),
        };
        let (path, held) = match self.target(object)? {
            Target::Name(directory, name) => (Some(below(&directory, name)), directory),
            Target::File(_) => (None, self.to_read(object)?),
        };
        let file = held.as_fd();
        let most = self.buffer.len();
        let length = |requested: u64| usize::try_from(requested).unwrap_or(most).min(most);
        match (action, path) {
            (
                Action::GetXattr {
                    length: requested, ..
                },
                path,
            ) => {
                let into = &mut self.buffer[..length(*requested)];
                let got = match path {
                    Some(path) if into.is_empty() => fs::lgetxattr(path, name, &mut [0; 0]),
                    Some(path) => fs::lgetxattr(path, name, into),
                    None => fs::fgetxattr(file, name, into),
                };
                got.map(|got| Some(got as u64))
            }
            (
                Action::ListXattrs {
                    length: requested, ..
                },
                path,
            ) => {
                let into = &mut self.buffer[..length(*requested)];
                let got = match path {
                    Some(path) => fs::llistxattr(path, into),
                    None => fs::flistxattr(file, into),
                };
                got.map(|got| Some(got as u64))
            }
            (
                Action::SetXattr {
                    length: requested,
                    flags,
                    ..
                },
                path,
            ) => {
                let flags = XattrFlags::from_bits_retain(*flags);
                let value = &self.stage.content[..length(*requested)];
                done(match path {
                    Some(path) => fs::lsetxattr(path, name, value, flags),
                    None => fs::fsetxattr(file, name, value, flags),
                })
            }
            (_, Some(path)) => done(fs::lremovexattr(path, name)),
            (_, None) => done(fs::fremovexattr(file, name)),
        }
    }

    fn numbers(&self) -> [Option<u32>; 2] {
        self.step.resolved.numbers
    }

    fn handle(&self, place: usize) -> rustix::io::Result<Arc<OwnedFd>> {
        self.stage.handles.get(self.numbers()[place])
    }

    /// The directory of a path of the operation.
    fn parent(&self, place: usize, path: PathId) -> rustix::io::Result<Arc<OwnedFd>> {
        self.stage.directory(self.step.resolved.places[place], path)
    }

    /// Closes the directory that the operation removes: an open one would keep its inode.
    fn release(&self) {
        if self.recorded >= 0
            && let Some(node) = self.step.resolved.removes
            && self.stage.directories.set(Some(node), None).is_some()
        {
            self.stage.room.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn target(&self, object: Object) -> rustix::io::Result<Target<'_>> {
        let path = match object {
            Object::Handle(_) => return self.handle(0).map(Target::File),
            Object::Path(path) | Object::NoFollow(path) => path,
        };
        if self.step.resolved.places[0].followed {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let open = self.stage.open_below(path, flags, 0)?;
            return Ok(Target::File(Arc::new(open)));
        }
        let directory = self.parent(0, path)?;
        Ok(Target::Name(directory, self.stage.name(path)))
    }

    /// The object as a descriptor that is more than a path.
    fn to_read(&self, object: Object) -> rustix::io::Result<Arc<OwnedFd>> {
        match object {
            Object::Handle(_) => self.handle(0),
            Object::Path(path) | Object::NoFollow(path) => {
                let mut flags = OFlags::RDONLY | OFlags::NONBLOCK;
                if matches!(object, Object::NoFollow(_)) {
                    flags |= OFlags::NOFOLLOW;
                }
                self.open_path(0, path, flags, 0).map(Arc::new)
            }
        }
    }

    fn open_path(
        &self,
        place: usize,
        path: PathId,
        flags: OFlags,
        mode: u32,
    ) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if self.step.resolved.places[place].followed {
            return self.stage.open_below(path, flags, mode);
        }
        let directory = self.parent(place, path)?;
        open_beneath(directory, self.stage.name(path), flags, mode)
    }

    fn open(&self, path: PathId, recorded: u32, mode: u32) -> Done {
        let flags = open_flags(recorded);
        let creates = flags.contains(OFlags::CREATE) || flags.contains(OFlags::TMPFILE);
        let mode = if creates { mode & PERMISSIONS } else { 0 };
        let open = self.open_path(0, path, flags, mode)?;
        if self.recorded >= 0 {
            self.stage
                .handles
                .set(self.numbers()[0], Some(Arc::new(open)));
        }
        Ok(Some(0))
    }

    /// Whether a transfer failed for a reason that is not in the tree.
    fn is_transient(&self) -> bool {
        self.recorded < 0
            && TRANSIENT
                .iter()
                .any(|errno| self.recorded == -i64::from(*errno))
    }

    fn read(&mut self, offset: Option<u64>, length: u64, flags: u32) -> Done {
        if self.is_transient() {
            return Ok(None);
        }
        let file = self.handle(0)?;
        let returned = u64::try_from(self.recorded).unwrap_or(0);
        let wanted = length.min(returned.max(PAST_END));
        let flags = ReadWriteFlags::from_bits_retain(flags) & ReadWriteFlags::HIPRI;
        let mut total = 0;
        loop {
            let left = usize::try_from(wanted - total).unwrap_or(PIECE);
            let left = left.min(self.buffer.len());
            let into = &mut self.buffer[..left];
            let at = offset.map(|offset| offset.saturating_add(total));
            let read = match at {
                _ if !flags.is_empty() => {
                    let mut vectors = [IoSliceMut::new(into)];
                    rustix::io::preadv2(&file, &mut vectors, at.unwrap_or(u64::MAX), flags)
                }
                Some(at) => rustix::io::pread(&file, into, at),
                None => rustix::io::read(&file, into),
            };
            let read = match read {
                Ok(read) => read,
                Err(_) if total > 0 => return Ok(Some(total)),
                Err(errno) => return Err(errno),
            };
            total += read as u64;
            if read < left || total >= wanted {
                return Ok(Some(total));
            }
        }
    }

    /// The data of a write: another part in each operation, so that blocks differ.
    fn data(&self, at: u64, length: usize) -> &[u8] {
        const STEP: usize = 4096;
        let steps = (self.stage.content.len() - PIECE) / STEP;
        let at = usize::try_from(at).unwrap_or(0) / PIECE;
        let from = self
            .number
            .wrapping_mul(31)
            .wrapping_add(at.wrapping_mul(7))
            % steps
            * STEP;
        &self.stage.content[from..from + length.min(PIECE)]
    }

    fn write(&self, offset: Option<u64>, flags: u32) -> Done {
        let Ok(wanted) = u64::try_from(self.recorded) else {
            // It would change the tree, which it did not.
            return Ok(None);
        };
        let file = self.handle(0)?;
        let passed = ReadWriteFlags::DSYNC
            | ReadWriteFlags::SYNC
            | ReadWriteFlags::HIPRI
            | ReadWriteFlags::APPEND;
        let flags = ReadWriteFlags::from_bits_retain(flags) & passed;
        let mut total = 0;
        loop {
            let left = usize::try_from(wanted - total).unwrap_or(PIECE);
            let data = self.data(total, left);
            let at = offset.map(|offset| offset.saturating_add(total));
            let written = match at {
                _ if !flags.is_empty() => {
                    let at = at.unwrap_or(u64::MAX);
                    rustix::io::pwritev2(&file, &[IoSlice::new(data)], at, flags)
                }
                Some(at) => rustix::io::pwrite(&file, data, at),
                None => rustix::io::write(&file, data),
            };
            let written = match written {
                Ok(written) => written,
                Err(_) if total > 0 => return Ok(Some(total)),
                Err(errno) => return Err(errno),
            };
            total += written as u64;
            if total >= wanted || written == 0 {
                return Ok(Some(total));
            }
        }
    }

    fn seek(&self, offset: i64, whence: u32) -> Done {
        let start = u64::try_from(offset);
        let to = match whence.cast_signed() {
            libc::SEEK_SET => SeekFrom::Start(start.map_err(|_| Errno::INVAL)?),
            libc::SEEK_CUR => SeekFrom::Current(offset),
            libc::SEEK_END => SeekFrom::End(offset),
            libc::SEEK_DATA => SeekFrom::Data(start.map_err(|_| Errno::NXIO)?),
            libc::SEEK_HOLE => SeekFrom::Hole(start.map_err(|_| Errno::NXIO)?),
            _ => return Err(Errno::INVAL),
        };
        fs::seek(self.handle(0)?, to).map(Some)
    }

    fn allocate(&self, mode: u32, offset: u64, length: u64) -> Done {
        if self.recorded < 0 {
            return Ok(None);
        }
        let mode = FallocateFlags::from_bits_retain(mode);
        done(fs::fallocate(self.handle(0)?, mode, offset, length))
    }

    fn copy(&self, mut from_offset: Option<u64>, mut to_offset: Option<u64>) -> Done {
        let Ok(wanted) = u64::try_from(self.recorded) else {
            return Ok(None);
        };
        let (from, to) = (self.handle(0)?, self.handle(1)?);
        let mut total = 0;
        while total < wanted {
            let left = usize::try_from(wanted - total).unwrap_or(usize::MAX);
            let (from_at, to_at) = (from_offset.as_mut(), to_offset.as_mut());
            match fs::copy_file_range(&from, from_at, &to, to_at, left) {
                Ok(0) => break,
                Ok(copied) => total += copied as u64,
                Err(_) if total > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(Some(total))
    }

    fn clone_range(&self, from_offset: u64, to_offset: u64, length: u64) -> Done {
        if self.recorded < 0 {
            return Ok(None);
        }
        let (from, to) = (self.handle(0)?, self.handle(1)?);
        calls::clone_range(from, from_offset, to, to_offset, length).map(Some)
    }

    /// Reads a part of a directory; or, where the recording reached its end, all the rest: file
    /// systems divide their lists differently.
    fn list(&mut self, length: u64) -> Done {
        let directory = self.handle(0)?;
        let length = usize::try_from(length).unwrap_or(PIECE);
        let length = length.min(self.buffer.len());
        loop {
            let got = calls::list(&directory, &mut self.buffer[..length])?;
            if got == 0 || self.recorded != 0 {
                return Ok(Some(got));
            }
        }
    }

    /// Reads the page of a fault; if it was written, writes it.
    fn fault(&mut self, writes: bool) -> Done {
        const PAGE: usize = 4096;
        let file = self.stage.mappings.get(self.numbers()[0])?;
        let offset = self.step.resolved.offset;
        let within = usize::try_from(self.step.resolved.within).unwrap_or(0);
        if writes && within > 0 {
            rustix::io::pwrite(&file, self.data(0, within), offset)?;
        } else {
            rustix::io::pread(&file, &mut self.buffer[..PAGE], offset)?;
        }
        Ok(Some(0))
    }
}

/// The path of a name in a directory through procfs.
fn below(directory: &OwnedFd, name: &CStr) -> CString {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    // A name contains no zero byte.
    CString::new(path).unwrap_or_default()
}
