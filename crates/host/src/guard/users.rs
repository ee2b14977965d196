//! Finds the users of a device, its disk, another partition of that disk, or a device on top of
//! them. Sources: `/sys`, every mount namespace, `/proc/swaps`, every process's open files, and
//! last an exclusive read-only open.

use super::GuardError;
use super::family::{Relative, family, find_number};
use super::open_files::{device_number, exclusive_open, file_number, find_openers};
use super::proc::{mounts_of_all_namespaces, swaps};
use crate::sysfs::{Block, entries};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io, thread};

/// One use of a device or of something that shares its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The used device, relative to the examined one: `it`, `its partition sda1` ...
    pub subject: String,
    pub how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// A file system on it is mounted.
    Mounted {
        point: PathBuf,
        kind: String,
    },
    /// It belongs to a mounted file system that lists its devices in `/sys/fs`.
    Member {
        /// The type and the identifier of the file system.
        of: String,
    },
    Swap,
    /// Other devices are made on top of it.
    Holder {
        /// The device on top, and what it is.
        by: String,
    },
    /// It is made of other devices.
    MadeOf {
        devices: Vec<String>,
    },
    Open {
        process: String,
        pid: u32,
    },
    /// The kernel refuses an exclusive open.
    Claimed,
    /// It is a loop device, and its backing file serves something else too.
    BackingFile {
        file: PathBuf,
        /// The other use.
        serves: String,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.subject)?;
        match &self.how {
            How::Mounted { point, kind } => {
                write!(f, "is mounted at {} ({kind})", point.display())
            }
            How::Member { of } => write!(f, "belongs to the mounted file system {of}"),
            How::Swap => f.write_str("is swap in use"),
            How::Holder { by } => write!(f, "carries {by}"),
            How::MadeOf { devices } => write!(f, "is made of {}", devices.join(", ")),
            How::Open { process, pid } => write!(f, "is open in {process} (process {pid})"),
            How::Claimed => f.write_str(
                "is claimed for exclusive use, by the kernel (a mount, swap, an array, a pool) or \
                 by a program",
            ),
            How::BackingFile { file, serves } => {
                write!(f, "is in the file {}, which {serves}", file.display())
            }
        }
    }
}

/// Everything that uses a device.
///
/// Probing daemons open a device for a moment after it changed (udev's rules, array assembly). So
/// where only open files are found, the check is repeated, for a second at most.
pub(super) fn find(block: &Block) -> Result<Vec<Use>, GuardError> {
    const ATTEMPTS: u32 = 10;
    for _ in 1..ATTEMPTS {
        let users = survey(block)?;
        let may_pass = |user: &Use| matches!(user.how, How::Open { .. } | How::Claimed);
        if users.is_empty() || !users.iter().all(may_pass) {
            return Ok(users);
        }
        thread::sleep(Duration::from_millis(100));
    }
    survey(block)
}

fn survey(block: &Block) -> Result<Vec<Use>, GuardError> {
    let unreadable = |what: &str| GuardError::unreadable(format!("{what} for {}", block.name));
    let family = family(block).map_err(unreadable("/sys/class/block"))?;
    let mut users = Vec::new();
    for relative in &family {
        users.extend(stacked(relative).map_err(unreadable("/sys/class/block"))?);
    }
    users.extend(mounted(&family).map_err(unreadable("the mounts"))?);
    users.extend(members(&family).map_err(unreadable("/sys/fs"))?);
    users.extend(swapping(&family).map_err(unreadable("/proc/swaps"))?);
    users.extend(backing_file(block).map_err(unreadable("the backing file"))?);
    // The uses so far are claims of the kernel; the exclusive open would only repeat them.
    let explained = !users.is_empty();
    users.extend(find_openers(&family, block).map_err(unreadable("/proc"))?);
    if !explained {
        for relative in family
            .iter()
            .filter(|relative| relative.block.size_bytes() > 0)
        {
            users.extend(exclusive_open(relative)?);
        }
    }
    users.dedup();
    Ok(users)
}

/// The devices on top of a device, and its members.
fn stacked(relative: &Relative) -> io::Result<Vec<Use>> {
    let Relative { block, subject } = relative;
    let holders = block.holders()?;
    let holders = holders
        .iter()
        .map(|holder| How::Holder { by: call(holder) });
    let mut users: Vec<Use> = holders.map(|how| relative.used(how)).collect();
    // A backing device that is registered, but not started, has no holder yet.
    if block.folder().join("bcache").exists() && users.is_empty() {
        let by = "a registered bcache device".to_owned();
        users.push(relative.used(How::Holder { by }));
    }
    let mut below: Vec<String> = block
        .slaves()?
        .into_iter()
        .map(|slave| slave.name)
        .collect();
    if let Some(file) = block.backing_file()
        && fs::metadata(&file).is_ok_and(|facts| facts.file_type().is_block_device())
    {
        below.push(file.display().to_string());
    }
    // For a device on top, its members are already the subject.
    if subject == "it" && !below.is_empty() {
        users.push(relative.used(How::MadeOf { devices: below }));
    }
    Ok(users)
}

