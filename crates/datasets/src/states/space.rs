//! The utilisation of a file system, as it reports it.

use rustix::fs::{StatVfs, fstatvfs, syncfs};
use rustix::io::Result;
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::Duration;

/// The space of a file system, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// In use, metadata included.
    pub used: u64,
    /// The space that an ordinary user may still fill, bytes.
    pub free: u64,
    /// The number of files that an ordinary user may still create; none without a limit.
    pub inodes_left: Option<u64>,
}

impl Space {
    /// Reads the current space of the file system.
    pub fn now(directory: impl AsFd) -> Result<Self> {
        fstatvfs(directory).map(|all| Self::from(&all))
    }

    /// Reads the space after all data is written and freed space is available. Some file systems
    /// free space in the background, after the delete and a sync have returned.
    pub fn settled(directory: impl AsFd) -> Result<Self> {
        const PAUSE: Duration = Duration::from_millis(20);
        // Two seconds at most.
        const READINGS: u32 = 100;
        syncfs(&directory)?;
        let mut last = Self::now(&directory)?;
        for _ in 0..READINGS {
            sleep(PAUSE);
            let next = Self::now(&directory)?;
            if (next.used, next.free) == (last.used, last.free) {
                break;
            }
            last = next;
        }
        Ok(last)
    }

    /// The space for ordinary users, used or free, bytes.
    pub fn capacity(&self) -> u64 {
        self.used.saturating_add(self.free)
    }

    pub fn percent(&self) -> f64 {
        self.used as f64 * 100.0 / self.capacity().max(1) as f64
    }

    /// The bytes to write to reach this utilisation.
    pub fn missing(&self, permille: u32) -> u64 {
        self.target_bytes(permille).saturating_sub(self.used)
    }

    /// The bytes to delete to reach this utilisation.
    pub fn beyond(&self, permille: u32) -> u64 {
        self.used.saturating_sub(self.target_bytes(permille))
    }

    /// The tolerance: a two-thousandth.
    pub fn tolerance(&self) -> u64 {
        (self.capacity() / 2000).max(16 << 10)
    }

    fn target_bytes(&self, permille: u32) -> u64 {
        // Below 2^54 bytes there is no overflow; above, a part more or less does not matter.
        self.capacity().saturating_mul(u64::from(permille)) / 1000
    }
}

impl From<&StatVfs> for Space {
    fn from(all: &StatVfs) -> Self {
        let bytes = |blocks: u64| blocks.saturating_mul(all.f_frsize);
        Self {
            used: bytes(all.f_blocks.saturating_sub(all.f_bfree)),
            free: bytes(all.f_bavail),
            inodes_left: (all.f_files > 0).then_some(all.f_favail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_bytes_give_the_requested_utilisation() {
        let space = Space {
            used: 100,
            free: 900,
            inodes_left: None,
        };
        assert!((space.percent() - 10.0).abs() < 1e-9);
        assert_eq!((space.missing(900), space.beyond(900)), (800, 0));
        assert_eq!((space.missing(50), space.beyond(50)), (0, 50));
        let nothing = Space {
            used: 0,
            free: 0,
            inodes_left: None,
        };
        assert!(nothing.percent().abs() < 1e-9);
        assert_eq!(nothing.missing(990), 0);
    }
}
