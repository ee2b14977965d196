//! `cpu`: model processors of virtual time. It lists and shows profiles, fits one to this machine,
//! and checks one against it.

use super::selftest::experiment;
use crate::args::JsonArgs;
use crate::commands::measuring::LockArgs;
use crate::commands::run::{self, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use crate::places::IN_MEMORY;
use clap::{Args, Subcommand};
use fsdyno_cpu::{Accuracy, Cause, Cell, Prices, Profile, ProfileError, Work};
use fsdyno_files::named::NamedError;
use fsdyno_host::signals;
use fsdyno_model::{Bytes, KernelChoice, LabChoice, Point, ResultSet, Sample};
use fsdyno_run::RunOptions;
use fsdyno_stats::median;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The operations of a fit.
const PHASES: [&str; 26] = [
    "op-create",
    "op-stat",
    "op-open",
    "op-rename",
    "op-link",
    "op-unlink",
    "op-mkdir",
    "op-rmdir",
    "op-write",
    "op-read",
    "op-random-write",
    "op-random-read",
    "copy",
    "stat-walk warm",
    "read warm",
    "grep warm",
    "delete",
    "mail-deliver",
    "mail-read",
    "mail-expunge",
    "containers-pull",
    "containers-start",
    "containers-remove",
    "mongo-create",
    "mongo-append",
    "mongo-modify",
];

/// Their parameters: each phase takes 1 to 100 ms.
const PARAMETERS: [&str; 2] = ["op.files=2000", "op.size=16M"];

/// The scale of the tree that is copied and walked.
const SCALE: f64 = 0.02;

/// The median error above which a profile does not describe this machine.
const TOLERABLE: f64 = 0.25;

#[derive(Debug, Args)]
pub struct CpuArgs {
    #[command(subcommand)]
    pub command: CpuCommand,
}

#[derive(Debug, Subcommand)]
pub enum CpuCommand {
    /// List all profiles: processors from 2004 to today
    List(JsonArgs),
    /// Print a profile in the format of a profile file
    Show {
        /// Profile (`fsdyno cpu list`), or a profile file
        profile: PathBuf,
    },
    /// Fit a profile to this machine, and print the error of each operation
    ///
    /// The same operations run on this machine, on file systems in memory, and in a guest whose
    /// kernel counts its work. The prices are those that predict most operations best.
    /// It takes three minutes on a machine at rest, as root, with the lab kernel (`fsdyno lab setup`).
    Fit(FitArgs),
    /// Check a profile against this machine; exit code 1 above 25 % median error
    Check {
        /// Profile (`fsdyno cpu list`), or a profile file
        profile: PathBuf,
        #[command(flatten)]
        measured: MeasuredArgs,
    },
}

#[derive(Debug, Args)]
pub struct FitArgs {
    /// Profile file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub measured: MeasuredArgs,
}

#[derive(Debug, Args)]
pub struct MeasuredArgs {
    /// File systems whose operations are measured
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "tmpfs,ext4,xfs,btrfs,btrfs:compress=zstd"
    )]
    pub fs: Vec<String>,
    /// Repeats on this machine; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeats: u32,
    /// Kernel of the guest: lab, or a path
    #[arg(long, value_name = "KERNEL", default_value = "lab")]
    pub guest_kernel: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub lock: LockArgs,
}

pub fn cpu(args: &CpuArgs) -> Result<Code, CliError> {
    match &args.command {
        CpuCommand::List(args) => list(args.json)?,
        CpuCommand::Show { profile } => output::bytes(load(profile)?.text.as_bytes())?,
        CpuCommand::Fit(args) => return fit(args),
        CpuCommand::Check { profile, measured } => return check(&load(profile)?, measured),
    }
    Ok(Code::Ok)
}

fn load(name: &Path) -> Result<Profile, CliError> {
    Profile::named(name).map_err(|error| match error {
        ProfileError::Named(NamedError::Unreadable { .. }) => CliError::failure(error),
        _ => CliError::usage(error),
    })
}

