//! `price`: what protection costs on a file system: a run of it with and without checksums, compression,
//! snapshots, a mirror and a parity, in virtual time, and the ratios.

use super::advise::{DISK, SCALE};
use super::jobs::JobsArgs;
use super::rendering;
use super::run::{Execution, fresh, resolve_here};
use super::series::only_run;
use crate::args::{kernel, multiple, report_format};
use crate::catalogue::runs_without_daemon;
use crate::exit::{CliError, Code};
use crate::output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use fsdyno_guests::kernels;
use fsdyno_host::signals;
use fsdyno_model::{
    Contender, ContenderSpec, FilesystemKind, InitialState, KernelChoice, LabChoice, Plan,
    PricedKind,
};
use fsdyno_recipes as recipes;
use fsdyno_report::price::{PriceQuestion, Prices};
use fsdyno_report::{Format, render_prices};
use fsdyno_run::price::{PricedProtection, contenders, in_plan, protections};
use fsdyno_run::{RunOptions, user_code};
use fsdyno_store::Store;
use std::path::{Path, PathBuf};

/// The headings of the flags.
const WORKLOAD: &str = "Workload";
const PLACE: &str = "Where it is measured";

/// The default work.
const SUITE: &str = "mail";

/// The settings that a recorded run has already.
const OF_RUN: [&str; 13] = [
    "suite",
    "contenders",
    "snapshots",
    "phases",
    "work",
    "dataset",
    "scale",
    "set",
    "draws",
    "disk",
    "guest_kernel",
    "work_dir",
    "jobs",
];

const HELP: &str = "\
Compared are checksums, compression and journal as options, snapshots, a mirror
or parity of the file system or of md below it, the same after the loss of a
disk, a scrub and a rebuild, each with the same contender without it.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct PriceArgs {
    /// Suite (`fsdyno list suites`) [default: mail]
    pub suite: Option<String>,
    /// Contenders whose protections are priced, separated by commas
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append,
          required_unless_present = "run")]
    pub contenders: Vec<String>,
    /// Numbers of snapshots
    ///
    /// They are taken after the first phase, untimed; the later phases are compared. A suite of one
    /// phase has no price of snapshots.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,10,100",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(InitialState::MAX_SNAPSHOTS)))]
    pub snapshots: Vec<u32>,
    /// Kinds: option, snapshots, disks, degraded, scrub, rebuild [default: all]
    ///
    /// `disks` is a mirror and a parity, `degraded` the same after the loss of a disk, `rebuild` while it
    /// is replaced. md restores and
    /// compares whole disks, which takes most of the time.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = kind_parser(),
          hide_possible_values = true)]
    pub kinds: Vec<PricedKind>,
    /// Draws of each contender
    #[arg(long, value_name = "N", default_value_t = 6,
          value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub draws: u32,
    /// Price a run that is recorded: a name, its first characters, or `last`
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_RUN)]
    pub run: Option<String>,
    /// Phases in order, instead of the suite's
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = WORKLOAD)]
    pub phases: Vec<String>,
    /// Workload file (`fsdyno work`), instead of a suite; repeatable
    #[arg(long, value_name = "FILE", action = ArgAction::Append,
          conflicts_with_all = ["suite", "phases", "dataset"], help_heading = WORKLOAD)]
    pub work: Vec<PathBuf>,
    /// Dataset instead of the suite's: a name, tree:DIR, {tar,file,trace}:FILE
    #[arg(long, value_name = "DATASET", help_heading = WORKLOAD)]
    pub dataset: Option<String>,
    /// Size of the work as a multiple of full size [default: 0.1, with --work 1]
    #[arg(long, value_name = "X", value_parser = multiple, help_heading = WORKLOAD)]
    pub scale: Option<f64>,
    /// Parameter of a kind of phase: mail.messages=20000; may be repeated
    #[arg(long, value_name = "SETTING", help_heading = WORKLOAD)]
    pub set: Vec<String>,
    /// Model disk: a profile (`fsdyno disk list`) or its file [default: sata-ssd]
    #[arg(long, value_name = "PROFILE", help_heading = PLACE)]
    pub disk: Option<PathBuf>,
    /// Kernel of the guests instead of the lab kernel: packaged, or its path
    #[arg(long, value_name = "KERNEL", value_parser = kernel(), help_heading = PLACE)]
    pub guest_kernel: Option<KernelChoice>,
    /// Directory of image files and mount points [default: /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = PLACE)]
    pub work_dir: Option<PathBuf>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Format of standard output: terminal, html, csv, json or markdown
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
    pub format: Format,
    /// Write the prices to a file too: .html, .md, .txt, .json or .csv
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
}

