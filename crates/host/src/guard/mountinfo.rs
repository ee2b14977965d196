//! The kernel's list of mounts, `/proc/PID/mountinfo`, as proc(5) describes it. Only reading.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its id, as statx(2) tells it.
    pub id: u64,
    /// Major and minor number of the file system's device; major 0 where it is anonymous.
    pub number: (u32, u32),
    /// Where it is mounted.
    pub point: PathBuf,
    /// The type of the file system.
    pub kind: String,
    /// What it is mounted from, as the mounter named it.
    pub source: PathBuf,
}

/// All mounts of a `mountinfo`; lines that are none are passed over.
pub(crate) fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// `36 35 98:0 /root /point rw,noatime shared:1 - ext3 /dev/root rw`
fn parse_line(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    // Optional fields, any number of them, end with a lone dash.
    let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    Some(Mount {
        id: std::str::from_utf8(fields[0]).ok()?.parse().ok()?,
        number: parse_number(std::str::from_utf8(fields[2]).ok()?)?,
        point: PathBuf::from(unescape(fields[4])),
        kind: String::from_utf8_lossy(fields.get(dash + 1)?).into_owned(),
        source: PathBuf::from(unescape(fields.get(dash + 2)?)),
    })
}

/// `98:0` as major and minor.
pub(crate) fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Undoes the octal escapes (`\040`) that the kernel puts for blanks and backslashes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[test]
    fn mounts_are_read_with_and_without_optional_fields() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            40 27 7:3 /sub /mnt/a\\040b rw shared:5 master:2 - xfs /dev/loop3 rw\n\
            41 27 0:44 / /mnt/c\\134d\\011e rw - btrfs /dev/loop4 rw,space_cache=v2\n\
            broken line\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[0].number, (254, 0));
        assert_eq!(mounts[0].point, Path::new("/"));
        assert_eq!(mounts[1].id, 40);
        assert_eq!(mounts[1].point, Path::new("/mnt/a b"));
        assert_eq!(mounts[1].kind, "xfs");
        assert_eq!(mounts[1].source, Path::new("/dev/loop3"));
        assert_eq!(mounts[2].point, Path::new("/mnt/c\\d\te"));
        assert_eq!(mounts[2].number, (0, 44));
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
}
