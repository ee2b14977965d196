//! The device guard: nothing is formatted that it has not passed.
//!
//! It answers four questions, each in its own file: which device is it really (`identity`), who
//! uses it or anything on the same disk (`users`, with `family` and `open_files`), and what does it
//! hold (`signatures`), and who expects to find it at the next boot (`configured`). [`release`] puts the answers against what the user consented to
//! (`consent`), and either hands out [`Released`] devices or a [`Refusal`] that says everything it
//! found; [`release_file`] does so for a regular file. What is going to be erased leaves a trace (`saved`). `proc` only
//! read what the kernel tells.
//!
//! The guard itself never opens a device for writing: every open of one in this folder is
//! read-only, and the programs it asks (`wipefs -n`, `blkid -p`) only look. It cannot destroy
//! anything; it can only be wrong about what others may then destroy. So it fails closed: what
//! cannot be looked at is refused.
//!
//! # Order, and the races left
//!
//! 1. The devices are identified and must lie on different disks.
//! 2. `flock(LOCK_EX)` on the whole disk, held as long as the [`Released`] lives. By convention
//!    (systemd's "Locking Block Device Access") udev and those who follow it keep away meanwhile.
//! 3. Under the lock: who uses the disk, its partitions, and what is made of them. Where nothing
//!    is found, each is opened with `O_EXCL`, which fails where the kernel or a careful program has
//!    claimed it (mounts in any namespace, swap, arrays, pools), even where nothing else shows it.
//! 4. Signatures, against the consent.
//! 5. [`Released::recheck`] repeats 3, and compares size, serial and medium, right before each mkfs.
//!
//! The exclusive opens are closed again, since mkfs and mount need the device free. What remains is
//! the time between a recheck and the mkfs after it: a program with root's rights that ignores the
//! lock may begin to use the device then. Where it mounts it, mkfs programs that claim the device
//! themselves fail; who merely opens it and writes cannot be kept off by anybody.

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
pub use file::release_file;
pub use identity::Identity;
pub use release::{Refusal, Released, release};
pub use saved::SaveError;
pub use signatures::Signature;
pub use users::{How, Use};

use std::io;
use std::path::{Path, PathBuf};

/// Everything the guard can see of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portrait {
    /// Which device it is.
    pub identity: Identity,
    /// Who uses it, its disk, or anything on the same disk. Empty where nobody does.
    pub users: Vec<Use>,
    /// What it holds, and its partitions.
    pub signatures: Vec<Signature>,
    /// The entries of fstab and crypttab that name it, its partitions, or what is made of them.
    pub configured: Vec<Configured>,
}

/// A device that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Nothing is there.
    #[error("{} does not exist", path.display())]
    Absent {
        /// What was named.
        path: PathBuf,
    },
    /// Something else than a block device is there.
    #[error("{} is {what}, not a block device", path.display())]
    NotADevice {
        /// What was named.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// Something could not be read.
    #[error("cannot look at {what}: {source}")]
    Unreadable {
        /// What was to be read.
        what: String,
        /// Why it could not be.
        source: io::Error,
    },
    /// Another program holds the lock of its disk.
    #[error("another program has locked {} (flock)", node.display())]
    Locked {
        /// The node of the disk.
        node: PathBuf,
    },
    /// A program that looks for signatures is missing, failed, or was not understood.
    #[error("cannot tell what {device} holds: {problem}")]
    Undecided {
        /// The device.
        device: String,
        /// What went wrong, with the way out.
        problem: String,
    },
}

impl GuardError {
    fn unreadable(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Unreadable { what, source }
    }
}

/// Looks at a device, and only looks.
pub fn examine(path: &Path) -> Result<Portrait, GuardError> {
    let (identity, block) = Identity::of(path)?;
    let users = users::find(&block)?;
    let signatures = signatures::find(&block)?;
    let configured = configured::find(&block, &signatures)?;
    Ok(Portrait {
        identity,
        users,
        signatures,
        configured,
    })
}
