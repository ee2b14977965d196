//! The stack of a worker, written before its work begins. How deep the calls of a phase reach depends on
//! how the program was built, and the kernel of a guest counts the first fault of each page, and each
//! page that the end of a thread frees.

use crate::buffer::PAGE;
use std::hint::black_box;

/// More than any phase uses, bytes.
const DEPTH: usize = 64 << 10;

/// More than the main thread of a guest uses between phases, bytes.
const DEPTH_OF_MAIN: usize = 1 << 20;

/// Writes the next pages of the stack of this thread: those down to the same one in each build.
pub(crate) fn touch() {
    // SAFETY: it has no requirements.
    let descriptor = usize::try_from(unsafe { libc::pthread_self() }).unwrap_or(usize::MAX);
    let here = (&raw const descriptor).addr();
    // The descriptor of a thread is at the top of its stack, but for the main thread.
    let top = match descriptor.checked_sub(here) {
        Some(used) if used < DEPTH => descriptor,
        _ => here,
    };
    // Within the last page, whatever the size of a frame.
    write_to((top & !(PAGE - 1)) - DEPTH + PAGE - 512);
}

/// Writes the stack of the main thread, before other threads begin.
pub fn touch_main() {
    let here = 0_u8;
    // As far in each build.
    let here = (&raw const here).addr() & !(DEPTH_OF_MAIN - 1);
    write_to(here - DEPTH_OF_MAIN);
}

/// Writes the stack of this thread down to an address.
#[inline(never)]
fn write_to(address: usize) {
    let mut frame = [0xa5_u8; 1024];
    if black_box(&mut frame).as_ptr().addr() > address {
        write_to(address);
    }
    black_box(&mut frame);
}
