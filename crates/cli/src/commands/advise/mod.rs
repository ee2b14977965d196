//! `advise`: measures the file systems that meet the needs, then options of the best two, and
//! recommends one of them.

mod args;

pub use args::{AdviseArgs, CLASSES};

use crate::catalogue::{catalogue_here, unavailable};
use crate::commands::report;
use crate::commands::run::{Execution, fresh, plan_error};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_guests::kernels;
use fsdyno_host::signals;
use fsdyno_model::{
    CancelToken, Contender, ContenderSpec, Exploration, FilesystemKind, KernelChoice, LabChoice,
    Nanos, Plan, ResultSet, Step,
};
use fsdyno_recipes as recipes;
use fsdyno_report::advice::{Commands, Dropped, Question, Recommendation, VariantNote, best_two};
use fsdyno_report::{Format, Options, render_advice};
use fsdyno_run::RunOptions;
use fsdyno_run::advise::{Feature, FeatureTable};
use fsdyno_run::resolve::resolve;
use fsdyno_store::Store;
use std::path::Path;

/// The name of the runs.
const NAME: &str = "advise";

/// The model disk without `--disk`.
const DISK: &str = "sata-ssd";

/// The size of generated datasets in virtual time, with which a disk takes some seconds.
const SCALE: f64 = 0.02;

/// The time limit of a run in real time, unless a suite has its own.
const BUDGET: Nanos = Nanos(120_000_000_000);

pub fn advise(args: &AdviseArgs, store: &Path) -> Result<Code, CliError> {
    let stop = CancelToken::new();
    signals::install(&stop)?;
    let existing = output::existing(args.force);
    output::check(args.output.as_deref(), existing)?;
    let format = format_of_file(args)?;
    let table = FeatureTable::read().map_err(CliError::failure)?;
    let in_guest = is_virtual(args)?;
    if args.validate && !in_guest {
        return Err(CliError::usage(
            "--validate: without the lab kernel there is no prediction. Run fsdyno lab setup",
        ));
    }
    let (contenders, dropped) = candidates(&table, args, &|filesystem| {
        unavailable(recipes::find(filesystem)?, in_guest)
    })?;
    output::note(format_args!(
        "fsdyno: {} with their defaults, {}",
        count(contenders.len(), "contender"),
        if in_guest {
            "on a model disk in virtual time"
        } else {
            "on image files in real time (a model disk needs: fsdyno lab setup)"
        }
    ));
    let run = |contenders: &[Contender]| measure(args, contenders, in_guest, store, &stop);
    let defaults = run(&contenders)?;
    let best = best_two(&defaults);
    let (with_options, notes) = with_variants(&table, &best, &args.needs);
    let variants = if notes.is_empty() {
        None
    } else {
        output::note(format_args!(
            "fsdyno: {} of {}",
            count(notes.len(), "variant"),
            labels(&best)
        ));
        Some(run(&with_options)?)
    };
    let validated = args
        .validate
        .then(|| validate(args, &defaults, store, &stop))
        .transpose()?;
    let store = Store::open_existing_read_only(store)?;
    let explorations = explorations(&store, &defaults)?;
    let advice = Recommendation::of(&Question {
        defaults: &defaults,
        variants: variants.as_ref(),
        explorations: &explorations,
        safety: args.safety,
        dropped,
        options: &notes,
        commands: &commands,
        validated: validated.as_ref(),
    });
    let text = render_advice(&advice, Format::Terminal, &report::options(false, false));
    output::coloured(&text.map_err(CliError::failure)?)?;
    if let Some(file) = &args.output {
        let options: Options = report::options(false, true);
        let page = render_advice(&advice, format, &options).map_err(CliError::failure)?;
        output::to(Some(file), &page, existing)?;
    }
    Ok(match advice.choice {
        Some(_) => Code::Ok,
        None => Code::Failure,
    })
}

/// The format of the output file, by its extension.
fn format_of_file(args: &AdviseArgs) -> Result<Format, CliError> {
    let Some(file) = &args.output else {
        return Ok(Format::Terminal);
    };
    match Format::of_file(file).unwrap_or(Format::Terminal) {
        format @ (Format::Terminal | Format::Html | Format::Markdown) => Ok(format),
        format => Err(CliError::usage(format!(
            "-o {}: advice is no {format}. Name a file that ends in .html, .md or .txt",
            file.display()
        ))),
    }
}

