//! Freezes a mounted file system (`ioctl_fs(2)`, `FIFREEZE`): its disk then has everything that was
//! written, and needs no recovery. Only for the file system of a guest.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open, syncfs};
use rustix::io::Errno;
use rustix::ioctl::{NoArg, Opcode, ioctl};
use std::io;
use std::path::Path;

/// `FIFREEZE`, `_IOWR('X', 119, int)`.
const FREEZE: Opcode = 0xC004_5877;

/// `FITHAW`, `_IOWR('X', 120, int)`.
const THAW: Opcode = 0xC004_5878;

/// A frozen file system, thawed on drop.
#[derive(Debug)]
pub struct Frozen {
    root: OwnedFd,
    frozen: bool,
}

impl Frozen {
    /// Freezes the file system of a directory. One that cannot be frozen is synced.
    pub fn freeze(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(root, flags, Mode::empty())?;
        // SAFETY: FIFREEZE ignores its argument and writes to no memory of ours.
        let frozen = match unsafe { ioctl(&root, NoArg::<FREEZE>::new()) } {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP) => {
                syncfs(&root)?;
                false
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { root, frozen })
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        if self.frozen {
            // SAFETY: FITHAW ignores its argument and writes to no memory of ours. A guest whose
            // file system stays frozen hangs, and is reported as such.
            let _ = unsafe { ioctl(&self.root, NoArg::<THAW>::new()) };
        }
    }
}
