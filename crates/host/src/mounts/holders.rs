//! Finds the users of a file system or device: processes with open files, mounts and loop devices
//! on it. For messages only.

use super::table;
use crate::sysfs;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The users of files at or below a directory, one description each.
pub(crate) fn of_tree(top: &Path) -> Vec<String> {
    let mut holders = processes(|_, shown| table::shown_below(shown, top));
    for below in table::mounted_below(top).unwrap_or_default() {
        if below != top {
            holders.push(format!("the mount at {}", below.display()));
        }
    }
    for (device, image) in sysfs::attached_loops() {
        if table::shown_below(&image, top) {
            holders.push(format!("{device} (on {})", image.display()));
        }
    }
    holders
}

/// The users of a block device, open or mounted, one description each.
pub(crate) fn of_device(device: &Path) -> Vec<String> {
    let Ok(metadata) = fs::metadata(device) else {
        return Vec::new();
    };
    let number = metadata.rdev();
    let mut holders = processes(|link, shown| {
        shown.starts_with("/dev")
            && fs::metadata(link)
                .is_ok_and(|there| there.file_type().is_block_device() && there.rdev() == number)
    });
    holders.extend(
        table::mounts_of(device)
            .into_iter()
            .map(|target| format!("the mount at {}", target.display())),
    );
    holders
}

/// Processes, as `name (pid)`, with an open file, a directory or a mapping for which `held` is
/// true. Its arguments are the link below `/proc` and its target.
fn processes(held: impl Fn(&Path, &Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in numbers {
        let name = process.file_name();
        if !name.to_string_lossy().bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let home = process.path();
        if links(&home).any(|link| fs::read_link(&link).is_ok_and(|shown| held(&link, &shown))) {
            let command = fs::read_to_string(home.join("comm")).unwrap_or_default();
            found.push(format!("{} ({})", command.trim(), name.to_string_lossy()));
        }
    }
    found
}

/// The links of a process to what it uses.
fn links(home: &Path) -> impl Iterator<Item = PathBuf> {
    let listed = ["fd", "map_files"].map(|list| home.join(list));
    let single = ["cwd", "root", "exe"].map(|link| home.join(link));
    let listed = listed
        .into_iter()
        .flat_map(|list| fs::read_dir(list).into_iter().flatten().flatten())
        .map(|entry| entry.path());
    single.into_iter().chain(listed)
}

/// Holders as the end of a sentence.
pub(crate) fn sentence(holders: &[String]) -> String {
    match holders {
        [] => "no process that is visible here".to_owned(),
        _ => holders.join(", "),
    }
}
