//! Members of a tar archive: parses their headers with the extensions of pax and GNU, and checks
//! their paths.
//!
//! Owners are read by number. Extended attributes are omitted, as in `tar -x` without an option.

use crate::entry::DEEPEST;
use fsdyno_model::EntryKind;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use tar::{Entry, EntryType, Header};

/// The maximum path length of Linux, without its zero byte (`PATH_MAX` in linux/limits.h).
const PATH_MAX: usize = 4095;

/// The header of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its path, without `.` components; empty for the root itself.
    pub path: Vec<u8>,
    pub kind: MemberKind,
    pub mode: u32,
    /// The number of its owner.
    pub owner: u32,
    /// The number of its group.
    pub group: u32,
    /// The name of its owner, as the archive gives it.
    pub owner_name: Vec<u8>,
    /// Its modification time: seconds since 1970, and nanoseconds.
    pub modified: (i64, u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    File {
        /// Its size, holes included.
        size: u64,
        /// Whether it was stored without its holes.
        sparse: bool,
    },
    Directory,
    /// A symbolic link to that target.
    Symlink(Vec<u8>),
    /// A hard link to that member (without `.` components).
    HardLink(Vec<u8>),
    Fifo,
    Device {
        /// Whether it is a block device; otherwise a character device.
        block: bool,
        /// Its major and minor number.
        number: (u32, u32),
    },
}

impl MemberKind {
    /// The capability that it requires.
    pub fn entry(&self) -> EntryKind {
        match self {
            Self::File { size, .. } => EntryKind::File(*size),
            Self::Directory => EntryKind::Directory,
            Self::Symlink(_) => EntryKind::Symlink,
            Self::HardLink(_) => EntryKind::HardLink,
            Self::Fifo | Self::Device { .. } => EntryKind::Special,
        }
    }
}

/// A member that cannot be unpacked.
#[derive(Debug)]
pub enum BadMember {
    /// The archive is damaged at this member.
    Damaged(io::Error),
    /// The member is refused, with the reason.
    Refused(PathBuf, String),
}

impl Member {
    /// Parses the header of an entry; none for entries that describe the archive.
    pub fn of<R: Read>(entry: &mut Entry<'_, R>) -> Result<Option<Self>, BadMember> {
        let damaged = BadMember::Damaged;
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            return Ok(None);
        }
        let raw = entry.path_bytes().into_owned();
        let refused = |why: String| {
            // The beginning of a very long path.
            let shown = raw[..raw.len().min(200)].to_vec();
            BadMember::Refused(path_of(shown), why)
        };
        let extensions = Extensions::of(entry).map_err(damaged)?;
        if extensions.sparse {
            return Err(refused(
                "is a sparse file in the pax form, which fsdyno does not read; pack it with \
                 --format=gnu"
                    .to_owned(),
            ));
        }
        if i64::try_from(entry.size()).is_err() {
            return Err(refused("is longer than a file can be".to_owned()));
        }
        let target = || {
            entry
                .link_name_bytes()
                .map(std::borrow::Cow::into_owned)
                .unwrap_or_default()
        };
        let kind = match kind {
            EntryType::Regular | EntryType::Continuous => MemberKind::File {
                size: entry.size(),
                sparse: false,
            },
            EntryType::GNUSparse => MemberKind::File {
                size: entry.size(),
                sparse: true,
            },
            EntryType::Directory => MemberKind::Directory,
            EntryType::Symlink => match target() {
                long if long.len() > PATH_MAX => {
                    return Err(refused(
                        "is a symbolic link to a path that is longer than 4095 bytes".to_owned(),
                    ));
                }
                target => MemberKind::Symlink(target),
            },
            EntryType::Link => MemberKind::HardLink(
                safe(&target())
                    .map_err(|why| refused(format!("is a hard link to a path that {why}")))?,
            ),
            EntryType::Fifo => MemberKind::Fifo,
            EntryType::Block | EntryType::Char => MemberKind::Device {
                block: kind == EntryType::Block,
                number: (
                    entry.header().device_major().map_err(damaged)?.unwrap_or(0),
                    entry.header().device_minor().map_err(damaged)?.unwrap_or(0),
                ),
            },
            other => {
                return Err(refused(format!(
                    "is of type `{}`, which fsdyno does not read",
                    char::from(other.as_byte()).escape_default()
                )));
            }
        };
        let path = safe(&raw).map_err(|why| refused(format!("{why}; pack it anew")))?;
        let member = Self::described(path, kind, entry.header(), &extensions);
        member.map(Some).map_err(damaged)
    }

    /// A member with the mode, owner and time of its headers.
    fn described(
        path: Vec<u8>,
        kind: MemberKind,
        header: &Header,
        extensions: &Extensions,
    ) -> io::Result<Self> {
        let number = |read: io::Result<u64>| read.map(|id| u32::try_from(id).unwrap_or(u32::MAX));
        let seconds = header.mtime()?.cast_signed();
        let owner = extensions.owner.map_or_else(|| number(header.uid()), Ok)?;
        let group = extensions.group.map_or_else(|| number(header.gid()), Ok)?;
        Ok(Self {
            path,
            kind,
            mode: header.mode()? & 0o7777,
            owner,
            group,
            owner_name: header.username_bytes().unwrap_or_default().to_vec(),
            modified: extensions.modified.unwrap_or((seconds, 0)),
        })
    }

    /// Its path, for messages.
    pub fn shown_path(&self) -> PathBuf {
        path_of(self.path.clone())
    }
}

