//! `age`: fills and ages the file system of a directory. Scripts and `run --dry-run` use it.

use crate::exit::{CliError, Code};
use crate::output;
use crate::screen::filling;
use clap::Args;
use fsdyno_datasets::states::{self, Progress, StateError};
use fsdyno_host::signals;
use fsdyno_model::{Fill, InitialState};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct AgeArgs {
    /// Directory on the file system; the files go into `state` in it
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// Target use as df shows it: `90%` or `90%:fragmented` [default: 50%]
    #[arg(long, value_name = "PERCENT")]
    pub fill: Option<Fill>,
    /// Write N times the bytes held, by creates, deletes, appends and truncates
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub age: u32,
    /// Seed of sizes, contents and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

pub fn age(args: &AgeArgs) -> Result<(), CliError> {
    if !args.directory.is_dir() {
        let directory = args.directory.display();
        return Err(CliError::usage(format!(
            "cannot fill {directory}: it is not a directory. Create it first."
        )));
    }
    let fill = args
        .fill
        .unwrap_or(Fill::plain(InitialState::AGED_PERMILLE));
    let state = InitialState::of(Some(fill), args.age)
        .map_err(|(message, remedy)| CliError::usage(format!("{message}; {remedy}")))?;
    let stop = signals::cancel_token()?;
    // The bar is not drawn unless standard error is a terminal.
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let mut show = |now: Progress| {
        bar.set_length(now.of.0);
        bar.set_position(now.done.0);
        bar.set_message(filling(now.done, now.of));
    };
    let result = states::set_up(&args.directory, &state, args.seed, &stop, &mut show);
    bar.finish_and_clear();
    let reached = result.map_err(|error| match error {
        StateError::Stopped => CliError::new(
            Code::Interrupted,
            format!(
                "interrupted; the files written so far are in {}",
                args.directory.join(states::DIRECTORY).display()
            ),
        ),
        other => CliError::failure(other),
    })?;
    let line = match reached {
        Some(reached) => format!("{}: {reached}\n", args.directory.display()),
        None => "nothing to do: no fill and no age requested\n".to_owned(),
    };
    output::bytes(line.as_bytes())
}
