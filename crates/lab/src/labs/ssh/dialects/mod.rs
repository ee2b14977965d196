//! Differences between systems beyond POSIX: attaching image files, mounting, and the description
//! of the machine. Each system has a file, named by `uname -s`.
//!
//! The dialects of the BSDs follow their manual pages; a test runs only that of Linux.

mod dragonfly;
mod freebsd;
mod linux;

use std::path::Path;

pub(super) struct Dialect {
    /// The output of `uname -s`.
    pub system: &'static str,
    /// Whether the kernel is a BSD kernel.
    pub bsd: bool,
    /// A line that attaches an image file and puts the device into a variable.
    pub attach: fn(image: &str, variable: &str) -> String,
    /// A line that detaches the device in a variable.
    pub detach: fn(variable: &str) -> String,
    /// A line that puts the disk with this serial number into a variable.
    pub find_disk: fn(serial: &str, variable: &str) -> String,
    /// The words of the mount command.
    pub mount: fn(fstype: &str, source: &str, target: &Path, options: &[String]) -> Vec<String>,
    /// A line whose status tests whether the kernel supports a file system or mount loads its
    /// module.
    pub has_filesystem: fn(name: &str) -> String,
    /// A line whose status tests whether a module is loaded, built in, or can be loaded.
    pub has_module: fn(name: &str) -> String,
    /// Prints `processor=`, `processors=`, `memory=` (bytes) and `disks=`, as far as they are
    /// known.
    pub facts: &'static str,
    /// Prints `busy TICKS HZ`: the busy time of all processors since it booted.
    pub busy: Option<&'static str>,
    /// Prints the devices in use, each as a word of a line. `$DEVICE` is the device to check.
    pub uses: &'static str,
    /// A line for root that drops the page cache, dentries and inodes.
    pub drop_caches: Option<&'static str>,
}

static ALL: [&Dialect; 3] = [&linux::LINUX, &freebsd::FREEBSD, &dragonfly::DRAGONFLY];

/// The dialect of a system, by its `uname -s`.
pub(super) fn find(system: &str) -> Option<&'static Dialect> {
    ALL.into_iter().find(|dialect| dialect.system == system)
}

/// The dialect of a dry run, which contacts no machine.
pub(super) fn assumed(bsd: bool) -> &'static Dialect {
    if bsd {
        &freebsd::FREEBSD
    } else {
        &linux::LINUX
    }
}

/// `mount -t TYPE -o OPTIONS SOURCE TARGET`, which all systems support.
fn mount(fstype: &str, source: &str, target: &Path, options: &[String]) -> Vec<String> {
    let mut words = vec!["mount".to_owned(), "-t".to_owned(), fstype.to_owned()];
    if !options.is_empty() {
        words.extend(["-o".to_owned(), options.join(",")]);
    }
    words.extend([source.to_owned(), target.display().to_string()]);
    words
}

/// The values of sysctl on a BSD.
const SYSCTL: &str = "echo \"processor=$(sysctl -n hw.model)\"\n\
    echo \"processors=$(sysctl -n hw.ncpu)\"\n\
    echo \"memory=$(sysctl -n hw.physmem)\"\n\
    echo \"disks=$(sysctl -n kern.disks)\"";

/// The mounts and swaps of a BSD.
const USES: &str = "mount; swapinfo 2>/dev/null; :";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attach_and_detach_lines_of_every_system_are_valid_shell() {
        for dialect in ALL {
            let attach = (dialect.attach)("'/var/tmp/a b'", "LOOP0");
            let detach = (dialect.detach)("LOOP0");
            assert!(
                attach.contains("'/var/tmp/a b'") && attach.contains("LOOP0="),
                "{attach}"
            );
            let find = (dialect.find_disk)("fsdyno0", "LOOP0");
            for text in [&attach[..], &find, &detach, dialect.facts, dialect.uses] {
                let read = std::process::Command::new("sh")
                    .args(["-n", "-c", text])
                    .status();
                assert!(read.unwrap().success(), "{}: {text}", dialect.system);
            }
        }
    }

    #[test]
    fn options_are_given_to_mount_in_the_order_typed() {
        let options = ["noatime", "async"].map(str::to_owned);
        let words = (freebsd::FREEBSD.mount)("ufs", "/dev/md0", Path::new("/m"), &options);
        assert_eq!(words.join(" "), "mount -t ufs -o noatime,async /dev/md0 /m");
    }
}
