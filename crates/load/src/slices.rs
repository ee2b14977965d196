//! Work in slices: a thread works on some files or blocks, and then waits until it has the turn again.
//! Its clocks stand still meanwhile, so that phases and engines measure as if nothing had happened.
//!
//! A phase that works in slices runs on one thread, and has nothing in flight between two files or
//! blocks. The state belongs to that thread: other threads work without slices, and pay for one
//! subtraction.

use crate::clock::{self, Pause};
use fsdyno_model::units::Nanos;
use std::cell::{Cell, RefCell};

/// A slice that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Files or blocks.
    pub units: u64,
    /// Its time, without waits.
    pub took: Nanos,
}

/// Waits for the next turn after a slice; returns the number of units of the next one.
type Wait = Box<dyn FnMut(Slice) -> u64>;

/// The slice of a thread.
struct Current {
    units: u64,
    /// When it began, by the clock of this thread.
    began: u64,
    wait: Wait,
}

thread_local! {
    /// The number of units that are left in the slice. Without slices it never reaches zero.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Runs `work` on this thread in slices. The first one has this number of units. After each slice
/// `wait` is called, which returns the number of units of the next one.
pub fn in_slices<T>(
    first: u64,
    wait: impl FnMut(Slice) -> u64 + 'static,
    work: impl FnOnce() -> T,
) -> T {
    /// Ends the slices of this thread, also after a panic.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            LEFT.set(u64::MAX);
            CURRENT.take();
            clock::forget_pauses();
        }
    }
    let _end = End;
    let units = first.max(1);
    LEFT.set(units);
    CURRENT.set(Some(Current {
        units,
        began: clock::now(),
        wait: Box::new(wait),
    }));
    work()
}

/// A file or block is done. Ends the slice if it was the last one of it.
#[inline]
pub(crate) fn count() {
    let left = LEFT.get() - 1;
    LEFT.set(left);
    if left == 0 {
        end();
    }
}

/// Ends the slice, and waits for the next turn.
#[cold]
fn end() {
    let pause = Pause::begin();
    CURRENT.with_borrow_mut(|current| {
        let Some(current) = current else {
            LEFT.set(u64::MAX);
            return;
        };
        let took = Nanos(pause.now().saturating_sub(current.began));
        let units = current.units;
        current.units = (current.wait)(Slice { units, took }).max(1);
        current.began = pause.now();
        LEFT.set(current.units);
    });
    pause.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;
    use std::rc::Rc;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    #[test]
    fn clocks_stand_still_between_slices_and_no_unit_is_lost() {
        let ended = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&ended);
        let wait = move |slice: Slice| {
            // Another contender computes and waits.
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(20) {
                std::hint::spin_loop();
            }
            sleep(Duration::from_millis(20));
            seen.borrow_mut().push(slice);
            7
        };
        let began = Instant::now();
        let used = in_slices(5, wait, || {
            let watch = Stopwatch::start();
            for _ in 0..23 {
                sleep(Duration::from_micros(300));
                count();
            }
            watch.read()
        });
        let elapsed = began.elapsed();
        let units: Vec<u64> = ended.borrow().iter().map(|slice| slice.units).collect();
        assert_eq!(units, [5, 7, 7]);
        let waited = elapsed.saturating_sub(Duration::from_nanos(used.wall.0));
        assert!(waited >= Duration::from_millis(120), "{waited:?}");
        assert!(used.wall.0 >= 23 * 300_000, "{used:?}");
        assert!(
            used.user.0 + used.system.0 < used.wall.0 + 10_000_000,
            "{used:?}"
        );
        let slices: u64 = ended.borrow().iter().map(|slice| slice.took.0).sum();
        assert!(
            slices > 19 * 300_000 && slices < used.wall.0,
            "{slices} {used:?}"
        );
        // Afterwards, this thread has the clock of all others.
        let (here, there) = (clock::now(), std::thread::spawn(clock::now).join().unwrap());
        assert!(there - here < 1_000_000_000);
    }

    #[test]
    fn work_without_slices_and_on_other_threads_never_waits() {
        let wait = |_| panic!("no slice ends");
        in_slices(100, wait, || {
            let other = std::thread::spawn(|| (0..1000).for_each(|_| count()));
            other.join().unwrap();
            count();
        });
        (0..1000).for_each(|_| count());
    }
}
