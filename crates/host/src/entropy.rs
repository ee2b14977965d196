//! Entropy of a guest in virtual time. Its kernel has none that differs from run to run, and searches for
//! some in each read of `/dev/urandom`, 12 ms each time (`try_to_generate_entropy` of
//! drivers/char/random.c, Linux 6.12).

use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::io;

/// The bytes that make a generator of random numbers ready.
const BYTES: u8 = 32;

/// `RNDADDENTROPY` (random(4)).
const ADD: Opcode = opcode::write::<[i32; 2]>(b'R', 3);

/// `rand_pool_info` of linux/random.h.
#[repr(C)]
struct PoolInfo {
    entropy_bits: i32,
    bytes: i32,
    buffer: [u8; BYTES as usize],
}

/// Makes the random numbers of the kernel ready, from bytes that are always the same. For guests only.
pub fn add_constant_entropy() -> io::Result<()> {
    let device = open("/dev/random", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let info = PoolInfo {
        entropy_bits: 8 * i32::from(BYTES),
        bytes: BYTES.into(),
        buffer: [1; BYTES as usize],
    };
    // SAFETY: the kernel reads `bytes` bytes of the buffer, all of which are there.
    Ok(unsafe { ioctl(device, Setter::<ADD, PoolInfo>::new(info)) }?)
}
