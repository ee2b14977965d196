//! Draws the progress view: when a change occurs, when a timed phase begins, and once a second in a
//! thread. The thread sleeps while a phase is timed.

use super::view::View;
use crate::output::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Interval at which the view is redrawn.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);

/// The progress view on the terminal. It disappears on drop; the lines above it stay.
pub struct Drawer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    bar: ProgressBar,
    view: Mutex<Option<View>>,
    /// The terminal width at the last draw, and the width of each drawn line.
    drawn: Mutex<(usize, Vec<usize>)>,
    /// Notified when a timed phase begins or ends, and at the end.
    changed: Condvar,
}

impl Shared {
    /// The view; `None` after the end of the run.
    fn view(&self) -> MutexGuard<'_, Option<View>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, view: &View) {
        let term = console::Term::stderr();
        let (rows, columns) = term.size();
        let color = console::colors_enabled_stderr();
        let size = (usize::from(columns), usize::from(rows));
        let text = view.text(Instant::now(), size, color);
        let text = visible(&text, color).into_owned();
        let widths = text.lines().map(console::measure_text_width).collect();
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let folded = folded(&drawn, size.0);
        *drawn = (size.0, widths);
        if folded > 0 {
            // indicatif does not know of these extra rows.
            self.bar.suspend(|| term.clear_last_lines(folded)).ok();
        }
        self.bar.set_message(text);
        self.bar.force_draw();
    }

    /// Redraws once a second, except while a phase is timed.
    fn keep(&self) {
        let mut view = self.view();
        while let Some(now) = &*view {
            view = if now.now.timed {
                let waited = self.changed.wait(view);
                waited.unwrap_or_else(PoisonError::into_inner)
            } else {
                self.draw(now);
                let waited = self.changed.wait_timeout(view, REDRAW_INTERVAL);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

/// The number of extra rows that the drawn lines occupy in a terminal of this width. A terminal
/// that became narrower wraps them.
fn folded((before, widths): &(usize, Vec<usize>), columns: usize) -> usize {
    if columns >= *before {
        return 0;
    }
    let rows = widths
        .iter()
        .map(|width| width.div_ceil(columns.max(1)).max(1) - 1);
    rows.sum()
}

impl Drawer {
    /// Creates the view. `None` if standard error is no terminal, or a terminal that can only
    /// print.
    pub fn on_terminal() -> Option<Self> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if bar.is_hidden() {
            return None;
        }
        bar.set_style(ProgressStyle::with_template("{msg}").ok()?);
        let shared = Arc::new(Shared {
            bar,
            view: Mutex::new(Some(View::default())),
            drawn: Mutex::default(),
            changed: Condvar::new(),
        });
        let drawing = Arc::clone(&shared);
        let thread = thread::spawn(move || drawing.keep());
        Some(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Changes the view for the next draw.
    pub fn change(&self, change: impl FnOnce(&mut View)) {
        if let Some(view) = &mut *self.shared.view() {
            let before = view.now.timed;
            change(view);
            if view.now.timed != before {
                self.shared.changed.notify_all();
            }
        }
    }

    pub fn draw(&self) {
        if let Some(view) = &*self.shared.view() {
            self.shared.draw(view);
        }
    }

    /// Prints a line above the view.
    pub fn print(&self, line: &str) {
        self.shared.bar.println(visible(line, false));
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        *self.shared.view() = None;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
        self.shared.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_a_narrower_terminal_wraps_are_counted() {
        assert_eq!(folded(&(80, vec![79, 30, 41]), 40), 1 + 1);
        assert_eq!(folded(&(80, vec![79, 30, 41]), 80), 0);
        assert_eq!(folded(&(40, vec![39]), 132), 0);
    }
}
