//! The calls of the loop driver (`loop(4)`): nothing but numbers and structures.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io;
use rustix::ioctl::{IntegerSetter, NoArg, Opcode, Setter, ioctl};

const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_SET_DIRECT_IO: Opcode = 0x4C08;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;

/// `LO_FLAGS_AUTOCLEAR`: the device detaches its file when its last user closes it.
pub(super) const AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`: the backing file is read and written past the page cache.
pub(super) const DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`, since Linux 5.8.
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// `LOOP_CTL_GET_FREE`: the number of a device that is free at this moment.
struct GetFree;

// SAFETY: the call takes no argument and returns a number; both methods below agree.
unsafe impl rustix::ioctl::Ioctl for GetFree {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut rustix::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        output: rustix::ioctl::IoctlOutput,
        _: *mut rustix::ffi::c_void,
    ) -> io::Result<u32> {
        u32::try_from(output).map_err(|_| io::Errno::INVAL)
    }
}

/// The number of a free device; another process may take it first.
pub(super) fn free_number(control: impl AsFd) -> io::Result<u32> {
    // SAFETY: the driver takes no argument for this call.
    unsafe { ioctl(control, GetFree) }
}

/// Attaches a file to a device in one step, with its flags.
pub(super) fn configure(device: impl AsFd, file: BorrowedFd<'_>, flags: u32) -> io::Result<()> {
    let fd = u32::try_from(file.as_raw_fd()).map_err(|_| io::Errno::BADF)?;
    let config = Config {
        fd,
        block_size: 0,
        info: Info {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: the structure has the layout of the kernel's `struct loop_config`, which the call
    // only reads.
    unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, Config>::new(config)) }
}

/// Requests direct I/O of an attached device; refused if the backing file does not support it.
pub(super) fn set_direct_io(device: impl AsFd) -> io::Result<()> {
    // SAFETY: the call takes the number 1 or 0.
    unsafe { ioctl(device, IntegerSetter::<LOOP_SET_DIRECT_IO>::new_usize(1)) }
}

/// Detaches the device from its file, at once or when its last user closes it.
pub(super) fn clear(device: impl AsFd) -> io::Result<()> {
    // SAFETY: the call takes no argument.
    unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_kernels() {
        assert_eq!(size_of::<Info>(), 232);
        assert_eq!(size_of::<Config>(), 304);
    }
}