/// Whether the lab kernel is there, so that figures are exact.
fn is_virtual(args: &AdviseArgs) -> Result<bool, CliError> {
    if args.guest_kernel.is_some() || kernels::state().is_ok() {
        return Ok(true);
    }
    match &args.disk {
        None => Ok(false),
        Some(disk) => Err(CliError::new(
            Code::Missing,
            format!(
                "--disk {}: a model disk in virtual time needs the lab kernel, which was not built \
                 yet. Run fsdyno lab setup, or leave out --disk to measure on image files",
                disk.display()
            ),
        )),
    }
}

/// The contenders to measure, and the dropped ones with the reasons.
fn candidates(
    table: &FeatureTable,
    args: &AdviseArgs,
    unavailable: &dyn Fn(&str) -> Option<String>,
) -> Result<(Vec<Contender>, Vec<Dropped>), CliError> {
    let all: Vec<Contender> = match &args.fs {
        Some(list) => ContenderSpec::parse_list(list, &recipes::kind_of)
            .map_err(|error| CliError::usage(format!("--fs {list}: {error}")))?
            .into_iter()
            .map(|spec| spec.contender)
            .collect(),
        // Memory and directories are no places to install.
        None => recipes::fs::ALL
            .iter()
            .filter(|recipe| recipe.kind() == FilesystemKind::Block)
            .filter(|recipe| !recipes::fs::bsd_only(**recipe))
            .map(|recipe| Contender::plain(recipe.name()))
            .collect(),
    };
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for contender in all {
        let missing = table.missing(&contender.filesystem, &args.needs);
        if !missing.is_empty() {
            let names: Vec<&str> = missing.into_iter().map(Feature::name).collect();
            let why = format!("no {}", names.join(", no "));
            dropped.push(Dropped::new(&contender.label, why));
        } else if let Some(why) = unavailable(&contender.filesystem) {
            dropped.push(Dropped::new(&contender.label, why));
        } else {
            kept.push(contender);
        }
    }
    if kept.is_empty() {
        let reasons: Vec<String> = dropped
            .iter()
            .map(|one| format!("  {}: {}", one.name, one.why))
            .collect();
        return Err(CliError::usage(format!(
            "no contender meets the needs and works here. Drop a need, or install programs:\n{}",
            reasons.join("\n")
        )));
    }
    Ok((kept, dropped))
}

/// The best contenders, each followed by its variants, with notes on these.
fn with_variants(
    table: &FeatureTable,
    best: &[Contender],
    needs: &[Feature],
) -> (Vec<Contender>, Vec<VariantNote>) {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for base in best {
        all.push(base.clone());
        for (contender, variant) in table.variants(base, needs) {
            notes.push(VariantNote {
                label: contender.label.clone(),
                base: base.label.clone(),
                why: variant.why.clone(),
                costs: variant.costs.clone(),
                source: variant.source.clone(),
            });
            all.push(contender);
        }
    }
    (all, notes)
}

/// Measures contenders, and returns the run from the store.
fn measure(
    args: &AdviseArgs,
    contenders: &[Contender],
    in_guest: bool,
    store: &Path,
    stop: &CancelToken,
) -> Result<ResultSet, CliError> {
    measure_with(&options(args, contenders, in_guest), store, stop)
}

/// Runs with these settings, and returns the run from the store.
fn measure_with(
    options: &RunOptions,
    store: &Path,
    stop: &CancelToken,
) -> Result<ResultSet, CliError> {
    let plan = resolve(options, &catalogue_here());
    let plan = Plan {
        name: NAME.to_owned(),
        ..plan.map_err(plan_error)?
    };
    let ended = fresh(plan, &Execution::silent(), store, stop)?;
    match ended.run {
        Some(run) if ended.code != Code::Interrupted => {
            Ok(Store::open_existing_read_only(store)?.load(&run)?)
        }
        _ => Err(CliError::new(Code::Interrupted, "interrupted")),
    }
}

