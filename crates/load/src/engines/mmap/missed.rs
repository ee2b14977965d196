//! Pages that the kernel cannot give: the file was cut short, its disk is full or does not answer.
//! The kernel says so by SIGBUS, whose default is the end of the program. Here a page of memory is put
//! in the place, so that the copy under way goes on, and it is noted that a page was missed: who
//! copied looks at the note and fails with the cause.
//!
//! A fault anywhere else is none of ours: it goes to whoever had the signal before.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Mappings that can be watched at a time: as many as there may be workers.
const MOST: usize = 256;
/// The start of a place that is being taken or given back: no address is as high.
const TAKEN: usize = usize::MAX;
/// No page was missed.
const NONE: usize = usize::MAX;

/// A place for a mapping that is watched. Plain numbers: a signal may come between any two.
struct Place {
    /// 0 where it is free.
    start: AtomicUsize,
    end: AtomicUsize,
    /// How far into the mapping the first page was missed.
    missed: AtomicUsize,
}

static PLACES: [Place; MOST] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        missed: AtomicUsize::new(NONE),
    }
}; MOST];

/// What had the signal before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// A mapping that is watched until it is let go.
#[derive(Debug)]
pub(super) struct Watched {
    place: usize,
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
                one.end.store(start + length, Ordering::Relaxed);
                one.start.store(start, Ordering::Release);
                return Ok(Self { place });
            }
        }
        Err(io::Error::other(format!(
            "{MOST} mappings are watched already"
        )))
    }

    /// How far into the mapping the first page lay that was missed, where one was.
    #[inline]
    pub fn missed(&self) -> Option<usize> {
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
    let stood_in = code > 0 && PLACES.iter().any(|place| stand_in(place, at));
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

/// Puts a page in the place of a missed one, where it lies in this mapping; whether it does.
fn stand_in(place: &Place, at: usize) -> bool {
    let start = place.start.load(Ordering::Acquire);
    let end = place.end.load(Ordering::Relaxed);
    if start == 0 || start == TAKEN || at < start || at >= end.next_multiple_of(4096) {
        return false;
    }
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: the page lies in a mapping that its owner holds while it is watched, and nobody has a
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
    let first =
        place
            .missed
            .compare_exchange(NONE, at - start, Ordering::Relaxed, Ordering::Relaxed);
    // The first one is what is told; those behind it follow from it.
    first.is_ok() || place.missed.load(Ordering::Relaxed) != NONE
}
