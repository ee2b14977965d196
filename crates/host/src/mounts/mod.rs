//! Mounts and unmounts by system call, and reports refusals in the kernel's words.
//!
//! A [`Mounted`] is a guard: unmounted on drop, in the journal before it exists. A target that
//! something is mounted on already is refused, so that all that is ever unmounted is ours.

pub(crate) mod holders;
mod options;
mod refusal;
pub(crate) mod table;

pub use table::{Mount, mount_of, mounted_below, mountinfo};

use crate::journal::{Entry, Journal, JournalError, Kind, Undo};
use crate::kernel_log::KernelLog;
use crate::place::HeldFile;
use fsdyno_files::{errno, open_parent, uninterrupted};
use options::Sorted;
use refusal::context_words;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MoveMountFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount, unmount,
};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long an unmount is retried while the file system is in use.
const BUSY_BOUND: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Mounted {
    target: PathBuf,
    entry: Option<Entry>,
}

/// The reason why something could not be mounted or unmounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The mount point cannot be used.
    #[error("cannot mount at {}: {cause}", target.display())]
    Target {
        target: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Something is mounted there already.
    #[error("something is mounted at {} already; unmount it or choose another directory",
        target.display())]
    Occupied { target: PathBuf },
    #[error(transparent)]
    Refused(Box<MountRefusal>),
    /// The file system is in use.
    #[error("cannot unmount {}: it is in use by {}", target.display(),
        holders::sentence(holders))]
    Busy {
        target: PathBuf,
        /// The processes that use it, as far as they are visible.
        holders: Vec<String>,
    },
    #[error("cannot unmount {}: {cause}", target.display())]
    Unmount {
        target: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It could not be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl MountError {
    /// The error number, if a system call failed.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Target { cause, .. } | Self::Unmount { cause, .. } => cause.raw_os_error(),
            Self::Refused(refusal) => refusal.cause.raw_os_error(),
            Self::Busy { .. } => Some(Errno::BUSY.raw_os_error()),
            Self::Occupied { .. } | Self::Journal(_) => None,
        }
    }
}

/// A mount that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot mount {fstype} of {device} at {}: {act}: {errno}: {words}", target.display())]
pub struct MountRefusal {
    /// The kernel's name of the file system.
    pub fstype: String,
    /// The device, or what the file system uses in its place.
    pub device: String,
    /// The mount point.
    pub target: PathBuf,
    /// The refused option, or the step of the mount that failed.
    pub act: String,
    /// The name of the error number.
    pub errno: &'static str,
    /// The kernel's own words, or else the plain meaning of the error number.
    pub words: String,
    #[source]
    pub cause: io::Error,
}

/// Mounts a file system at an existing directory that nothing is mounted on.
///
/// Options are those of `mount(8)`, one each; options that are not generic go to the file system as
/// `key` or `key=value`.
pub fn mount(
    fstype: &str,
    source: &str,
    target: &Path,
    options: &[String],
    journal: &Journal,
) -> Result<Mounted, MountError> {
    let FreeTarget { path: target, at } = free_target(target)?;
    let entry = journal.declare(Kind::Mount.at(&target))?;
    let log = KernelLog::from_now();
    let sorted = options::sort(options);
    let refusal = match attach_new(fstype, source, &at, &sorted) {
        Err(refusal) if matches!(refusal.errno, Errno::NOSYS) => {
            attach_classic(fstype, source, &at, &sorted)
        }
        result => result,
    };
    if let Err(refusal) = refusal {
        entry.done()?;
        return Err(refusal.explain(fstype, source, target, &log));
    }
    Ok(Mounted {
        target,
        entry: Some(entry),
    })
}

/// A mount point on which nothing is mounted.
pub(crate) struct FreeTarget {
    /// Its path, without symbolic links.
    pub path: PathBuf,
    /// The very directory, or file of a model disk.
    at: HeldFile,
}

/// Opens an existing directory or file of ours without a mount, in a directory that no other user
/// can change. It is checked before it is declared: a mount of the user must never be in the
/// journal.
pub(crate) fn free_target(target: &Path) -> Result<FreeTarget, MountError> {
    let unusable = |cause| MountError::Target {
        target: target.to_owned(),
        cause,
    };
    let at = HeldFile::at(target).map_err(|error| unusable(error.into()))?;
    let path = at.path().to_owned();
    if table::layers(&path).map_err(unusable)? > 0 {
        return Err(MountError::Occupied { target: path });
    }
    Ok(FreeTarget { path, at })
}