/// The name of a device made of others, with what it is.
fn call(holder: &Block) -> String {
    let name = &holder.name;
    if let Some(mapped) = holder.attribute("dm/name") {
        return format!("the device-mapper device {name} ({mapped})");
    }
    if let Some(level) = holder.attribute("md/level") {
        return format!("the MD array {name} ({level})");
    }
    format!("the device {name}")
}

/// The mounts of a device, in any mount namespace.
fn mounted(family: &[Relative]) -> io::Result<Vec<Use>> {
    let mut users = Vec::new();
    for mount in mounts_of_all_namespaces()? {
        // With an anonymous number, the source may still be the path of a device.
        let number = match mount.number {
            (0, _) => device_number(&mount.source),
            number => Some(number),
        };
        if let Some(relative) = find_number(family, number) {
            let user = relative.used(How::Mounted {
                point: mount.target,
                kind: mount.fstype,
            });
            if !users.contains(&user) {
                users.push(user);
            }
        }
    }
    Ok(users)
}

/// File systems of several devices list them at `/sys/fs/TYPE/ID/devices`, and show one in mounts.
fn members(family: &[Relative]) -> io::Result<Vec<Use>> {
    let mut users = Vec::new();
    for kind in entries(Path::new("/sys/fs"))? {
        for id in entries(&kind)? {
            for relative in family {
                let entry = relative.block.name.replace('/', "!");
                if id.join("devices").join(entry).exists() {
                    let names = [&kind, &id].map(|path| path.file_name().unwrap_or_default());
                    let of = names.map(|name| name.to_string_lossy()).join(" ");
                    users.push(relative.used(How::Member { of }));
                }
            }
        }
    }
    Ok(users)
}

/// Devices of the family among the swaps.
fn swapping(family: &[Relative]) -> io::Result<Vec<Use>> {
    Ok(swaps(&fs::read("/proc/swaps")?)
        .iter()
        .filter_map(|path| find_number(family, device_number(path)))
        .map(|relative| relative.used(How::Swap))
        .collect())
}

/// Other uses of the file behind a loop device.
fn backing_file(block: &Block) -> io::Result<Vec<Use>> {
    let Some(file) = block.backing_file() else {
        return Ok(Vec::new());
    };
    let disk = block.whole()?;
    let this = file_number(&file);
    // The kernel marks the path of a deleted file; then only the spelling can be compared.
    let same = |other: &Path| other == file || (this.is_some() && file_number(other) == this);
    let mut served = Vec::new();
    for other in Block::all()? {
        let serves_too = !other.is_partition()
            && other != disk
            && other.backing_file().is_some_and(|path| same(&path));
        if serves_too {
            served.push(format!("is behind {} too", other.name));
        }
    }
    if swaps(&fs::read("/proc/swaps")?)
        .iter()
        .any(|path| same(path))
    {
        served.push("is swap in use".to_owned());
    }
    Ok(served
        .into_iter()
        .map(|serves| Use {
            subject: "it".to_owned(),
            how: How::BackingFile {
                file: file.clone(),
                serves,
            },
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::stacked_disk;
    use super::*;

    #[test]
    fn every_use_reads_as_a_sentence() {
        let using = |subject: &str, how| {
            Use {
                subject: subject.to_owned(),
                how,
            }
            .to_string()
        };
        assert_eq!(
            using(
                "its partition sda1",
                How::Mounted {
                    point: "/home".into(),
                    kind: "ext4".into()
                }
            ),
            "its partition sda1 is mounted at /home (ext4)"
        );
        assert_eq!(using("it", How::Swap), "it is swap in use");
        assert_eq!(
            using(
                "sda2, on the same disk sda,",
                How::Open {
                    process: "qemu".into(),
                    pid: 7
                }
            ),
            "sda2, on the same disk sda, is open in qemu (process 7)"
        );
    }

    #[test]
    fn what_carries_others_and_what_is_made_of_others_is_in_use() {
        let sys = stacked_disk();
        for (device, expected) in [
            (
                "sda",
                vec![
                    "its partition sda1 carries the device-mapper device dm-0 (vg-data)",
                    "its partition sda2 carries the MD array md0 (raid1)",
                    "dm-0, made on sda1, carries the device-mapper device dm-1 (secret)",
                ],
            ),
            ("md0", vec!["it is made of sda2"]),
            (
                "dm-0",
                vec![
                    "it carries the device-mapper device dm-1 (secret)",
                    "it is made of sda1",
                ],
            ),
        ] {
            let block = Block::at(&sys.path().join(device)).unwrap();
            let uses: Vec<String> = family(&block)
                .unwrap()
                .iter()
                .flat_map(|relative| stacked(relative).unwrap())
                .map(|user| user.to_string())
                .collect();
            assert_eq!(uses, expected, "{device}");
        }
    }
}
