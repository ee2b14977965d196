//! `lab setup`: builds or installs the lab kernel and shows the progress. `fsdyno_guests` decides how.

use super::args::SetupArgs;
use crate::commands::jobs::compile_jobs;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_guests::kernels::{Kernels, Order, Progress, SetupError, install, set_up};
use fsdyno_host::signals;
use fsdyno_model::printable;
use fsdyno_model::{CancelToken, Nanos};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Number of progress lines of the compilation if standard error is no terminal.
const LINES: u64 = 10;

/// Interval at which the elapsed time is redrawn.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);

pub fn setup(args: &SetupArgs) -> Result<(), CliError> {
    let stop = signals::cancel_token()?;
    let kernels = Kernels::of_user().map_err(CliError::usage)?;
    let order = Order {
        source: args.source.clone(),
        zfs: args.zfs_source(),
        jobs: compile_jobs(args.jobs),
        keep: args.keep,
    };
    let mut screen = BuildScreen::new();
    let mut on_progress = |progress: Progress<'_>| screen.show(progress);
    let made = match &args.from {
        Some(file) => install(&kernels, file, &stop, &mut on_progress),
        None => set_up(&kernels, &order, &stop, &mut on_progress),
    };
    screen.end();
    let made = made.map_err(|error| with_code(&error, &stop))?;
    let identity = &made.kernel.identity;
    let verb = if made.was_there {
        "exists".to_owned()
    } else if args.from.is_some() {
        "was installed".to_owned()
    } else {
        format!("was built in {}", screen.elapsed())
    };
    let zfs = identity.zfs.as_ref().map(|zfs| format!(", with {zfs}"));
    output::note(format_args!(
        "fsdyno: the lab kernel {verb}: Linux {} of {}{}",
        identity.release,
        identity.source,
        zfs.unwrap_or_default()
    ));
    let mut line = made.kernel.program.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    output::bytes(&line)
}

/// The error of a build with its exit code.
fn with_code(error: &SetupError, stop: &CancelToken) -> CliError {
    if stop.requested() {
        let text = "interrupted; the finished part is kept. Resume with the same command";
        return CliError::new(Code::Interrupted, text);
    }
    let code = match error {
        SetupError::Tools { .. } | SetupError::Sources(_) | SetupError::Zfs(_) => Code::Missing,
        SetupError::Import(error) if error.is_missing() => Code::Missing,
        _ => Code::Failure,
    };
    CliError::new(code, error)
}

/// Progress on standard error. If that is no terminal, a line for each step and some lines of the
/// compilation.
pub struct BuildScreen {
    bar: ProgressBar,
    began: Instant,
    printed: u64,
}

impl BuildScreen {
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{elapsed}  {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(REDRAW_INTERVAL);
        Self {
            bar,
            began: Instant::now(),
            printed: 0,
        }
    }

    /// Shows a step, a note or an object.
    pub fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Step(step) => {
                self.bar.set_message(printable(step));
                if self.bar.is_hidden() {
                    self.print(step);
                }
            }
            Progress::Note(note) => self.print(note),
            Progress::Object { done, of, name } => {
                let total = if of == 0 {
                    String::new()
                } else {
                    format!(" of {of}")
                };
                self.bar
                    .set_message(printable(&format!("compiling {}{total}: {name}", done + 1)));
                if self.bar.is_hidden() && of > 0 && done * LINES / of > self.printed {
                    self.printed = done * LINES / of;
                    self.print(&format!("{done} of {of} objects compiled"));
                }
            }
        }
    }

    /// Removes the progress line.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn print(&self, text: &str) {
        let line = format!("fsdyno: {text} ({})", self.elapsed());
        if self.bar.is_hidden() {
            output::note(format_args!("{line}"));
        } else {
            self.bar.println(output::visible(&line, false));
        }
    }

    fn elapsed(&self) -> String {
        Nanos::from(self.began.elapsed()).clock()
    }
}
