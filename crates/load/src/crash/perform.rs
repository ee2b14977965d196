//! Performs a program of the crash explorer, one system call an operation, and reports when each
//! operation begins and returns.

use fsdyno_crash::{
    DEVICE, Operation, Program, SpecialKind, Target, TimedProgram, WriteKind, content,
};
use fsdyno_files::{errno, uninterrupted};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FallocateFlags, FileType, Mode, OFlags, RenameFlags, XattrFlags,
    copy_file_range, fallocate, fchmod, fdatasync, fremovexattr, fsetxattr, fstat, fsync,
    ftruncate, linkat, makedev, mkdirat, mknodat, open, openat, renameat, renameat_with, symlinkat,
    syncfs, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The maximum length of one write, bytes.
const MAX_WRITE: u64 = 64 << 20;

/// The alignment of direct writes, and the part of a mapping that is written at a time.
const BLOCK: usize = 4096;

/// A point in the execution of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The setup is complete and synced.
    SetUp,
    Begins(u32),
    /// An operation has returned without an error.
    Returned(u32),
}

/// An operation that failed, which ends its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedOperation {
    pub operation: u32,
    /// The name of the error number.
    pub errno: String,
}

impl fmt::Display for FailedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} failed: {}", self.operation, self.errno)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Performed {
    pub failed: Option<FailedOperation>,
    /// The time from the end of the setup to the end of the last operation.
    pub elapsed: Duration,
}

/// Performs a program in the root of a file system. The error is that of `reached`, or that the
/// root cannot be opened.
pub fn perform(
    root: &Path,
    program: &Program,
    reached: &mut dyn FnMut(Point) -> io::Result<()>,
) -> io::Result<Performed> {
    let mut performer = Performer::new(root)?;
    let mut numbers = 0..;
    for (number, operation) in numbers.by_ref().zip(&program.setup) {
        if let Err(cause) = performer.perform(number, operation) {
            return Ok(failed(number, cause, Duration::ZERO));
        }
    }
    rustix::fs::sync();
    reached(Point::SetUp)?;
    performer.perform_all(program.first(), &program.operations, reached)
}

/// Performs operations in the root of a file system. The first has this number.
pub fn perform_from(
    root: &Path,
    first: u32,
    operations: &[Operation],
    reached: &mut dyn FnMut(Point) -> io::Result<()>,
) -> io::Result<Performed> {
    Performer::new(root)?.perform_all(first, operations, reached)
}

