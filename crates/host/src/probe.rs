//! Probes whether a [`Need`] is met on this machine: privileges, programs, file systems of the
//! kernel, loop devices. It changes nothing, except that a query for a file system may load its
//! module, as mounting would. [`Need::remedy`] names what to do.

use crate::kernel_config;
use fsdyno_files::programs;
use fsdyno_model::search_path::SYSTEM_DIRECTORIES;
use fsdyno_model::{Availability, Need};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, fsopen};
use rustix::thread::{CapabilitySet, capabilities};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The environment variable that names the folder of kernel modules, set in guests.
pub const MODULES: &str = "FSDYNO_MODULES";

/// Whether `need` is met, and if not what was searched for, and where.
pub fn probe(need: &Need) -> Availability {
    let found = match need {
        Need::Root => root(),
        Need::Program { name, .. } => match programs::find(name) {
            Some(_) => Ok(()),
            None => Err(format!(
                "no program `{name}` on the path, nor in {}",
                SYSTEM_DIRECTORIES[..3].join(", ")
            )),
        },
        Need::KernelFilesystem(name) => filesystem(name),
        Need::KernelModule(name) => module(name),
        Need::KernelOption { option, without } => option_of_kernel(option, without),
        Need::LoopDevices => loop_devices(),
        Need::AnyOf(needs) => any_of(needs),
        // Linux is all that this program runs on.
        Need::BsdKernel => Err("this kernel is Linux".to_owned()),
    };
    match found {
        Ok(()) => Availability::Available,
        Err(reason) => Availability::Missing {
            reason,
            remedy: need.remedy(),
        },
    }
}

