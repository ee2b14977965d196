//! Who draws the view: whoever changed it, when a timed phase begins; else a thread, once a second.
//! While a phase is timed that thread sleeps until it is woken.

use super::view::View;
use crate::output::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often what the view tells is drawn anew.
const TICK: Duration = Duration::from_secs(1);

/// The view on the terminal. It goes on drop, and what was told above it stays.
pub struct Drawer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    bar: ProgressBar,
    view: Mutex<Option<View>>,
    /// How wide the terminal was when the view was drawn last, and each of its lines.
    drawn: Mutex<(usize, Vec<usize>)>,
    /// Told when a timed phase begins or ends, and at the end.
    changed: Condvar,
}

impl Shared {
    /// None once all is over.
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
            // Of these nobody else knows.
            self.bar.suspend(|| term.clear_last_lines(folded)).ok();
        }
        self.bar.set_message(text);
        self.bar.force_draw();
    }

    /// Draws once a second, but while a phase is timed.
    fn keep(&self) {
        let mut view = self.view();
        while let Some(now) = &*view {
            view = if now.now.timed {
                let waited = self.changed.wait(view);
                waited.unwrap_or_else(PoisonError::into_inner)
            } else {
                self.draw(now);
                let waited = self.changed.wait_timeout(view, TICK);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

/// How many rows more the lines that were drawn take, now that the terminal has so many columns: one
/// that became narrower has folded them.
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
    /// None where standard error is no terminal, or one that can only print.
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

    /// Changes what will be drawn.
    pub fn change(&self, change: impl FnOnce(&mut View)) {
        if let Some(view) = &mut *self.shared.view() {
            let before = view.now.timed;
            change(view);
            if view.now.timed != before {
                self.shared.changed.notify_all();
            }
        }
    }

    /// Draws it now.
    pub fn draw(&self) {
        if let Some(view) = &*self.shared.view() {
            self.shared.draw(view);
        }
    }

    /// A line that stays, above the view.
    pub fn tell(&self, line: &str) {
        self.shared.bar.println(visible(line, false));
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        *self.shared.view() = None;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked.
            let _ = thread.join();
        }
        self.shared.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_that_a_narrower_terminal_has_folded() {
        assert_eq!(folded(&(80, vec![79, 30, 41]), 40), 1 + 1);
        assert_eq!(folded(&(80, vec![79, 30, 41]), 80), 0);
        assert_eq!(folded(&(40, vec![39]), 132), 0);
    }
}