/// Performs a program whose operations begin at given times, and reports the number of operations
/// that have returned: after the setup, and after each. Returns the operation that failed.
pub fn perform_timed(
    root: &Path,
    timed: &TimedProgram,
    acknowledged: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<Option<FailedOperation>> {
    let first = timed.program.first();
    let mut began = Instant::now();
    let performed = perform(root, &timed.program, &mut |point| match point {
        Point::SetUp => {
            began = Instant::now();
            acknowledged(first.into())
        }
        Point::Begins(number) => {
            let at = timed.begins.get((number - first) as usize);
            let at = Duration::from_nanos(at.map_or(0, |at| at.0));
            thread::sleep(at.saturating_sub(began.elapsed()));
            Ok(())
        }
        Point::Returned(number) => acknowledged(u64::from(number) + 1),
    })?;
    Ok(performed.failed)
}

fn failed(operation: u32, cause: Errno, elapsed: Duration) -> Performed {
    Performed {
        failed: Some(FailedOperation {
            operation,
            errno: errno::text(cause),
        }),
        elapsed,
    }
}

struct Performer {
    root: OwnedFd,
    descriptors: BTreeMap<String, OwnedFd>,
}

impl Performer {
    fn new(root: &Path) -> io::Result<Self> {
        let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root: open(root, directory, Mode::empty())?,
            descriptors: BTreeMap::new(),
        })
    }

    fn perform_all(
        &mut self,
        first: u32,
        operations: &[Operation],
        reached: &mut dyn FnMut(Point) -> io::Result<()>,
    ) -> io::Result<Performed> {
        let began = Instant::now();
        for (number, operation) in (first..).zip(operations) {
            reached(Point::Begins(number))?;
            if let Err(cause) = self.perform(number, operation) {
                return Ok(failed(number, cause, began.elapsed()));
            }
            reached(Point::Returned(number))?;
        }
        Ok(Performed {
            failed: None,
            elapsed: began.elapsed(),
        })
    }

    fn perform(&mut self, number: u32, operation: &Operation) -> Result<(), Errno> {
        let root = &self.root;
        match operation {
            Operation::Mkdir { path } => mkdirat(root, path.as_str(), Mode::from(0o755)),
            Operation::Create { path } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                self.open(path, flags).map(drop)
            }
            Operation::Write {
                target,
                offset,
                length,
                kind,
            } => self.write(number, target, *offset, *length, *kind),
            Operation::Allocate { .. }
            | Operation::Punch { .. }
            | Operation::Zero { .. }
            | Operation::Collapse { .. }
            | Operation::Insert { .. } => self.allocate(operation),
            Operation::Truncate { target, length } => {
                self.with(target, OFlags::WRONLY, |file| ftruncate(file, *length))
            }
            Operation::Link { from, to } => match from {
                Target::Path(from) => {
                    linkat(root, from.as_str(), root, to.as_str(), AtFlags::empty())
                }
                Target::Descriptor(name) => {
                    let file = self.descriptor(name)?;
                    linkat(file, "", root, to.as_str(), AtFlags::EMPTY_PATH)
                }
            },
            Operation::Symlink { text, path } => symlinkat(text.as_str(), root, path.as_str()),
            Operation::Rename { from, to } => renameat(root, from.as_str(), root, to.as_str()),
            Operation::Exchange { one, other } => {
                let exchange = RenameFlags::EXCHANGE;
                renameat_with(root, one.as_str(), root, other.as_str(), exchange)
            }
            Operation::Unlink { path } => unlinkat(root, path.as_str(), AtFlags::empty()),
            Operation::Rmdir { path } => unlinkat(root, path.as_str(), AtFlags::REMOVEDIR),
            Operation::SetXattr {
                target,
                name,
                length,
            } => {
                let value = filled(number, 0, *length)?;
                self.with(target, OFlags::RDONLY, |file| {
                    fsetxattr(file, name.as_str(), &value, XattrFlags::empty())
                })
            }
            Operation::RemoveXattr { target, name } => self.with(target, OFlags::RDONLY, |file| {
                fremovexattr(file, name.as_str())
            }),
            Operation::Chmod { target, mode } => self.with(target, OFlags::RDONLY, |file| {
                fchmod(file, Mode::from(*mode))
            }),
            Operation::Open { path, descriptor } => {
                let opened = match self.open(path, OFlags::RDWR) {
                    Err(Errno::ISDIR) => self.open(path, OFlags::RDONLY),
                    opened => opened,
                };
                self.keep(descriptor, opened)
            }
            Operation::Temporary {
                directory,
                descriptor,
            } => {
                let opened = self.open(directory, OFlags::RDWR | OFlags::TMPFILE);
                self.keep(descriptor, opened)
            }
            Operation::Close { descriptor } => {
                let closed = self.descriptors.remove(descriptor);
                closed.map(drop).ok_or(Errno::BADF)
            }
            Operation::Fsync { target } => self.with(target, OFlags::RDONLY, |file| fsync(file)),
            Operation::Fdatasync { target } => {
                self.with(target, OFlags::RDONLY, |file| fdatasync(file))
            }
            Operation::Copy { .. }
            | Operation::MakeNode { .. }
            | Operation::Msync { .. }
            | Operation::SyncRange { .. }
            | Operation::DropCaches
            | Operation::Cut => self.perform_rare(operation),
            Operation::Sync => {
                rustix::fs::sync();
                Ok(())
            }
            Operation::Syncfs => syncfs(root),
            Operation::Read { target, range } => {
                let (offset, length) = range.unwrap_or((0, u64::MAX));
                self.with(target, OFlags::RDONLY, |file| read(file, offset, length))
            }
            Operation::Stat { target } => {
                self.with(target, OFlags::RDONLY, |file| fstat(file).map(drop))
            }
            Operation::List { path } => {
                let directory = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
                Dir::read_from(&directory)?.try_for_each(|entry| entry.map(drop))
            }
        }
    }

    /// Performs an operation that few programs have.
    fn perform_rare(&self, operation: &Operation) -> Result<(), Errno> {
        let root = &self.root;
        match operation {
            Operation::Copy {
                from,
                to,
                offset,
                length,
                shared,
            } => self.with(from, OFlags::RDONLY, |source| {
                self.with(to, OFlags::WRONLY, |file| {
                    copy(source, file, *offset, *length, *shared)
                })
            }),
            Operation::MakeNode { path, kind } => {
                let (kind, device) = match kind {
                    SpecialKind::Fifo => (FileType::Fifo, 0),
                    SpecialKind::Device => (FileType::CharacterDevice, makedev(DEVICE.0, DEVICE.1)),
                };
                mknodat(root, path.as_str(), kind, Mode::from(0o644), device)
            }
            Operation::Msync {
                target,
                offset,
                length,
            } => self.with(target, OFlags::RDWR, |file| {
                sync_mapped(file, *offset, *length)
            }),
            Operation::SyncRange {
                target,
                offset,
                length,
            } => self.with(target, OFlags::RDWR, |file| {
                sync_range(file, *offset, *length)
            }),
            Operation::DropCaches => {
                let all = OFlags::WRONLY | OFlags::CLOEXEC;
                let file = open("/proc/sys/vm/drop_caches", all, Mode::empty())?;
                uninterrupted(|| rustix::io::write(&file, b"3")).map(drop)
            }
            // Others are not rare, or the host does them, as a power cut.
            _ => Err(Errno::INVAL),
        }
    }

    /// Opens a path. A symbolic link is not followed: its text could lead out of the file system.
    fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.root, path, flags, Mode::from(0o644))
    }

    fn keep(&mut self, descriptor: &str, file: Result<OwnedFd, Errno>) -> Result<(), Errno> {
        self.descriptors.insert(descriptor.to_owned(), file?);
        Ok(())
    }

    fn descriptor(&self, name: &str) -> Result<&OwnedFd, Errno> {
        self.descriptors.get(name).ok_or(Errno::BADF)
    }

    fn with<T>(
        &self,
        target: &Target,
        flags: OFlags,
        action: impl FnOnce(&OwnedFd) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match target {
            Target::Path(path) => action(&self.open(path, flags)?),
            Target::Descriptor(name) => action(self.descriptor(name)?),
        }
    }

    /// Performs an operation that is a fallocate(2).
    fn allocate(&self, operation: &Operation) -> Result<(), Errno> {
        let (target, flags, offset, length) = match operation {
            Operation::Allocate {
                target,
                offset,
                length,
                keep_size,
            } => {
                let mut flags = FallocateFlags::empty();
                flags.set(FallocateFlags::KEEP_SIZE, *keep_size);
                (target, flags, offset, length)
            }
            Operation::Punch {
                target,
                offset,
                length,
            } => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                (target, flags, offset, length)
            }
            Operation::Zero {
                target,
                offset,
                length,
            } => (target, FallocateFlags::ZERO_RANGE, offset, length),
            Operation::Collapse {
                target,
                offset,
                length,
            } => (target, FallocateFlags::COLLAPSE_RANGE, offset, length),
            Operation::Insert {
                target,
                offset,
                length,
            } => (target, FallocateFlags::INSERT_RANGE, offset, length),
            _ => return Err(Errno::INVAL),
        };
        self.with(target, OFlags::RDWR, |file| {
            fallocate(file, flags, *offset, *length)
        })
    }

    fn write(
        &self,
        number: u32,
        target: &Target,
        offset: Option<u64>,
        length: u64,
        kind: WriteKind,
    ) -> Result<(), Errno> {
        let flags = match kind {
            WriteKind::Plain => OFlags::WRONLY,
            WriteKind::Mapped => OFlags::RDWR,
            WriteKind::DataSync => OFlags::WRONLY | OFlags::DSYNC,
            WriteKind::Sync => OFlags::WRONLY | OFlags::SYNC,
            WriteKind::Direct => OFlags::WRONLY | OFlags::DIRECT,
        };
        let reopened;
        let opened;
        let file = match target {
            Target::Path(path) => {
                opened = self.open(path, flags)?;
                &opened
            }
            Target::Descriptor(name) => {
                let file = self.descriptor(name)?;
                if matches!(kind, WriteKind::Plain | WriteKind::Mapped) {
                    file
                } else {
                    // The same file, which may have no name, with other flags.
                    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                    reopened = openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())?;
                    &reopened
                }
            }
        };
        let size = u64::try_from(fstat(file)?.st_size).unwrap_or_default();
        let offset = offset.unwrap_or(size);
        let bytes = filled(number, offset, length)?;
        match kind {
            WriteKind::Mapped => write_mapped(file, size, offset, &bytes),
            WriteKind::Direct => {
                let mut room = vec![0; bytes.len() + BLOCK];
                let skip = room.as_ptr().align_offset(BLOCK).min(BLOCK);
                let aligned = &mut room[skip..skip + bytes.len()];
                aligned.copy_from_slice(&bytes);
                write_all(file, offset, aligned)
            }
            _ => write_all(file, offset, &bytes),
        }
    }
}

