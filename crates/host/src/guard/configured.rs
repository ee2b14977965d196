//! Devices that fstab(5) and crypttab(5) name. They may not be in use now and still be needed at
//! the next boot.
//!
//! Only the two files are read. Units of systemd, autofs maps and pools with a cache file of their own
//! are not.

use super::GuardError;
use super::family::{Relative, affected};
use super::open_files::{device_number, file_number};
use super::signatures::{self, Signature};
use crate::mounts::table::unescape;
use crate::sysfs::Block;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// The files, with the number of the fields in a line that name devices.
const FILES: [(&str, &[usize]); 2] = [("/etc/fstab", &[0]), ("/etc/crypttab", &[1, 2])];
/// In both files, the field with options.
const OPTIONS: usize = 3;
/// The tags, and where udev has links for them.
const TAGS: [(&str, &str); 5] = [
    ("UUID", "by-uuid"),
    ("LABEL", "by-label"),
    ("PARTUUID", "by-partuuid"),
    ("PARTLABEL", "by-partlabel"),
    ("ID", "by-id"),
];

/// An entry of a file that names a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The named device, relative to the examined one: `it`, `its partition sda1` ...
    pub subject: String,
    pub file: &'static str,
    /// How the entry names the device.
    pub spec: String,
    /// The mount point, or the name of the encrypted device.
    pub purpose: String,
    /// Whether it is this device; otherwise it is a device that does not exist now and may be
    /// assembled from this one.
    pub certain: bool,
}

impl fmt::Display for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            file,
            spec,
            purpose,
            certain,
        } = self;
        if *certain {
            write!(f, "{subject} is named in {file} as {spec}, for {purpose}")
        } else {
            write!(
                f,
                "{subject} may hold {spec}, which {file} names for {purpose}, and which does not \
                 exist now"
            )
        }
    }
}

/// A name of a device in one of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    file: &'static str,
    spec: OsString,
    purpose: String,
}

/// The entries that name a device, its disk or partitions, or devices on top of them.
pub(super) fn find(block: &Block, held: &[Signature]) -> Result<Vec<Configured>, GuardError> {
    let entries = entries()?;
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let unreadable = GuardError::unreadable(format!("/sys/class/block for {}", block.name));
    let mut named = Vec::new();
    // The devices in a volume group, an array or an encrypted container are visible only while it
    // is active.
    let container = held
        .iter()
        .any(|found| matches!(found.usage.as_deref(), Some("raid" | "crypto")));
    for relative in affected(block).map_err(unreadable)? {
        let tags = if relative.block.size_bytes() > 0 {
            signatures::tags(&relative.block.node())?
        } else {
            Vec::new()
        };
        for entry in &entries {
            let certain = names(&entry.spec, &relative, &tags);
            let possible = container && relative.subject == "it" && is_absent(&entry.spec);
            if certain || possible {
                named.push(Configured {
                    subject: relative.subject.clone(),
                    file: entry.file,
                    spec: entry.spec.to_string_lossy().into_owned(),
                    purpose: entry.purpose.clone(),
                    certain,
                });
            }
        }
    }
    Ok(named)
}

/// The entries that name a regular file, to be mounted through a loop device.
pub(super) fn find_file(path: &Path) -> Result<Vec<Configured>, GuardError> {
    let this = file_number(path);
    let mut named = entries()?;
    named.retain(|entry| this.is_some() && file_number(Path::new(&entry.spec)) == this);
    Ok(named
        .into_iter()
        .map(|entry| Configured {
            subject: "it".to_owned(),
            file: entry.file,
            spec: entry.spec.to_string_lossy().into_owned(),
            purpose: entry.purpose,
            certain: true,
        })
        .collect())
}

