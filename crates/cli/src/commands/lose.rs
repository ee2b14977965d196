//! `lose`: injects faults of disks, and reports which file systems notice or repair them.

use super::crash::{contenders, in_order, lab_for, provenance_of};
use super::jobs::JobsArgs;
use super::lab::{guest_error, guest_size};
use super::rendering;
use crate::args::kernel;
use crate::exit::{CliError, Code};
use crate::output;
use clap::{ArgAction, Args};
use fsdyno_host::signals;
use fsdyno_model::{Bytes, FaultTestsInfo, KernelChoice, LabChoice, StopReason};
use fsdyno_report::{Format, Options};
use fsdyno_run::conductor::unix_now;
use fsdyno_run::lose::{self, LoseError};
use fsdyno_store::Store;
use std::path::{Path, PathBuf};

/// The model disk of the guests. Requests take no time while files are read.
const DISK: &str = "sata-2008";

#[derive(Debug, Args)]
pub struct LoseArgs {
    /// Contenders, separated by commas (`fsdyno run --help`)
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, required = true)]
    pub contenders: Vec<String>,
    /// Most faults of each kind in blocks of each role
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub draws: u32,
    /// Seed of the places of the faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory of the guests
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Memory of a guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Kernel of a guest: packaged, lab or a path [default: lab if it is built]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Print the outcomes for each role of a block
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the report to a file too: .html, .md, .txt, .json or .csv
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
}

pub fn lose(args: &LoseArgs, store: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let existing = output::existing(args.force);
    output::check(args.output.as_deref(), existing)?;
    let format_of_file = rendering::format_of(None, args.output.as_deref())?;
    let contenders = contenders(&args.contenders, &LabChoice::Uml)?;
    let size = guest_size(
        &LabChoice::Uml,
        args.guest_memory,
        args.guest_kernel.as_ref(),
    );
    let work = std::path::absolute(&args.work_dir)?;
    let lab = lab_for(&LabChoice::Uml, &size, &work, &stop)?;
    let disk = fsdyno_lab::model_disk(Path::new(DISK)).map_err(CliError::usage)?;
    let mut store = Store::open(store)?;
    let mut info = FaultTestsInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        provenance: provenance_of(&contenders, &work),
        contenders,
        seed: args.seed,
        draws: args.draws,
        guest: size,
        command_line: crate::args::command_line(),
    };
    store.begin_fault_tests(&mut info)?;
    let id = &info.id;
    let _claim = store.claim(id)?;
    output::note(format_args!("tests {id} begin"));
    let test = |contender: &_| {
        let tested = lose::test(&lab, contender, &disk, (args.seed, args.draws));
        tested.map_err(|error| match error {
            LoseError::Guest(error) => guest_error(error),
            error @ LoseError::Healthy { .. } => CliError::failure(error),
        })
    };
    let jobs = args.jobs.count(args.guest_memory);
    let ended = in_order(&info.contenders, jobs, test, |_, test| {
        Ok(store.record_fault_test(id, &test)?)
    });
    let reason = match &ended {
        Ok(()) => Some(StopReason::Complete),
        Err(error) if error.code == Code::Interrupted => Some(StopReason::Interrupted),
        Err(_) => None,
    };
    if let Some(reason) = reason {
        store.end_fault_tests(id, reason, unix_now())?;
    }
    let tests = store.load_fault_tests(id)?;
    if tests.tests.is_empty() {
        return ended.map(|()| Code::Ok);
    }
    let render = |format, options: &Options| {
        let bytes = fsdyno_report::render_disk_faults(&tests, format, options);
        bytes.map_err(CliError::failure)
    };
    if args.json {
        output::json(&tests)?;
    } else {
        let options = Options {
            long: args.long,
            ..rendering::options(false, false)
        };
        output::coloured(&render(Format::Terminal, &options)?)?;
    }
    if let Some(file) = &args.output {
        let page = render(format_of_file, &rendering::options(false, true))?;
        output::to(Some(file), &page, existing)?;
    }
    ended?;
    let mut faults = tests.faults();
    Ok(Code::ok_if(!faults.any(|(_, one)| one.outcome.is_loss())))
}
