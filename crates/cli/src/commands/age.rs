//! `age`: fills and ages the file system of a directory. Scripts and `run --dry-run` use it.

use super::consent::ConsentArgs;
use crate::exit::{CliError, Code};
use crate::output;
use crate::screen::written::Written;
use clap::Args;
use fsdyno_datasets::states::{self, Progress, Space, StateError};
use fsdyno_files::refuse_foreign_dir;
use fsdyno_host::destination::Writes;
use fsdyno_host::signals;
use fsdyno_model::{Fill, InitialState};
use std::fs::File;
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
    #[command(flatten)]
    pub consent: ConsentArgs,
}

pub fn age(args: &AgeArgs) -> Result<(), CliError> {
    if !args.directory.is_dir() {
        let directory = args.directory.display();
        return Err(CliError::usage(format!(
            "cannot fill {directory}: it is not a directory. Create it first."
        )));
    }
    refuse_foreign_dir(&args.directory).map_err(CliError::usage)?;
    let fill = args
        .fill
        .unwrap_or(Fill::plain(InitialState::AGED_PERMILLE));
    let state = InitialState::of(Some(fill), args.age)
        .map_err(|(message, remedy)| CliError::usage(format!("{message}; {remedy}")))?;
    let stop = signals::cancel_token()?;
    if let Some(writes) = writes(args, &state)? {
        args.consent.ask("age", &args.directory, &writes, &stop)?;
    }
    let mut written = Written::new("age");
    let mut show = |now: Progress| written.show(now.done, now.of);
    let result = states::set_up(&args.directory, &state, args.seed, &stop, &mut show);
    drop(written);
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

/// What the state writes; none if it is fresh.
fn writes(args: &AgeArgs, state: &InitialState) -> Result<Option<Writes>, CliError> {
    let space = File::open(&args.directory).and_then(|open| Ok(Space::now(&open)?));
    let space = space.map_err(|error| {
        let directory = args.directory.display();
        CliError::usage(format!(
            "cannot read the free space of {directory}: {error}"
        ))
    })?;
    Ok(states::expected(state, &space).map(|expected| Writes {
        space: expected.space,
        bytes: expected.written,
        files: Some(expected.files),
        fills: true,
    }))
}
