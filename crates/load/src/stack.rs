//! The stack of a worker, written before its work begins. How deep the calls of a phase reach depends on
//! how the program was built, and the kernel of a guest counts the first fault of each page.

use std::hint::black_box;

/// More than any phase uses.
const DEPTH: usize = 64 << 10;

/// Writes the next pages of the stack of this thread.
#[inline(never)]
#[expect(
    clippy::large_stack_arrays,
    reason = "the stack itself is what it writes"
)]
pub(crate) fn touch() {
    black_box(&mut [0xa5_u8; DEPTH]);
}