/// Whether one of these is met.
fn any_of(needs: &[Need]) -> Result<(), String> {
    let mut reasons = Vec::new();
    for need in needs {
        match probe(need) {
            Availability::Available => return Ok(()),
            Availability::Missing { reason, .. } => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

/// Whether this process may mount block devices.
fn root() -> Result<(), String> {
    let sets = capabilities(None).map_err(|e| format!("capget: {e}"))?;
    if !sets.effective.contains(CapabilitySet::SYS_ADMIN) {
        let user = rustix::process::geteuid().as_raw();
        return Err(format!(
            "user {user} has not the effective capability CAP_SYS_ADMIN"
        ));
    }
    // Inside a user namespace the capability is there, but block devices cannot be mounted.
    match fs::read_to_string("/proc/self/uid_map") {
        Ok(map) if !is_initial_namespace(&map) => {
            Err("CAP_SYS_ADMIN holds only inside a user namespace (/proc/self/uid_map)".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a `uid_map` is that of the initial user namespace: every id is itself.
fn is_initial_namespace(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Whether the kernel has a file system, built in, loaded, or to be loaded.
fn filesystem(name: &str) -> Result<(), String> {
    let registered = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if registered
        .lines()
        .any(|line| line.split_whitespace().next_back() == Some(name))
    {
        return Ok(());
    }
    let missing = match loadable(name, &format!("fs-{name}")) {
        Ok(()) => return Ok(()),
        Err(missing) => missing,
    };
    // In a container the modules may be outside of the visible files: query the kernel, which loads
    // them itself. Without privileges this is refused and proves nothing.
    if load_filesystem(name) {
        return Ok(());
    }
    Err(format!("not in /proc/filesystems, and {missing}"))
}

/// Makes the kernel load a file system where it is a module; returns whether it has it.
pub(crate) fn load_filesystem(name: &str) -> bool {
    fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC).is_ok()
}

/// Whether the kernel has a module, built in, loaded, or to be loaded.
fn module(name: &str) -> Result<(), String> {
    let known = Path::new("/sys/module").join(name.replace('-', "_"));
    // A built-in module without parameters is not listed there. Drivers of arrays are listed in
    // mdstat.
    let joining = fs::read_to_string("/proc/mdstat").unwrap_or_default();
    if known.is_dir() || is_personality(&joining, name) {
        return Ok(());
    }
    loadable(name, name).map_err(|missing| format!("{name} is not in /sys/module, and {missing}"))
}

/// Whether the kernel was built with an option. An unknown configuration counts as without it.
fn option_of_kernel(option: &str, without: &str) -> Result<(), String> {
    kernel_config::has_option(option, &release()).map_err(|why| format!("{without}: {why}"))
}

fn release() -> String {
    let name = rustix::system::uname();
    name.release().to_string_lossy().into_owned()
}

/// Whether `/proc/mdstat` names this way of joining devices.
fn is_personality(text: &str, name: &str) -> bool {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Personalities :"));
    let mut words = line.unwrap_or_default().split_whitespace();
    words.any(|word| word.trim_matches(['[', ']']) == name)
}

/// Whether loop devices can be attached.
fn loop_devices() -> Result<(), String> {
    const CONTROL: &str = "/dev/loop-control";
    match rustix::fs::open(CONTROL, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => Ok(()),
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => loadable("loop", "char-major-10-237")
            .map_err(|missing| format!("{CONTROL} does not open, and {missing}")),
        // The usual remedy, loading the module, would not help here.
        Err(error @ (Errno::ACCESS | Errno::PERM)) => {
            Err(format!("{CONTROL}: {error}: only root may attach them"))
        }
        Err(error) => Err(format!("{CONTROL}: {error}")),
    }
}

/// Whether the module `name`, or one with the alias `alias`, is built in or can be loaded.
fn loadable(name: &str, alias: &str) -> Result<(), String> {
    let folder = match env::var_os(MODULES) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from("/lib/modules").join(release()),
    };
    if !folder.is_dir() {
        return Err(format!("there are no modules in {}", folder.display()));
    }
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    if names_module(&read("modules.builtin"), name) {
        return Ok(());
    }
    if !names_module(&read("modules.dep"), name) && !has_alias(&read("modules.alias"), alias) {
        return Err(format!("no module {name} in {}", folder.display()));
    }
    match fs::read_to_string("/proc/sys/kernel/modules_disabled") {
        Ok(text) if text.trim() == "1" => Err(format!(
            "loading the module {name} is disabled (kernel.modules_disabled)"
        )),
        _ => Ok(()),
    }
}

/// Whether a line of `modules.dep` or `modules.builtin` starts with the file of this module.
fn names_module(list: &str, name: &str) -> bool {
    let required = name.replace('-', "_");
    list.lines().any(|line| {
        let file = line.split(':').next().unwrap_or_default();
        let file = file.rsplit('/').next().unwrap_or_default();
        // The rest of the name is the compression: `.ko.xz`.
        let stem = file.split_once(".ko").map_or(file, |(stem, _)| stem);
        stem.replace('-', "_") == required
    })
}

/// Whether `modules.alias` has a module for this alias.
fn has_alias(list: &str, alias: &str) -> bool {
    list.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("alias") && words.next() == Some(alias)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_by_name_with_any_compression() {
        let list = "kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz\n\
                    kernel/drivers/block/loop.ko:\nkernel/fs/nfs/nfs-layout.ko.zst:\n";
        for (name, expected) in [
            ("xfs", true),
            ("loop", true),
            ("nfs_layout", true),
            // Only named as what another one depends on.
            ("libcrc32c", false),
            ("fs", false),
            ("btrfs", false),
        ] {
            assert_eq!(names_module(list, name), expected, "{name}");
        }
    }

    #[test]
    fn array_drivers_are_found_by_their_personality() {
        let text = "Personalities : [linear] [raid0] [raid1] \nunused devices: <none>\n";
        assert!(is_personality(text, "raid0") && is_personality(text, "linear"));
        assert!(!is_personality(text, "raid10") && !is_personality("", "raid0"));
    }

    #[test]
    fn an_alias_is_matched_whole() {
        let list = "# comment\nalias fs-ext3 ext4\nalias fs-ext4 ext4\n";
        assert!(has_alias(list, "fs-ext3"));
        assert!(!has_alias(list, "fs-ext"));
        assert!(!has_alias(list, "ext4"));
    }

    #[test]
    fn a_mapped_user_namespace_is_not_the_initial_one() {
        assert!(is_initial_namespace("         0          0 4294967295\n"));
        assert!(!is_initial_namespace("         0       1000          1\n"));
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let need = Need::Program {
            name: "no-such-program-here".into(),
            package: "some-package".into(),
        };
        match probe(&need) {
            Availability::Missing { reason, remedy } => {
                assert!(reason.contains("no-such-program-here"), "{reason}");
                assert!(reason.contains("/usr/sbin"), "{reason}");
                assert!(remedy.contains("some-package"), "{remedy}");
            }
            Availability::Available => panic!("a program of that name was found"),
        }
    }

    #[test]
    fn any_of_several_will_do_and_where_none_is_there_all_are_named() {
        let known = Need::KernelFilesystem("proc".into());
        let unknown = |name: &str| Need::KernelFilesystem(name.into());
        let met = Need::AnyOf(vec![unknown("no-such-fs"), known]);
        assert_eq!(probe(&met), Availability::Available);
        let missed = Need::AnyOf(vec![unknown("no-such-fs"), unknown("nor-this-fs")]);
        let Availability::Missing { reason, remedy } = probe(&missed) else {
            panic!("the kernel claims to have one of them");
        };
        assert!(reason.contains("; not in /proc/filesystems"), "{reason}");
        for name in ["no-such-fs", "nor-this-fs"] {
            assert!(
                remedy.contains(name) && missed.name().contains(name),
                "{remedy}"
            );
        }
    }

    #[test]
    fn an_unknown_file_system_is_missing_and_a_known_one_is_there() {
        assert_eq!(
            probe(&Need::KernelFilesystem("proc".into())),
            Availability::Available
        );
        match probe(&Need::KernelFilesystem("no-such-fs".into())) {
            Availability::Missing { reason, .. } => {
                assert!(reason.contains("/proc/filesystems"), "{reason}");
            }
            Availability::Available => panic!("the kernel claims to have no-such-fs"),
        }
    }
}
