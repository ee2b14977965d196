//! How full a file system is, by its own word.

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
    /// What a plain user may still fill.
    pub free: u64,
    /// How many more files a plain user may make; none where there is no limit.
    pub inodes_left: Option<u64>,
}

impl Space {
    /// What the file system states of itself right now.
    pub fn now(directory: impl AsFd) -> Result<Self> {
        fstatvfs(directory).map(|all| Self::from(&all))
    }

    /// What it states once everything is written and freed space has come back: some free space
    /// in the background, after the call that deleted has returned and was synced.
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

    /// What plain users can use, full or empty.
    pub fn capacity(&self) -> u64 {
        self.used.saturating_add(self.free)
    }

    /// How much of it is in use, percent.
    pub fn percent(&self) -> f64 {
        self.used as f64 * 100.0 / self.capacity().max(1) as f64
    }

    /// What is to be written until so much is in use.
    pub fn missing(&self, permille: u32) -> u64 {
        self.goal(permille).saturating_sub(self.used)
    }

    /// What is to be deleted until no more is in use.
    pub fn beyond(&self, permille: u32) -> u64 {
        self.used.saturating_sub(self.goal(permille))
    }

    /// Differences below this are none: a two-thousandth.
    pub fn tolerance(&self) -> u64 {
        (self.capacity() / 2000).max(16 << 10)
    }

    fn goal(&self, permille: u32) -> u64 {
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
    fn what_is_missing_brings_it_to_the_part_asked_for() {
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
