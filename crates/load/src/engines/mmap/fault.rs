//! Pages that the kernel cannot give: the file was cut short, its disk is full or does not answer.
//! The kernel reports it by SIGBUS, whose default is the end of the program. Here a page of memory is put
//! in the place, so that the copy in flight continues, and it is noted that a page was missed: who
//! copied looks at the note and fails with the cause.
//!
//! A fault anywhere else is not handled: it goes to whoever had the signal before.

use std::io;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Mappings that can be watched at a time: as many as there may be workers.
const MOST: usize = 256;
/// The start of a place that is being taken or given back: no address is as high.
const TAKEN: usize = usize::MAX;
/// No page was missed.
const NONE: usize = usize::MAX;

/// A place for a mapping that is watched. Plain numbers: a signal may come between any two.
///
/// Only the thread that took the place reads and writes through the mapping. Its handler therefore
/// finds numbers that belong together: it is not between two of its own stores. The places of other
/// threads change at any time, and the handler does not use them.
struct Place {
    /// 0 where it is free.
    start: AtomicUsize,
    /// Behind the last page.
    end: AtomicUsize,
    /// The thread (`pthread_self`), which stays the same in a forked process.
    owner: AtomicUsize,
    /// How far into the mapping the first page was missed.
    missed: AtomicUsize,
}

static PLACES: [Place; MOST] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        owner: AtomicUsize::new(0),
        missed: AtomicUsize::new(NONE),
    }
}; MOST];

/// What had the signal before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
/// The size of a page, from `sysconf` before the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// A mapping that is watched until it is let go, by the thread that made it.
#[derive(Debug)]
pub(super) struct Watched {
    place: usize,
    /// Not `Send`.
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
            "{MOST} mappings are watched already"
        )))
    }

    /// How far into the mapping the first page lay that was missed, where one was.
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

/// Takes the signal, once, for as long as the program runs.
fn listen() -> io::Result<()> {
    static TAKING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = TAKING.lock();
    if BEFORE.get().is_some() {
        return Ok(());
    }
    PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
    // SAFETY: `sigaction` is numbers and pointers: all zeros are a value of it.
    let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    ours.sa_sigaction = on_missing_page as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both places are ours and live; what is installed only does what a handler may do.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let _ = BEFORE.set(before);
    Ok(())
}

/// The handler: no lock, no memory, no word; atomic numbers and two system calls.
extern "C" fn on_missing_page(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a handler of this form what happened, and errno is the thread's own.
    let (at, code, errno) = unsafe {
        (
            (*info).si_addr().addr(),
            (*info).si_code,
            *libc::__errno_location(),
        )
    };
    // Above zero it comes from the kernel, rather than from a `kill`.
    let thread = this_thread();
    let stood_in = code > 0
        && PLACES
            .iter()
            .any(|place| place.holds(at, thread) && stand_in(place, at));
    if !stood_in {
        // SAFETY: as zeros, the default.
        let default = unsafe { std::mem::zeroed() };
        let before = BEFORE.get().unwrap_or(&default);
        // SAFETY: it is what was installed before us; the fault comes again, and finds it.
        unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        if code <= 0 {
            // SAFETY: what somebody sent comes again as well, once we have returned.
            unsafe { libc::raise(signal) };
        }
    }
    // SAFETY: as above; what was interrupted finds it as it was.
    unsafe { *libc::__errno_location() = errno };
}

/// The thread that calls, by its address of thread-local memory.
fn this_thread() -> usize {
    // SAFETY: it takes no argument and only reads a register; pthreads(7) allows it in a handler.
    let thread = unsafe { libc::pthread_self() };
    // A number on Linux: `unsigned long`.
    usize::try_from(thread).unwrap_or(0)
}

impl Place {
    /// Whether an address is in the mapping that this thread watches here now.
    fn holds(&self, at: usize, thread: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let taken = start != 0 && start != TAKEN;
        let range = start..self.end.load(Ordering::Relaxed);
        let owned = self.owner.load(Ordering::Relaxed) == thread;
        // Again, for a place of another thread may have changed between the loads.
        taken && owned && range.contains(&at) && self.start.load(Ordering::Acquire) == start
    }
}

/// Puts a page in the place of a missed one, and notes it; whether that was possible.
fn stand_in(place: &Place, at: usize) -> bool {
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: the page is in a mapping that this thread holds while it is watched, and nobody has a
    // reference into it: what is copied from or to there is lost, and known to be.
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
    // The first one is reported; those behind it follow from it.
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
