//! The start times of the operations of a replay: as soon as possible, or as recorded.

use crate::clock;
use fsdyno_files::uninterrupted;
use fsdyno_model::CancelToken;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};

/// The maximum sleep between two checks of the cancellation token, ns.
const MAX_SLEEP_NS: u64 = 100_000_000;

/// The rule by which operations start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// As fast as possible: an operation starts when all its waits have ended.
    Afap,
    /// Open loop: at the recorded time since the start, times a factor. A latency counts from there,
    /// so that one slow operation adds to the latencies of all that wait for it.
    Recorded(f64),
}

/// The maximum factor of recorded times.
const MAX_SCALE: f64 = 1000.0;

impl Pace {
    /// Parses `afap`, `as-recorded` or `scaled:X`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scale = match text {
            "afap" => return Ok(Self::Afap),
            "as-recorded" => return Ok(Self::Recorded(1.0)),
            _ => text.strip_prefix("scaled:"),
        };
        let scale: Option<f64> = scale.and_then(|scale| scale.parse().ok());
        scale
            .filter(|scale| (1.0 / MAX_SCALE..=MAX_SCALE).contains(scale))
            .map(Self::Recorded)
            .ok_or_else(|| {
                format!(
                    "`{text}` is no pace; write afap, as-recorded, or scaled:X with a factor of the \
                     recorded times from {} to {MAX_SCALE}",
                    1.0 / MAX_SCALE
                )
            })
    }

    /// The time at which an operation is due that began this long after the first; none if at once.
    pub fn due(self, began: u64, after: u64) -> Option<u64> {
        match self {
            Self::Afap => None,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` saturates, and neither factor is negative"
            )]
            Self::Recorded(scale) => {
                Some(began.saturating_add((after as f64 * scale).round() as u64))
            }
        }
    }

    /// Lets the kernel wake this thread in time, and not up to 50 us later, as is usual.
    pub fn prepare_thread(self) {
        if self != Self::Afap {
            // SAFETY: it takes numbers only, and changes only when this thread is woken.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
        }
    }

    /// Sleeps until this moment, or until the user cancels.
    pub fn wait(due: u64, stop: &CancelToken) {
        loop {
            let now = clock::now();
            if now >= due || stop.requested() {
                return;
            }
            let until = due.min(now + MAX_SLEEP_NS);
            let until = Timespec {
                tv_sec: (until / 1_000_000_000).cast_signed(),
                tv_nsec: (until % 1_000_000_000).cast_signed(),
            };
            let _ = uninterrupted(|| clock_nanosleep_absolute(ClockId::Monotonic, &until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_parsed_and_scales_times() {
        assert_eq!(Pace::parse("afap"), Ok(Pace::Afap));
        assert_eq!(Pace::parse("as-recorded"), Ok(Pace::Recorded(1.0)));
        let half = Pace::parse("scaled:0.5").unwrap();
        assert_eq!(half.due(1000, 500), Some(1250));
        assert_eq!(half.due(u64::MAX, 500), Some(u64::MAX));
        for wrong in [
            "",
            "scaled:",
            "scaled:0",
            "scaled:-1",
            "scaled:nan",
            "scaled:1e9",
        ] {
            assert!(Pace::parse(wrong).is_err(), "{wrong}");
        }
    }
}
