//! The mount table of this process: `/proc/self/mountinfo`, read and asked.

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What the kernel tells of one mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountInfo {
    /// The number of the mount.
    pub id: u64,
    /// Where it is mounted.
    pub target: PathBuf,
    /// The kernel's name of the file system.
    pub fstype: String,
    /// The device, or what stands for it.
    pub source: String,
    /// The options of this mount.
    pub mount_options: String,
    /// The options of the file system.
    pub super_options: String,
    /// The device number, as files on it show it (`st_dev`): `8:1`.
    pub major_minor: String,
}

impl fmt::Display for MountInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fstype,
            source,
            mount_options,
            super_options,
            ..
        } = self;
        write!(
            f,
            "{fstype} {source} mount {mount_options} super {super_options}"
        )
    }
}

/// The mount that a path lies on: its own where it is a mount point.
pub fn mountinfo(path: &Path) -> io::Result<MountInfo> {
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
            format!(
                "{} lies on no mount of /proc/self/mountinfo",
                path.display()
            ),
        )
    })
}

/// How many file systems are mounted exactly there, one over the other.
pub(crate) fn layers(target: &Path) -> io::Result<usize> {
    Ok(read()?
        .iter()
        .filter(|mount| mount.target == target)
        .count())
}

/// The mount points at a path and below it.
pub(crate) fn mounted_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    // A path that cannot be resolved (its directory is gone) has nothing mounted below.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let targets = read()?.into_iter().map(|mount| mount.target);
    Ok(targets.filter(|target| target.starts_with(&path)).collect())
}

/// Where a device is mounted, by its name in the table.
pub(crate) fn mounts_of(source: &str) -> Vec<PathBuf> {
    let table = read().unwrap_or_default().into_iter();
    table
        .filter(|mount| mount.source == source)
        .map(|mount| mount.target)
        .collect()
}

fn read() -> io::Result<Vec<MountInfo>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    Ok(table.split(|b| *b == b'\n').filter_map(parse).collect())
}

/// Reads a line: `36 35 98:0 /root /target rw,noatime shared:1 - ext3 /dev/sda1 rw,data=ordered`
/// (`proc_pid_mountinfo(5)`).
pub(crate) fn parse(line: &[u8]) -> Option<MountInfo> {
    let fields: Vec<&[u8]> = line.split(|b| *b == b' ').collect();
    let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let text = |at: usize| {
        let bytes = unescape(fields.get(at)?);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Some(MountInfo {
        id: text(0)?.parse().ok()?,
        target: PathBuf::from(OsString::from_vec(unescape(fields[4]))),
        fstype: text(dash + 1)?,
        source: text(dash + 2)?,
        mount_options: text(5)?,
        super_options: text(dash + 3)?,
        major_minor: text(2)?,
    })
}

/// Undoes the kernel's `\040` for space, tab, newline and backslash.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let code = (first == b'\\').then(|| octal(tail)).flatten();
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..3)?).ok()?;
    u8::from_str_radix(digits, 8).ok()
}

/// Whether a path as the kernel shows it lies at or below another.
pub(crate) fn shown_below(shown: &Path, top: &Path) -> bool {
    let bytes = shown.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    Path::new(std::ffi::OsStr::from_bytes(bytes)).starts_with(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_optional_fields_and_escapes() {
        let line = br"36 35 0:44 /vol /mnt/a\040b\134 rw,noatime shared:1 master:2 - btrfs /dev/loop3 rw,subvolid=5";
        let mount = parse(line).unwrap();
        assert_eq!(mount.target, Path::new(r"/mnt/a b\"));
        assert_eq!((mount.id, mount.major_minor.as_str()), (36, "0:44"));
        assert_eq!(
            mount.to_string(),
            "btrfs /dev/loop3 mount rw,noatime super rw,subvolid=5"
        );
        let plain = parse(b"1 0 8:1 / / ro - x /dev/sda1 ro").unwrap();
        assert_eq!(plain.source, "/dev/sda1");
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"1 0 8:1 / / ro"), None);
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
