//! I/O of other block devices, from `/proc/diskstats`: requests of other programs.

use super::block::{SECTOR, Stat, between_ms, parse};
use super::block_names_under;
use fsdyno_model::{Nanos, OtherIo};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const BLOCK: &str = "/sys/class/block";

/// The counters of all block devices.
#[derive(Debug, Clone, Default)]
pub(super) struct AllDisks {
    disks: Vec<(String, Stat)>,
}

/// The devices of a contender and of its image files, by the kernel's names.
#[derive(Debug, Clone, Default)]
pub(super) struct ContenderDevices {
    ours: BTreeSet<String>,
    below: BTreeSet<String>,
}

/// Reads the counters of all block devices; or why they are not available.
pub(super) fn all() -> Result<AllDisks, String> {
    let text = fs::read_to_string("/proc/diskstats")
        .map_err(|error| format!("other I/O: cannot read /proc/diskstats: {error}"))?;
    Ok(AllDisks {
        disks: text.lines().filter_map(line).collect(),
    })
}

/// `7 0 loop0 1 2 3 ...`: numbers, the name, and the counters of `stat`.
fn line(line: &str) -> Option<(String, Stat)> {
    let mut words = line.split_whitespace();
    let name = words.nth(2)?.to_owned();
    let rest: Vec<&str> = words.collect();
    Some((name, parse(&rest.join(" "))?))
}

impl ContenderDevices {
    /// All devices above and below the devices of a contender.
    pub(super) fn of(devices: &[String]) -> Self {
        let mut all = Self::default();
        for name in devices {
            all.add(name);
        }
        all
    }

    fn add(&mut self, name: &str) {
        if !self.ours.insert(name.to_owned()) {
            return;
        }
        let folder = Path::new(BLOCK).join(name);
        for part in ["slaves", "holders"] {
            for other in names_in(&folder.join(part)) {
                self.add(&other);
            }
        }
        if folder.join("partition").exists()
            && let Some(disk) = parent(&folder)
        {
            self.ours.insert(disk);
        }
        if let Ok(image) = fs::read_to_string(folder.join("loop/backing_file")) {
            self.is_on(&PathBuf::from(image.trim_end()));
        }
    }

    /// The devices below an image file; none for a file that a process serves.
    fn is_on(&mut self, image: &Path) {
        for name in block_names_under(image) {
            let folder = Path::new(BLOCK).join(&name);
            let whole = if folder.join("partition").exists() {
                parent(&folder).unwrap_or(name)
            } else {
                name
            };
            if self.below.insert(whole.clone()) {
                for other in names_in(&Path::new(BLOCK).join(&whole).join("slaves")) {
                    self.below.insert(other);
                }
            }
        }
    }
}

/// The disk of a partition: the parent of its directory.
fn parent(folder: &Path) -> Option<String> {
    let real = folder.canonicalize().ok()?;
    Some(real.parent()?.file_name()?.to_string_lossy().into_owned())
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

impl AllDisks {
    /// The traffic of devices that do not belong to the contender, since an earlier reading.
    pub(super) fn since(&self, earlier: &Self, devices: &ContenderDevices) -> OtherIo {
        let mut reported = OtherIo::default();
        for (name, now) in &self.disks {
            let then = earlier.disks.iter().find(|(known, _)| known == name);
            let then = then.map_or_else(Stat::default, |(_, stat)| *stat);
            let moved = |of: &Stat| {
                of.read_sectors
                    .wrapping_add(of.written_sectors)
                    .wrapping_add(of.discarded_sectors)
            };
            let bytes = moved(now).saturating_sub(moved(&then)) * SECTOR;
            if devices.below.contains(name) {
                reported.below_bytes.get_or_insert_default().0 += bytes;
            }
            let known = devices.ours.contains(name) || devices.below.contains(name);
            let requests = now.completed().saturating_sub(then.completed());
            if known || requests == 0 || is_partition(name) {
                continue;
            }
            reported.requests += requests;
            reported.bytes.0 += bytes;
            let busy = Nanos(between_ms(then.busy_ms, now.busy_ms) * 1_000_000);
            if busy > reported.busiest_ns {
                (reported.busiest, reported.busiest_ns) = (name.clone(), busy);
            }
        }
        reported
    }
}

/// Whether it is a part of a disk that is counted itself.
fn is_partition(name: &str) -> bool {
    Path::new(BLOCK).join(name).join("partition").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Bytes;

    fn reading(lines: &[&str]) -> AllDisks {
        AllDisks {
            disks: lines.iter().filter_map(|one| line(one)).collect(),
        }
    }

    #[test]
    fn what_is_ours_or_below_is_not_of_others() {
        let devices = ContenderDevices {
            ours: ["our0".to_owned()].into(),
            below: ["low0".to_owned()].into(),
        };
        let earlier = reading(&[
            "7 0 our0 1 0 8 0 1 0 8 0 0 5 0 0 0 0 0 0 0",
            "8 0 low0 1 0 8 0 1 0 8 0 0 5 0 0 0 0 0 0 0",
            "8 1 oth0 1 0 8 0 1 0 8 0 0 5 0 0 0 0 0 0 0",
            "8 2 oth1 1 0 8 0 1 0 8 0 0 5 0 0 0 0 0 0 0",
        ]);
        let later = reading(&[
            "7 0 our0 9 0 88 0 1 0 8 0 0 55 0 0 0 0 0 0 0",
            "8 0 low0 9 0 24 0 1 0 8 0 0 55 0 0 0 0 0 0 0",
            "8 1 oth0 3 0 16 0 2 0 10 0 0 25 0 0 0 0 0 0 0",
            "8 2 oth1 2 0 16 0 1 0 8 0 0 6 0 0 0 0 0 0 0",
        ]);
        let reported = later.since(&earlier, &devices);
        assert_eq!(
            reported,
            OtherIo {
                requests: 3 + 1,
                bytes: Bytes((10 + 8) * 512),
                busiest: "oth0".to_owned(),
                busiest_ns: Nanos(20_000_000),
                below_bytes: Some(Bytes(16 * 512)),
            }
        );
        assert_eq!(
            earlier.since(&earlier, &ContenderDevices::default()),
            OtherIo::default()
        );
    }
}