/// A profile as `cpu list` prints it.
#[derive(Serialize)]
struct Listed {
    name: String,
    title: String,
    source: String,
    prices: Prices,
}

fn list(json: bool) -> Result<(), CliError> {
    let mut listed = Vec::new();
    for one in &fsdyno_cpu::ALL {
        let profile = Profile::try_from(one).map_err(CliError::failure)?;
        listed.push(Listed {
            name: profile.name,
            title: profile.title,
            source: profile.source,
            prices: profile.prices,
        });
    }
    if json {
        return output::json(&listed);
    }
    let rows: Vec<Vec<String>> = listed
        .into_iter()
        .map(|one| {
            let block = format!("{:.2} ns a block", one.prices.block_ns);
            vec![one.name, block, one.title]
        })
        .collect();
    output::rows(&rows, output::width())
}

/// The operations on this machine, with the work that a guest counted.
fn measure(args: &MeasuredArgs) -> Result<Option<Vec<Cell>>, CliError> {
    let stop = signals::cancel_token()?;
    let options = RunOptions {
        contenders: args.fs.iter().map(|name| name.as_str().into()).collect(),
        dataset: Some("portage".to_owned()),
        phases: PHASES.iter().map(|name| (*name).to_owned()).collect(),
        set: PARAMETERS.iter().map(|one| (*one).to_owned()).collect(),
        scale: Some(SCALE),
        check: Some(false),
        ..RunOptions::default()
    };
    let real = RunOptions {
        lab: Some(LabChoice::Host),
        repeats: Some(args.repeats),
        work_dir: Some(PathBuf::from(IN_MEMORY)),
        ..options.clone()
    };
    let counted = RunOptions {
        lab: Some(LabChoice::Uml),
        repeats: Some(1),
        disk: Some(PathBuf::from("null")),
        cpu: Some(PathBuf::from("free")),
        guest_kernel: Some(
            KernelChoice::from_text(&args.guest_kernel)
                .ok_or_else(|| CliError::usage("--guest-kernel: write lab, or a path"))?,
        ),
        ..options
    };
    let (real, counted) = (resolve_here(&real)?, resolve_here(&counted)?);
    run::assembled(&real, &stop)?;
    output::note("fsdyno: counting the work of each operation in a guest");
    let Some(counted) = experiment(&counted, &stop)? else {
        return Ok(None);
    };
    let measuring = args.lock.take_for(&real, &stop)?;
    measuring.print_warning();
    output::note(format_args!(
        "fsdyno: measuring the same operations on this machine, {} times",
        args.repeats
    ));
    let Some(real) = experiment(&real, &stop)? else {
        return Ok(None);
    };
    let cells = cells(&real, &counted);
    if cells.is_empty() {
        return Err(CliError::new(
            Code::Missing,
            "the kernel of the guest counts no work: the lab kernel does (fsdyno lab setup)",
        ));
    }
    Ok(Some(cells))
}

/// Each operation of both runs: the processor time until it returned, and the work counted until
/// then. Load of other programs only lengthens a time, so the shortest repeat counts.
fn cells(real: &ResultSet, counted: &ResultSet) -> Vec<Cell> {
    let mut shortest: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    for record in &real.cells {
        for sample in &record.samples {
            let used = (sample.cpu.user_ns.0 + sample.cpu.system_ns.0) as f64;
            let key = (record.cell.contender, sample.label.as_str());
            let least = shortest.entry(key).or_insert(used);
            *least = least.min(used);
        }
    }
    let mut cells = Vec::new();
    for record in &counted.cells {
        let contender = &counted.run.plan.contenders[record.cell.contender as usize].label;
        for sample in &record.samples {
            let work = sample.kernel_work_until(Point::Returned);
            let key = (record.cell.contender, sample.label.as_str());
            if let (Some(work), Some(measured_ns)) = (work, shortest.get(&key)) {
                cells.push(Cell {
                    name: format!("{} {contender}", sample.label),
                    work: Work::foreground(work, searched(sample)),
                    measured_ns: *measured_ns,
                });
            }
        }
    }
    cells.sort_by(|a, b| a.name.cmp(&b.name));
    cells
}

