//! Devices that are still in use a moment after an unmount. The kernel ends a mount in steps, a copy of
//! it in another mount namespace ends with its processes, and device managers look at what changed.
//! So EBUSY then passes, and is waited for.

use crate::mounts::holders;
use rustix::fs::{CWD, FileType, Mode, OFlags, openat, stat};
use rustix::io::Errno;
use std::path::Path;
use std::time::Duration;

/// How long the detach of a loop device and a checker wait for a device in use.
pub const BUSY_BOUND: Duration = Duration::from_secs(30);

/// A wait up to this length is usual, and has no warning.
pub const USUAL_WAIT: Duration = Duration::from_secs(1);

/// Whether the kernel, or a program, uses a block device alone (open(2), `O_EXCL`). Checkers and
/// formatters are then refused.
pub fn is_busy(device: &Path) -> bool {
    let is_block = |mode| FileType::from_raw_mode(mode) == FileType::BlockDevice;
    if !stat(device).is_ok_and(|about| is_block(about.st_mode)) {
        return false;
    }
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    matches!(openat(CWD, device, flags, Mode::empty()), Err(Errno::BUSY))
}

/// That a device is still in use, and by whom, as a sentence.
pub fn still_used(device: &Path) -> String {
    format!(
        "{} is still in use {} s after the unmount, by {}; a process in another mount namespace may hold \
         a copy of the mount",
        device.display(),
        BUSY_BOUND.as_secs(),
        holders::sentence(&holders::of_device(device))
    )
}

/// Whether a program failed because a device in its arguments is in use: it reports that, or it is.
pub fn is_reason(argv: &[String], message: &str) -> bool {
    let text = std::io::Error::from(Errno::BUSY).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    message.contains(text) || argv.iter().any(|word| is_busy(Path::new(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_reports_a_busy_device_is_recognised() {
        let argv = ["check".to_owned(), "/dev/null".to_owned()];
        assert!(is_reason(&argv, "cannot open it: Device or resource busy"));
        assert!(!is_reason(&argv, "it is damaged"));
        assert!(!is_busy(Path::new("/dev/null")));
        assert!(!is_busy(Path::new("/no/such/device")));
    }
}
