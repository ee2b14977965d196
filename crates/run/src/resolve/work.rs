//! The workloads of a plan: those of the plan file or the suite, with the changes of the arguments.

use super::apps;
use super::catalogue::{Catalogue, DatasetForm};
use super::config_error::ConfigError;
use super::error::ResolveError;
use super::names::{absolute, check_name};
use super::parameters;
use super::phases::{self, Draft};
use super::planfile;
use super::work_files::read_work;
use crate::resolve::options::RunOptions;
use fsdyno_load::phases::{replay, work};
use fsdyno_load::work::fio;
use fsdyno_model::{CacheState, DatasetChoice, Needs, Workload};
use std::collections::BTreeMap;
use std::path::Path;

/// The kind of phase that runs a user's command.
const EXEC: &str = "exec";

/// The workloads of the plan file or suite, with the dataset, phases and pattern of the arguments.
pub fn workloads(
    options: &RunOptions,
    from_plan: Option<Vec<Workload>>,
    here: &Path,
    catalogue: &Catalogue,
) -> Result<Vec<Workload>, ResolveError> {
    if !options.app.is_empty() {
        return apps::workloads(&options.app, here, &no_files(catalogue));
    }
    let dataset = match dataset(options, here) {
        Some(read) => {
            let read =
                read.and_then(|dataset| catalogue.form(&dataset).map(|form| (dataset, form)));
            Some(read.map_err(ResolveError::argument(dataset_flag(options)))?)
        }
        None => None,
    };
    let typed = typed(options, here, catalogue)?;
    let mut workloads = match (from_plan, &dataset) {
        (Some(workloads), _) => workloads,
        (None, Some((dataset, _))) if !typed.is_empty() => {
            vec![empty_workload(short_name(dataset), dataset)]
        }
        (None, Some((dataset, form))) => vec![default_workload(dataset, *form, catalogue)?],
        (None, None) if needs_no_dataset(options, catalogue) => {
            vec![empty_workload(name_of(&typed), &no_files(catalogue))]
        }
        (None, None) => Vec::new(),
    };
    if let Some((dataset, _)) = &dataset {
        set_dataset(&mut workloads, dataset);
    }
    if !typed.is_empty() {
        let phases =
            phases::labelled(typed).map_err(|(_, c)| ResolveError::argument("--phases")(c))?;
        for workload in &mut workloads {
            workload.phases.clone_from(&phases);
        }
    }
    if let Some(pattern) = &options.pattern {
        set_pattern(&mut workloads, pattern, catalogue)
            .map_err(ResolveError::argument("--pattern"))?;
    }
    let argument = if !options.exec.is_empty() {
        "--exec"
    } else if options.phases.is_empty() {
        dataset_flag(options)
    } else {
        "--phases"
    };
    for workload in &workloads {
        check_inputs(workload, catalogue).map_err(ResolveError::argument(argument))?;
    }
    if dataset.is_some() {
        deduplicate(&mut workloads);
    }
    Ok(workloads)
}

/// The dataset of phases that make their own files.
fn no_files(catalogue: &Catalogue) -> DatasetChoice {
    let named = catalogue.no_files();
    named.unwrap_or_else(|| DatasetChoice::parse("none"))
}

/// Whether the arguments choose a dataset.
pub fn dataset_is_given(options: &RunOptions) -> bool {
    options.dataset.is_some() || options.workload_trace.is_some()
}

/// The dataset of the arguments, if they choose one.
pub fn dataset(options: &RunOptions, here: &Path) -> Option<Result<DatasetChoice, ConfigError>> {
    if let Some(path) = &options.workload_trace {
        return Some(Ok(DatasetChoice::Trace(absolute(here, path))));
    }
    let text = options.dataset.as_ref()?;
    Some(planfile::dataset(text, here))
}

fn dataset_flag(options: &RunOptions) -> &'static str {
    match options.workload_trace {
        Some(_) => "--workload-trace",
        None => "--dataset",
    }
}

/// Gives every replay the recording of its dataset, and checks its pace.
pub fn complete_replays(workloads: &mut [Workload], pace: Option<&str>) -> Result<(), ConfigError> {
    for workload in workloads {
        let DatasetChoice::Trace(path) = &workload.dataset else {
            continue;
        };
        // The plan stores parameters as text.
        let path = path.to_string_lossy().into_owned();
        let replays = workload.phases.iter_mut();
        for phase in replays.filter(|phase| replay::is_one(&phase.kind)) {
            phase
                .parameters
                .insert(replay::TRACE.to_owned(), path.clone());
            if let Some(pace) = pace {
                phase
                    .parameters
                    .insert(replay::PACE.to_owned(), pace.to_owned());
            }
            if let Some(pace) = phase.parameters.get(replay::PACE) {
                replay::check_pace(pace).map_err(|reason| {
                    ConfigError::wrong(reason, "the paces are in docs/recordings.md")
                })?;
            }
        }
    }
    Ok(())
}

