//! Block devices in `/sys`: whole disks, partitions, holders and slaves. Reads only; no device is
//! opened.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A block device known to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its kernel name (`sda1`, `loop0`).
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    /// Its folder under `/sys/devices`.
    folder: PathBuf,
}

impl Block {
    /// The block device a path names, if it names one.
    pub fn named_by(path: &Path) -> io::Result<Option<Self>> {
        let facts = fs::metadata(path)?;
        if !facts.file_type().is_block_device() {
            return Ok(None);
        }
        Self::numbered(split(facts.rdev())).map(Some)
    }

    /// The block device with this major and minor number.
    pub fn numbered((major, minor): (u32, u32)) -> io::Result<Self> {
        Self::at(&PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
    }

    /// The block device whose folder in `/sys` this is, or leads to.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let folder = fs::canonicalize(path)?;
        let number = parse_number(&fs::read_to_string(folder.join("dev"))?)
            .ok_or_else(|| io::Error::other(format!("{}/dev is no number", folder.display())))?;
        // A slash in a kernel name (`cciss/c0d0`) is written `!` in /sys.
        let name = folder.file_name().unwrap_or_default();
        let name = name.to_string_lossy().replace('!', "/");
        Ok(Self {
            name,
            number,
            folder,
        })
    }

    /// Every block device there is, partitions included.
    pub fn all() -> io::Result<Vec<Self>> {
        listed(Path::new("/sys/class/block"))
    }

    /// The node the kernel makes for it.
    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn is_partition(&self) -> bool {
        self.folder.join("partition").exists()
    }

    /// The disk it is a partition of, or itself.
    pub fn whole(&self) -> io::Result<Self> {
        match self.folder.parent() {
            Some(parent) if self.is_partition() => Self::at(parent),
            _ => Ok(self.clone()),
        }
    }

    pub fn partitions(&self) -> io::Result<Vec<Self>> {
        let mut partitions = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.join("partition").exists() {
                partitions.push(Self::at(&path)?);
            }
        }
        partitions.sort_by_key(|partition| partition.number);
        Ok(partitions)
    }

    /// The devices made on top of it (device-mapper, MD, bcache ...).
    pub fn holders(&self) -> io::Result<Vec<Self>> {
        listed(&self.folder.join("holders"))
    }

    /// The devices it is made of.
    pub fn slaves(&self) -> io::Result<Vec<Self>> {
        listed(&self.folder.join("slaves"))
    }

    /// An attribute, trimmed; nothing if there is none, or an empty one.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.folder.join(name)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// An attribute of its disk: its own, or that of the disk it is a partition of.
    pub fn disk_attribute(&self, name: &str) -> Option<String> {
        self.whole().ok()?.attribute(name)
    }

    /// Its size in bytes; `/sys` counts in sectors of 512 bytes for every device.
    pub fn size_bytes(&self) -> u64 {
        self.sectors("size") * 512
    }

    /// Its offset on the disk, in bytes.
    pub fn start_bytes(&self) -> u64 {
        self.sectors("start") * 512
    }

    fn sectors(&self, name: &str) -> u64 {
        self.attribute(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }

    /// The file behind a loop device, as the kernel spells it: byte for byte, but for the newline
    /// that `/sys` puts at the end.
    pub fn backing_file(&self) -> Option<PathBuf> {
        backing_file(&self.whole().ok()?.folder)
    }
}

/// The file behind the loop device of a folder in `/sys`.
fn backing_file(folder: &Path) -> Option<PathBuf> {
    let mut path = fs::read(folder.join("loop/backing_file")).ok()?;
    if path.last() == Some(&b'\n') {
        path.pop();
    }
    (!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path)))
}

/// The file behind the loop device of this name.
pub(crate) fn file_of_loop(name: &str) -> Option<PathBuf> {
    backing_file(&Path::new("/sys/block").join(name))
}

/// The loop devices that are attached, with their files as the kernel shows them.
pub(crate) fn attached_loops() -> Vec<(String, PathBuf)> {
    let names = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let with_file = |name: String| file_of_loop(&name).map(|file| (name, file));
    let mut devices: Vec<_> = names.filter_map(with_file).collect();
    devices.sort();
    devices
}

/// Major and minor of a device as `/sys` and the table of mounts write them: `98:0`.
pub(crate) fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Major and minor of a device number.
pub fn split(number: u64) -> (u32, u32) {
    (rustix::fs::major(number), rustix::fs::minor(number))
}

/// The devices a folder of links names; a folder that is not there names none.
fn listed(folder: &Path) -> io::Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for link in entries(folder)? {
        match Block::at(&link) {
            Ok(block) => blocks.push(block),
            // Removed while the directory was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    blocks.sort_by_key(|block| block.number);
    Ok(blocks)
}

/// The entries of a folder of `/sys` or `/proc`; one that is not there, or no folder, has none.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
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