pub fn price(args: &PriceArgs, path: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    output::check(args.output.as_deref(), output::existing(args.force))?;
    let of_file = rendering::format_of(None, args.output.as_deref())?;
    if !Format::OF_ALL_REPORTS.contains(&args.format) {
        let names = Format::OF_ALL_REPORTS.map(Format::name).join(", ");
        return Err(CliError::usage(format!(
            "--format {}: it has the figures of one run. Use one of {names}",
            args.format
        )));
    }
    if let Some(name) = &args.run {
        let store = Store::open_existing_read_only(path)?;
        let run = only_run(&store, name, "contenders with and without protection")?;
        return print(args, of_file, path, &run);
    }
    let plan = plan(args)?;
    let execution = Execution {
        jobs: args.jobs.clone(),
        ..Execution::silent()
    };
    let ended = fresh(plan, &execution, path, &stop)?;
    let Some(run) = ended.run else {
        return Ok(ended.code);
    };
    if ended.code == Code::Interrupted {
        output::note(format_args!("fsdyno: then: fsdyno price --run {run}"));
        return Ok(ended.code);
    }
    let printed = print(args, of_file, path, &run)?;
    Ok(if ended.code == Code::Ok {
        printed
    } else {
        ended.code
    })
}

/// Parses the name of a kind of protections.
fn kind_parser() -> impl TypedValueParser<Value = PricedKind> {
    let names = PossibleValuesParser::new(PricedKind::ALL.map(PricedKind::name));
    names.try_map(|name| {
        let found = PricedKind::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or("no such kind")
    })
}

/// The plan of all contenders with and without their protections.
fn plan(args: &PriceArgs) -> Result<Plan, CliError> {
    if args.guest_kernel.is_none() && kernels::state().is_err() {
        return Err(CliError::new(
            Code::Missing,
            "prices are measured in virtual time, which needs the lab kernel. Run fsdyno lab setup",
        ));
    }
    let bases = bases(&args.contenders)?;
    let single = resolve_here(&options(args, &bases))?;
    let mut workloads = single.workloads.iter();
    let snapshots = if workloads.all(|workload| workload.phases.len() > 1) {
        &args.snapshots[..]
    } else {
        output::note(format_args!(
            "fsdyno: a workload of one phase has no price of snapshots"
        ));
        &[]
    };
    let mut all: Vec<Contender> = Vec::new();
    for base in &bases {
        let mut priced = protections(base, snapshots);
        priced.retain(|one| is_asked(args, one));
        if priced.is_empty() {
            return Err(CliError::usage(format!(
                "--fs {}: fsdyno knows no such protection of it that can be compared with the same \
                 contender without it. Leave it out, or choose other --kinds",
                base.label
            )));
        }
        let own = contenders(base, &priced).into_iter();
        let new = own.filter(|one| all.iter().all(|other| other.label != one.label));
        let new: Vec<Contender> = new.collect();
        all.extend(new);
    }
    let plan = resolve_here(&options(args, &all))?;
    refuse_user_code(&plan)?;
    Ok(plan)
}

fn is_asked(args: &PriceArgs, priced: &PricedProtection) -> bool {
    args.kinds.is_empty() || args.kinds.contains(&priced.kind)
}