/// The content that an operation writes from this offset on.
fn filled(number: u32, offset: u64, length: u64) -> Result<Vec<u8>, Errno> {
    if length > MAX_WRITE {
        return Err(Errno::FBIG);
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    content::fill(number, offset, &mut bytes);
    Ok(bytes)
}

fn write_all(file: impl AsFd, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        match uninterrupted(|| pwrite(&file, &bytes[done..], offset + done as u64))? {
            0 => return Err(Errno::IO),
            count => done += count,
        }
    }
    Ok(())
}

/// Reads a range, or the part of it that the file has.
fn read(file: &OwnedFd, offset: u64, length: u64) -> Result<(), Errno> {
    let mut piece = vec![0; BLOCK * 32];
    let mut at = offset;
    while at < offset.saturating_add(length) {
        let most = offset.saturating_add(length) - at;
        let most = usize::try_from(most).map_or(piece.len(), |most| most.min(piece.len()));
        match uninterrupted(|| pread(file, &mut piece[..most], at))? {
            0 => break,
            bytes => at += bytes as u64,
        }
    }
    Ok(())
}

/// Writes through a shared mapping, after it has extended the file if necessary. The kernel copies
/// the bytes from a pipe: if it cannot provide a page, the copy fails, and no signal ends this
/// process.
fn write_mapped(file: &OwnedFd, size: u64, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
    if bytes.is_empty() {
        return Ok(());
    }
    let end = offset + bytes.len() as u64;
    if end > size {
        ftruncate(file, end)?;
    }
    let pipe = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let (from, mut to) = io::pipe().map_err(pipe)?;
    let within = usize::try_from(offset % BLOCK as u64).unwrap_or_default();
    let length = within + bytes.len();
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; nothing else refers to it.
    let mapping = unsafe {
        mmap(
            std::ptr::null_mut(),
            length,
            access,
            MapFlags::SHARED,
            file,
            offset - within as u64,
        )
    }?;
    let mut result = Ok(());
    let mut done = 0;
    while result.is_ok() && done < bytes.len() {
        let part = (BLOCK - (within + done) % BLOCK).min(bytes.len() - done);
        result = to.write_all(&bytes[done..done + part]).map_err(pipe);
        if result.is_ok() {
            // SAFETY: the range is within the mapping, and only the kernel accesses it.
            let place = unsafe { mapping.cast::<u8>().add(within + done) };
            // SAFETY: as above. A part is less than the capacity of the pipe, which holds it.
            let copied = unsafe { libc::read(from.as_raw_fd(), place.cast(), part) };
            result = match usize::try_from(copied) {
                Ok(copied) if copied == part => Ok(()),
                Ok(_) => Err(Errno::IO),
                Err(_) => Err(pipe(io::Error::last_os_error())),
            };
        }
        done += part;
    }
    // SAFETY: the mapping of above, which nothing refers to any longer.
    let unmapped = unsafe { munmap(mapping, length) };
    result.and(unmapped)
}