/// The values of pax headers, which override the plain header.
#[derive(Debug, Default)]
struct Extensions {
    modified: Option<(i64, u32)>,
    owner: Option<u32>,
    group: Option<u32>,
    sparse: bool,
}

impl Extensions {
    fn of<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Self> {
        let mut found = Self::default();
        let Some(extensions) = entry.pax_extensions()? else {
            return Ok(found);
        };
        for extension in extensions {
            let extension = extension?;
            let value = std::str::from_utf8(extension.value_bytes()).unwrap_or("");
            match extension.key_bytes() {
                b"mtime" => found.modified = time(value),
                b"uid" => found.owner = value.parse().ok(),
                b"gid" => found.group = value.parse().ok(),
                key if key.starts_with(b"GNU.sparse.") => found.sparse = true,
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Parses `1224000000.25`, possibly negative, to seconds rounded down and nanoseconds.
fn time(text: &str) -> Option<(i64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let digits: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let nanos: u32 = digits.parse().ok()?;
    if whole.starts_with('-') && nanos > 0 {
        return Some((seconds - 1, 1_000_000_000 - nanos));
    }
    Some((seconds, nanos))
}

/// A path without `.` and empty components; the error is the reason why it is refused.
fn safe(path: &[u8]) -> Result<Vec<u8>, &'static str> {
    if path.starts_with(b"/") {
        return Err("has an absolute path");
    }
    let mut clean = Vec::new();
    let mut depth = 0;
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => continue,
            b".." => return Err("climbs out of its place by `..`"),
            _ => {}
        }
        depth += 1;
        if depth > DEEPEST {
            return Err("is more than 300 levels deep");
        }
        if clean.len() + part.len() >= PATH_MAX {
            return Err("has a path that is longer than 4095 bytes");
        }
        if !clean.is_empty() {
            clean.push(b'/');
        }
        clean.extend_from_slice(part);
    }
    if clean.contains(&0) {
        return Err("has a zero byte in its path");
    }
    Ok(clean)
}

/// The directory and the name of a clean path.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// The components of a clean path.
pub fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_or_refused() {
        assert_eq!(safe(b"./a//b/."), Ok(b"a/b".to_vec()));
        assert_eq!(safe(b"./"), Ok(Vec::new()));
        assert_eq!(safe(b"a..b/..c"), Ok(b"a..b/..c".to_vec()));
        for bad in [&b"/etc"[..], b"..", b"a/../b", b"a/.."] {
            assert!(safe(bad).is_err());
        }
    }

    #[test]
    fn times_of_pax_keep_their_fraction() {
        assert_eq!(time("12.5"), Some((12, 500_000_000)));
        assert_eq!(time("12"), Some((12, 0)));
        assert_eq!(time("1.0123456789"), Some((1, 12_345_678)));
        assert_eq!(time("-1.25"), Some((-2, 750_000_000)));
        assert_eq!(time("soon"), None);
    }
}
