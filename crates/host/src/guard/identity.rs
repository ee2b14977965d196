//! Which device a path names: its kernel name and number, its disk, and the names that do not
//! change with the order of detection. Read from `/sys`, `/dev/disk/by-id` and udev's database; the
//! device itself is not opened.

use super::GuardError;
use crate::sysfs::{Block, split};
use fsdyno_model::Bytes;
use serde::Serialize;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The identity of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// The path, with all links followed.
    pub path: PathBuf,
    /// The kernel's name (`sda1`).
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    /// The kernel's name of the whole disk (`sda`); the same as `name` for a whole disk.
    pub disk: String,
    /// The serial number of the disk.
    pub serial: Option<String>,
    /// The world-wide names of the disk, in the spellings of the kernel and of udev.
    pub wwn: Vec<String>,
    /// Its names in `/dev/disk/by-id`.
    pub by_id: Vec<String>,
    pub model: Option<String>,
    pub size: Bytes,
    /// The kernel's count of media (`diskseq`): another medium, or another file behind a loop
    /// device, has another one.
    pub medium: Option<String>,
    /// Whether it can only be read.
    pub read_only: bool,
}

impl Identity {
    /// Identifies the device a path names.
    pub(super) fn of(path: &Path) -> Result<(Self, Block), GuardError> {
        let shown = || path.display().to_string();
        let canonical = match fs::canonicalize(path) {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(GuardError::Absent {
                    path: path.to_owned(),
                });
            }
            Err(error) => return Err(GuardError::unreadable(shown())(error)),
        };
        let facts = fs::metadata(&canonical).map_err(GuardError::unreadable(shown()))?;
        if let Some(what) = no_block_device(facts.file_type()) {
            return Err(GuardError::NotADevice {
                path: path.to_owned(),
                what,
            });
        }
        let block =
            Block::numbered(split(facts.rdev())).map_err(GuardError::unreadable(shown()))?;
        let disk = block.whole().map_err(GuardError::unreadable(shown()))?;
        let identity = Self {
            path: canonical,
            name: block.name.clone(),
            number: block.number,
            disk: disk.name.clone(),
            serial: serial(&disk),
            wwn: world_wide_names(&disk),
            by_id: by_id(&block).map_err(GuardError::unreadable("/dev/disk/by-id"))?,
            model: disk.attribute("device/model"),
            size: Bytes(block.size_bytes()),
            medium: disk.attribute("diskseq"),
            // A device whose attribute cannot be read counts as read-only.
            read_only: [&block, &disk]
                .iter()
                .any(|device| device.attribute("ro").as_deref() != Some("0")),
        };
        Ok((identity, block))
    }

    /// A regular file, identified by its name.
    pub(super) fn of_file(path: &Path, size: Bytes) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            path: path.to_owned(),
            name: name.clone().into_owned(),
            number: (0, 0),
            disk: name.into_owned(),
            serial: None,
            wwn: Vec::new(),
            by_id: Vec::new(),
            model: None,
            size,
            medium: None,
            read_only: false,
        }
    }

    /// The names that a consent may use: the persistent names, or the kernel's name if there are
    /// none (loop devices, disks of simple hypervisors).
    pub fn names(&self) -> Vec<&str> {
        let lasting: Vec<&str> = self
            .serial
            .iter()
            .chain(&self.wwn)
            .chain(&self.by_id)
            .map(String::as_str)
            .collect();
        if lasting.is_empty() {
            return vec![&self.name];
        }
        lasting
    }

    /// The name to type: the serial if there is one.
    pub fn name_to_type(&self) -> &str {
        self.names().first().copied().unwrap_or(&self.name)
    }

    /// A description of the device: `Some Model, serial 1234, 512 GiB`.
    pub(super) fn describe(&self) -> String {
        let serial = self.serial.iter().map(|serial| format!("serial {serial}"));
        let parts: Vec<String> = self
            .model
            .iter()
            .cloned()
            .chain(serial)
            .chain([self.size.to_string()])
            .collect();
        parts.join(", ")
    }

    /// The relevant change since `self` was read, if there is one.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        if self.number != now.number || self.name != now.name {
            return Some(format!("it is {} now, and was {}", now.name, self.name));
        }
        if self.size != now.size {
            return Some(format!(
                "its size is {} now, and was {}",
                now.size, self.size
            ));
        }
        if self.serial != now.serial || self.wwn != now.wwn {
            return Some(format!(
                "its identity is now {}, and was {}",
                now.name_to_type(),
                self.name_to_type()
            ));
        }
        if self.medium != now.medium {
            return Some("another medium was put in since it was released".to_owned());
        }
        None
    }
}

