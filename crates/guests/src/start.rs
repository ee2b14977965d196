//! The start of a guest of any kind: memory, processors, disks, its first process, and the
//! descriptors that it inherits.

use fsdyno_model::{Bytes, LabChoice};
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The disks are named by the letters `a` to `p`.
pub const MAX_DISKS: usize = 16;

/// The environment variable of a guest on QEMU.
pub(crate) const MACHINE: &str = "FSDYNO_MACHINE";

/// The environment variable of a guest whose model disks do not rotate.
pub(crate) const SOLID: &str = "FSDYNO_SOLID";

/// Its value if they have several queues.
pub(crate) const QUEUES: &str = "queues";

/// What a virtio disk does not tell the kernel of the model disk behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskKind {
    /// The kernel takes every virtio disk for one that rotates.
    Rotating,
    /// Flash with one queue, as SATA has it: the kernel's default scheduler is `mq-deadline`.
    Solid,
    /// Flash or a cloud volume with several queues, as `NVMe` has them: the default is no scheduler.
    Queues,
}

impl DiskKind {
    /// The variable with its value, if a guest's kernel must be told.
    pub(crate) fn variable(self) -> Option<String> {
        match self {
            Self::Rotating => None,
            Self::Solid => Some(format!("{SOLID}=single")),
            Self::Queues => Some(format!("{SOLID}={QUEUES}")),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Setting<'a> {
    pub memory: Bytes,
    /// Its number of processors. User-mode Linux has one.
    pub processors: u32,
    /// Its disks, in order: image files, or the sockets of model disks.
    pub disks: &'a [PathBuf],
    /// None if they are image files.
    pub model: Option<DiskKind>,
    /// A directory for the files of a running kernel.
    pub scratch: &'a Path,
    /// The first process: a program and its arguments.
    pub init: &'a [OsString],
}

impl Setting<'_> {
    /// The variable for the kind of its model disks.
    pub(crate) fn disk_kind(&self) -> Option<String> {
        self.model.and_then(DiskKind::variable)
    }
}

/// The connection of a guest to the host.
#[derive(Debug, Clone, Copy)]
pub enum Attachment<'a> {
    Terminal,
    /// A channel to fsdyno. The console is only read.
    Line(&'a OwnedFd),
}

/// The command that starts a guest.
#[derive(Debug)]
pub struct Start {
    pub command: Command,
    /// Inherited descriptors, except for standard streams and the channel.
    pub open: Vec<OwnedFd>,
}

/// The name of a guest's disk, as the guest sees it.
pub fn disk(lab: &LabChoice, number: usize) -> PathBuf {
    let prefix = match lab {
        LabChoice::Qemu => "vd",
        _ => "ubd",
    };
    // There are at most as many as letters.
    let letter = char::from(b'a' + u8::try_from(number.min(MAX_DISKS - 1)).unwrap_or(0));
    PathBuf::from(format!("/dev/{prefix}{letter}"))
}

/// How a guest ended, as text.
pub fn ended(status: ExitStatus) -> String {
    fsdyno_host::command::describe_end(status.code(), status.signal())
}

/// Leaves one descriptor open in the program.
pub(crate) fn inherit(command: &mut Command, descriptor: &OwnedFd) {
    let number = descriptor.as_raw_fd();
    let in_child = move || {
        // SAFETY: the number is that of a descriptor which the caller holds until after the spawn,
        // and the child has a copy of.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        Ok(fcntl_setfd(descriptor, FdFlags::empty())?)
    };
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(in_child) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_as_the_guest_names_them() {
        assert_eq!(disk(&LabChoice::Uml, 1), Path::new("/dev/ubdb"));
        assert_eq!(disk(&LabChoice::Qemu, 0), Path::new("/dev/vda"));
        assert_eq!(disk(&LabChoice::Qemu, 15), Path::new("/dev/vdp"));
    }
}
