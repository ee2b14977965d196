//! Counters read before and after a phase: block devices, processors and memory.
//!
//! Nothing here waits or interprets; a reading computes its difference from an earlier one.

mod block;
mod cpu;
mod frequency;
mod memory;
mod other_processes;
pub(crate) mod pressure;
mod surroundings;
mod tasks;

pub use block::{BlockCounters, block};
pub use cpu::{MachineCpu, machine_cpu};
pub use memory::{memory_available, memory_total};
pub use surroundings::{Surroundings, surroundings};

use fsdyno_host::mounts::mountinfo;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The block devices below a mounted directory, by the kernel's names; empty if there are
/// none to be seen (memory, network).
pub fn block_names_under(path: &Path) -> Vec<String> {
    let Ok(about) = fs::metadata(path) else {
        return Vec::new();
    };
    if let Some(name) = name_of_number(about.dev()) {
        return vec![name];
    }
    // An anonymous device number: use the source of the mount.
    let Ok(mount) = mountinfo(path) else {
        return Vec::new();
    };
    let source = fs::metadata(&mount.source).ok();
    let source = source.filter(|about| about.file_type().is_block_device());
    let Some(name) = source.and_then(|about| name_of_number(about.rdev())) else {
        return Vec::new();
    };
    let members = members(&mount.fstype, &name);
    if members.is_empty() {
        vec![name]
    } else {
        members
    }
}

/// All devices of the file system that one of them belongs to, where its driver lists them as
/// `/sys/fs/KIND/UUID/devices/NAME`.
fn members(fstype: &str, name: &str) -> Vec<String> {
    let each = fs::read_dir(Path::new("/sys/fs").join(fstype))
        .into_iter()
        .flatten()
        .flatten();
    for one in each {
        let listed = one.path().join("devices");
        if !listed.join(name).exists() {
            continue;
        }
        let entries = fs::read_dir(listed).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names
            .filter(|name| Path::new("/sys/class/block").join(name).exists())
            .collect();
        names.sort();
        return names;
    }
    Vec::new()
}

/// The kernel's name of a block device number.
fn name_of_number(number: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_a_device_has_no_device_names() {
        assert_eq!(block_names_under(Path::new("/proc")), Vec::<String>::new());
        assert_eq!(
            block_names_under(Path::new("/no/such/path")),
            Vec::<String>::new()
        );
    }
}
