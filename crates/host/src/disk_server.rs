//! A model disk as a file: a FUSE file system with one file, served by a separate process of
//! fsdyno, under a loop device.
//!
//! It is a separate process because of how a FUSE server dies. The kernel fails pending requests
//! once the last descriptor of `/dev/fuse` is closed. A thread that waits for the disk keeps the
//! descriptors of its process open, so a server in the same process would never be released. The
//! server ends when it is unmounted or when its line is closed, which happens when all our threads
//! have ended.

use crate::command;
use crate::journal::{Entry, Journal, JournalError, Kind, Undo};
use crate::mounts::{self, MountError, Mounted};
use crate::place::{HeldFile, Place};
use crate::processes;
use fsdyno_files::programs;
use rustix::fs::{Mode, OFlags, fstatfs, open};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The arguments of the server; the file follows.
pub const SERVER_ARGS: [&str; 2] = ["disk", "fuse-server"];

/// `f_type` of a FUSE file system (statfs(2)).
const FUSE_SUPER_MAGIC: rustix::fs::FsWord = 0x6573_5546;

/// How long a server may take to end once nothing is mounted.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// A model disk that is served as a file.
#[derive(Debug)]
pub struct ServedDisk {
    file: PathBuf,
    // The mount is dropped before the server process.
    mounted: Option<Mounted>,
    /// Until it is mounted.
    device: Option<OwnedFd>,
    server: Child,
    status: Option<ExitStatus>,
    entry: Option<Entry>,
}

/// The reason why a disk could not be served as a file.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    #[error("cannot open /dev/fuse: {0}; modprobe fuse, or put the disk into guests (--lab uml)")]
    Device(#[source] io::Error),
    #[error("cannot {act}: {cause}")]
    Made {
        act: String,
        #[source]
        cause: io::Error,
    },
    /// It could not be mounted or unmounted.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// It could not be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ServedDisk {
    /// Makes an empty file for it and starts `program` as its server: it finds the line to us as its
    /// standard input, and `/dev/fuse` as its standard output. It serves once it is mounted.
    pub fn start(
        program: &Path,
        file: &Path,
        journal: &Journal,
    ) -> Result<(Self, UnixStream), ServedError> {
        let made = |act: String| |cause| ServedError::Made { act, cause };
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = open("/dev/fuse", flags, Mode::empty())
            .map_err(|errno| ServedError::Device(errno.into()))?;
        // It is removed with its directory.
        let place = Place::trusted(file).map_err(io::Error::from);
        place
            .and_then(|place| Ok(place.create(OFlags::WRONLY)?))
            .map_err(made(format!("make {}", file.display())))?;
        let (ours, theirs) = UnixStream::pair().map_err(made("make a line".to_owned()))?;
        let of_server = device.try_clone();
        let of_server =
            of_server.map_err(made("duplicate the descriptor of /dev/fuse".to_owned()))?;
        let mut command = programs::at(program);
        command
            .args(SERVER_ARGS)
            .arg(file)
            .stdin(OwnedFd::from(theirs))
            .stdout(of_server)
            .current_dir("/")
            // An interrupt is for us: the disk is needed until all is undone.
            .process_group(0);
        let entry = journal.declare(Kind::Server.at(file))?;
        let server = match command.spawn() {
            Ok(server) => server,
            Err(cause) => {
                entry.done()?;
                let act = format!("start the server of {}", file.display());
                return Err(ServedError::Made { act, cause });
            }
        };
        // Dropping `command` closes the server's ends of the line and the device.
        drop(command);
        let disk = Self {
            file: file.to_owned(),
            mounted: None,
            device: Some(device),
            server,
            status: None,
            entry: Some(entry),
        };
        Ok((disk, ours))
    }

    /// Mounts it: from then on the file is the disk.
    pub fn mount(&mut self, journal: &Journal) -> Result<(), ServedError> {
        let Some(device) = self.device.take() else {
            return Ok(());
        };
        let options = [
            format!("fd={}", device.as_raw_fd()),
            // The root of this file system is the file.
            "rootmode=100600".to_owned(),
            "user_id=0".to_owned(),
            "group_id=0".to_owned(),
        ];
        // From here on only the server holds the device, which is closed at its death.
        let mounted = mounts::mount("fuse", "fsdyno", &self.file, &options, journal)?;
        self.mounted = Some(mounted);
        Ok(())
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The very file, for a loop device. The server must have begun.
    pub fn held(&self) -> io::Result<HeldFile> {
        let held = HeldFile::at(&self.file)?;
        if fstatfs(&held)?.f_type != FUSE_SUPER_MAGIC {
            let why = "it is not served: nothing of FUSE is mounted there";
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        Ok(held)
    }

    /// How its server ended, if it is not running.
    pub fn died(&mut self) -> Option<String> {
        let status = self.ended_within(Duration::ZERO)?;
        Some(command::describe_end(status.code(), status.signal()))
    }

    /// Unmounts it. The server then reports and ends; it is killed if it does not.
    pub fn end(mut self) -> Result<(), ServedError> {
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount()?;
        }
        Ok(())
    }

    fn ended_within(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + timeout;
        while self.status.is_none() {
            self.status = self.server.try_wait().ok().flatten();
            if self.status.is_some() || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.status
    }
}

impl Drop for ServedDisk {
    fn drop(&mut self) {
        let unmounted = self.mounted.is_none();
        drop(self.mounted.take());
        // A server that is still mounted elsewhere would wait for its users.
        if !unmounted || self.ended_within(EXIT_TIMEOUT).is_none() {
            let _ = self.server.kill();
            let _ = self.server.wait();
        }
        if let Some(entry) = self.entry.take() {
            // If this fails, the entry stays in the journal, which does no harm.
            let _ = entry.done();
        }
    }
}

/// Marks this process as one that writes back for others (prctl(2), `PR_SET_IO_FLUSHER`): it is not
/// throttled by dirty pages and allocates memory without waiting for write-back.
pub fn become_io_flusher() -> io::Result<()> {
    const PR_SET_IO_FLUSHER: libc::c_int = 57;
    let (yes, none) = (1 as libc::c_ulong, 0 as libc::c_ulong);
    // SAFETY: the call takes numbers only.
    match unsafe { libc::prctl(PR_SET_IO_FLUSHER, yes, none, none, none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends the server of a file that a dead process left. The kernel fails its pending requests, so
/// that no process waits for them.
pub(crate) fn end_orphans(file: &Path) -> Undo {
    let words = SERVER_ARGS.map(OsString::from);
    let ours = |line: &[u8]| {
        let line: Vec<&[u8]> = line.split(|b| *b == 0).collect();
        let tail = [
            words[0].as_bytes(),
            words[1].as_bytes(),
            file.as_os_str().as_bytes(),
        ];
        line.windows(tail.len()).any(|three| three == tail)
    };
    Undo::of(processes::end_all(ours))
}
