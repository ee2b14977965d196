//! The warnings in the kernel log, from a moment on.

use fsdyno_files::uninterrupted;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::{Errno, read};

/// The level of a warning in the kernel log; errors are below it, news above.
const WARNING: u32 = 4;

/// The kernel log, from a moment on.
#[derive(Debug)]
pub struct KernelLog(Option<OwnedFd>);

impl KernelLog {
    /// Messages from now on; none if the kernel log cannot be read.
    pub fn from_now() -> Self {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let log = open("/dev/kmsg", flags, Mode::empty()).ok();
        Self(log.filter(|log| seek(log, SeekFrom::End(0)).is_ok()))
    }

    pub fn is_readable(&self) -> bool {
        self.0.is_some()
    }

    /// The warnings, and worse, since then or since the last call.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(log) = &self.0 else {
            return lines;
        };
        let mut buffer = [0; 8192];
        loop {
            match uninterrupted(|| read(log, &mut buffer)) {
                Ok(0) => break,
                Ok(length) => lines.extend(message(&buffer[..length])),
                // EPIPE: lines were overwritten before they were read; the next ones are there.
                Err(Errno::PIPE) => {}
                Err(_) => break,
            }
        }
        lines
    }
}

/// The text of a record of `/dev/kmsg` that is a warning or worse.
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
}