impl Mounted {
    /// Its mount point.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Unmounts, and retries for some seconds while it is in use. If that fails, the error names
    /// the users, and the drop detaches the mount (`MNT_DETACH`).
    pub fn unmount(self) -> Result<(), MountError> {
        self.unmount_timed().map(drop)
    }

    /// The same. Returns how long it was in use.
    pub fn unmount_timed(mut self) -> Result<Duration, MountError> {
        let waited = match unmount_with_retries(&self.target, Instant::now() + BUSY_BOUND) {
            Ok(waited) => waited,
            Err(Errno::BUSY) => {
                return Err(MountError::Busy {
                    target: self.target.clone(),
                    holders: holders::of_tree(&self.target),
                });
            }
            Err(cause) => {
                return Err(MountError::Unmount {
                    target: self.target.clone(),
                    cause: cause.into(),
                });
            }
        };
        self.entry.take().map_or(Ok(()), Entry::done)?;
        Ok(waited)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        let timeout = Instant::now() + BUSY_BOUND / 5;
        let gone = unmount_with_retries(&self.target, timeout)
            .map(drop)
            .or_else(|_| unmount_at(&self.target, UnmountFlags::DETACH));
        // If it cannot be detached either, it stays in the journal.
        if gone.is_ok() {
            let _ = entry.done();
        }
    }
}

/// Unmounts all layers of a mount point, from the top; as a last resort detaches them while they
/// are in use.
pub(crate) fn unmount_all(target: &Path) -> Undo {
    let mut forced = Vec::new();
    let mut undone = false;
    let timeout = Instant::now() + BUSY_BOUND;
    loop {
        match table::layers(target) {
            Ok(0) if !forced.is_empty() => return Undo::Forced(forced.join("; ")),
            Ok(0) if undone => return Undo::Done,
            Ok(0) => return Undo::Gone,
            Ok(_) => {}
            Err(error) => return Undo::Failed(error.to_string()),
        }
        let result = match unmount_with_retries(target, timeout) {
            Err(Errno::BUSY) => {
                let users = holders::of_tree(target);
                // A forced unmount would take mounts below along, which are not ours.
                let below = table::mounted_below(target).unwrap_or_default();
                if let Some(below) = below.iter().find(|below| *below != target) {
                    return Undo::Failed(format!("something is mounted at {}", below.display()));
                }
                forced.push(format!(
                    "taken out of the tree while in use by {}",
                    holders::sentence(&users)
                ));
                unmount_at(target, UnmountFlags::DETACH)
            }
            result => result.map(drop),
        };
        match result {
            Ok(()) => undone = true,
            Err(error) => return Undo::Failed(io::Error::from(error).to_string()),
        }
    }
}

