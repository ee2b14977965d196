//! An allocator that counts how much is held at once, so that targets can bound it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn more(bytes: usize) {
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    if held > PEAK.load(Relaxed) {
        PEAK.store(held, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; only numbers are kept in addition.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size >= layout.size() {
            more(size - layout.size());
        } else {
            HELD.fetch_sub(layout.size() - size, Relaxed);
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Starts to count anew; how much is held now.
pub fn begin() -> usize {
    let held = HELD.load(Relaxed);
    PEAK.store(held, Relaxed);
    held
}

/// How much more than at the beginning was held at once.
pub fn peak_since(before: usize) -> usize {
    PEAK.load(Relaxed).saturating_sub(before)
}