/// Maps a range and synchronises it, as `msync` of a program that has written to it.
fn sync_mapped(file: &OwnedFd, offset: u64, length: u64) -> Result<(), Errno> {
    let within = offset % BLOCK as u64;
    let bytes = usize::try_from(within + length).map_err(|_| Errno::OVERFLOW)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; nothing else refers to it.
    let mapping = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes,
            access,
            MapFlags::SHARED,
            file,
            offset - within,
        )
    }?;
    // SAFETY: the whole mapping of above.
    let synced = unsafe { msync(mapping, bytes, MsyncFlags::SYNC) };
    // SAFETY: the mapping of above, which nothing refers to any longer.
    let unmapped = unsafe { munmap(mapping, bytes) };
    synced.and(unmapped)
}

/// Copies a range to the same place of another file, as one system call does that.
fn copy(from: &OwnedFd, to: &OwnedFd, offset: u64, length: u64, shared: bool) -> Result<(), Errno> {
    if shared {
        let range = libc::file_clone_range {
            src_fd: i64::from(from.as_raw_fd()),
            src_offset: offset,
            src_length: length,
            dest_offset: offset,
        };
        // SAFETY: both descriptors are open, and the kernel only reads the structure.
        return match unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONERANGE, &raw const range) } {
            0 => Ok(()),
            _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        };
    }
    let (mut read_at, mut write_at) = (offset, offset);
    while read_at < offset + length {
        let rest = usize::try_from(offset + length - read_at).map_err(|_| Errno::OVERFLOW)?;
        let copied = copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), rest)?;
        if copied == 0 {
            return Err(Errno::IO);
        }
    }
    Ok(())
}