/// The phases of the arguments: those of `--phases`, then those of `--exec`.
fn typed(
    options: &RunOptions,
    here: &Path,
    catalogue: &Catalogue,
) -> Result<Vec<Draft>, ResolveError> {
    let mut typed: Vec<Draft> = Vec::new();
    for text in &options.phases {
        let list = phases::parse_list(text, catalogue);
        typed.extend(list.map_err(ResolveError::argument("--phases"))?);
    }
    for file in &options.work {
        let phases = phases_of_jobs(file, here, options)?;
        for phase in phases {
            let draft = work_draft(file, phase, here, catalogue);
            typed.push(draft.map_err(ResolveError::argument("--work"))?);
        }
    }
    if let (true, Some(prepare)) = (options.exec.is_empty(), &options.prepare) {
        let error = ConfigError::wrong(
            format!("nothing follows what `{prepare}` prepares"),
            "name a command with --exec",
        );
        return Err(ResolveError::argument("--prepare")(error));
    }
    if let Some(label) = options.label.get(options.exec.len()) {
        let error = ConfigError::wrong(
            format!("no command is left for the name `{label}`"),
            "name a command with --exec for each --label",
        );
        return Err(ResolveError::argument("--label")(error));
    }
    let warmup = options.warmup.filter(|n| *n > 0).map(|n| n.to_string());
    let yes = |option| (option == Some(true)).then(|| "yes".to_owned());
    let (ignored, everywhere) = (yes(options.ignore_failure), yes(options.exec_everywhere));
    let figures = (!options.figure.is_empty()).then(|| options.figure.join("\n"));
    // Warm-up runs are for warm caches, so the phase does not change them.
    let cache = match warmup {
        Some(_) => CacheState::AsIs,
        None => CacheState::default(),
    };
    for (number, command) in options.exec.iter().enumerate() {
        let mut given = BTreeMap::new();
        let prepare = options.prepare.as_ref().filter(|_| number == 0);
        let texts = [
            ("--exec", "command", Some(command)),
            ("--prepare", "prepare", prepare),
            ("--warmup", "warmup", warmup.as_ref()),
            ("--figure", "figure", figures.as_ref()),
            ("--ignore-failure", "ignore-failure", ignored.as_ref()),
            ("--exec-everywhere", "everywhere", everywhere.as_ref()),
        ];
        for (argument, name, text) in texts {
            if let Some(text) = text {
                let text = parameters::read(EXEC, name, text, here, catalogue)
                    .map_err(ResolveError::argument(argument))?;
                given.insert(name.to_owned(), text);
            }
        }
        let draft = Draft::new(
            EXEC,
            cache,
            options.label.get(number).cloned(),
            None,
            given,
            catalogue,
        );
        typed.push(draft.map_err(ResolveError::argument("--exec"))?);
    }
    Ok(typed)
}

/// The phases of a job file of fio, which performs all of them; none of other files, whose phase is a
/// parameter.
fn phases_of_jobs(
    file: &Path,
    here: &Path,
    options: &RunOptions,
) -> Result<Vec<Option<String>>, ResolveError> {
    let chosen = format!("{}.{}=", work::KIND.name, work::PHASE);
    if !fio::is_named_so(file) || options.set.iter().any(|set| set.starts_with(&chosen)) {
        return Ok(vec![None]);
    }
    // The text of a workload is valid.
    let (text, _) = read_work(&absolute(here, file))?;
    let phases = fsdyno_load::work::phases(&text).unwrap_or_default();
    Ok(phases.into_iter().map(|(phase, _)| phase).collect())
}