/// Unmounts the top layer, again and again while it is busy. Nothing mounted there is no error.
/// Returns how long it was busy.
fn unmount_with_retries(target: &Path, timeout: Instant) -> Result<Duration, Errno> {
    let mut pause = Duration::from_millis(2);
    let mut busy: Option<Instant> = None;
    loop {
        match uninterrupted(|| unmount_at(target, UnmountFlags::empty())) {
            Err(Errno::BUSY) if Instant::now() < timeout => {
                busy.get_or_insert_with(Instant::now);
            }
            // Not a mount point, or not even there.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {
                return Ok(busy.map_or(Duration::ZERO, |since| since.elapsed()));
            }
            Err(errno) => return Err(errno),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

/// Unmounts the top layer at a path, without following a symbolic link anywhere in it.
fn unmount_at(target: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    let (parent, name) = open_parent(target).map_err(|error| {
        error
            .raw_os_error()
            .map_or(Errno::IO, Errno::from_raw_os_error)
    })?;
    let at = Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string());
    unmount(at.join(name), flags | UnmountFlags::NOFOLLOW)
}

/// The call that the kernel refused.
struct Refusal {
    act: String,
    errno: Errno,
    /// From the context of the mount.
    words: String,
}

impl Refusal {
    fn new(act: impl Into<String>, errno: Errno) -> Self {
        Self {
            act: act.into(),
            errno,
            words: String::new(),
        }
    }

    fn explain(self, fstype: &str, source: &str, target: PathBuf, log: &KernelLog) -> MountError {
        let cause = io::Error::from(self.errno);
        let mut plain = cause.to_string();
        if self.errno == Errno::INVAL {
            plain.push_str(
                "; the kernel gives no reason: the device may hold something else, \
                 or the options may exclude each other",
            );
        }
        let words = [self.words, refusal::words(log, fstype, source), plain];
        MountError::Refused(Box::new(MountRefusal {
            fstype: fstype.to_owned(),
            device: source.to_owned(),
            target,
            act: self.act,
            errno: errno::name(self.errno),
            words: words
                .into_iter()
                .find(|words| !words.is_empty())
                .unwrap_or_default(),
            cause,
        }))
    }
}

/// A mount that is attached nowhere.
#[derive(Debug)]
pub struct DetachedMount {
    /// The reason why the kernel refused it.
    pub refused: Option<String>,
    /// The warnings of the kernel log from its begin to its end.
    pub warnings: Vec<String>,
}

/// Has the kernel read a file system and release it again, without a mount point: for what it does
/// at a mount. Nothing is left if this process is killed. None if the kernel log cannot be read.
pub fn mount_detached(fstype: &str, source: &str, options: &[String]) -> Option<DetachedMount> {
    let log = KernelLog::from_now();
    if !log.is_readable() {
        return None;
    }
    let context = read_filesystem(fstype, source, &options::sort(options));
    let refused = context.as_ref().err().map(|refusal| {
        let cause = io::Error::from(refusal.errno);
        format!("{}: {cause}", refusal.act)
    });
    // The last reference to the file system.
    drop(context);
    let warnings = log.warnings();
    Some(DetachedMount { refused, warnings })
}

/// Mounts by the calls of Linux 5.2: `fsopen`, `fsconfig`, `fsmount`, `move_mount`.
fn attach_new(
    fstype: &str,
    source: &str,
    target: &HeldFile,
    sorted: &Sorted,
) -> Result<(), Refusal> {
    let context = read_filesystem(fstype, source, sorted)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, sorted.attributes)
        .map_err(explained(&context, "making the mount".to_owned()))?;
    let by_descriptors =
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&mount, "", target.as_fd(), "", by_descriptors)
        .map_err(|errno| Refusal::new("attaching the mount", errno))
}

/// A refusal with the words of the context.
fn explained(context: &OwnedFd, act: String) -> impl FnOnce(Errno) -> Refusal {
    move |errno| Refusal {
        words: context_words(context),
        ..Refusal::new(act, errno)
    }
}

/// Has the kernel read the file system of a device. Returns the context that holds it.
fn read_filesystem(fstype: &str, source: &str, sorted: &Sorted) -> Result<OwnedFd, Refusal> {
    let context =
        fsopen(fstype, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|errno| no_context(fstype, errno))?;
    let explained = |act| explained(&context, act);
    fsconfig_set_string(&context, "source", source)
        .map_err(explained(format!("source `{source}`")))?;
    for parameter in &sorted.parameters {
        match options::key_and_value(parameter) {
            (key, Some(value)) => fsconfig_set_string(&context, key, value),
            (key, None) => fsconfig_set_flag(&context, key),
        }
        .map_err(explained(format!("option `{parameter}`")))?;
    }
    fsconfig_create(&context).map_err(explained("reading the file system".to_owned()))?;
    Ok(context)
}

fn no_context(fstype: &str, errno: Errno) -> Refusal {
    let mut refusal = Refusal::new(format!("file system `{fstype}`"), errno);
    if errno == Errno::NODEV {
        refusal.words = format!("the running kernel has none of that name; modprobe {fstype}");
    }
    refusal
}

/// Mounts by the old call, for kernels and sandboxes without the new ones.
fn attach_classic(
    fstype: &str,
    source: &str,
    target: &HeldFile,
    sorted: &Sorted,
) -> Result<(), Refusal> {
    let target = Path::new("/proc/self/fd").join(target.as_fd().as_raw_fd().to_string());
    let old = options::classic(sorted);
    let data = CString::new(old.data).map_err(|_| Refusal::new("options", Errno::INVAL))?;
    rustix::mount::mount(source, &target, fstype, old.flags, data.as_c_str()).map_err(|errno| {
        match errno {
            Errno::NODEV => no_context(fstype, errno),
            _ => Refusal::new("mounting", errno),
        }
    })
}
