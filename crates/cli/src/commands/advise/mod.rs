//! `advise`: measures the file systems that meet the needs, then options of the best two, then joins
//! of the options that help, and recommends one of them.

mod args;
mod disk_file;
mod from_atlas;
mod measure;
mod question;
mod variants;

pub use args::{AdviseArgs, Survival};
pub(in crate::commands) use measure::{DISK, SCALE};

use crate::catalogue::{runs_without_daemon, unavailable};
use crate::commands::left_out::note_all_left_out;
use crate::commands::rendering;
use crate::commands::run::need_programs;
use crate::exit::{CliError, Code};
use crate::output;
use disk_file::DiskFile;
use fsdyno_guests::kernels;
use fsdyno_host::signals;
use fsdyno_load::programs::app;
use fsdyno_model::{
    CancelToken, Contender, ContenderSpec, Exploration, FaultTests, FilesystemKind, PhasePlan,
    Plan, ResultSet, Series,
};
use fsdyno_recipes::{self as recipes, layouts};
use fsdyno_report::advice::{
    Application, Dropped, Question, Recommendation, VariantNote, best_two, has_verdict,
};
use fsdyno_report::{Format, render_advice};
use fsdyno_run::advise::{Feature, FeatureTable};
use fsdyno_run::resolve::crash_test;
use fsdyno_store::{FaultTestsSummary, Store};
use measure::{Measurer, SizedRun, Stage, fitted, more_work};
use question::{AdviceQuestion, RecordedAdvice};
use std::path::Path;
use variants::Selected;

pub fn advise(args: &AdviseArgs, store: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let existing = output::existing(args.force);
    output::check(args.output.as_deref(), existing)?;
    let format = formats(args)?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(CliError::failure);
    // An advice that resumes changes the directory.
    let store = &absolute(store)?;
    let output = args.output.as_deref().map(absolute).transpose()?;
    let printed = (output.as_deref(), format);
    if let Some(name) = &args.resume {
        let advice = RecordedAdvice::read(name, store, &stop)?;
        let question = &advice.question;
        let measurer = Measurer::new(question, None, store, &stop);
        return answer(
            &measurer.resuming(&advice, args.budget),
            args,
            printed,
            store,
        );
    }
    check_application(args)?;
    if let Some(advice) = from_atlas::advice(args, store)? {
        print(&advice, args, printed)?;
        return Ok(Code::ok_if(advice.choice.is_some()));
    }
    note_all_left_out(&args.work);
    let (question, disk) = ask(args, store, &stop)?;
    let measurer = Measurer::new(&question, disk.as_ref(), store, &stop);
    answer(&measurer, args, printed, store)
}

/// The question of a new advice, with the file of a fitted model disk.
fn ask(
    args: &AdviseArgs,
    store: &Path,
    stop: &CancelToken,
) -> Result<(AdviceQuestion, Option<DiskFile>), CliError> {
    let table = FeatureTable::read().map_err(CliError::failure)?;
    let in_guest = is_virtual(args)?;
    if args.validate && !in_guest {
        return Err(CliError::usage(
            "--validate: without the lab kernel there is no prediction. Run fsdyno lab setup",
        ));
    }
    let (contenders, dropped) = candidates(&table, args, &|contender| {
        let recipe = recipes::find(&contender.filesystem)?;
        let unnamed = args.fs.is_none();
        let why = unnamed.then(|| not_advisable(recipe, in_guest)).flatten();
        why.or_else(|| unavailable(contender, in_guest))
    })?;
    let mut question = AdviceQuestion {
        args: args.clone(),
        directory: std::env::current_dir()?,
        in_guest,
        contenders,
        dropped,
        fit: None,
    };
    Measurer::new(&question, None, store, stop).check()?;
    let mut disk = None;
    if let Some(device) = &args.fit {
        let (note, file) = fitted(device, stop)?;
        (question.fit, disk) = (Some(note), Some(file));
    }
    Ok((question, disk))
}

