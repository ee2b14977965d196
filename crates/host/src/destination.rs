//! Where a command writes in a directory of the user: the file system, and what stays free on it.
//!
//! The directory is opened once. Its file system is the one of the open directory.

use crate::clean_up::is_work_directory;
use crate::mounts::{Mount, mount_of};
use fsdyno_model::Bytes;
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Consent is needed to leave less than this free.
pub const LEAST_FREE: Bytes = Bytes(1 << 30);

/// Consent is needed to leave less than this share free, if that is less than [`LEAST_FREE`].
pub const LEAST_FREE_PERCENT: u64 = 10;

/// Consent is needed to write more than this to a file system that fsdyno did not make.
pub const MOST_UNASKED: Bytes = Bytes(1 << 30);

/// The directory of the user that a command writes in.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    mount: Mount,
    /// The space for ordinary users, used or free.
    size: Bytes,
    free: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    pub space: Bytes,
    /// All bytes that it writes.
    pub bytes: Bytes,
    /// The files that it creates, about; none if it is not known.
    pub files: Option<u64>,
    /// Whether it changes the file system as a whole, and not only a directory of it.
    pub fills: bool,
}

impl Destination {
    /// Opens a directory, and reads its file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())?;
        let all = fstatvfs(&directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(all.f_frsize);
        let used = bytes(all.f_blocks.saturating_sub(all.f_bfree));
        let free = bytes(all.f_bavail);
        Ok(Self {
            path: path.to_owned(),
            mount: mount_of(&directory)?,
            size: Bytes(used.saturating_add(free)),
            free: Bytes(free),
        })
    }

    /// The reason why this needs the consent of the user; none if it may be written.
    pub fn objection(&self, writes: &Writes) -> Option<String> {
        let Writes { space, bytes, .. } = *writes;
        let target = self.mount.target.display();
        let left = self.free.0.saturating_sub(space.0);
        let share = self.size.0 / 100 * LEAST_FREE_PERCENT;
        if space.0 > 0 && left < share.min(LEAST_FREE.0) {
            return Some(format!(
                "it would leave {} free of {} on {target}, which is less than {LEAST_FREE_PERCENT} \
                 % and less than {LEAST_FREE}",
                Bytes(left),
                self.size
            ));
        }
        if self.is_own() {
            return None;
        }
        if writes.fills {
            return Some(format!(
                "it fills the file system at {target}, which fsdyno did not make"
            ));
        }
        (bytes.0 > MOST_UNASKED.0).then(|| {
            format!(
                "it writes more than {MOST_UNASKED} to the file system at {target}, which fsdyno \
                 did not make"
            )
        })
    }

    /// Whether a process of fsdyno made the file system.
    fn is_own(&self) -> bool {
        let parent = self.mount.target.parent();
        parent.is_some_and(is_work_directory)
    }

    /// A description of what is written, and of the space before and after.
    pub fn describe(&self, writes: &Writes) -> impl fmt::Display {
        let Mount {
            target,
            fstype,
            source,
            ..
        } = &self.mount;
        let Writes { bytes, space, .. } = writes;
        let files = match writes.files {
            Some(1) => " in 1 file".to_owned(),
            Some(files) => format!(" in about {files} files"),
            None => String::new(),
        };
        format!(
            "{} is on {fstype} ({}) at {}, with {} free of {}; up to {bytes} will be written{files}, \
             and {} stays free",
            self.path.display(),
            source.display(),
            target.display(),
            self.free,
            self.size,
            Bytes(self.free.0.saturating_sub(space.0)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(target: &str, size: u64, free: u64) -> Destination {
        Destination {
            path: "/data/x".into(),
            mount: Mount {
                id: 1,
                number: (8, 1),
                target: target.into(),
                fstype: "somefs".into(),
                source: "/dev/sda1".into(),
                mount_options: String::new(),
                super_options: String::new(),
            },
            size: Bytes(size),
            free: Bytes(free),
        }
    }

    fn writes(bytes: u64, fills: bool) -> Writes {
        Writes {
            space: Bytes(bytes),
            bytes: Bytes(bytes),
            files: Some(7),
            fills,
        }
    }

    #[test]
    fn large_writes_fills_and_full_file_systems_need_consent() {
        const MIB: u64 = 1 << 20;
        for (size, free, bytes, fills, reason) in [
            (100_000, 50_000, 0, false, None),
            (100_000, 50_000, 1024, false, None),
            (100_000, 50_000, 1025, false, Some("more than 1.00 GiB")),
            (100_000, 50_000, 1, true, Some("fills the file system")),
            (100_000, 1025, 1, false, None),
            (100_000, 1024, 1, false, Some("less than 10 %")),
            // A tenth of a small file system is less than 1 GiB.
            (1000, 200, 100, false, None),
            (1000, 200, 101, false, Some("99.0 MiB free of 1000 MiB")),
            (1000, 200, 500, true, Some("0 B free")),
            // What writes nothing may run on a full file system.
            (1000, 0, 0, false, None),
        ] {
            let place = destination("/data", size * MIB, free * MIB);
            let objection = place.objection(&writes(bytes * MIB, fills));
            match reason {
                None => assert_eq!(objection, None, "{size} {free} {bytes}"),
                Some(words) => {
                    let text = objection.unwrap();
                    assert!(text.contains(words) && text.contains("/data"), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_description_names_the_directory_its_file_system_and_the_amounts() {
        let place = destination("/data", 4 << 30, 3 << 30);
        let text = place.describe(&writes(1 << 30, false)).to_string();
        assert_eq!(
            text,
            "/data/x is on somefs (/dev/sda1) at /data, with 3.00 GiB free of 4.00 GiB; up to \
             1.00 GiB will be written in about 7 files, and 2.00 GiB stays free"
        );
    }

    #[test]
    fn an_open_directory_has_a_file_system() {
        let directory = tempfile::tempdir().unwrap();
        let place = Destination::open(directory.path()).unwrap();
        assert!(place.size.0 >= place.free.0 && place.mount.target.is_absolute());
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(Destination::open(&file).is_err());
    }
}
