//! Where programs are looked for: one order for those that probe, and those that start. Nothing is
//! looked up here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where system programs lie that the path of a plain user leaves out.
pub const SYSTEM_DIRECTORIES: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
];

/// The directories of `path` (as in the variable `PATH`), then those of system programs.
///
/// Empty and relative entries are passed over: what runs as root must not depend on the directory
/// it is called from.
pub fn search_path(path: &OsStr) -> Vec<PathBuf> {
    let entries = path.as_bytes().split(|byte| *byte == b':');
    let mut directories: Vec<PathBuf> = entries
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|directory| directory.is_absolute())
        .map(Path::to_owned)
        .collect();
    for system in SYSTEM_DIRECTORIES.map(PathBuf::from) {
        if !directories.contains(&system) {
            directories.push(system);
        }
    }
    directories
}

/// The same as a value for the variable `PATH`. Directories of a path hold no colon: they were
/// split at it.
pub fn search_path_variable(path: &OsStr) -> OsString {
    let directories = search_path(path);
    let bytes: Vec<&[u8]> = directories
        .iter()
        .map(|directory| directory.as_os_str().as_bytes())
        .collect();
    OsString::from_vec(bytes.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_system_programs_come_last_and_relative_ones_are_passed_over() {
        let odd = OsStr::from_bytes(b"/opt/\xff:/usr/bin::here:/bin:.");
        assert_eq!(
            search_path_variable(odd).as_bytes(),
            b"/opt/\xff:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin"
        );
        let system = SYSTEM_DIRECTORIES.join(":");
        assert_eq!(search_path_variable(OsStr::new("")), OsString::from(system));
    }
}