/// Measures what is not recorded, and prints the advice.
fn answer(
    measurer: &Measurer<'_>,
    args: &AdviseArgs,
    printed: (Option<&Path>, Format),
    store: &Path,
) -> Result<Code, CliError> {
    let resume = |measurer: &Measurer<'_>| {
        let name = measurer.name();
        name.map(|name| format!("fsdyno advise --resume {name}"))
    };
    let advice = conclude(measurer, store).map_err(|error| match resume(measurer) {
        Some(command) if error.code == Code::Interrupted => {
            CliError::new(error.code, format!("interrupted; continue with: {command}"))
        }
        _ => error,
    })?;
    print(&advice, args, printed)?;
    if let Some(command) = resume(measurer).filter(|_| is_cut_short(&advice)) {
        output::note(format_args!(
            "fsdyno: the budget is used up; continue with: {command} --budget 10m"
        ));
    }
    Ok(Code::ok_if(advice.choice.is_some()))
}

/// Whether the time limit left out contenders, sizes, options or variants.
fn is_cut_short(advice: &Recommendation) -> bool {
    let robustness = advice.robustness.as_ref();
    let lacks_variants = robustness.is_some_and(|one| one.variants.len() < one.planned as usize);
    advice.unmeasured > 0 || !advice.left_out.is_empty() || lacks_variants
}

/// Measures all stages, and recommends a contender.
fn conclude(measurer: &Measurer<'_>, store: &Path) -> Result<Recommendation, CliError> {
    let table = FeatureTable::read().map_err(CliError::failure)?;
    let question = measurer.question;
    let results = measure_all(measurer, &table)?;
    let (defaults, later) = (&results.defaults.set, &results.later[..]);
    let smaller = results.defaults.multiples(&results.smaller);
    let smallest = smaller.first().map_or(defaults, |(_, set)| *set);
    let tested = Store::open_existing_read_only(store)?;
    let (explorations, fault_tests) = (explorations(&tested, defaults)?, fault_tests(&tested)?);
    let power_cuts = power_cuts(&tested)?;
    let validated = if question.args.validate {
        Some(measurer.validate(smallest)?)
    } else {
        None
    };
    let application = question
        .args
        .application()
        .map(|text| entry(text, smallest));
    let crash_test = application
        .as_deref()
        .and_then(|entry| crash_test(entry).ok());
    let asked = Question {
        defaults,
        later,
        smaller: &smaller,
        variants: &[],
        explorations: &explorations,
        safety: question.args.safety(),
        power_cuts: &power_cuts,
        fault_tests: &fault_tests,
        bitrot: question.args.survive.contains(&Survival::Bitrot),
        dead_disk: question.args.survive.contains(&Survival::Disk),
        dropped: question.dropped.clone(),
        options: &results.notes,
        left_out: results.left_out,
        fit: question.fit.clone(),
        commands: &commands,
        validated: validated.as_ref(),
        application: application.as_deref().map(|name| Application {
            name,
            size: &size,
            crash_test: crash_test.as_ref(),
        }),
    };
    // The variants compare the choice of the advice without them.
    let choice = Recommendation::of(&asked);
    let variants = measurer.variants(&choice, later.last().unwrap_or(defaults))?;
    Ok(Recommendation::of(&Question {
        variants: &variants,
        ..asked
    }))
}

/// The first phase of a plan.
fn first_phase(plan: &Plan) -> Option<&PhasePlan> {
    plan.workloads.first()?.phases.first()
}

/// An application with those of its settings that are not the defaults, as `fsdyno crash --app` takes it.
fn entry(text: &str, run: &ResultSet) -> String {
    let name = text.split('[').next().unwrap_or(text);
    let settings = first_phase(&run.run.plan).map(app::chosen);
    let settings = settings.into_iter().flatten();
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if settings.is_empty() {
        return name.to_owned();
    }
    format!("{name}[{}]", settings.join(","))
}

/// The size of the data of an application in a plan: `scale 10`.
fn size(plan: &Plan) -> Option<String> {
    let (name, value) = app::size(first_phase(plan)?)?;
    Some(format!("{name} {value}"))
}

