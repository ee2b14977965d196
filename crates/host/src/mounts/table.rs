//! The mount table, `/proc/PID/mountinfo` (`proc_pid_mountinfo(5)`), and questions to it. Read only.

use crate::sysfs::parse_number;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The mount ID, as statx(2) returns it.
    pub id: u64,
    /// Major and minor number of the device (`st_dev`); major 0 where it is anonymous.
    pub number: (u32, u32),
    /// The mount point.
    pub target: PathBuf,
    /// The kernel's name of the file system.
    pub fstype: String,
    /// The device, or what the file system uses in its place.
    pub source: PathBuf,
    pub mount_options: String,
    /// The options of the file system.
    pub super_options: String,
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fstype,
            source,
            mount_options,
            super_options,
            ..
        } = self;
        let source = source.display();
        write!(
            f,
            "{fstype} {source} mount {mount_options} super {super_options}"
        )
    }
}

/// The mount that contains a path.
pub fn mountinfo(path: &Path) -> io::Result<Mount> {
    let path = path.canonicalize()?;
    let shown = statx(CWD, &path, AtFlags::empty(), StatxFlags::MNT_ID);
    let id = shown
        .ok()
        .filter(|shown| StatxFlags::from_bits_retain(shown.stx_mask).contains(StatxFlags::MNT_ID))
        .map(|shown| shown.stx_mnt_id);
    let mut table = read()?;
    let at = match id {
        Some(id) => table.iter().position(|mount| mount.id == id),
        // Before Linux 5.8: the deepest mount point above, the last one mounted there.
        None => (0..table.len())
            .filter(|at| path.starts_with(&table[*at].target))
            .max_by_key(|at| (table[*at].target.components().count(), *at)),
    };
    at.map(|at| table.swap_remove(at)).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("{} is on no mount of /proc/self/mountinfo", path.display()),
        )
    })
}

/// The mount that contains an open file or directory.
pub fn mount_of(open: impl AsFd) -> io::Result<Mount> {
    let wanted = StatxFlags::MNT_ID | StatxFlags::BASIC_STATS;
    let about = statx(&open, "", AtFlags::EMPTY_PATH, wanted)?;
    let known = StatxFlags::from_bits_retain(about.stx_mask).contains(StatxFlags::MNT_ID);
    let number = (about.stx_dev_major, about.stx_dev_minor);
    let mut table = read()?.into_iter().rev();
    // Before Linux 5.8: a mount of the same device.
    let is_its = |mount: &Mount| {
        if known {
            mount.id == about.stx_mnt_id
        } else {
            mount.number == number
        }
    };
    table.find(is_its).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "its file system is on no mount of /proc/self/mountinfo",
        )
    })
}

/// The number of file systems mounted on this mount point, one over the other.
pub(crate) fn layers(target: &Path) -> io::Result<usize> {
    Ok(read()?
        .iter()
        .filter(|mount| mount.target == target)
        .count())
}

/// The mount points at a path and below it.
pub fn mounted_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    // A path that cannot be resolved (its directory was removed) has nothing mounted below.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let targets = read()?.into_iter().map(|mount| mount.target);
    Ok(targets.filter(|target| target.starts_with(&path)).collect())
}

/// The mount points of a device, by its name in the table.
pub(crate) fn mounts_of(source: &Path) -> Vec<PathBuf> {
    let table = read().unwrap_or_default().into_iter();
    table
        .filter(|mount| mount.source == source)
        .map(|mount| mount.target)
        .collect()
}

fn read() -> io::Result<Vec<Mount>> {
    Ok(parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// All mounts of a table; lines that cannot be parsed are skipped.
pub(crate) fn parse(table: &[u8]) -> Vec<Mount> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// Parses `36 35 98:0 /root /target rw,noatime shared:1 - ext3 /dev/sda1 rw,data=ordered`.
fn parse_line(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    // Optional fields, any number of them, end with a lone dash.
    let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let text = |at: usize| {
        let field = unescape(fields.get(at)?);
        Some(field.to_string_lossy().into_owned())
    };
    Some(Mount {
        id: text(0)?.parse().ok()?,
        number: parse_number(&text(2)?)?,
        target: unescape(fields[4]).into(),
        fstype: text(dash + 1)?,
        source: unescape(fields.get(dash + 2)?).into(),
        mount_options: text(5)?,
        super_options: text(dash + 3).unwrap_or_default(),
    })
}

/// Decodes the octal escapes (`\040`) of the kernel for blanks and backslashes.
pub(crate) fn unescape(text: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() {
            &after[3..]
        } else {
            after
        };
    }
    OsString::from_vec(plain)
}

/// Whether a path as the kernel shows it is at or below another.
pub(crate) fn shown_below(shown: &Path, top: &Path) -> bool {
    let bytes = shown.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    Path::new(OsStr::from_bytes(bytes)).starts_with(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_and_without_optional_fields() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            40 27 7:3 /sub /mnt/a\\040b rw shared:5 master:2 - xfs /dev/loop3 rw\n\
            41 27 0:44 / /mnt/c\\134d\\011e rw - btrfs /dev/loop4 rw,space_cache=v2\n\
            broken line\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[0].number, (254, 0));
        assert_eq!(mounts[0].target, Path::new("/"));
        assert_eq!(mounts[1].id, 40);
        assert_eq!(mounts[1].target, Path::new("/mnt/a b"));
        assert_eq!(mounts[1].fstype, "xfs");
        assert_eq!(mounts[1].source, Path::new("/dev/loop3"));
        assert_eq!(mounts[2].target, Path::new("/mnt/c\\d\te"));
        assert_eq!(mounts[2].number, (0, 44));
        assert_eq!(
            mounts[2].to_string(),
            "btrfs /dev/loop4 mount rw super rw,space_cache=v2"
        );
    }

    #[test]
    fn escapes_that_are_none_stay_as_they_are() {
        for (text, expected) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"\\040", b" "),
            (b"a\\04", b"a\\04"),
            (b"\\999", b"\\999"),
            (b"\\377x", b"\xffx"),
            (b"\\134040", b"\\040"),
        ] {
            assert_eq!(unescape(text).as_bytes(), expected);
        }
    }

    #[test]
    fn the_mount_of_a_path_is_found_through_the_table() {
        let proc = mountinfo(Path::new("/proc/self")).unwrap();
        assert_eq!(
            (proc.fstype.as_str(), proc.target.as_path()),
            ("proc", Path::new("/proc"))
        );
        assert_eq!(layers(Path::new("/proc/self")).unwrap(), 0);
        assert!(mountinfo(Path::new("/no/such/path")).is_err());
        assert!(
            mounted_below(Path::new("/"))
                .unwrap()
                .contains(&PathBuf::from("/proc"))
        );
    }
}
