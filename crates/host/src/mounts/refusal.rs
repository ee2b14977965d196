//! Finds the messages of the kernel about a refused mount: from the context of the mount, or else
//! from the kernel log.

use crate::kernel_log::KernelLog;
use fsdyno_files::uninterrupted;
use rustix::fd::AsFd;
use rustix::io::read;
use std::path::Path;

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

/// The last complaints of the kernel log about a device, or else about a kind of file system.
pub(super) fn words(log: &KernelLog, fstype: &str, source: &str) -> String {
    about(&log.warnings(), fstype, source)
}

/// The messages that wait in the context of a mount, without their level (`e `, `w `, `i `).
pub(super) fn context_words(context: impl AsFd) -> String {
    let mut words = Vec::new();
    let mut buffer = [0; 4096];
    // One message a read, ENODATA after the last.
    while let Ok(length @ 1..) = uninterrupted(|| read(&context, &mut buffer)) {
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