/// Refuses an application that cannot run here, or other work next to it.
fn check_application(args: &AdviseArgs) -> Result<(), CliError> {
    let Some(text) = args.application() else {
        return Ok(());
    };
    let others = [
        ("--phases", !args.phases.is_empty()),
        ("--dataset", args.dataset.is_some()),
        ("--scale", args.scale.is_some()),
    ];
    if let Some((flag, _)) = others.iter().find(|(_, is_given)| *is_given) {
        return Err(CliError::usage(format!(
            "{flag}: an application has its own work. Change its settings: --app \
             'NAME[SETTING=VALUE]' (fsdyno list apps --long)"
        )));
    }
    need_programs(text)
}

/// The runs, with the options that were measured and those that were left out.
struct Measured {
    /// The contenders with their defaults and the work that decides: the most of which a verdict is
    /// possible.
    defaults: SizedRun,
    /// The same with less work, the least first.
    smaller: Vec<SizedRun>,
    /// With options; the last one has the contenders to choose from.
    later: Vec<ResultSet>,
    notes: Vec<VariantNote>,
    left_out: Vec<String>,
}

/// Measures the contenders, options of the best two, and joins of the options that help.
fn measure_all(measurer: &Measurer<'_>, table: &FeatureTable) -> Result<Measured, CliError> {
    output::note(format_args!(
        "fsdyno: {} with their defaults, {}",
        count(measurer.question.contenders.len(), "contender"),
        measurer.place()
    ));
    let (mut sizes, mut left_out) = measurer.at_sizes(measurer.defaults()?)?;
    let decides = sizes.iter().rposition(|one| has_verdict(&one.set));
    let undecided = sizes.split_off(decides.unwrap_or(0) + 1);
    left_out.extend(undecided.iter().map(|one| more_work(one.times)));
    let defaults = sizes.pop().ok_or_else(CliError::interrupted)?;
    let best = best_two(&defaults.set);
    let needs = &measurer.question.args.needs;
    let mut singles = Selected::singles(table, &best, needs);
    let slots = measurer.slots(&[&defaults.set], Stage::Singles);
    left_out.extend(singles.keep(slots, best.len()));
    let mut results = Measured {
        defaults,
        smaller: sizes,
        later: Vec::new(),
        notes: Vec::new(),
        left_out,
    };
    if singles.all.is_empty() {
        return Ok(results);
    }
    singles.announce("variant", &best);
    let measure =
        |contenders: &[Contender], stage| measurer.run(contenders, stage, &results.defaults);
    let run = measure(&singles.contenders(&best), Stage::Singles)?;
    results.notes.extend(singles.notes());
    let mut joins = Selected::joins(table, &best, needs, &singles, &run);
    let slots = measurer.slots(&[&results.defaults.set, &run], Stage::Joins);
    results
        .left_out
        .extend(joins.keep(slots, best.len() + joins.earlier.len()));
    results.later.push(run);
    if !joins.all.is_empty() {
        joins.announce("join", &best);
        let run = measure(&joins.contenders(&best), Stage::Joins)?;
        results.later.push(run);
        results.notes.extend(joins.notes());
    }
    Ok(results)
}

/// Prints the advice, and writes it to the output file.
fn print(
    advice: &Recommendation,
    args: &AdviseArgs,
    (file, of_file): (Option<&Path>, Format),
) -> Result<(), CliError> {
    let text = render_advice(advice, args.format, &rendering::options(false, false));
    output::coloured(&text.map_err(CliError::failure)?)?;
    if let Some(file) = file {
        let page = render_advice(advice, of_file, &rendering::options(false, true));
        let page = page.map_err(CliError::failure)?;
        output::to(Some(file), &page, output::existing(args.force))?;
    }
    Ok(())
}

/// Checks the format of standard output, and returns that of the output file, by its extension.
fn formats(args: &AdviseArgs) -> Result<Format, CliError> {
    let names = Format::OF_ALL_REPORTS.map(Format::name).join(", ");
    if !Format::OF_ALL_REPORTS.contains(&args.format) {
        return Err(CliError::usage(format!(
            "--format {}: it has the figures of one run. Use one of {names}",
            args.format
        )));
    }
    rendering::format_of(None, args.output.as_deref())
}

