//! The device guard: nothing is formatted that it has not passed.
//!
//! It checks, each in its own file: which device a path names (`identity`); who uses it or another
//! part of its disk (`users`, with `family` and `open_files`); what it holds (`signatures`); and
//! whether the next boot expects it (`configured`). [`release`] compares the findings with the
//! user's consent (`consent`). It returns [`Released`] devices or a [`Refusal`] with all findings;
//! [`release_files`] does so for regular files. Signatures are copied before they are erased
//! (`saved`).
//!
//! The guard never opens a device for writing: every open here is read-only, and the programs it
//! runs (`wipefs -n`, `blkid -p`) only read. It cannot destroy data itself. It fails closed: a
//! device that cannot be checked is refused.
//!
//! # Order, and the races left
//!
//! 1. The devices are identified and must be on different disks.
//! 2. `flock(LOCK_EX)` on the whole disk, held until the [`Released`] is dropped. By convention
//!    (systemd's "Locking Block Device Access") udev and programs that follow it do not touch a
//!    locked disk.
//! 3. Under the lock: the users of the disk, of its partitions and of devices on top of them. Where
//!    none is found, each is opened with `O_EXCL`. That fails where the kernel or a careful program
//!    has claimed it (mounts in any namespace, swap, arrays, pools).
//! 4. Signatures, compared with the consent.
//! 5. [`Released::recheck`] repeats 3, and compares size, serial and medium, right before each
//!    mkfs.
//!
//! The exclusive opens are closed again, since mkfs and mount need the device. The time between a
//! recheck and its mkfs remains: a privileged program that ignores the lock may start to use the
//! device then. If it mounts the device, mkfs programs that claim the device fail. A program that
//! only opens and writes cannot be prevented.

mod configured;
mod consent;
mod family;
mod file;
pub(crate) mod identity;
mod open_files;
mod proc;
mod release;
mod saved;
pub(crate) mod signatures;
mod users;

pub use configured::Configured;
pub use consent::Consent;
pub use file::release_files;
pub use identity::Identity;
pub use release::{Refusal, Released, is_locked_by, release};
pub use saved::SaveError;
pub use signatures::Signature;
pub use users::{How, Use};

use std::io;
use std::path::{Path, PathBuf};

/// Everything the guard can see of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceDescription {
    pub identity: Identity,
    /// The users of it, of its disk, or of another part of the disk.
    pub users: Vec<Use>,
    /// The signatures on it and on its partitions.
    pub signatures: Vec<Signature>,
    /// The entries of fstab and crypttab that name it, its partitions, or devices on top of them.
    pub configured: Vec<Configured>,
}

/// A device that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error("{} does not exist", path.display())]
    Absent { path: PathBuf },
    /// Something else than a block device is there.
    #[error("{} is {what}, not a block device", path.display())]
    NotADevice { path: PathBuf, what: &'static str },
    /// Something could not be read.
    #[error("cannot look at {what}: {source}")]
    Unreadable { what: String, source: io::Error },
    /// Another program holds the lock of its disk.
    #[error("another program has locked {} (flock)", node.display())]
    Locked { node: PathBuf },
    /// A program that finds signatures is missing, failed, or printed unknown output.
    #[error("cannot read the signatures of {device}: {problem}")]
    Undecided {
        device: String,
        /// The error, with a remedy.
        problem: String,
    },
}

impl GuardError {
    fn unreadable(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Unreadable { what, source }
    }

    fn undecided(node: &Path, problem: String) -> Self {
        let device = node.display().to_string();
        Self::Undecided { device, problem }
    }
}

/// Examines a device without changing it.
pub fn examine(path: &Path) -> Result<DeviceDescription, GuardError> {
    let (identity, block) = Identity::of(path)?;
    let users = users::find(&block)?;
    let signatures = signatures::find(&block)?;
    let configured = configured::find(&block, &signatures)?;
    Ok(DeviceDescription {
        identity,
        users,
        signatures,
        configured,
    })
}
