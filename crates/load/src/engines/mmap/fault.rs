//! Handles pages that the kernel cannot provide: the file was truncated, or its disk is full or
//! does not respond. The kernel sends SIGBUS, which by default ends the program. The handler maps a
//! page of memory there, so that the copy in flight continues, and records the missing page. The
//! thread that copied checks the record and fails with the cause.
//!
//! A fault at any other address goes to the previous handler of the signal.

use std::io;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of watched mappings: the maximum number of workers.
const MAX_MAPPINGS: usize = 256;
/// The start of a slot that is being acquired or released: no address is as high.
const TAKEN: usize = usize::MAX;
/// No page is missing.
const NONE: usize = usize::MAX;

/// A slot for a watched mapping. It has only atomic numbers: a signal may arrive between any two
/// operations.
///
/// Only the thread that acquired the slot reads and writes through the mapping. Its handler
/// therefore reads consistent numbers: it never runs between two of its own stores. The slots of
/// other threads change at any time, and the handler does not use them.
struct Place {
    /// 0 if it is free.
    start: AtomicUsize,
    /// The end of the last page.
    end: AtomicUsize,
    /// The thread (`pthread_self`), which stays the same in a forked process.
    owner: AtomicUsize,
    /// The offset of the first missing page in the mapping.
    missed: AtomicUsize,
}

static PLACES: [Place; MAX_MAPPINGS] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        owner: AtomicUsize::new(0),
        missed: AtomicUsize::new(NONE),
    }
}; MAX_MAPPINGS];

/// The previous signal action.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
/// The size of a page, from `sysconf` before the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// A mapping that is watched until drop, by the thread that made it.
#[derive(Debug)]
pub(super) struct Watched {
    place: usize,
    /// Makes the type not `Send`.
    of_thread: PhantomData<*mut u8>,
}

impl Watched {
    /// Watches a mapping.
    pub fn begin(start: usize, length: usize) -> io::Result<Self> {
        listen()?;
        for (place, one) in PLACES.iter().enumerate() {
            let free = one
                .start
                .compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
            if free.is_ok() {
                one.missed.store(NONE, Ordering::Relaxed);
                let page = PAGE.load(Ordering::Relaxed);
                one.end
                    .store((start + length).next_multiple_of(page), Ordering::Relaxed);
                one.owner.store(this_thread(), Ordering::Relaxed);
                one.start.store(start, Ordering::Release);
                return Ok(Self {
                    place,
                    of_thread: PhantomData,
                });
            }
        }
        Err(io::Error::other(format!(
            "{MAX_MAPPINGS} mappings are watched already"
        )))
    }

    /// The offset of the first missing page in the mapping; none if no page is missing.
    #[inline]
    pub fn fault(&self) -> Option<usize> {
        let missed = PLACES[self.place].missed.load(Ordering::Relaxed);
        (missed != NONE).then_some(missed)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let one = &PLACES[self.place];
        one.start.store(TAKEN, Ordering::Release);
        one.start.store(0, Ordering::Release);
    }
}

/// Installs the handler, once for the life of the program.
fn listen() -> io::Result<()> {
    static TAKING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = TAKING.lock();
    if BEFORE.get().is_some() {
        return Ok(());
    }
    PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
    // SAFETY: `sigaction` contains numbers and pointers, and all zeros are a valid value.
    let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    ours.sa_sigaction = on_missing_page as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both pointers are to live local variables; the handler is async-signal-safe.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let _ = BEFORE.set(before);
    Ok(())
}

/// The handler: no locks, no allocation, no output; only atomic numbers and two system calls.
extern "C" fn on_missing_page(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes valid signal information to a handler of this form, and errno
    // belongs to the thread.
    let (at, code, errno) = unsafe {
        (
            (*info).si_addr().addr(),
            (*info).si_code,
            *libc::__errno_location(),
        )
    };
    // A code above zero comes from the kernel, not from `kill`.
    let thread = this_thread();
    let stood_in = code > 0
        && PLACES
            .iter()
            .any(|place| place.holds(at, thread) && map_substitute(place, at));
    if !stood_in {
        // SAFETY: all zeros are the default action.
        let default = unsafe { std::mem::zeroed() };
        let before = BEFORE.get().unwrap_or(&default);
        // SAFETY: it is the previous action; the fault repeats and reaches it.
        unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        if code <= 0 {
            // SAFETY: a sent signal is raised again and is delivered after this handler returns.
            unsafe { libc::raise(signal) };
        }
    }
    // SAFETY: as above; the interrupted code finds errno unchanged.
    unsafe { *libc::__errno_location() = errno };
}

/// The calling thread, by the address of its thread-local memory.
fn this_thread() -> usize {
    // SAFETY: it has no argument and only reads a register; pthreads(7) allows it in a handler.
    let thread = unsafe { libc::pthread_self() };
    // On Linux this is a number: `unsigned long`.
    usize::try_from(thread).unwrap_or(0)
}

impl Place {
    /// Whether an address is in the mapping that this thread watches in this slot.
    fn holds(&self, at: usize, thread: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let taken = start != 0 && start != TAKEN;
        let range = start..self.end.load(Ordering::Relaxed);
        let owned = self.owner.load(Ordering::Relaxed) == thread;
        // Checked again: the slot of another thread may have changed between the loads.
        taken && owned && range.contains(&at) && self.start.load(Ordering::Acquire) == start
    }
}

/// Maps a page at the missing address and records it; returns whether that succeeded.
fn map_substitute(place: &Place, at: usize) -> bool {
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: the page is in a mapping that this thread watches, and no reference into it exists.
    // Data copied from or to that page is lost, and the loss is recorded.
    let put = unsafe {
        libc::mmap(
            std::ptr::without_provenance_mut(at & !(page - 1)),
            page,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if put == libc::MAP_FAILED {
        return false;
    }
    let start = place.start.load(Ordering::Relaxed);
    // Only the first missing page is reported; later ones follow from it.
    let _ = place
        .missed
        .compare_exchange(NONE, at - start, Ordering::Relaxed, Ordering::Relaxed);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_counts_only_for_the_live_mapping_of_the_same_thread() {
        let page = rustix::param::page_size();
        let start = 64 * page;
        let watched = Watched::begin(start, page + 1).unwrap();
        let place = &PLACES[watched.place];
        let me = this_thread();
        assert!(place.holds(start, me) && place.holds(start + 2 * page - 1, me));
        assert!(!place.holds(start - 1, me) && !place.holds(start + 2 * page, me));
        let other = std::thread::spawn(this_thread).join().unwrap();
        assert!(!place.holds(start, other), "another thread's mapping");
        drop(watched);
        let stale = PLACES.iter().any(|place| place.holds(start, me));
        assert!(!stale, "a mapping that was let go");
    }
}