/// Whether the lab kernel is there, so that figures are exact.
fn is_virtual(args: &AdviseArgs) -> Result<bool, CliError> {
    if args.guest_kernel.is_some() || kernels::state().is_ok() {
        return Ok(true);
    }
    let flags = [("--disk", &args.disk), ("--fit", &args.fit)];
    let mut given = flags.into_iter();
    match given.find_map(|(flag, value)| Some((flag, value.as_ref()?))) {
        None => Ok(false),
        Some((flag, value)) => Err(CliError::new(
            Code::Missing,
            format!(
                "{flag} {}: a model disk in virtual time needs the lab kernel, which was not built \
                 yet. Run fsdyno lab setup, or leave out {flag} to measure on image files",
                value.display()
            ),
        )),
    }
}

/// The reason why a file system is a contender only by name; none if it is one by default.
fn not_advisable(recipe: &dyn recipes::Filesystem, in_guest: bool) -> Option<String> {
    let capabilities = recipe.capabilities();
    let daemon = recipe.daemon().filter(|_| in_guest);
    let uncounted = daemon.filter(|_| !runs_without_daemon(recipe, in_guest));
    let why = if !capabilities.consistency.survives_power_cuts() {
        "after a power cut a program has to repair it".to_owned()
    } else if let Some(why) = capabilities.unmaintained {
        why.to_owned()
    } else if let Some(cleaner) = capabilities.cleaner {
        format!("{cleaner} frees its space, and is not run here: its cost is not measured")
    } else {
        format!(
            "virtual time does not count the processor time of {}",
            uncounted?.argv.first()?
        )
    };
    Some(format!("{why}. Name it with --fs"))
}

/// A file system on two disks with the same contents.
fn mirrored(filesystem: &str) -> Contender {
    let text = format!("{filesystem}@mirror2");
    Contender::parse(&text, &recipes::kind_of).unwrap_or_else(|_| Contender::plain(filesystem))
}

/// The contenders to measure, and the dropped ones with the reasons.
fn candidates(
    table: &FeatureTable,
    args: &AdviseArgs,
    unavailable: &dyn Fn(&Contender) -> Option<String>,
) -> Result<(Vec<Contender>, Vec<Dropped>), CliError> {
    let survives_disk = args.survive.contains(&Survival::Disk);
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
            .map(|recipe| {
                if survives_disk {
                    mirrored(recipe.name())
                } else {
                    Contender::plain(recipe.name())
                }
            })
            .collect(),
    };
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for contender in all {
        let missing = table.missing(&contender.filesystem, &args.needs);
        if !missing.is_empty() {
            let names: Vec<&str> = missing.into_iter().map(Feature::name).collect();
            let why = format!("no {}", names.join(", no "));
            dropped.push(Dropped::new(&contender.label, why));
        } else if survives_disk && !layouts::is_redundant(&contender) {
            let why = "its files are gone with a disk";
            dropped.push(Dropped::new(&contender.label, why));
        } else if let Some(why) = unavailable(&contender) {
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

/// The series of power cuts during usual work.
fn power_cuts(store: &Store) -> Result<Vec<Series>, CliError> {
    let with_work = store.series()?.into_iter().filter(|one| one.has_activities);
    with_work
        .map(|one| Ok(store.load_series(&one.id)?))
        .collect()
}

fn fault_tests(store: &Store) -> Result<Vec<FaultTests>, CliError> {
    let all = store.fault_tests()?;
    let load = |summary: &FaultTestsSummary| Ok(store.load_fault_tests(&summary.id)?);
    all.iter().map(load).collect()
}

/// The command lines that make and mount a contender.
fn commands(contender: &Contender) -> Vec<String> {
    let devices: Vec<String> = match contender.layout.devices {
        1 => vec!["/dev/DISK".to_owned()],
        n => (1..=n).map(|n| format!("/dev/DISK{n}")).collect(),
    };
    recipes::installation::commands(contender, &devices, Path::new("/srv/data"))
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
