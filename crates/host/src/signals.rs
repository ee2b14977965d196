//! Signals that cancel, turned into a [`CancelToken`] that every loop and wait checks.
//!
//! Interrupt, terminate and hang-up only set the flag, so that a run ends normally and removes its
//! resources. Quit (`Ctrl-\`) and kill end the program at once; the clean-up journal then lists the
//! remaining resources.
//!
//! A signal that was ignored when the program started stays ignored: `nohup` ignores the hang-up,
//! and shells ignore the interrupt for background jobs.
//!
//! `SIGPIPE` stays ignored, as the Rust runtime sets it: closing the pipe of the output must not
//! kill a run that has devices mounted. Writers see `EPIPE` instead; children get the default back
//! when they are started by [`std::process::Command`].

use fsdyno_files::poll;
use fsdyno_model::CancelToken;
use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, fs, io};

/// The handled signals. Their handlers stay installed until the process ends.
#[derive(Debug, Clone)]
pub struct Signals(Arc<AtomicUsize>);

/// A signal that cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// `Ctrl-C`.
    Interrupt,
    /// `SIGTERM`, the default signal of kill(1).
    Terminate,
    /// The terminal was closed.
    HangUp,
}

/// The token that signals of this process set.
static OF_PROCESS: OnceLock<CancelToken> = OnceLock::new();

/// The token that signals set, for a wait that was given none. Before [`cancel_token`], signals end the
/// process, and the token is one that nobody sets.
pub fn of_process() -> CancelToken {
    OF_PROCESS.get().cloned().unwrap_or_default()
}

/// Makes interrupt, terminate and hang-up set `stop`.
pub fn install(stop: &CancelToken) -> io::Result<Signals> {
    let last = Arc::new(AtomicUsize::new(0));
    let ignored = ignored_signals(&fs::read_to_string("/proc/self/status")?);
    for signal in Signal::ALL {
        let number = signal.number();
        if is_in(ignored, number) {
            continue;
        }
        // Actions run in the order of their registration: number and user are stored before the
        // token is set.
        let value = usize::try_from(number).unwrap_or_default();
        flag::register_usize(number, Arc::clone(&last), value)?;
        for flag in stop.flags() {
            flag::register(number, flag)?;
        }
    }
    Ok(Signals(last))
}

/// A token that interrupt, terminate and hang-up set.
pub fn cancel_token() -> io::Result<CancelToken> {
    let stop = CancelToken::new();
    install(&stop)?;
    let _ = OF_PROCESS.set(stop.clone());
    Ok(stop)
}

/// The mask of ignored signals in `/proc/self/status`: bit 0 is signal 1.
fn ignored_signals(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

fn is_in(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

impl Signals {
    /// The last signal, if one arrived.
    pub fn received(&self) -> Option<Signal> {
        let number = self.0.load(Ordering::SeqCst);
        Signal::ALL
            .into_iter()
            .find(|signal| usize::try_from(signal.number()) == Ok(number))
    }
}

impl Signal {
    /// All handled signals.
    pub const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];

    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::HangUp => SIGHUP,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        })
    }
}

/// Waits until something can be read, or cancellation is requested, which is an error.
pub fn wait_for_input(input: impl AsFd, stop: &CancelToken) -> io::Result<()> {
    // A signal can arrive between the check and the wait.
    const POLL_INTERVAL: Duration = Duration::from_millis(100);
    while !stop.requested() {
        let ready = poll(
            &mut [PollFd::new(&input, PollFlags::IN)],
            Some(POLL_INTERVAL),
        )?;
        if ready > 0 {
            return Ok(());
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;

    #[test]
    fn a_signal_cancels_and_is_remembered() {
        let before = ignored_signals(&fs::read_to_string("/proc/self/status").unwrap());
        let stop = CancelToken::new();
        let signals = install(&stop).unwrap();
        assert_eq!(signals.received(), None);
        assert!(!stop.requested());
        for signal in Signal::ALL {
            // Twice: the second must not kill either.
            raise(signal.number()).unwrap();
            raise(signal.number()).unwrap();
            if is_in(before, signal.number()) {
                assert_ne!(signals.received(), Some(signal), "it was to be ignored");
            } else {
                assert_eq!(signals.received(), Some(signal));
                assert!(stop.requested());
            }
        }
    }

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let mask = ignored_signals("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert!(is_in(mask, SIGHUP));
        assert!(!is_in(mask, SIGINT));
        assert!(!is_in(ignored_signals("SigIgn:\tx\n"), SIGHUP));
    }
}