/// The price of a byte searched: the median over the file systems of the time that a search takes
/// longer than a read of the same files.
fn search_ns(cells: &[Cell]) -> f64 {
    let measured = |operation: &str, contender: &str| {
        let mut cells = cells.iter();
        cells.find(|cell| cell.name.split_once(' ') == Some((operation, contender)))
    };
    let mut prices = Vec::new();
    for cell in cells {
        let Some(("grep", contender)) = cell.name.split_once(' ') else {
            continue;
        };
        let bytes = cell.work.0[Prices::COUNT - 1];
        if let (Some(read), true) = (measured("read", contender), bytes > 0.0) {
            prices.push((cell.measured_ns - read.measured_ns).max(0.0) / bytes);
        }
    }
    median(&prices).unwrap_or(0.0)
}

/// The bytes that fsdyno itself searched.
fn searched(sample: &Sample) -> Bytes {
    if sample.kind == fsdyno_load::phases::grep::KIND.name {
        sample.tally.bytes
    } else {
        Bytes(0)
    }
}

fn fit(args: &FitArgs) -> Result<Code, CliError> {
    output::check(args.output.as_deref(), output::existing(args.force))?;
    let Some(cells) = measure(&args.measured)? else {
        return Ok(Code::Interrupted);
    };
    let search_ns = search_ns(&cells);
    let prices = fsdyno_cpu::fit(&cells, search_ns).map_err(CliError::failure)?;
    let accuracy = fsdyno_cpu::accuracy(&cells, &prices);
    let crossed = fsdyno_cpu::cross_validated(&cells, search_ns).map_err(CliError::failure)?;
    report(
        &cells,
        &prices,
        &accuracy,
        Some(&crossed),
        args.measured.json,
    )?;
    if let Some(file) = &args.output {
        let text = profile_text(&prices, &accuracy, cells.len());
        output::save(file, text.as_bytes(), output::existing(args.force))?;
        output::note(format_args!(
            "fsdyno: wrote {}; use it with --cpu {0}",
            file.display()
        ));
    }
    Ok(Code::Ok)
}

fn check(profile: &Profile, args: &MeasuredArgs) -> Result<Code, CliError> {
    let Some(cells) = measure(args)? else {
        return Ok(Code::Interrupted);
    };
    let accuracy = fsdyno_cpu::accuracy(&cells, &profile.prices);
    report(&cells, &profile.prices, &accuracy, None, args.json)?;
    Ok(Code::ok_if(accuracy.median_error <= TOLERABLE))
}

/// An operation as JSON.
#[derive(Serialize)]
struct Judged<'a> {
    operation: &'a str,
    measured_ns: f64,
    predicted_ns: f64,
    ratio: f64,
    /// The reason why it is beyond a factor of 1.5, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
}

/// A fit or a check as JSON.
#[derive(Serialize)]
struct Report<'a> {
    prices: Prices,
    median_error: f64,
    within_factor_1_5: f64,
    rank_correlation: f64,
    cross_validated_median_error: Option<f64>,
    operations: Vec<Judged<'a>>,
}

