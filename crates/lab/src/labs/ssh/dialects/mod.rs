//! Differences between systems beyond POSIX: attaching image files, mounting, and the description
//! of the machine. One file a system, named by `uname -s`.
//!
//! The dialects of the BSDs follow their manual pages; a test runs only that of Linux.

mod dragonfly;
mod freebsd;
mod linux;

use std::path::Path;

/// The commands of one system.
pub(super) struct Dialect {
    /// What its `uname -s` prints.
    pub system: &'static str,
    /// Whether its kernel is that of a BSD.
    pub bsd: bool,
    /// Attaches an image file, and puts the device into a variable: a line.
    pub attach: fn(image: &str, variable: &str) -> String,
    /// Detaches the device in a variable: a line.
    pub detach: fn(variable: &str) -> String,
    /// The words that mount.
    pub mount: fn(fstype: &str, source: &str, target: &Path, options: &[String]) -> Vec<String>,
    /// A line whose status tests whether the kernel supports a file system, or mount loads it.
    pub has_filesystem: fn(name: &str) -> String,
    /// A line whose status tests whether a module is loaded, built in, or can be loaded.
    pub has_module: fn(name: &str) -> String,
    /// Prints `processor=`, `processors=`, `memory=` (bytes) and `disks=`, as far as they are
    /// known.
    pub facts: &'static str,
    /// Prints `busy TICKS HZ`: the busy time of all processors since it booted.
    pub busy: Option<&'static str>,
    /// Prints what uses devices, each as a word of a line. `$DEVICE` is the one that is meant.
    pub uses: &'static str,
    /// Drops what the kernel keeps in memory of files: a line for root.
    pub drop_caches: Option<&'static str>,
}

/// All of them.
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

/// `mount -t TYPE -o OPTIONS SOURCE TARGET`, as all of them have it.
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

/// The mounts and swaps of a BSD, and the devices of its pools.
const USES: &str = "mount; swapinfo 2>/dev/null; zpool status 2>/dev/null; :";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_attaches_and_detaches_in_lines_that_a_shell_reads() {
        for dialect in ALL {
            let attach = (dialect.attach)("'/var/tmp/a b'", "LOOP0");
            let detach = (dialect.detach)("LOOP0");
            assert!(
                attach.contains("'/var/tmp/a b'") && attach.contains("LOOP0="),
                "{attach}"
            );
            for text in [&attach[..], &detach, dialect.facts, dialect.uses] {
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
