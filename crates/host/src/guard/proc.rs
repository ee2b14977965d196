//! Reads the system-wide state in `/proc`: all mount namespaces, all swaps, all processes.

use crate::mounts::Mount;
use crate::mounts::table::{parse, unescape};
use crate::sysfs::entries;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// One mount table of each mount namespace that has a process.
pub(super) fn mounts_of_all_namespaces() -> io::Result<Vec<Mount>> {
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

/// The paths in `/proc/swaps`: a head line, then the escaped path first on each line.
pub(super) fn swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t')).next())
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(unescape(name)))
        .collect()
}

/// The running processes: number and folder.
pub(super) fn processes() -> io::Result<Vec<(u32, PathBuf)>> {
    let numbered = |path: PathBuf| {
        let pid = path.file_name()?.to_str()?.parse().ok()?;
        Some((pid, path))
    };
    Ok(entries(Path::new("/proc"))?
        .into_iter()
        .filter_map(numbered)
        .collect())
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
    fn the_mounts_of_this_namespace_are_among_all() {
        let all = mounts_of_all_namespaces().unwrap();
        assert!(all.iter().any(|mount| mount.target == Path::new("/proc")));
    }
}