/// The contenders that are asked about.
fn bases(lists: &[String]) -> Result<Vec<Contender>, CliError> {
    let mut all: Vec<Contender> = Vec::new();
    for list in lists {
        let typed = ContenderSpec::parse_list(list, &recipes::kind_of)
            .map_err(|error| CliError::usage(format!("--fs {list}: {error}")))?;
        for spec in typed {
            let (contender, refused) = (&spec.contender, spec.lab.is_some());
            let recipe = recipes::find(&contender.filesystem);
            let recipe = recipe.filter(|one| one.kind() == FilesystemKind::Block && !refused);
            let Some(recipe) = recipe else {
                return Err(CliError::usage(format!(
                    "--fs {list}: prices are of file systems on block devices, in guests. Leave out {}",
                    contender.label
                )));
            };
            if let Some(daemon) = recipe.daemon()
                && !runs_without_daemon(recipe, true)
            {
                return Err(CliError::usage(format!(
                    "--fs {list}: virtual time does not count the processor time of {}, which is a \
                     part of the price. Leave out {}",
                    daemon.argv.first().map_or("", String::as_str),
                    contender.label
                )));
            }
            if all.iter().all(|one| one.label != contender.label) {
                all.push(spec.contender);
            }
        }
    }
    Ok(all)
}

/// Refuses programs whose own processor time virtual time does not count.
fn refuse_user_code(plan: &Plan) -> Result<(), CliError> {
    if user_code::plan("", plan).is_none() {
        return Ok(());
    }
    Err(CliError::usage(
        "virtual time does not count the processor time of the programs in this work, so that ratios \
         would be too large. Choose phases of fsdyno itself",
    ))
}

/// The settings of a run of these contenders.
fn options(args: &PriceArgs, contenders: &[Contender]) -> RunOptions {
    let no_suite = !args.work.is_empty() || !args.phases.is_empty() || args.dataset.is_some();
    let suite = args.suite.clone();
    RunOptions {
        name: Some("price".to_owned()),
        suite: suite.or_else(|| (!no_suite).then(|| SUITE.to_owned())),
        contenders: contenders.iter().map(Into::into).collect(),
        phases: args.phases.clone(),
        work: args.work.clone(),
        dataset: args.dataset.clone(),
        scale: args.scale.or_else(|| args.work.is_empty().then_some(SCALE)),
        set: args.set.clone(),
        repeats: Some(args.draws),
        margin: Some(fsdyno_stats::MARGIN),
        work_dir: args.work_dir.clone(),
        lab: Some(LabChoice::Uml),
        disk: Some(args.disk.clone().unwrap_or_else(|| PathBuf::from(DISK))),
        guest_kernel: args.guest_kernel.clone(),
        ..RunOptions::default()
    }
}

/// Prints the prices of a run, and writes them to the requested file.
fn print(args: &PriceArgs, of_file: Format, path: &Path, run: &str) -> Result<Code, CliError> {
    let set = Store::open_existing_read_only(path)?.load(run)?;
    let plan = &set.run.plan;
    refuse_user_code(plan)?;
    let questions: Vec<PriceQuestion> = in_plan(&plan.contenders)
        .into_iter()
        .filter(|one| is_asked(args, one))
        .map(question)
        .collect();
    if questions.is_empty() {
        return Err(CliError::usage(format!(
            "{run} has no contender both with and without such a protection. Measure some: fsdyno price \
             --fs LIST"
        )));
    }
    let prices = Prices::of(&set, &questions);
    let text = render_prices(&prices, args.format, &rendering::options(false, false));
    output::coloured(&text.map_err(CliError::failure)?)?;
    if let Some(file) = &args.output {
        let page = render_prices(&prices, of_file, &rendering::options(false, true));
        let page = page.map_err(CliError::failure)?;
        output::to(Some(file), &page, output::existing(args.force))?;
    }
    Ok(Code::ok_if(!prices.prices.is_empty()))
}

fn question(priced: PricedProtection) -> PriceQuestion {
    let disks = [&priced.with, &priced.without].map(|one| one.layout.devices);
    PriceQuestion {
        disks: (disks[0] != disks[1]).then_some((disks[0], disks[1])),
        base: priced.base,
        protection: priced.name,
        with: priced.with.label,
        without: priced.without.label,
        kind: priced.kind,
        also: priced.also,
        source: priced.source,
    }
}
