//! Who uses a device, its disk, another partition of that disk, or anything made on top of them.
//! Asked of `/sys`, of every mount namespace, of `/proc/swaps`, of every process's open files, and
//! last of the kernel itself by an exclusive (and read-only) open.

use super::GuardError;
use super::mountinfo::{Mount, parse, unescape};
use super::sysfs::{Block, split};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, statx};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io, thread};

/// One use of a device or of something that shares its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// What is used, seen from the device examined: `it`, `its partition sda1` ...
    pub subject: String,
    /// How it is used.
    pub how: How,
}

/// How a device is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// A file system on it is mounted.
    Mounted {
        /// Where.
        point: PathBuf,
        /// Its type.
        kind: String,
    },
    /// It belongs to a mounted file system that lists its devices in `/sys/fs`.
    Member {
        /// The type and the identifier of the file system.
        of: String,
    },
    /// It is swap, and in use.
    Swap,
    /// Other devices are made on top of it.
    Holder {
        /// The device on top, and what it is.
        by: String,
    },
    /// It is made of other devices.
    MadeOf {
        /// Their names.
        devices: Vec<String>,
    },
    /// A process has it open.
    Open {
        /// The name of the process.
        process: String,
        /// Its number.
        pid: u32,
    },
    /// The kernel refuses an exclusive open.
    Claimed,
    /// It is a loop device, and its backing file serves something else too.
    BackingFile {
        /// The file.
        file: PathBuf,
        /// What else it serves.
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
                write!(f, "lies in the file {}, which {serves}", file.display())
            }
        }
    }
}

/// A device that shares the disk, and how to call it.
struct Relative {
    block: Block,
    subject: String,
}

/// Everything that uses a device.
///
/// Probing daemons open a device for a moment after it changed (udev's rules, array assembly).
/// So where nothing but opens are found, it looks again, for a second at most.
pub(super) fn find(block: &Block) -> Result<Vec<Use>, GuardError> {
    const LOOKS: u32 = 10;
    for _ in 1..LOOKS {
        let users = look(block)?;
        let may_pass = |user: &Use| matches!(user.how, How::Open { .. } | How::Claimed);
        if users.is_empty() || !users.iter().all(may_pass) {
            return Ok(users);
        }
        thread::sleep(Duration::from_millis(100));
    }
    look(block)
}

fn look(block: &Block) -> Result<Vec<Use>, GuardError> {
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
    // Up to here the kernel says so, and a claim would only say it again.
    let explained = !users.is_empty();
    users.extend(opened(&family, block).map_err(unreadable("/proc"))?);
    if !explained {
        for relative in family
            .iter()
            .filter(|relative| relative.block.size_bytes() > 0)
        {
            users.extend(claimed(relative)?);
        }
    }
    users.dedup();
    Ok(users)
}

/// The device, its disk and that disk's partitions, and all that is made on top of any of them.
fn family(block: &Block) -> io::Result<Vec<Relative>> {
    let relative = |block: Block, subject: String| Relative { block, subject };
    let disk = block.whole()?;
    let mut family = vec![relative(block.clone(), "it".to_owned())];
    if disk != *block {
        family.push(relative(disk.clone(), format!("its disk {}", disk.name)));
    }
    for partition in disk
        .partitions()?
        .into_iter()
        .filter(|other| other != block)
    {
        let subject = if disk == *block {
            format!("its partition {}", partition.name)
        } else {
            format!("{}, on the same disk {},", partition.name, disk.name)
        };
        family.push(relative(partition, subject));
    }
    // Holders of holders, and their partitions, as they are appended.
    let mut next = 0;
    while let Some(below) = family.get(next).map(|member| member.block.clone()) {
        let mut above = below.holders()?;
        if next > 0 {
            above.extend(below.partitions()?);
        }
        for holder in above {
            if !family.iter().any(|known| known.block == holder) {
                let subject = format!("{}, made on {},", holder.name, below.name);
                family.push(relative(holder, subject));
            }
        }
        next += 1;
    }
    Ok(family)
}

/// What is made on top of a device, and what it is made of.
fn stacked(relative: &Relative) -> io::Result<Vec<Use>> {
    let Relative { block, subject } = relative;
    let using = |how| Use {
        subject: subject.clone(),
        how,
    };
    let mut users: Vec<Use> = block
        .holders()?
        .iter()
        .map(|holder| using(How::Holder { by: call(holder) }))
        .collect();
    // A backing device that is registered, but not started, has no holder yet.
    if block.folder().join("bcache").exists() && users.is_empty() {
        let by = "a registered bcache device".to_owned();
        users.push(using(How::Holder { by }));
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
    // For what lies above, its parts are what was asked about.
    if subject == "it" && !below.is_empty() {
        users.push(using(How::MadeOf { devices: below }));
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
            let user = Use {
                subject: relative.subject.clone(),
                how: How::Mounted {
                    point: mount.point,
                    kind: mount.kind,
                },
            };
            if !users.contains(&user) {
                users.push(user);
            }
        }
    }
    Ok(users)
}

/// One mount table of each mount namespace that some process lives in.
fn mounts_of_all_namespaces() -> io::Result<Vec<Mount>> {
    let mut mounts = parse(&fs::read("/proc/self/mountinfo")?);
    let mut seen = HashSet::from([fs::read_link("/proc/self/ns/mnt")?]);
    for (_, process) in processes()? {
        // A process may end at any moment; its namespace is then seen through another, or gone.
        let Ok(namespace) = fs::read_link(process.join("ns/mnt")) else {
            continue;
        };
        if seen.contains(&namespace) {
            continue;
        }
        if let Ok(text) = fs::read(process.join("mountinfo")) {
            mounts.extend(parse(&text));
            seen.insert(namespace);
        }
    }
    Ok(mounts)
}

