//! The directories of a file set, and the path of each of its files.

use super::FileSet;
use std::fmt::Write as _;

/// The digits of the number in a file name; larger numbers have more.
const DIGITS: usize = 7;

/// The paths of a set, relative to the directory of the workload.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The directories that contain files, each with a final slash.
    directories: Vec<String>,
    /// The directories of each worker, if it has its own; else of all.
    per_worker: u32,
    own: bool,
    workers: u32,
    count: u32,
    prefix: String,
    suffix: String,
}

impl Layout {
    /// The layout of a set that so many workers use.
    pub fn new(set: &FileSet, workers: u32) -> Self {
        let workers = workers.max(1);
        let owners = if set.own_directories { workers } else { 1 };
        let files = set.count.div_ceil(owners).max(1);
        let per_worker = set.width.map_or(1, |width| files.div_ceil(width));
        // Directories of a tree whose leaves contain the files.
        let mut branching = 1_u32;
        while branching.saturating_pow(set.depth) < per_worker {
            branching += 1;
        }
        let mut directories = Vec::new();
        for owner in 0..owners {
            for number in 0..per_worker {
                let mut path = format!("{}/", set.name);
                if set.own_directories {
                    let _ = write!(path, "w{owner:04}/");
                }
                if per_worker > 1 {
                    let mut unit = branching.saturating_pow(set.depth);
                    for _ in 0..set.depth {
                        unit = (unit / branching).max(1);
                        let _ = write!(path, "d{:04}/", number / unit % branching);
                    }
                }
                directories.push(path);
            }
        }
        Self {
            directories,
            per_worker,
            own: set.own_directories,
            workers,
            count: set.count,
            prefix: set.prefix.clone(),
            suffix: set.suffix.clone(),
        }
    }

    /// The directories, each with a final slash.
    pub fn directories(&self) -> &[String] {
        &self.directories
    }

    /// The first file of a worker; of the number of workers, the end of the last.
    pub fn first_of(&self, worker: u32) -> u32 {
        let first = u64::from(self.count) * u64::from(worker) / u64::from(self.workers);
        u32::try_from(first).unwrap_or(u32::MAX)
    }

    /// The file that a worker creates after `made` others beyond the first files of the set.
    pub fn beyond(&self, worker: u32, made: u32) -> u32 {
        let number = self.count.saturating_add(made.saturating_mul(self.workers));
        number.saturating_add(worker)
    }

    fn owner(&self, file: u32) -> u32 {
        if file >= self.count {
            return (file - self.count) % self.workers;
        }
        let owner = (u64::from(file + 1) * u64::from(self.workers) - 1) / u64::from(self.count);
        u32::try_from(owner).unwrap_or(0)
    }

    /// The directory of a file.
    pub fn directory(&self, file: u32) -> &str {
        let owner = if self.own { self.owner(file) } else { 0 };
        &self.directories[(owner * self.per_worker + file % self.per_worker) as usize]
    }

    /// Appends the path of a file.
    #[inline]
    pub fn put(&self, file: u32, into: &mut Vec<u8>) {
        into.extend_from_slice(self.directory(file).as_bytes());
        into.extend_from_slice(self.prefix.as_bytes());
        put_number(file, into);
        into.extend_from_slice(self.suffix.as_bytes());
    }

    /// Appends the path of an empty directory that a worker made.
    pub fn put_made(&self, worker: u32, number: u32, into: &mut Vec<u8>) {
        into.extend_from_slice(self.directories[0].as_bytes());
        into.push(b'e');
        put_number(worker, into);
        into.push(b'-');
        put_number(number, into);
    }
}

/// Appends a number in at least seven digits.
#[inline]
pub(super) fn put_number(mut number: u32, into: &mut Vec<u8>) {
    let start = into.len();
    let mut digits = 0;
    while number > 0 || digits < DIGITS {
        into.push(b'0' + (number % 10) as u8);
        number /= 10;
        digits += 1;
    }
    into[start..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Work;

    fn set(keys: &str) -> FileSet {
        let text =
            format!("[[files]]\nname = 'm'\n{keys}\n[[workers]]\nloops = 1\nsteps = ['stat m']\n");
        text.parse::<Work>().unwrap().sets.remove(0)
    }

    #[test]
    fn files_are_spread_over_directories_of_the_requested_width_and_depth() {
        for (keys, directories, sample) in [
            ("count = 100", 1, "m/f0000007"),
            ("count = 100\nwidth = 10", 10, "m/d0007/f0000007"),
            (
                "count = 100\nwidth = 10\ndepth = 2",
                10,
                "m/d0001/d0003/f0000007",
            ),
            (
                "count = 100\nprefix = 'x'\nsuffix = '.c'",
                1,
                "m/x0000007.c",
            ),
        ] {
            let layout = Layout::new(&set(keys), 3);
            assert_eq!(layout.directories().len(), directories, "{keys}");
            let mut path = Vec::new();
            layout.put(7, &mut path);
            assert_eq!(String::from_utf8(path).unwrap(), sample, "{keys}");
        }
        let large = Layout::new(&set("count = 9"), 1);
        let mut path = Vec::new();
        large.put(123_456_789, &mut path);
        assert_eq!(path, b"m/f123456789");
    }

    #[test]
    fn a_worker_with_own_directories_finds_all_its_files_in_them() {
        let layout = Layout::new(&set("count = 10\nwidth = 2\ndirectories = 'own'"), 3);
        for worker in 0..3 {
            let prefix = format!("m/w{worker:04}/");
            let first = layout.first_of(worker)..layout.first_of(worker + 1);
            let beyond = (0..5).map(|made| layout.beyond(worker, made));
            for file in first.chain(beyond) {
                assert!(layout.directory(file).starts_with(&prefix), "{file}");
            }
        }
    }
}
