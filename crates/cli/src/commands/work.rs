//! `work show` and `work import`: what a workload file will do, and the translation of foreign ones.

use crate::commands::left_out::note_left_out;
use crate::commands::run::plan_error;
use crate::exit::CliError;
use crate::output;
use clap::{Args, Subcommand};
use fsdyno_load::work::{Settings, Summary, Work, lines, phases};
use fsdyno_model::{Bytes, printable};
use fsdyno_run::resolve::read_work;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct WorkArgs {
    #[command(subcommand)]
    pub command: WorkCommand,
}

#[derive(Debug, Subcommand)]
pub enum WorkCommand {
    /// Print what a workload does: files, operations and bytes of each step
    Show(ShowArgs),
    /// Translate a personality of Filebench (x.f) or a job of fio (x.fio)
    Import(ImportArgs),
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Workload file, personality of Filebench (x.f) or job file of fio (x.fio)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print the first N operations of each worker instead, as lines of `crash --ops`
    #[arg(long, value_name = "N")]
    pub first: Option<usize>,
    /// Seed of sizes and choices
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Personality of Filebench (x.f) or job file of fio (x.fio)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

pub fn work(command: &WorkCommand) -> Result<(), CliError> {
    match command {
        WorkCommand::Show(args) => {
            let (text, _) = read_work(&args.file).map_err(plan_error)?;
            note_left_out(&args.file, &text);
            let settings = Settings {
                seed: args.seed,
                ..Settings::default()
            };
            let mut shown = String::new();
            for (number, (phase, work)) in phases(&text).unwrap_or_default().iter().enumerate() {
                if let Some(phase) = phase {
                    let blank = if number > 0 { "\n" } else { "" };
                    let _ = writeln!(shown, "{blank}# phase {}", printable(phase));
                }
                shown += &match args.first {
                    Some(first) => first_operations(work, &settings, first),
                    None => show(work, &settings),
                };
            }
            output::bytes(shown.as_bytes())
        }
        WorkCommand::Import(args) => {
            let (text, _) = read_work(&args.file).map_err(plan_error)?;
            output::bytes(text.as_bytes())
        }
    }
}

fn first_operations(work: &Work, settings: &Settings, first: usize) -> String {
    let mut text = String::new();
    for (number, lines) in (1..).zip(lines(work, settings, first)) {
        let _ = writeln!(text, "# worker {number}");
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// The size that a step works on; empty if it transfers nothing.
fn size(bytes: Bytes) -> String {
    if bytes.is_zero() {
        String::new()
    } else {
        bytes.to_string()
    }
}

fn show(work: &Work, settings: &Settings) -> String {
    let summary = Summary::of(work, settings);
    let mut text = String::new();
    if let Some(title) = &work.title {
        let _ = writeln!(text, "{}\n", printable(title));
    }
    for (name, files, bytes) in &summary.files {
        let _ = writeln!(text, "files {name}: {files} before it begins, {bytes}");
    }
    for (number, group) in (1..).zip(&summary.groups) {
        let _ = writeln!(text, "\nworkers {number}");
        for step in group {
            let (operations, size) = (step.operations, size(step.bytes));
            let line = format!("{operations:>12} {size:>10}  {}", step.text);
            let _ = writeln!(text, "{line}");
        }
    }
    let _ = writeln!(
        text,
        "\n{} workers, {} operations, {} read and written, up to {} on the device",
        summary.workers,
        summary.operations(),
        summary.bytes(),
        summary.space
    );
    if let Some(time) = summary.time {
        let _ = writeln!(
            text,
            "Some workers end after {time}. The numbers are those of their first operations"
        );
    }
    text
}
