//! The progress of a command that writes files: a bar on a terminal, else a line now and then.

use super::filling;
use crate::output;
use fsdyno_model::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal as _, stderr};
use std::time::{Duration, Instant};

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

pub struct Written {
    what: &'static str,
    /// None without a terminal.
    bar: Option<ProgressBar>,
    lines: Lines,
}

impl Written {
    /// Starts to show it. `what` names the command in lines.
    pub fn new(what: &'static str) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self {
            what,
            bar,
            lines: Lines { last: None },
        }
    }

    /// Shows how much is written, of how much.
    pub fn show(&mut self, done: Bytes, of: Bytes) {
        if let Some(bar) = &self.bar {
            bar.set_length(of.0);
            bar.set_position(done.0);
            bar.set_message(filling(done, of));
        } else if self.lines.is_due(Instant::now()) {
            output::note(format_args!(
                "fsdyno: {}: {done} of {of} written",
                self.what
            ));
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// When the last line was printed.
struct Lines {
    last: Option<Instant>,
}

impl Lines {
    /// Whether a line is printed now: the first time, and then at intervals.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.last.is_none_or(|last| now - last >= INTERVAL);
        if due {
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_printed_at_first_and_at_intervals() {
        let began = Instant::now();
        let mut lines = Lines { last: None };
        let due = [0, 1, 9, 10, 11, 25, 34, 35]
            .map(|seconds| lines.is_due(began + Duration::from_secs(seconds)));
        assert_eq!(due, [true, false, false, true, false, true, false, true]);
    }
}