fn report(
    cells: &[Cell],
    prices: &Prices,
    accuracy: &Accuracy,
    crossed: Option<&Accuracy>,
    json: bool,
) -> Result<(), CliError> {
    let operations: Vec<Judged<'_>> = cells
        .iter()
        .zip(&accuracy.ratios)
        .map(|(cell, ratio)| Judged {
            operation: &cell.name,
            measured_ns: cell.measured_ns,
            predicted_ns: cell.work.at(prices),
            ratio: *ratio,
            cause: Some(cell)
                .filter(|_| !Accuracy::is_close(*ratio))
                .and_then(|cell| Cause::of(cell, prices))
                .map(Cause::words),
        })
        .collect();
    if json {
        return output::json(&Report {
            prices: *prices,
            median_error: accuracy.median_error,
            within_factor_1_5: accuracy.within_half,
            rank_correlation: accuracy.rank_correlation,
            cross_validated_median_error: crossed.map(|of| of.median_error),
            operations,
        });
    }
    let mut rows = vec![output::words([
        "operation",
        "measured ms",
        "predicted ms",
        "predicted/measured",
        "cause",
    ])];
    rows.extend(operations.iter().map(|one| {
        vec![
            one.operation.to_owned(),
            format!("{:.3}", one.measured_ns / 1e6),
            format!("{:.3}", one.predicted_ns / 1e6),
            format!("{:.2}", one.ratio),
            match one.cause {
                None if Accuracy::is_close(one.ratio) => String::new(),
                cause => cause.unwrap_or("unknown").to_owned(),
            },
        ]
    }));
    output::rows(&rows, output::width())?;
    let mut text = String::new();
    for (name, price) in Prices::NAMES.iter().zip(prices.all()) {
        let _ = writeln!(text, "{name:16} {price:.4}");
    }
    let _ = writeln!(
        text,
        "median error {:.0} %, {:.0} % of {} operations within a factor of 1.5, rank correlation {:.2}",
        100.0 * accuracy.median_error,
        100.0 * accuracy.within_half,
        cells.len(),
        accuracy.rank_correlation
    );
    if let Some(crossed) = crossed {
        let _ = writeln!(
            text,
            "cross-validated (prices of one half, error on the other): median error {:.0} %",
            100.0 * crossed.median_error
        );
    }
    output::bytes(text.as_bytes())
}

fn profile_text(prices: &Prices, accuracy: &Accuracy, cells: usize) -> String {
    let machine = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = machine
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches(['\t', ' ', ':'])
        });
    // A model name is text of the kernel; quotes and backslashes would end a string of TOML.
    let model = model.replace(['"', '\\'], "'");
    let mut text = format!(
        "title = \"{model}\"\nsource = \"fsdyno cpu fit: {cells} operations on file systems \
         in memory, median error {:.0} %, rank correlation {:.2}\"\nerror = {:.2}\n\n[prices]\n",
        100.0 * accuracy.median_error,
        accuracy.rank_correlation,
        accuracy.median_error.max(0.01)
    );
    for (name, price) in Prices::NAMES.iter().zip(prices.all()) {
        let _ = writeln!(text, "{name} = {price:.5}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fitted_profile_can_be_read_again() {
        let prices = Prices::of([2.5, 300.0, 0.05, 0.02, 0.1, 2000.0, 3000.0, 0.4]);
        let accuracy = Accuracy {
            ratios: vec![1.0],
            median_error: 0.1,
            within_half: 1.0,
            rank_correlation: 0.9,
        };
        let profile = Profile::parse("mine", &profile_text(&prices, &accuracy, 60)).unwrap();
        assert_eq!(profile.prices, prices);
    }

    #[test]
    fn a_search_costs_what_it_takes_longer_than_a_read_of_the_same_files() {
        let cell = |name: &str, searched, measured_ns| Cell {
            name: name.to_owned(),
            work: Work([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, searched]),
            measured_ns,
        };
        let cells = [
            cell("read ext4", 0.0, 1000.0),
            cell("grep ext4", 1000.0, 1200.0),
            cell("read xfs", 0.0, 1000.0),
            cell("grep xfs", 1000.0, 1100.0),
            cell("read btrfs", 0.0, 1000.0),
            cell("grep btrfs", 1000.0, 900.0),
        ];
        assert!((search_ns(&cells) - 0.1).abs() < 1e-12);
        assert!(search_ns(&cells[..1]).abs() < 1e-12);
    }
}