/// File systems of several devices list them at `/sys/fs/TYPE/ID/devices`, and show one in mounts.
fn members(family: &[Relative]) -> io::Result<Vec<Use>> {
    let mut users = Vec::new();
    for kind in entries(Path::new("/sys/fs"))? {
        for id in entries(&kind)? {
            for relative in family {
                let entry = relative.block.name.replace('/', "!");
                if id.join("devices").join(entry).exists() {
                    let names: Vec<String> = [&kind, &id]
                        .map(|path| {
                            path.file_name()
                                .unwrap_or_default()
                                .to_string_lossy()
                                .into()
                        })
                        .to_vec();
                    users.push(Use {
                        subject: relative.subject.clone(),
                        how: How::Member {
                            of: names.join(" "),
                        },
                    });
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
        .map(|relative| Use {
            subject: relative.subject.clone(),
            how: How::Swap,
        })
        .collect())
}

/// The paths in `/proc/swaps`: a head line, then the escaped path first on each line.
fn swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t')).next())
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(unescape(name)))
        .collect()
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

/// Processes, this one apart, that have a device of the family open, or the file behind it.
fn opened(family: &[Relative], block: &Block) -> io::Result<Vec<Use>> {
    let backing = block.backing_file();
    let backing_number = backing.as_deref().and_then(file_number);
    let mut users = Vec::new();
    for (pid, process) in processes()? {
        if pid == std::process::id() {
            continue;
        }
        for descriptor in entries(&process.join("fd")).unwrap_or_default() {
            let Some(facts) = cached_facts(&descriptor) else {
                continue;
            };
            let name = || fs::read_to_string(process.join("comm")).unwrap_or_default();
            if let Some(relative) = find_number(family, facts.device) {
                let process = name().trim().to_owned();
                users.push(Use {
                    subject: relative.subject.clone(),
                    how: How::Open { process, pid },
                });
            } else if let Some(file) = &backing
                && facts.file.is_some()
                && facts.file == backing_number
            {
                users.push(Use {
                    subject: "it".to_owned(),
                    how: How::BackingFile {
                        file: file.clone(),
                        serves: format!("is open in {} (process {pid})", name().trim()),
                    },
                });
            }
        }
    }
    users.dedup();
    Ok(users)
}

/// What an open file is: a block device of this number, or the regular file of this identity.
struct Facts {
    device: Option<(u32, u32)>,
    file: Option<(u32, u32, u64)>,
}

/// Looks at a path without asking a server: a dead network file system must not hang the guard.
fn cached_facts(path: &Path) -> Option<Facts> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
    let facts = statx(CWD, path, AtFlags::STATX_DONT_SYNC, wanted).ok()?;
    let kind = FileType::from_raw_mode(facts.stx_mode.into());
    Some(Facts {
        device: (kind == FileType::BlockDevice)
            .then_some((facts.stx_rdev_major, facts.stx_rdev_minor)),
        file: (kind == FileType::RegularFile).then_some((
            facts.stx_dev_major,
            facts.stx_dev_minor,
            facts.stx_ino,
        )),
    })
}

/// Whether the kernel grants an exclusive open, which is closed again at once.
fn claimed(relative: &Relative) -> Result<Option<Use>, GuardError> {
    let node = relative.block.node();
    let unreadable =
        |error: Errno| GuardError::unreadable(node.display().to_string())(error.into());
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(&node, flags, Mode::empty()) {
        Ok(device) => {
            let facts = rustix::fs::fstat(&device).map_err(unreadable)?;
            // A stale node would have answered for another device.
            if split(facts.st_rdev) == relative.block.number {
                return Ok(None);
            }
            Err(unreadable(Errno::NODEV))
        }
        Err(Errno::BUSY) => Ok(Some(Use {
            subject: relative.subject.clone(),
            how: How::Claimed,
        })),
        Err(error) => Err(unreadable(error)),
    }
}

/// The running processes: number and folder.
fn processes() -> io::Result<Vec<(u32, PathBuf)>> {
    let numbered = |path: PathBuf| {
        let pid = path.file_name()?.to_str()?.parse().ok()?;
        Some((pid, path))
    };
    Ok(entries(Path::new("/proc"))?
        .into_iter()
        .filter_map(numbered)
        .collect())
}

/// The entries of a folder; one that is not there, or no folder, has none.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(listing) => listing.map(|entry| Ok(entry?.path())).collect(),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

fn find_number(family: &[Relative], number: Option<(u32, u32)>) -> Option<&Relative> {
    family
        .iter()
        .find(|relative| Some(relative.block.number) == number)
}

/// The number of the block device a path names, if it names one.
fn device_number(path: &Path) -> Option<(u32, u32)> {
    // `proc` or `server:/export` are no paths of ours to look at.
    if !path.as_os_str().as_bytes().starts_with(b"/") {
        return None;
    }
    cached_facts(path)?.device
}

/// The identity of a regular file.
fn file_number(path: &Path) -> Option<(u32, u32, u64)> {
    cached_facts(path)?.file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_are_read_with_their_escapes() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/loop3                              partition\t1020\t\t0\t\t-2\n\
            /mnt/a\\040b/swap\\040file               file\t\t1020\t\t0\t\t-3\n";
        assert_eq!(
            swaps(text),
            [
                PathBuf::from("/dev/loop3"),
                PathBuf::from("/mnt/a b/swap file")
            ]
        );
        assert_eq!(swaps(b"Filename Type Size\n"), Vec::<PathBuf>::new());
    }

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
    fn the_mounts_of_this_namespace_are_among_all() {
        let all = mounts_of_all_namespaces().unwrap();
        assert!(all.iter().any(|mount| mount.point == Path::new("/proc")));
    }
}
