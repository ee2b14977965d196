//! The search path for programs: the same order for probes and for execution. This module does not
//! access the file system.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Directories of system programs that are missing in the path of an ordinary user.
pub const SYSTEM_DIRECTORIES: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
];

/// The directories of `path` (as in the variable `PATH`) and those of system programs. With
/// `system_first`, as for root, those of system programs come first, so that a directory of a user
/// in the variable cannot replace `mkfs`. Otherwise they come last.
///
/// Empty and relative entries are skipped: the programs that root runs must not depend on the
/// current directory.
pub fn search_path(path: &OsStr, system_first: bool) -> Vec<PathBuf> {
    let entries = path.as_bytes().split(|byte| *byte == b':');
    let of_user = entries
        .map(|entry| PathBuf::from(OsStr::from_bytes(entry)))
        .filter(|directory| directory.is_absolute());
    let of_system = SYSTEM_DIRECTORIES.map(PathBuf::from);
    let mut directories: Vec<PathBuf> = Vec::new();
    let mut add = |directory: PathBuf| {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    };
    if system_first {
        of_system.into_iter().chain(of_user).for_each(&mut add);
    } else {
        of_user.chain(of_system).for_each(&mut add);
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_directories_come_first_for_root_and_relative_ones_are_skipped() {
        let odd = OsStr::from_bytes(b"/opt/\xff:/usr/bin::here:/bin:.");
        let joined = |path, system_first| {
            let directories = search_path(path, system_first);
            let bytes: Vec<&[u8]> = directories
                .iter()
                .map(|directory| directory.as_os_str().as_bytes())
                .collect();
            bytes.join(&b':')
        };
        assert_eq!(
            joined(odd, false),
            b"/opt/\xff:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin"
        );
        let system = SYSTEM_DIRECTORIES.join(":");
        assert_eq!(
            joined(odd, true),
            [system.as_bytes(), b":/opt/\xff"].concat()
        );
        assert_eq!(joined(OsStr::new(""), false), system.as_bytes());
    }
}
