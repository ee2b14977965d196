//! `compare`: compares runs with the first of them, over kernels, machines or dates. It also checks
//! thresholds.

use super::profiling;
use crate::args::percent;
use crate::exit::{CliError, Code};
use crate::output;
use clap::{ArgAction, Args};
use fsdyno_host::signals;
use fsdyno_model::ResultSet;
use fsdyno_report::compare::{
    Checked, Comparisons, RunComparison, Threshold, ThresholdResult, check, named,
};
use fsdyno_report::functions::repeated_of;
use fsdyno_report::{Format, Options, render_run_comparison};
use fsdyno_store::{Detail, Store};
use std::path::Path;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub struct CompareArgs {
    /// Runs: names, first characters, or `last`; each is compared with the first
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// Exit with code 5 if a ratio is beyond this, such as 'copy.durable > 1.05'
    ///
    /// The form is PHASE.FIGURE > RATIO. The ratio is the one to the first run. PHASE may be * or
    /// WORKLOAD/PHASE, and FIGURE is one of docs/reference/figures.md, or one that a program reports.
    #[arg(long, value_name = "THRESHOLD", action = ArgAction::Append)]
    pub fail_if: Vec<String>,
    /// Exit with code 5 also if the verdict is inconclusive
    #[arg(long, requires = "fail_if")]
    pub fail_on_inconclusive: bool,
    /// Compare phases of the same name even if the plans differ
    #[arg(long)]
    pub force: bool,
    /// Print the kernel functions whose counts changed in this phase
    ///
    /// In virtual time: repeats the median cell of each contender of two runs with a profile. Of runs with
    /// `--profile`: compares their samples. Functions are matched by name, so runs of two kernels show what
    /// changed between them. JSON is a list.
    #[arg(long, value_name = "PHASE", conflicts_with_all = ["fail_if", "force", "margin"])]
    pub functions: Option<String>,
    /// Smallest difference that matters, in percent [default: margin of first run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Print all figures, not only one screen
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn compare(args: &CompareArgs, path: &Path) -> Result<Code, CliError> {
    let thresholds = args.fail_if.iter().map(|text| text.parse());
    let thresholds: Vec<Threshold> = thresholds
        .collect::<Result<_, _>>()
        .map_err(CliError::usage)?;
    let store = Store::open_existing_read_only(path)?;
    let detail = if args.functions.is_some() {
        Detail::All
    } else {
        Detail::Latencies
    };
    let load = |name: &String| -> Result<ResultSet, CliError> {
        let id = store.resolve(name)?;
        Ok(store.load_with_variants(detail, &id)?)
    };
    let sets: Vec<ResultSet> = args.runs.iter().map(load).collect::<Result<_, _>>()?;
    let Some((base, others)) = sets.split_first() else {
        return Err(CliError::usage(
            "cannot compare fewer than two runs. Name two: fsdyno compare RUN RUN",
        ));
    };
    if let Some(phase) = &args.functions {
        return functions(args, &sets, phase, path);
    }
    let margin = args.margin.unwrap_or(base.run.plan.margin);
    let figures = named(&thresholds, &sets);
    let all: Vec<RunComparison> = others
        .iter()
        .map(|other| RunComparison::of(base, other, margin, &figures))
        .collect();
    if !args.force {
        all.iter().try_for_each(comparable)?;
    }
    let checked = all.iter().map(|comparison| check(comparison, &thresholds));
    let checked: Vec<Vec<Checked<'_>>> =
        checked.collect::<Result<_, _>>().map_err(CliError::usage)?;
    if args.json {
        let all = all.iter().cloned().zip(&checked);
        let all = all.map(|(run, checked)| (run, checked.iter().map(Into::into).collect()));
        output::json(&Comparisons::of(&all.collect::<Vec<_>>()))?;
    } else {
        let options = Options {
            long: args.long,
            ..super::rendering::options(false, false)
        };
        for (at, (comparison, checked)) in all.iter().zip(&checked).enumerate() {
            let text = render_run_comparison(comparison, checked, Format::Terminal, &options);
            let gap: &[u8] = if at > 0 { b"\n" } else { b"" };
            output::bytes(gap)?;
            output::coloured(&text.map_err(CliError::failure)?)?;
        }
    }
    let beyond = |one: &Checked<'_>| {
        one.holds == ThresholdResult::Beyond
            || (args.fail_on_inconclusive && one.holds == ThresholdResult::Inconclusive)
    };
    Ok(if checked.iter().flatten().any(beyond) {
        Code::Beyond
    } else {
        Code::Ok
    })
}

/// Compares the profiles of each contender that both runs have.
fn functions(
    args: &CompareArgs,
    sets: &[ResultSet],
    phase: &str,
    store: &Path,
) -> Result<Code, CliError> {
    let [base, other] = sets else {
        return Err(CliError::usage("--functions compares two runs: name two"));
    };
    let comparison = RunComparison::of(base, other, base.run.plan.margin, &[]);
    comparable(&comparison)?;
    for one in &comparison.differences {
        output::note(format_args!(
            "fsdyno: {}: {} and {}",
            one.what, one.base, one.run
        ));
    }
    let stop = signals::cancel_token()?;
    let run = format!("{} and {}", base.run.id, other.run.id);
    let options = Options {
        long: args.long,
        ..super::rendering::options(false, false)
    };
    let mut all = Vec::new();
    for contender in &base.run.plan.contenders {
        let label = &contender.label;
        if other
            .run
            .plan
            .contenders
            .iter()
            .all(|one| one.label != *label)
        {
            continue;
        }
        let of = |set| repeated_of(set, label, phase).map_err(CliError::usage);
        let (Some(one), Some(two)) = (of(base)?, of(other)?) else {
            continue;
        };
        let functions = profiling::compare(&run, [(base, &one), (other, &two)], store, &stop)?;
        if !args.json {
            output::coloured(&functions.render(Format::Terminal, &options)?)?;
        }
        all.push(functions);
    }
    if all.is_empty() {
        return Err(CliError::usage(format!(
            "no contender was measured in {phase} of both runs"
        )));
    }
    if args.json {
        output::json(&all)?;
    }
    Ok(Code::Ok)
}

/// Refuses runs that measured different things.
fn comparable(comparison: &RunComparison) -> Result<(), CliError> {
    let forbids = comparison.differences.iter().filter(|one| one.forbids);
    let lines: Vec<String> = forbids
        .map(|one| format!("  {}: {} -> {}", one.what, one.base, one.run))
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "cannot compare {} and {}: they measured different things:\n{}\nto compare phases of the \
         same name anyway, add --force",
        comparison.base,
        comparison.run,
        lines.join("\n")
    )))
}