/// The type of a file; none if it is a block device.
fn no_block_device(kind: fs::FileType) -> Option<&'static str> {
    if kind.is_block_device() {
        return None;
    }
    Some(if kind.is_file() {
        "a regular file"
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_char_device() {
        "a character device"
    } else {
        "a pipe or a socket"
    })
}

/// The serial number: of the driver, of the SCSI page for it, or of udev.
fn serial(disk: &Block) -> Option<String> {
    disk.attribute("serial")
        // A driver without a serial number prints this.
        .filter(|text| text != "(null)")
        .or_else(|| disk.attribute("device/serial"))
        .or_else(|| unit_serial(&fs::read(disk.folder().join("device/vpd_pg80")).ok()?))
        .or_else(|| udev_property(disk, "ID_SERIAL_SHORT"))
}

/// The text of SCSI's vital product data page 80h: a head of four bytes, the last two its length.
pub(crate) fn unit_serial(page: &[u8]) -> Option<String> {
    let head = page.get(..4)?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let text = String::from_utf8_lossy(page.get(4..4 + length)?);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

fn world_wide_names(disk: &Block) -> Vec<String> {
    let mut names: Vec<String> = [
        disk.attribute("wwid"),
        disk.attribute("device/wwid"),
        udev_property(disk, "ID_WWN"),
    ]
    .into_iter()
    .flatten()
    .collect();
    names.dedup();
    names
}

/// A property of udev's database, if udev runs.
fn udev_property(disk: &Block, key: &str) -> Option<String> {
    let (major, minor) = disk.number;
    let text = fs::read_to_string(format!("/run/udev/data/b{major}:{minor}")).ok()?;
    property(&text, key)
}

fn property(database: &str, key: &str) -> Option<String> {
    database
        .lines()
        .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        .find(|(name, value)| *name == key && !value.is_empty())
        .map(|(_, value)| value.to_owned())
}

/// The links in `/dev/disk/by-id` that lead to this device.
fn by_id(block: &Block) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir("/dev/disk/by-id") {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let leads_here = fs::metadata(entry.path()).is_ok_and(|facts| {
            facts.file_type().is_block_device() && split(facts.rdev()) == block.number
        });
        if leads_here {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An invented disk.
    pub fn disk(name: &str, serial: Option<&str>) -> Identity {
        Identity {
            path: Path::new("/dev").join(name),
            name: name.to_owned(),
            number: (8, 0),
            disk: name.to_owned(),
            serial: serial.map(str::to_owned),
            wwn: Vec::new(),
            by_id: Vec::new(),
            model: None,
            size: Bytes(1 << 30),
            medium: Some("7".to_owned()),
            read_only: false,
        }
    }

    #[test]
    fn the_kernel_name_counts_only_where_nothing_lasting_is_known() {
        assert_eq!(disk("loop7", None).names(), ["loop7"]);
        assert_eq!(disk("sda", Some("S1")).names(), ["S1"]);
        let mut named = disk("sda", None);
        named.by_id = vec!["ata-Disk_S1".into()];
        assert_eq!(named.names(), ["ata-Disk_S1"]);
    }

    #[test]
    fn another_size_serial_or_medium_is_another_device() {
        let was = disk("sda", Some("S1"));
        assert_eq!(was.difference(&was.clone()), None);
        let mut grown = was.clone();
        grown.size = Bytes(2 << 30);
        assert!(was.difference(&grown).unwrap().contains("size"));
        assert!(
            was.difference(&disk("sda", Some("S2")))
                .unwrap()
                .contains("S2")
        );
        let mut swapped = was.clone();
        swapped.medium = Some("8".into());
        assert!(was.difference(&swapped).unwrap().contains("medium"));
        // A name given by udev a moment later is no other device.
        let mut linked = was.clone();
        linked.by_id = vec!["ata-Disk_S1".into()];
        assert_eq!(was.difference(&linked), None);
    }

    #[test]
    fn serials_are_read_from_page_80_and_from_udev() {
        assert_eq!(
            unit_serial(b"\x00\x80\x00\x08  WX12  "),
            Some("WX12".into())
        );
        assert_eq!(unit_serial(b"\x00\x80\x00\x20short"), None);
        assert_eq!(unit_serial(b"\x00"), None);
        let database = "S:disk/by-id/x\nE:ID_SERIAL=Disk_S1\nE:ID_SERIAL_SHORT=S1\nE:ID_WWN=\n";
        assert_eq!(property(database, "ID_SERIAL_SHORT"), Some("S1".into()));
        assert_eq!(property(database, "ID_WWN"), None);
    }
}
