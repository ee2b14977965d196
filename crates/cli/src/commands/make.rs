//! `make`: creates a dataset in a directory.

use super::consent::ConsentArgs;
use crate::args::multiple;
use crate::exit::{CliError, Code};
use crate::output;
use crate::screen::written::Written;
use clap::Args;
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_datasets::{Dataset, DatasetError, Form};
use fsdyno_files::refuse_foreign_dir;
use fsdyno_host::destination::Writes;
use fsdyno_host::{signals, space};
use fsdyno_load::made::{Made, RECORD};
use fsdyno_model::{Bytes, DatasetChoice};
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The time between two readings of the space that is used.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub struct MakeArgs {
    /// Dataset: a name, `tree:DIR`, `tar:FILE`, `file:FILE` or `trace:FILE`
    pub dataset: String,
    /// Directory to create it in; it must exist
    #[arg(long = "in", value_name = "DIR")]
    pub directory: PathBuf,
    /// Size as a multiple of full size
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        value_parser = multiple,
        allow_negative_numbers = true
    )]
    pub scale: f64,
    /// Seed of names, sizes and contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Create the archive that the phase `untar` unpacks
    #[arg(long)]
    pub archive: bool,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

/// The error of a directory that fsdyno created but cannot record, and so may not delete later.
pub fn not_recorded(directory: &Path, error: &io::Error) -> CliError {
    let record = directory.join(RECORD);
    CliError::failure(format!(
        "cannot write {}: {error}; `fsdyno phase` will not use the files in that directory",
        record.display()
    ))
}

pub fn make(args: &MakeArgs) -> Result<(), CliError> {
    if !args.directory.is_dir() {
        let directory = args.directory.display();
        return Err(CliError::usage(format!(
            "cannot create a dataset in {directory}: it is not a directory. Create it first."
        )));
    }
    refuse_foreign_dir(&args.directory).map_err(CliError::usage)?;
    let stop = signals::cancel_token()?;
    let choice = DatasetChoice::parse(&args.dataset);
    let room = space::free(&args.directory)?;
    let dataset = fsdyno_datasets::open(&choice, args.seed, args.scale, Some(room), &stop)
        .map_err(|error| match error {
            DatasetError::Stopped => {
                CliError::new(Code::Interrupted, "interrupted; nothing was made")
            }
            error => CliError::usage(error),
        })?;
    let mut work_dir = WorkDir::new(&args.directory);
    let form = if args.archive {
        Form::Archive
    } else {
        Form::Tree
    };
    let made = Made::read(&args.directory).map_err(CliError::usage)?;
    let writes = writes(dataset.as_ref(), form);
    args.consent.ask("make", &args.directory, &writes, &stop)?;
    let create = || dataset.create(&mut work_dir, form, &stop);
    let created = showing_progress(&args.directory, writes.bytes, create);
    // A partial dataset is recorded too.
    made.record()
        .map_err(|error| not_recorded(&args.directory, &error))?;
    let warnings = match created {
        Err(DatasetError::Stopped) => {
            return Err(CliError::new(
                Code::Interrupted,
                "interrupted; the dataset is incomplete",
            ));
        }
        other => other.map_err(CliError::failure)?,
    };
    for warning in warnings {
        output::note(format_args!(
            "fsdyno: {}; {}",
            warning.message, warning.advice
        ));
    }
    let facts = dataset.facts();
    let created = work_dir
        .archive
        .as_ref()
        .or(work_dir.newest())
        .cloned()
        .unwrap_or_default();
    let line = format!(
        "{}: {} files, {} directories, {} ({})\n",
        created.display(),
        facts.files,
        facts.directories,
        facts.bytes,
        facts.about
    );
    output::bytes(line.as_bytes())
}

fn writes(dataset: &dyn Dataset, form: Form) -> Writes {
    let facts = dataset.facts();
    let (space, files) = match form {
        Form::Tree => (facts.footprint, facts.files),
        Form::Archive => (facts.archive_bytes.unwrap_or(facts.footprint), 1),
    };
    Writes {
        space,
        bytes: space,
        files: Some(files),
        fills: false,
    }
}

/// Shows the space that a file system lost to the work while it runs.
fn showing_progress<T>(directory: &Path, of: Bytes, work: impl FnOnce() -> T) -> T {
    let used = || space::used(directory).unwrap_or_default().0;
    let before = used();
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut written = Written::new("make");
            while end.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                written.show(Bytes(used().saturating_sub(before).min(of.0)), of);
            }
        });
        let result = work();
        drop(ended);
        result
    })
}
