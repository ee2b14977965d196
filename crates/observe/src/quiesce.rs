//! Waits until devices are idle: deferred work of a file system has ended, as far as its devices
//! show it.
//!
//! A device that shows no request at first is idle after a short window; one that does is idle
//! after the whole window without any. Work with longer pauses is not detected; which windows are
//! long enough for a file system is not decided here.

use crate::counters::{BlockCounters, block};
use fsdyno_model::{CancelToken, Nanos};
use std::io;
use std::time::{Duration, Instant};

/// How often the counters are read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long devices must be idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// If no request is seen from the start.
    pub undisturbed: Duration,
    /// After the last request, if any is seen.
    pub whole: Duration,
    /// The longest wait.
    pub bound: Duration,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuiesceResult {
    /// How long it took, the quiet window included.
    pub waited: Nanos,
    /// Whether the devices were idle; false if the bound was reached.
    pub quiet: bool,
    /// Requests the devices completed meanwhile.
    pub requests_seen: u64,
}

/// Waits until the devices have neither completed a request nor had one in flight for a window, up
/// to a bound. An empty list is idle at once.
///
/// An error of kind `Interrupted` means that the user cancelled.
pub fn wait(names: &[String], windows: Windows, stop: &CancelToken) -> io::Result<QuiesceResult> {
    if names.is_empty() {
        return Ok(QuiesceResult {
            waited: Nanos(0),
            quiet: true,
            requests_seen: 0,
        });
    }
    until_idle(|| block(names), windows, stop)
}

/// A moment from which devices may be idle.
#[derive(Debug, Clone)]
pub struct Since {
    began: Instant,
    /// None if there are no devices.
    counters: Option<BlockCounters>,
}

impl Since {
    pub fn now(names: &[String]) -> io::Result<Self> {
        let read = || block(names);
        Ok(Self {
            counters: (!names.is_empty()).then(read).transpose()?,
            began: Instant::now(),
        })
    }

    /// The windows of a wait for the same devices that begins now; none if they were idle for long
    /// enough since then.
    pub fn remaining(self, names: &[String], windows: Windows) -> io::Result<Option<Windows>> {
        let Some(before) = self.counters else {
            return Ok(None);
        };
        let now = block(names)?;
        if now.completed() != before.completed() || now.in_flight() > 0 {
            let undisturbed = windows.whole;
            return Ok(Some(Windows {
                undisturbed,
                ..windows
            }));
        }
        Ok((self.began.elapsed() < windows.undisturbed).then_some(windows))
    }
}

/// The same over any source of readings.
fn until_idle(
    mut read: impl FnMut() -> io::Result<BlockCounters>,
    windows: Windows,
    stop: &CancelToken,
) -> io::Result<QuiesceResult> {
    let started = Instant::now();
    let first = read()?;
    let mut last = first.completed();
    let mut idle_since = started;
    let mut window = match first.in_flight() {
        0 => windows.undisturbed,
        _ => windows.whole,
    };
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
            window = windows.whole;
        }
        let quiet = now - idle_since >= window;
        if quiet || now - started >= windows.bound {
            return Ok(QuiesceResult {
                waited: Nanos::from(now - started),
                quiet,
                requests_seen: last.saturating_sub(first.completed()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);
    const LONG: Duration = Duration::from_secs(600);

    fn windows(undisturbed: Duration, whole: Duration, bound: Duration) -> Windows {
        Windows {
            undisturbed,
            whole,
            bound,
        }
    }

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
        let windows = windows(SHORT, SHORT, LONG);
        let quiet = until_idle(device(4), windows, &CancelToken::new()).unwrap();
        assert!(quiet.quiet);
        assert_eq!(quiet.requests_seen, 3);
        assert!(quiet.waited >= Nanos(4 * 5_000_000));
    }

    #[test]
    fn a_device_without_requests_is_idle_after_the_short_window() {
        let windows = windows(SHORT, LONG, LONG);
        let quiet = until_idle(device(1), windows, &CancelToken::new()).unwrap();
        assert!(quiet.quiet);
        assert_eq!(quiet.requests_seen, 0);
        assert!(quiet.waited >= Nanos::from(SHORT));
    }

    #[test]
    fn after_a_request_a_device_is_idle_after_the_whole_window() {
        let whole = Duration::from_millis(60);
        let windows = windows(SHORT, whole, LONG);
        let quiet = until_idle(device(2), windows, &CancelToken::new()).unwrap();
        assert!(quiet.quiet);
        assert_eq!(quiet.requests_seen, 1);
        assert!(quiet.waited >= Nanos::from(whole));
    }

    #[test]
    fn a_bound_ends_the_wait_for_a_busy_device() {
        let windows = windows(SHORT, SHORT, Duration::from_millis(50));
        let quiet = until_idle(device(u64::MAX), windows, &CancelToken::new()).unwrap();
        assert!(!quiet.quiet);
        assert!(quiet.requests_seen > 0);
    }

    #[test]
    fn cancellation_interrupts_the_wait() {
        let stop = CancelToken::new();
        stop.request();
        let windows = windows(SHORT, SHORT, LONG);
        let error = until_idle(device(u64::MAX), windows, &stop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        let missing = ["no-such-device".to_owned()];
        assert!(wait(&missing, windows, &CancelToken::new()).is_err());
    }
}
