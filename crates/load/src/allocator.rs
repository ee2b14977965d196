//! The allocator of the C library in a guest whose kernel counts all work. It grows and shrinks its memory
//! by system calls, and when it does so depends on what was allocated before, so on how the program was
//! built. In a phase it must do neither.

use crate::buffer::PAGE;
use rustix::mm::{Advice, madvise};
use std::hint::black_box;

/// The free memory that a phase finds, bytes.
const SPARE: usize = 2 << 20;

/// The program, its data and its heap take a multiple of this, bytes. A process that the kernel copies
/// then has as many pages whatever the size of the program.
const WHOLE: usize = 128 << 20;

/// The least memory of the heap, bytes.
const LEAST: usize = 16 << 20;

/// Takes all memory from one heap that never shrinks, from now on, and that has all pages up to a fixed
/// distance from the begin of the program. Called before other threads begin.
pub fn keep_memory() {
    set(libc::M_ARENA_MAX, 1);
    set(libc::M_MMAP_MAX, 0);
    set(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
    // SAFETY: it has no requirements.
    let headers = usize::try_from(unsafe { libc::getauxval(libc::AT_PHDR) }).unwrap_or_default();
    let begin = headers & !(PAGE - 1);
    let end = begin
        + (heap_end() + LEAST)
            .saturating_sub(begin)
            .next_multiple_of(WHOLE);
    grow_to(end);
}

fn set(parameter: libc::c_int, value: libc::c_int) {
    // SAFETY: mallopt(3) takes numbers alone.
    unsafe { libc::mallopt(parameter, value) };
}

fn heap_end() -> usize {
    // SAFETY: it only returns the end.
    unsafe { libc::sbrk(0) }.addr()
}

/// Extends the heap to an end, and gives it its pages.
fn grow_to(end: usize) {
    const PADDING: libc::c_int = 128 << 10;
    set(libc::M_TOP_PAD, 0);
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut allocated = 0;
    let most = 2 * end.saturating_sub(heap_end());
    // Another allocator than that of the C library has its memory elsewhere.
    while heap_end() < end && allocated < most {
        // The last steps are as small as the heap can grow.
        let size = match end - heap_end() {
            missing if missing > 64 * PAGE => missing - 32 * PAGE,
            _ => PAGE / 4,
        };
        let mut block = Vec::with_capacity(size);
        let place = block.as_mut_ptr() as usize;
        let (first, last) = (place.next_multiple_of(PAGE), (place + size) & !(PAGE - 1));
        if first < last {
            // SAFETY: the pages are part of the block. Older kernels lack this advice; then the next line
            // does the same.
            let _ = unsafe { madvise(first as *mut _, last - first, Advice::LinuxPopulateWrite) };
        }
        block.resize(size, 1_u8);
        allocated += size;
        blocks.push(black_box(block));
    }
    drop(blocks);
    set(libc::M_TOP_PAD, PADDING);
}

/// Leaves free memory in the heap for the next phase.
pub fn reserve() {
    drop(black_box(Vec::<u8>::with_capacity(SPARE)));
}