/// Measures the contenders of a run on image files in real time.
fn validate(
    args: &AdviseArgs,
    predicted: &ResultSet,
    store: &Path,
    stop: &CancelToken,
) -> Result<ResultSet, CliError> {
    let contenders = predicted.run.plan.contenders.iter().cloned();
    let (here, missing): (Vec<Contender>, Vec<Contender>) = contenders.partition(|contender| {
        let recipe = recipes::find(&contender.filesystem);
        recipe.is_some_and(|recipe| unavailable(recipe, false).is_none())
    });
    if here.len() < 2 {
        return Err(CliError::new(
            Code::Missing,
            format!(
                "--validate: fewer than two of the contenders work on this machine without a guest. \
                 See fsdyno doctor: {}",
                labels(&missing)
            ),
        ));
    }
    output::note(format_args!(
        "fsdyno: {} on image files in real time",
        count(here.len(), "contender")
    ));
    let scale = args
        .workload_trace
        .is_none()
        .then_some(predicted.run.plan.scale);
    let options = RunOptions {
        scale,
        ..options(args, &here, false)
    };
    measure_with(&options, store, stop)
}

/// The settings of a run of these contenders.
fn options(args: &AdviseArgs, contenders: &[Contender], in_guest: bool) -> RunOptions {
    let common = RunOptions {
        suite: args.suite.clone(),
        contenders: contenders
            .iter()
            .map(|one| one.label.as_str().into())
            .collect(),
        phases: args.phases.clone(),
        dataset: args.dataset.clone(),
        workload_trace: args.workload_trace.clone(),
        scale: args.scale,
        work_dir: args.work_dir.clone(),
        lab: Some(LabChoice::Host),
        ..RunOptions::default()
    };
    if !in_guest {
        return RunOptions {
            budget: args.suite.is_none().then_some(BUDGET),
            ..common
        };
    }
    let generated = args.workload_trace.is_none();
    let guest_kernel: Option<KernelChoice> = args.guest_kernel.clone();
    RunOptions {
        scale: common.scale.or_else(|| generated.then_some(SCALE)),
        lab: Some(LabChoice::Uml),
        disk: Some(args.disk.clone().unwrap_or_else(|| DISK.into())),
        guest_kernel,
        // The same figures each time.
        repeats: Some(1),
        ..common
    }
}

/// The explorations of crash states of these file systems.
fn explorations(store: &Store, set: &ResultSet) -> Result<Vec<Exploration>, CliError> {
    let mut all = Vec::new();
    for summary in store.explorations()? {
        let exploration = store.exploration(&summary.id)?;
        let mut contenders = exploration.info.contenders.iter();
        let is_of_set = |one: &Contender| {
            let mut measured = set.run.plan.contenders.iter();
            measured.any(|other| other.filesystem == one.filesystem)
        };
        if contenders.any(is_of_set) {
            all.push(exploration);
        }
    }
    Ok(all)
}

/// The commands of the recipe that make and mount a contender.
fn commands(contender: &Contender) -> Commands {
    let Some(recipe) = recipes::find(&contender.filesystem) else {
        return Commands::default();
    };
    let devices: Vec<String> = match contender.layout.devices {
        1 => vec!["/dev/DISK".to_owned()],
        n => (1..=n).map(|n| format!("/dev/DISK{n}")).collect(),
    };
    let target = Path::new("/mnt/data");
    let make = recipe.make_for(contender, &devices, target);
    let mount = recipe.mount(contender, &devices, target);
    let fstab = mount.iter().find_map(|step| match step {
        Step::Mount {
            fstype,
            source,
            target,
            options,
        } => {
            let options = match &options[..] {
                [] => "defaults".to_owned(),
                options => options.join(","),
            };
            Some(format!(
                "{source} {} {fstype} {options} 0 2",
                target.display()
            ))
        }
        _ => None,
    });
    Commands {
        make: make.iter().map(Step::shell).collect(),
        fstab,
    }
}

fn count(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

fn labels(contenders: &[Contender]) -> String {
    let labels: Vec<&str> = contenders.iter().map(|one| one.label.as_str()).collect();
    labels.join(" and ")
}

#[cfg(test)]
mod tests;