/// A phase of a workload file, named like the phase or the file.
fn work_draft(
    file: &Path,
    phase: Option<String>,
    here: &Path,
    catalogue: &Catalogue,
) -> Result<Draft, ConfigError> {
    let text = file.to_string_lossy();
    let path = parameters::read(work::KIND.name, work::FILE, &text, here, catalogue)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    Draft::new(
        work::KIND.name,
        CacheState::default(),
        Some(check_name("phase", phase.as_deref().unwrap_or(&stem))?),
        None,
        [(work::FILE, Some(path)), (work::PHASE, phase)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
        catalogue,
    )
}

/// Whether the phases of the arguments create their own input. Then no suite is used and no dataset
/// is created.
pub fn needs_no_dataset(options: &RunOptions, catalogue: &Catalogue) -> bool {
    let of_kind = |text: &String| {
        phases::parse_list(text, catalogue).is_ok_and(|drafts| {
            drafts.iter().all(|draft| {
                catalogue
                    .kind(&draft.kind)
                    .is_ok_and(|kind| parameters::needs(kind, &draft.parameters) == Needs::Nothing)
            })
        })
    };
    if !options.app.is_empty() {
        return true;
    }
    let none = options.phases.is_empty() && options.exec.is_empty() && options.work.is_empty();
    let commands = options.exec.iter().chain(&options.prepare);
    !none
        && options.suite.is_none()
        && !dataset_is_given(options)
        && options.phases.iter().all(of_kind)
        && commands.into_iter().all(|text| !text.contains("{tree}"))
}

/// The name of a workload of programs: the kind of its phases, if they have one kind.
fn name_of(drafts: &[Draft]) -> String {
    let first = drafts.first().map_or("programs", |draft| &draft.kind);
    if let ([one], Some(label)) = (drafts, drafts.first().and_then(|one| one.label.clone()))
        && work::is_one(&one.kind)
    {
        return label;
    }
    if drafts.iter().all(|draft| draft.kind == first) {
        return first.to_owned();
    }
    "programs".to_owned()
}

/// A workload without phases, which are added later.
fn empty_workload(name: String, dataset: &DatasetChoice) -> Workload {
    Workload {
        name,
        dataset: dataset.clone(),
        phases: Vec::new(),
    }
}

/// The default workload of a dataset, without a suite or a plan.
fn default_workload(
    dataset: &DatasetChoice,
    form: DatasetForm,
    catalogue: &Catalogue,
) -> Result<Workload, ResolveError> {
    let drafts = phases::default_for(form, catalogue);
    let drafts = drafts.map_err(ResolveError::argument("--dataset"))?;
    let phases =
        phases::labelled(drafts).map_err(|(_, c)| ResolveError::argument("--dataset")(c))?;
    Ok(Workload {
        name: short_name(dataset),
        dataset: dataset.clone(),
        phases,
    })
}

/// Replaces all datasets with this one. Workloads are named after their dataset, so they get the
/// new name.
fn set_dataset(workloads: &mut [Workload], dataset: &DatasetChoice) {
    for workload in workloads {
        workload.name = short_name(dataset);
        workload.dataset = dataset.clone();
    }
}

/// Removes workloads that became equal, and numbers those with equal names.
fn deduplicate(workloads: &mut Vec<Workload>) {
    let mut distinct: Vec<Workload> = Vec::new();
    for workload in workloads.drain(..) {
        if !distinct.contains(&workload) {
            distinct.push(workload);
        }
    }
    let names: Vec<String> = distinct
        .iter()
        .map(|workload| workload.name.clone())
        .collect();
    for (place, workload) in distinct.iter_mut().enumerate() {
        let before = names[..place].iter().filter(|name| **name == workload.name);
        match before.count() {
            0 => {}
            n => workload.name = format!("{} {}", workload.name, n + 1),
        }
    }
    *workloads = distinct;
}

fn set_pattern(
    workloads: &mut [Workload],
    pattern: &str,
    catalogue: &Catalogue,
) -> Result<(), ConfigError> {
    let mut set = 0;
    for phase in workloads.iter_mut().flat_map(|w| &mut w.phases) {
        if catalogue.kind(&phase.kind)?.searches {
            phase.pattern = Some(pattern.to_owned());
            set += 1;
        }
    }
    if set == 0 {
        return Err(ConfigError::wrong(
            "no phase searches for anything",
            "add a phase that does with --phases, or leave the pattern out",
        ));
    }
    Ok(())
}

/// Checks that the phases still have their inputs after dataset and phases changed.
fn check_inputs(workload: &Workload, catalogue: &Catalogue) -> Result<(), ConfigError> {
    let form = catalogue.form(&workload.dataset)?;
    let drafts: Vec<Draft> = workload
        .phases
        .iter()
        .map(|phase| Draft {
            kind: phase.kind.clone(),
            cache: phase.cache,
            label: Some(phase.label.clone()),
            pattern: phase.pattern.clone(),
            parameters: phase.parameters.clone(),
            judge: phase.judge.clone(),
        })
        .collect();
    phases::check_inputs(&drafts, form, catalogue).map_err(|(_, c)| match c {
        ConfigError::Wrong { message, help } => ConfigError::Wrong {
            message: format!("in workload `{}`: {message}", workload.name),
            help,
        },
        other => other,
    })
}

/// The short name of a dataset: its name, or the last part of its path.
pub fn short_name(dataset: &DatasetChoice) -> String {
    match dataset {
        DatasetChoice::Generated(name) => name.clone(),
        DatasetChoice::Tree(path)
        | DatasetChoice::Tar(path)
        | DatasetChoice::File(path)
        | DatasetChoice::Trace(path) => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    }
}
