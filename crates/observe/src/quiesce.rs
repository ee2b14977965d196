//! Waits until devices are idle: deferred work of a file system has ended, as far as its devices
//! show it.
//!
//! Work that sleeps for longer than the window passes unseen; which window is long enough for a
//! file system is not decided here.

use crate::counters::{BlockCounters, block};
use fsdyno_model::{CancelToken, Nanos};
use std::io;
use std::time::{Duration, Instant};

/// How often the counters are read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// How long it took, the quiet window included.
    pub waited: Nanos,
    /// Whether the devices were idle; false where the bound was reached.
    pub quiet: bool,
    /// Requests the devices completed meanwhile.
    pub requests_seen: u64,
}

/// Waits until the devices have neither completed a request nor had one in flight for a whole
/// window, up to a bound. An empty list is idle at once.
///
/// An error of kind `Interrupted` means that the user cancelled.
pub fn wait(
    names: &[String],
    window: Duration,
    bound: Duration,
    stop: &CancelToken,
) -> io::Result<Quiet> {
    if names.is_empty() {
        return Ok(Quiet {
            waited: Nanos(0),
            quiet: true,
            requests_seen: 0,
        });
    }
    until_idle(|| block(names), window, bound, stop)
}

/// The same over any source of readings.
fn until_idle(
    mut read: impl FnMut() -> io::Result<BlockCounters>,
    window: Duration,
    bound: Duration,
    stop: &CancelToken,
) -> io::Result<Quiet> {
    let started = Instant::now();
    let first = read()?.completed();
    let mut last = first;
    let mut idle_since = started;
    loop {
        if stop.requested() {
            return Err(io::Error::new(
                io::ErrorKind::Interrupted,
                "stopped on request",
            ));
        }
        std::thread::sleep(POLL_INTERVAL.min(window));
        let reading = read()?;
        let now = Instant::now();
        if reading.completed() != last || reading.in_flight() > 0 {
            last = reading.completed();
            idle_since = now;
        }
        let quiet = now - idle_since >= window;
        if quiet || now - started >= bound {
            return Ok(Quiet {
                waited: Nanos::from(now - started),
                quiet,
                requests_seen: last.saturating_sub(first),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    /// Readings of one device that completes a request at each of the first `busy` readings.
    fn device(busy: u64) -> impl FnMut() -> io::Result<BlockCounters> {
        let mut reading = 0;
        move || {
            reading += 1;
            Ok(BlockCounters::of_reads(reading.min(busy)))
        }
    }

    #[test]
    fn requests_delay_the_idle_window_and_are_counted() {
        let long = Duration::from_secs(600);
        let quiet = until_idle(device(4), SHORT, long, &CancelToken::new()).unwrap();
        assert!(quiet.quiet);
        assert_eq!(quiet.requests_seen, 3);
        assert!(quiet.waited >= Nanos(4 * 5_000_000));
    }

    #[test]
    fn a_bound_ends_the_wait_for_a_busy_device() {
        let bound = Duration::from_millis(50);
        let quiet = until_idle(device(u64::MAX), SHORT, bound, &CancelToken::new()).unwrap();
        assert!(!quiet.quiet);
        assert!(quiet.requests_seen > 0);
    }

    #[test]
    fn cancellation_interrupts_the_wait() {
        let stop = CancelToken::new();
        stop.request();
        let long = Duration::from_secs(600);
        let error = until_idle(device(u64::MAX), SHORT, long, &stop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(
            wait(
                &["no-such-device".to_owned()],
                SHORT,
                long,
                &CancelToken::new()
            )
            .is_err()
        );
    }
}
