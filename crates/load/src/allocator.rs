//! The allocator of the C library in a guest whose kernel counts all work. It grows and shrinks its memory
//! by system calls, and when it does so depends on what was allocated before, so on how the program was
//! built. In a phase it must do neither.

use std::hint::black_box;

/// The free memory that a phase finds, bytes.
const SPARE: usize = 2 << 20;

/// Takes all memory from one heap that never shrinks, from now on. Called before other threads begin.
pub fn keep_memory() {
    let settings = [
        (libc::M_ARENA_MAX, 1),
        (libc::M_MMAP_MAX, 0),
        (libc::M_TRIM_THRESHOLD, libc::c_int::MAX),
    ];
    for (parameter, value) in settings {
        // SAFETY: mallopt(3) takes numbers alone.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Leaves free memory in the heap for the next phase.
pub fn reserve() {
    drop(black_box(Vec::<u8>::with_capacity(SPARE)));
}
