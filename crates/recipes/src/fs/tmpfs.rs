//! tmpfs: files in the page cache and in swap, without a device.

use super::{Facts, Filesystem, mount_first};
use fsdyno_model::{Bytes, Contender, FilesystemKind, Need, Requirement, Step};
use std::path::Path;

/// tmpfs with the size of its mount options (default: half of memory).
pub struct Tmpfs;

/// Bytes of one block.
const PAGE: u64 = 4096;

/// Mount options (tmpfs(5)).
const OPTIONS: &[&str] = &[
    "size",
    "nr_blocks",
    "nr_inodes",
    "mode",
    "uid",
    "gid",
    "huge",
    "mpol",
    "inode32",
    "inode64",
    "noswap",
];

static FACTS: Facts = Facts {
    name: "tmpfs",
    title: "files in memory: the cost of the workload without a device",
    kind: FilesystemKind::Memory,
    options: OPTIONS,
    ..Facts::TEMPLATE
};

impl Filesystem for Tmpfs {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![
            Requirement::new(Need::Root, "mounting tmpfs"),
            Requirement::new(Need::KernelFilesystem("tmpfs".to_owned()), "mounting tmpfs"),
        ]
    }

    fn size_in_memory(&self, contender: &Contender, total: Bytes) -> Option<Bytes> {
        // The last option takes effect.
        let mut options = contender.mount.iter().rev();
        options.find_map(|option| match option.split_once('=')? {
            ("size", text) => size(text, total),
            ("nr_blocks", text) => Some(Bytes(size(text, total)?.0.saturating_mul(PAGE))),
            _ => None,
        })
    }

    fn mount(&self, contender: &Contender, _devices: &[String], target: &Path) -> Vec<Step> {
        // The source is an arbitrary word, shown in /proc/mounts.
        let source = ["tmpfs".to_owned()];
        mount_first(&FACTS, Vec::new(), contender, &source, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        _devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        // mountinfo has all details, and the host reads it for every contender.
        Vec::new()
    }
}

/// Parses a size like the kernel: a number with a suffix of a power of 1024, or a percentage of
/// memory (tmpfs(5)).
fn size(text: &str, total: Bytes) -> Option<Bytes> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().ok()?;
    let suffix = text[digits.len()..].to_ascii_lowercase();
    let power = match suffix.as_str() {
        "%" => {
            let part = u128::from(total.0) * u128::from(number) / 100;
            return u64::try_from(part).ok().map(Bytes);
        }
        "" => 0,
        letter => 1 + u32::try_from("kmgtpe".find(letter)?).ok()?,
    };
    number.checked_mul(1024_u64.checked_pow(power)?).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_options_parse_as_in_the_kernel() {
        let size_in_bytes = |text: &str| {
            let contender = Contender::parse(text, &super::super::kind_of).unwrap();
            let size = Tmpfs.size_in_memory(&contender, Bytes(1000 << 20));
            size.map(|size| size.0)
        };
        for (text, expected) in [
            ("tmpfs", None),
            ("tmpfs:size=512M", Some(512 << 20)),
            ("tmpfs:size=4096", Some(4096)),
            ("tmpfs:size=1g,noatime", Some(1 << 30)),
            ("tmpfs:size=25%", Some(250 << 20)),
            ("tmpfs:nr_blocks=2k", Some(8 << 20)),
            ("tmpfs:size=1g,size=1m", Some(1 << 20)),
            ("tmpfs:size=xm", None),
            ("tmpfs:size=99999999999e", None),
        ] {
            assert_eq!(size_in_bytes(text), expected, "{text}");
        }
    }
}