/// All entries. A file that is not there has none; one that cannot be read is an error.
fn entries() -> Result<Vec<Entry>, GuardError> {
    let mut all = Vec::new();
    for (file, fields) in FILES {
        match fs::read(file) {
            Ok(text) => all.extend(parse(file, fields, &text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(GuardError::unreadable(file)(error)),
        }
    }
    Ok(all)
}

/// Reads lines of fields: those with the numbers given, and values of options, name devices.
fn parse(file: &'static str, fields: &[usize], text: &[u8]) -> Vec<Entry> {
    let mut all = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        if line.first().is_none_or(|word| word.starts_with(b"#")) {
            continue;
        }
        let purpose = line[usize::from(fields[0] == 0).min(line.len() - 1)];
        let purpose = unescape(purpose).to_string_lossy().into_owned();
        let plain = fields.iter().filter_map(|field| line.get(*field).copied());
        // A separate log or journal (`logdev=`, `header=`), or a member of a file system
        // (`device=`).
        let options = line.get(OPTIONS).copied().unwrap_or_default();
        let options = options.split(|byte| *byte == b',').filter_map(|option| {
            let equals = option.iter().position(|byte| *byte == b'=')?;
            Some(&option[equals + 1..])
        });
        for spec in plain.chain(options) {
            let spec = unescape(spec);
            if tag(&spec).is_some() || Path::new(&spec).is_absolute() {
                all.push(Entry {
                    file,
                    spec,
                    purpose: purpose.clone(),
                });
            }
        }
    }
    all
}

/// `UUID=...` and its like: the tag, where its links are, and the value without quotes.
fn tag(spec: &OsString) -> Option<(&'static str, &'static str, String)> {
    let (name, value) = spec.to_str()?.split_once('=')?;
    let (tag, links) = TAGS
        .into_iter()
        .find(|(tag, _)| tag.eq_ignore_ascii_case(name))?;
    let value = value.trim_matches(['"', '\'']);
    Some((tag, links, value.to_owned()))
}

/// Whether an entry names this device.
fn names(spec: &OsString, relative: &Relative, tags: &[(String, String)]) -> bool {
    let number = Some(relative.block.number);
    if let Some((tag, links, value)) = tag(spec) {
        let known = tags
            .iter()
            .any(|(name, of)| name == tag && of.eq_ignore_ascii_case(&value));
        return known || device_number(&link(links, &value)) == number;
    }
    let path = Path::new(spec);
    if device_number(path) == number {
        return true;
    }
    // A file that a loop device has behind it.
    if let Some(file) = relative.block.backing_file()
        && file_number(path).is_some_and(|this| file_number(&file) == Some(this))
    {
        return true;
    }
    // Nodes that udev has not made.
    let mapped = relative.block.attribute("dm/name");
    path == relative.block.node() || mapped.is_some_and(|name| is_mapped(path, &name))
}

/// Whether a path is that of a device-mapper device: `/dev/mapper/NAME`, or `/dev/GROUP/VOLUME`, whose
/// name has a dash between the two and each of its own dashes doubled (lvm(8)).
fn is_mapped(path: &Path, name: &str) -> bool {
    let Some(below) = path.to_str().and_then(|path| path.strip_prefix("/dev/")) else {
        return false;
    };
    match below.split_once('/') {
        Some(("mapper", mapped)) => mapped == name,
        Some((group, volume)) => {
            name == format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--"))
        }
        None => false,
    }
}

/// Whether an entry names a device that does not exist now.
fn is_absent(spec: &OsString) -> bool {
    match tag(spec) {
        Some((_, links, value)) => !link(links, &value).exists(),
        None => spec.as_bytes().starts_with(b"/dev/") && !Path::new(spec).exists(),
    }
}

/// The link of udev for a tag: special characters are written `\x20`.
fn link(links: &str, value: &str) -> PathBuf {
    let mut name = String::new();
    for c in value.chars() {
        if c.is_ascii_alphanumeric() || "#+-.:=@_".contains(c) || !c.is_ascii() {
            name.push(c);
        } else {
            // Writing to a string never fails.
            let _ = write!(name, "\\x{:02x}", u32::from(c));
        }
    }
    Path::new("/dev/disk").join(links).join(name)
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::stacked_disk;
    use super::*;

    fn specs(file: usize, text: &str) -> Vec<(String, String)> {
        let (file, fields) = FILES[file];
        let entries = parse(file, fields, text.as_bytes()).into_iter();
        entries
            .map(|entry| (entry.spec.into_string().unwrap(), entry.purpose))
            .collect()
    }

    #[test]
    fn every_device_of_a_line_is_read() {
        let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            let own = all.iter();
            own.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect()
        };
        let fstab = "# UUID=1 / ext4\n\n\
            UUID=1a-2b\t/home ext4 noauto,journal_path=/dev/sdc1 0 2\n\
            LABEL=\"my\\040data\" /mnt/my\\040data xfs logdev=/dev/sdd1,uid=0\n\
            tmpfs /tmp tmpfs size=1g\nserver:/export /net nfs rw\n/dev/sdb2 none swap sw\n";
        assert_eq!(
            specs(0, fstab),
            pairs(&[
                ("UUID=1a-2b", "/home"),
                ("/dev/sdc1", "/home"),
                ("LABEL=\"my data\"", "/mnt/my data"),
                ("/dev/sdd1", "/mnt/my data"),
                ("/dev/sdb2", "none"),
            ])
        );
        let crypttab = "secret PARTUUID=77 /key:LABEL=stick luks,header=/dev/sde\n\
            swap /dev/disk/by-id/ata-1 /dev/urandom swap\nalone\n";
        assert_eq!(
            specs(1, crypttab),
            pairs(&[
                ("PARTUUID=77", "secret"),
                ("/key:LABEL=stick", "secret"),
                ("/dev/sde", "secret"),
                ("/dev/disk/by-id/ata-1", "swap"),
                ("/dev/urandom", "swap"),
            ])
        );
    }

    #[test]
    fn a_device_is_known_by_tag_node_and_mapped_name() {
        let sys = stacked_disk();
        let relative = |path: &str| Relative {
            block: Block::at(&sys.path().join(path)).unwrap(),
            subject: "it".to_owned(),
        };
        let tags = [
            ("UUID".to_owned(), "1a-2b".to_owned()),
            ("PARTLABEL".to_owned(), "my data".to_owned()),
        ];
        for (spec, path, expected) in [
            ("UUID=1A-2B", "dm-1", true),
            ("uuid='1a-2b'", "dm-1", true),
            ("PARTLABEL=\"my data\"", "dm-1", true),
            ("LABEL=1a-2b", "dm-1", false),
            ("/dev/mapper/vg-data", "dm-0", true),
            ("/dev/vg/data", "dm-0", true),
            ("/dev/vg/other", "dm-0", false),
            ("/dev/mapper/vg-data", "dm-1", false),
        ] {
            let found = names(&spec.into(), &relative(path), &tags);
            assert_eq!(found, expected, "{spec} {path}");
        }
        assert!(is_mapped(Path::new("/dev/my-vg/a-b"), "my--vg-a--b"));
        assert!(is_absent(&"/dev/no-such/volume".into()));
        assert!(!is_absent(&"/dev/null".into()));
        let encoded = link("by-label", "my data");
        assert_eq!(encoded, Path::new("/dev/disk/by-label/my\\x20data"));
    }
}
