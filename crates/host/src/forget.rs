//! Makes a driver forget a device whose content is replaced.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsRawFd;

/// Bits of the number of a request: the direction, and the size of the argument
/// (include/uapi/asm-generic/ioctl.h).
const DIRECTION: u32 = 30;
const SIZE: u32 = 16;
const SIZE_MASK: u32 = (1 << 14) - 1;

/// The driver reads the argument and writes nothing.
const READS: u32 = 1;

/// Sends a request to the control device of a driver, to forget a device. The argument has the size
/// that the request has, and the driver only reads it. A driver that does not know the device has
/// nothing to forget.
pub fn forget(control: &str, request: u32, argument: &[u8]) -> io::Result<()> {
    let size = (request >> SIZE & SIZE_MASK) as usize;
    if request >> DIRECTION != READS || size != argument.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let control = open(control, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: the request reads as many bytes as the argument has, and writes none.
    let result = unsafe {
        libc::ioctl(
            control.as_raw_fd(),
            libc::c_ulong::from(request) as _,
            argument.as_ptr(),
        )
    };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if Errno::from_io_error(&error) == Some(Errno::NOENT) => Ok(()),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_another_size_or_direction_is_not_sent() {
        for (request, length) in [(0x5000_9405, 4095), (0x9000_9405, 4096), (0x9405, 0)] {
            let error = forget("/dev/null", request, &vec![0; length]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        // A device that has no such request.
        assert!(forget("/dev/null", 0x5000_9405, &[0; 4096]).is_err());
    }
}