fn sync_range(file: &OwnedFd, offset: u64, length: u64) -> Result<(), Errno> {
    let signed = |number: u64| i64::try_from(number).map_err(|_| Errno::OVERFLOW);
    let (offset, length) = (signed(offset)?, signed(length)?);
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open; the call reads and writes no memory of this process.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::dump;
    use super::*;
    use fsdyno_crash::{EntryKind, Run, Source};

    fn path(path: &str) -> Target {
        Target::Path(path.to_owned())
    }

    fn write(file: &str, offset: Option<u64>, length: u64, kind: WriteKind) -> Operation {
        Operation::Write {
            target: path(file),
            offset,
            length,
            kind,
        }
    }

    fn create(path: &str) -> Operation {
        Operation::Create {
            path: path.to_owned(),
        }
    }

    fn performed(program: &Program) -> (tempfile::TempDir, Performed, Vec<Point>) {
        let folder = tempfile::tempdir().unwrap();
        let mut points = Vec::new();
        let mut reached = |point| {
            points.push(point);
            Ok(())
        };
        let performed = perform(folder.path(), program, &mut reached).unwrap();
        (folder, performed, points)
    }

    #[test]
    fn every_way_to_write_leaves_the_content_of_its_operation() {
        let program = Program {
            setup: vec![
                Operation::Mkdir { path: "A".into() },
                create("A/f"),
                write("A/f", Some(0), 8192, WriteKind::Plain),
            ],
            operations: vec![
                write("A/f", Some(4096), 4096, WriteKind::Mapped),
                write("A/f", None, 4112, WriteKind::Mapped),
                write("A/f", None, 32, WriteKind::DataSync),
                Operation::Open {
                    path: "A/f".into(),
                    descriptor: "h".into(),
                },
                Operation::Unlink { path: "A/f".into() },
                Operation::Write {
                    target: Target::Descriptor("h".into()),
                    offset: Some(16),
                    length: 16,
                    kind: WriteKind::Sync,
                },
                Operation::Fsync {
                    target: Target::Descriptor("h".into()),
                },
                Operation::Link {
                    from: path("A"),
                    to: "nowhere".into(),
                },
            ],
        };
        let (folder, performed, points) = performed(&program);
        let failed = FailedOperation {
            operation: 10,
            errno: "EPERM".into(),
        };
        assert_eq!(performed.failed, Some(failed));
        assert_eq!(points[0], Point::SetUp);
        assert_eq!(points.last(), Some(&Point::Begins(10)));
        assert_eq!(points.len(), 1 + 2 * 7 + 1);
        let tree = dump(folder.path(), true);
        assert_eq!(tree.entries.keys().collect::<Vec<_>>(), ["", "A"]);

        let mut program = program;
        program.operations.truncate(4);
        let run = |offset, length, operation| Run {
            offset,
            length,
            source: Source::Operation(operation),
        };
        let (folder, _, _) = self::performed(&program);
        let EntryKind::File { size, runs } = &dump(folder.path(), true).entries["A/f"].kind else {
            panic!("no file");
        };
        assert_eq!(*size, 12336);
        assert_eq!(
            *runs,
            [
                run(0, 4096, 2),
                run(4096, 4096, 3),
                run(8192, 4112, 4),
                run(12304, 32, 5),
            ]
        );
    }

    #[test]
    fn ranges_are_synced_and_special_files_are_made() {
        let text = "mkdir A\ncreate A/f\nwrite A/f 0 12288\n---\nwrite-mapped A/f 4096 4096\n\
                    msync A/f 4112 32\nsync-range A/f 0 12288\nfifo A/p\nrename A/p q\n\
                    create A/c\ncopy A/f A/c 2048 8192";
        let program: Program = text.parse().unwrap();
        program.check().unwrap();
        let (folder, performed, _) = performed(&program);
        assert_eq!(performed.failed, None);
        let fifo = EntryKind::Special {
            kind: SpecialKind::Fifo,
        };
        let tree = dump(folder.path(), true).entries;
        let EntryKind::File { size, runs } = &tree["A/c"].kind else {
            panic!("no file");
        };
        let sources: Vec<_> = runs.iter().map(|run| (run.offset, run.source)).collect();
        let by = Source::Operation;
        let copied = [
            (0, Source::Zeros),
            (2048, by(2)),
            (4096, by(3)),
            (8192, by(2)),
        ];
        assert_eq!((*size, &sources[..]), (10240, &copied[..]));
        assert_eq!((&tree["q"].kind, tree["q"].mode), (&fifo, Some(0o644)));
        for (wrong, reason) in [
            ("msync A/f 8192 8192", "within them"),
            ("fsync q", "not opened"),
        ] {
            let wrong = format!("{text}\n{wrong}").parse::<Program>().unwrap();
            let wrong = wrong.check().unwrap_err().to_string();
            assert!(wrong.contains(reason), "{wrong}");
        }
    }

    #[test]
    fn reads_need_their_file_and_change_nothing() {
        let parse = |text: &str| text.parse::<Program>().unwrap();
        let setup = "mkdir A\ncreate A/f\nappend A/f 256k\n---\n";
        let reads = "read A/f\nread A/f 4096 1m\nstat A/f\nlist A\nlist /\nstat /\n\
                     open A/f as h\nread @h 0 16\nstat @h";
        let (folder, done, _) = performed(&parse(&format!("{setup}{reads}")));
        assert_eq!(done.failed, None);
        let (untouched, _, _) = performed(&parse(setup));
        assert_eq!(dump(folder.path(), true), dump(untouched.path(), true));
        for (missing, reason) in [("read A", "no regular file"), ("list A/f", "no directory")] {
            let wrong = parse(&format!("{setup}{missing}")).check();
            let wrong = wrong.unwrap_err().to_string();
            assert!(wrong.contains(reason), "{wrong}");
        }
    }

    #[test]
    fn names_attributes_and_links_are_those_of_the_program() {
        let program = Program {
            setup: vec![create("a"), Operation::Mkdir { path: "B".into() }],
            operations: vec![
                Operation::Link {
                    from: path("a"),
                    to: "B/a".into(),
                },
                Operation::Symlink {
                    text: "../a".into(),
                    path: "B/s".into(),
                },
                Operation::Rename {
                    from: "a".into(),
                    to: "c".into(),
                },
                Operation::Exchange {
                    one: "c".into(),
                    other: "B/s".into(),
                },
                Operation::Chmod {
                    target: path("B"),
                    mode: 0o700,
                },
                Operation::Fsync { target: path("") },
                Operation::Syncfs,
            ],
        };
        let (folder, performed, _) = performed(&program);
        assert_eq!(performed.failed, None);
        let tree = dump(folder.path(), true).entries;
        assert_eq!(
            tree.keys().collect::<Vec<_>>(),
            ["", "B", "B/a", "B/s", "c"]
        );
        assert_eq!(tree["B"].mode, Some(0o700));
        assert_eq!((tree["B/a"].links, tree["B/s"].links), (Some(2), Some(2)));
        assert_eq!(tree["B/a"].inode, tree["B/s"].inode);
        let text = "../a".to_owned();
        assert_eq!(tree["c"].kind, EntryKind::Symlink { text });
    }
}
