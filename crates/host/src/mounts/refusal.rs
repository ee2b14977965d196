//! Why the kernel refused a mount, in its own words: from the context of the mount, or else
//! from the kernel log.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::{Errno, read};
use std::path::Path;

/// The level of a warning in the kernel log; errors are below it, news above.
const WARNING: u32 = 4;

/// The kernel log, from a moment on.
pub(super) struct KernelLog(Option<OwnedFd>);

impl KernelLog {
    /// Messages from now on; none where the kernel log cannot be read.
    pub(super) fn from_now() -> Self {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let log = open("/dev/kmsg", flags, Mode::empty()).ok();
        Self(log.filter(|log| seek(log, SeekFrom::End(0)).is_ok()))
    }

    /// The last complaints written since about a device, or else about a kind of file system.
    pub(super) fn words(&self, fstype: &str, source: &str) -> String {
        let Some(log) = &self.0 else {
            return String::new();
        };
        let mut lines = Vec::new();
        let mut buffer = [0; 8192];
        loop {
            match read(log, &mut buffer) {
                Ok(0) => break,
                Ok(length) => lines.extend(message(&buffer[..length])),
                // EPIPE: lines were overwritten before they were read; the next ones are there.
                Err(Errno::PIPE | Errno::INTR) => {}
                Err(_) => break,
            }
        }
        about(&lines, fstype, source)
    }
}

/// The text of a record of `/dev/kmsg` that is a warning or worse. Other messages about a mount are
/// no reason.
///
/// A record is `PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT`, with lines of details after it; the
/// level is the low three bits of the priority (Documentation/ABI/testing/dev-kmsg).
fn message(record: &[u8]) -> Option<String> {
    let record = String::from_utf8_lossy(record);
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    if priority & 7 > WARNING {
        return None;
    }
    text.lines().next().map(str::to_owned)
}

/// The last few lines that name the device; where none does, those that name the file system.
fn about(lines: &[String], fstype: &str, source: &str) -> String {
    let device = Path::new(source)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let named = |name: &str| -> Vec<&str> {
        let names = |line: &&str| {
            let line = line.to_lowercase();
            line.split(|c: char| !c.is_alphanumeric())
                .any(|word| word == name.to_lowercase())
        };
        lines.iter().map(String::as_str).filter(names).collect()
    };
    let mut found = device.map_or_else(Vec::new, |device| named(&device));
    if found.is_empty() {
        found = named(fstype);
    }
    found[found.len().saturating_sub(3)..].join("; ")
}

/// The messages that wait in the context of a mount, without their level (`e `, `w `, `i `).
pub(super) fn context_words(context: impl AsFd) -> String {
    let mut words = Vec::new();
    let mut buffer = [0; 4096];
    // One message a read, ENODATA after the last.
    while let Ok(length @ 1..) = read(&context, &mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..length]);
        let text = text.trim_end();
        let text = ["e ", "w ", "i "]
            .iter()
            .find_map(|l| text.strip_prefix(l))
            .unwrap_or(text);
        words.push(text.to_owned());
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_kernel_log_are_read() {
        let record = b"3,1042,98765,-;EXT4-fs (loop3): bad option\n SUBSYSTEM=block\n";
        assert_eq!(message(record).unwrap(), "EXT4-fs (loop3): bad option");
        assert_eq!(
            message(b"6,1043,98766,-;BTRFS info (device loop3): last unmount\n"),
            None
        );
        assert_eq!(message(b"no record"), None);
    }

    #[test]
    fn lines_about_the_device_come_before_lines_about_the_file_system() {
        let lines = [
            "EXT4-fs (loop3): first",
            "EXT4-fs: without a device",
            "EXT4-fs (loop33): of another",
            "XFS (loop3): Mounting",
        ]
        .map(str::to_owned);
        assert_eq!(
            about(&lines, "ext4", "/dev/loop3"),
            "EXT4-fs (loop3): first; XFS (loop3): Mounting"
        );
        assert_eq!(about(&lines, "xfs", "none"), "XFS (loop3): Mounting");
        assert_eq!(about(&lines, "btrfs", "/dev/loop7"), "");
    }
}
