//! `bisect`: finds the commit of a kernel repository that changed a figure of a file system. It builds
//! kernels, measures one cell of each in virtual time, and halves the history.

mod args;
mod bench;
mod kept;
mod machine;
mod summary;

pub use args::BisectArgs;

use crate::commands::jobs::compile_jobs;
use crate::commands::left_out::note_left_out;
use crate::commands::profiling::{self, Compared};
use crate::commands::run::{check_early, plan_error};
use crate::exit::{CliError, Code};
use crate::output;
use bench::{Recorded, interrupted};
use fsdyno_guests::kernels::Repository;
use fsdyno_host::signals;
use fsdyno_load::programs::apps;
use fsdyno_load::work::phases;
use fsdyno_model::{CancelToken, Nanos};
use fsdyno_report::functions::repeated_of;
use fsdyno_run::bisect::{Bench as _, Judged};
use fsdyno_run::bisect::{Change, Found, Question, Role, Step, Tried, is_paired};
use fsdyno_run::resolve::read_work;
use fsdyno_store::Store;
use kept::{AttemptResult, CellSettings, Kept, OwnWork, Search};
use machine::{Here, git_error, short};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use summary::{Guilty, functions_text};

/// The model disk, unless another one is named.
const DEFAULT_DISK: &str = "sata-ssd";

/// The dataset of phases and its size, unless others are named.
const DEFAULT_DATASET: &str = "mixed";
const DEFAULT_SCALE: f64 = 0.02;

/// The file of the report to mail, in the directory of a search.
const REPORT: &str = "report.txt";

pub fn bisect(args: &BisectArgs, store: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let store = std::path::absolute(store)?;
    let all = store.with_file_name("bisects");
    let run = || {
        let search = match &args.resume {
            Some(name) => Kept::find(&all, name)?,
            None => search_of(args)?,
        };
        let kept = Kept::begin(&all, &search)?;
        let here = here(args, &search, &kept, (&store, &stop))?;
        let mut bench = Recorded {
            machine: here,
            kept: &kept,
            metric: search.metric.clone(),
            steps: 0,
        };
        let ended = if args.step {
            step(args, &search, &mut bench)
        } else {
            output::note(format_args!(
                "fsdyno: search {}; its files are in {}. A search that ends early resumes with: \
                 fsdyno bisect --resume {}",
                search.name(),
                kept.folder().display(),
                search.name()
            ));
            searched(&search, &mut bench).map(|()| Code::Ok)
        };
        ended.map_err(|error| match error.code {
            Code::Interrupted => interrupted(&search.name()),
            _ => error,
        })
    };
    let ended = run();
    match ended {
        // `git bisect run` ends the search at such a code.
        Err(error) if args.step => Err(CliError::new(Code::Abort, error)),
        ended => ended,
    }
}

/// The search that the arguments request.
fn search_of(args: &BisectArgs) -> Result<Search, CliError> {
    let repository = Repository::open(&args.repo).map_err(git_error)?;
    let commit = |revision: &Option<String>| {
        let revision = revision.as_deref();
        let found = revision.map(|revision| repository.commit(revision));
        found.transpose().map_err(git_error)
    };
    let (good, bad) = (commit(&args.good)?, commit(&args.bad)?);
    let good = good.ok_or_else(|| CliError::usage("--good: name a revision"))?;
    let kernel = "arch/um/Makefile";
    if !repository.has_file(&good, kernel).map_err(git_error)? {
        let (repo, good) = (args.repo.display(), args.good.as_deref().unwrap_or(&good));
        return Err(CliError::usage(format!(
            "--repo {repo}: {good} has no {kernel}. Only Linux kernels with User-mode Linux can be \
             measured: name a repository of kernel sources"
        )));
    }
    if let Some(bad) = &bad {
        follows(&repository, &good, bad)?;
    }
    let is_paired = is_paired(&args.metric);
    if is_paired && (args.disk.is_some() || args.cpu.is_some()) {
        return Err(CliError::usage(
            "--metric cpu measures in real time, on disks in memory. Leave out --disk and --cpu",
        ));
    }
    let work = args.work.as_deref().map(|file| own_work(file, args));
    let work = work.transpose()?;
    let is_own = work.is_some() || args.app.is_some();
    let named = work.as_ref().map(|work| work.name.clone());
    let phase = named.or_else(|| args.phase.clone()).unwrap_or_default();
    let phases = match args.phases.as_slice() {
        _ if is_own => Vec::new(),
        [] => vec![phase.clone()],
        phases => phases.to_vec(),
    };
    let of_phases = || (!is_own).then(|| DEFAULT_DATASET.to_owned());
    Ok(Search {
        schema: Search::SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repo: args.repo.canonicalize()?,
        good,
        bad,
        metric: args.metric.clone(),
        threshold: args.threshold,
        max_repeats: is_paired.then_some(args.max_repeats),
        cell: CellSettings {
            fs: args.fs.clone().unwrap_or_default(),
            phase,
            phases,
            work,
            app: args.app.as_deref().map(app).transpose()?,
            disk: match &args.disk {
                Some(disk) => Some(file(disk)?),
                None => (!is_paired).then(|| DEFAULT_DISK.into()),
            },
            cpu: args.cpu.as_deref().map(file).transpose()?,
            dataset: args.dataset.clone().or_else(of_phases),
            scale: match args.scale {
                Some(scale) => scale,
                None if is_own => 1.0,
                None => DEFAULT_SCALE,
            },
            set: args.set.clone(),
            device: args.device.clone(),
            seed: args.seed,
            guest_memory: args.guest_memory.map(|size| size.0.to_string()),
        },
    })
}

/// Refuses ends of which the bad one does not follow the good one.
fn follows(repository: &Repository, good: &str, bad: &str) -> Result<(), CliError> {
    let base = repository.merge_base(good, bad).map_err(git_error)?;
    if base.as_deref() == Some(good) && good != bad {
        return Ok(());
    }
    let remedy = match base {
        Some(base) if base == bad => "exchange the two".to_owned(),
        Some(base) => format!("their common ancestor is {base}: name it as --good"),
        None => "they have no common ancestor".to_owned(),
    };
    Err(CliError::usage(format!(
        "--bad {bad}: it does not follow --good {good}; {remedy}"
    )))
}

/// The workload of a file.
fn own_work(file: &Path, args: &BisectArgs) -> Result<OwnWork, CliError> {
    let (text, work) = read_work(file).map_err(plan_error)?;
    note_left_out(file, &text);
    let has_number = |setting: &String| setting.starts_with("work.operations=");
    if is_paired(&args.metric) && work.ends_by_time() && !args.set.iter().any(has_number) {
        return Err(CliError::usage(format!(
            "--work {}: some workers end by time, so that a faster kernel does more work. Set a number \
             of operations: --set work.operations=100000",
            file.display()
        )));
    }
    let phases = phases(&text).unwrap_or_default();
    let chooses = |setting: &String| setting.starts_with("work.phase=");
    if let ([first, _, ..], false) = (&phases[..], args.set.iter().any(chooses)) {
        return Err(CliError::usage(format!(
            "--work {}: it has {} phases. Choose one: --set work.phase={}",
            file.display(),
            phases.len(),
            first.0.as_deref().unwrap_or_default()
        )));
    }
    let name = file.file_stem().unwrap_or_default();
    Ok(OwnWork {
        name: name.to_string_lossy().into_owned(),
        text,
    })
}

/// An application by its name, or its file by an absolute path; with its settings.
fn app(text: &str) -> Result<String, CliError> {
    let name = text.split('[').next().unwrap_or(text);
    if apps::find(name).is_some() || !Path::new(name).exists() {
        return Ok(text.to_owned());
    }
    let path = std::path::absolute(name)?;
    Ok(text.replacen(name, &path.to_string_lossy(), 1))
}

/// A profile by its name, or its file by an absolute path: a search may resume elsewhere.
fn file(name: &Path) -> Result<PathBuf, CliError> {
    if name.components().count() > 1 {
        return Ok(std::path::absolute(name)?);
    }
    Ok(name.to_owned())
}

/// This machine, after the settings of the cell were checked.
fn here<'a>(
    args: &BisectArgs,
    search: &'a Search,
    kept: &Kept,
    (store, stop): (&'a Path, &'a CancelToken),
) -> Result<Here<'a>, CliError> {
    let here = Here {
        repository: Repository::open(&search.repo).map_err(git_error)?,
        search,
        folder: kept.folder().to_owned(),
        store,
        work_dir: args.work_dir.clone(),
        jobs: compile_jobs(args.jobs),
        stop,
        user_code: OnceCell::new(),
    };
    // Wrong settings are reported before a kernel is built.
    let plan = here.plan(Path::new("/proc/self/exe"), None)?;
    check_early(&plan, store, stop)?;
    Ok(here)
}

/// Searches, and prints the result.
fn searched(search: &Search, bench: &mut Recorded<'_, Here<'_>>) -> Result<(), CliError> {
    let Some(bad) = &search.bad else {
        return Err(CliError::usage("--bad: name a revision"));
    };
    let question = Question {
        good: search.good.clone(),
        bad: bad.clone(),
        metric: search.metric.clone(),
        threshold: search.threshold,
    };
    let found = question.search(bench)?;
    let (commit, before, figures_before, figures) = match found {
        Found::Commit {
            commit,
            before,
            figures_before,
            figures,
        } => (commit, before, figures_before, figures),
        other => return Err(CliError::new(Code::Undecided, undecided(search, &other))),
    };
    let repository = &bench.machine.repository;
    let about = |commit: &str| repository.about(commit).map_err(git_error);
    let run = |commit: &str| -> Result<String, CliError> {
        let attempt = bench.kept.attempt(commit)?;
        Ok(match attempt.map(|attempt| attempt.result) {
            Some(AttemptResult::Measured { run, .. }) => run,
            _ => String::new(),
        })
    };
    let runs = [run(&before)?, run(&commit)?];
    let functions = functions(search, &bench.machine, [&before, &commit], &runs)?;
    let guilty = Guilty {
        search,
        folder: bench.kept.folder(),
        about: &about(&commit)?,
        changes: &repository.changes(&commit).map_err(git_error)?,
        before: &about(&before)?,
        figures_before: &figures_before,
        figures: &figures,
        functions,
        runs,
        builds: bench.steps as usize,
        user_code: match bench.kept.attempt(&search.good)?.map(|one| one.result) {
            Some(AttemptResult::Measured { figures, .. }) => figures.user_code,
            _ => None,
        },
    };
    let text = guilty.text();
    output::save(
        &bench.kept.folder().join(REPORT),
        guilty.mail().as_bytes(),
        fsdyno_files::Existing::Replace,
    )?;
    output::bytes(text.as_bytes())
}

/// The functions whose counts the commit changed, as text; the reason why they are not known if they could
/// not be profiled. Empty for kernels that count nothing.
fn functions(
    search: &Search,
    here: &Here<'_>,
    commits: [&str; 2],
    runs: &[String; 2],
) -> Result<String, CliError> {
    if !here.counts() {
        return Ok(String::new());
    }
    let store = Store::open_existing_read_only(here.store)?;
    let sets = [store.load(&runs[0])?, store.load(&runs[1])?];
    let of = |set| repeated_of(set, &search.cell.fs, &search.cell.phase).map_err(CliError::failure);
    let (Some(mut one), Some(mut other)) = (of(&sets[0])?, of(&sets[1])?) else {
        return Ok(String::new());
    };
    [one.label, other.label] = commits.map(|commit| short(commit).to_owned());
    let run = format!("{} and {}", runs[0], runs[1]);
    let pair = [(&sets[0], &one), (&sets[1], &other)];
    match profiling::compare(&run, pair, here.store, here.stop) {
        Ok(Compared::Exact(functions)) => Ok(functions_text(&functions)),
        // A search measures without --profile.
        Ok(Compared::Sampled(_)) => Ok(String::new()),
        Err(error) if error.code == Code::Interrupted => Err(error),
        Err(error) => Ok(format!(
            "The functions that changed are not known: {error}\n"
        )),
    }
}

/// The reason why no commit was found.
fn undecided(search: &Search, found: &Found) -> String {
    let Search {
        metric, threshold, ..
    } = search;
    match found {
        Found::NoDifference { good, bad } => format!(
            "good and bad do not differ by more than {threshold}: {metric} {good} and {bad}. Choose other \
             revisions, another phase or metric, or a smaller --threshold"
        ),
        Found::Inconclusive(paired) => format!(
            "the comparison of good and bad is inconclusive: {paired}. Choose another --threshold or \
             a larger --scale, raise --max-repeats, or end other work of this machine"
        ),
        Found::DependsOnUserCode {
            good,
            bad,
            user_code,
        } => format!(
            "good and bad differ by more than {threshold}, {metric} {} and {}, but not with the user code \
             that virtual time does not count: up to {}, as measured on the host. Choose a smaller \
             --threshold, or a metric of the kernel's work (--metric blocks)",
            Nanos(*good),
            Nanos(*bad),
            Nanos(*user_code)
        ),
        Found::NotExact(paired) if is_paired(metric) => format!(
            "the good commit, compared with itself, is not equivalent within {threshold}: {paired}. \
             Choose a larger --threshold or --scale, raise --max-repeats, or end other work of this \
             machine"
        ),
        Found::NotExact(difference) => format!(
            "the good commit, measured twice, does not have the same figures: {difference}. This is \
             an error of fsdyno or of the kernel's virtual time, so nothing is decided. Please report \
             it"
        ),
        Found::NoEnd { role, why } => {
            let end = match role {
                Role::Bad => "bad",
                _ => "good",
            };
            format!("the {end} commit cannot be measured: {why}. Choose a commit near it")
        }
        Found::Among(commits) => format!(
            "the commits that are left cannot be built or measured; the first with the change is one \
             of:\n  {}",
            commits.join("\n  ")
        ),
        Found::NoFigure => format!("the phase has no figure {metric}"),
        Found::Commit { commit, .. } => commit.clone(),
    }
}

/// Judges the commit that is checked out.
fn step(
    args: &BisectArgs,
    search: &Search,
    bench: &mut Recorded<'_, Here<'_>>,
) -> Result<Code, CliError> {
    let question = Question {
        good: search.good.clone(),
        bad: search.bad.clone().unwrap_or_default(),
        metric: search.metric.clone(),
        threshold: search.threshold,
    };
    let figures = |bench: &mut Recorded<'_, Here<'_>>, commit: &str, role| {
        let failed = |found| CliError::failure(undecided(search, &found));
        match bench.measure(commit, role)? {
            Tried::Skipped(why) => Err(failed(Found::NoEnd { role, why })),
            Tried::Measured(figures) if figures.of(&search.metric).is_none() => {
                Err(failed(Found::NoFigure))
            }
            Tried::Measured(figures) => Ok(figures),
        }
    };
    let reference = figures(bench, &search.good, Role::Good)?;
    if let Some(difference) = bench.repeat(&search.good)? {
        return Err(CliError::failure(undecided(
            search,
            &Found::NotExact(difference),
        )));
    }
    let direction = match &search.bad {
        None => Change::Rises,
        Some(bad) => {
            let bad = figures(bench, bad, Role::Bad)?;
            match question.change(&reference, &bad) {
                Some(change @ (Change::Rises | Change::Falls)) => change,
                change => {
                    let found = question.no_change(change, &reference, &bad);
                    return Err(CliError::failure(undecided(search, &found)));
                }
            }
        }
    };
    let repository = Repository::open(&args.repo).map_err(git_error)?;
    let head = repository.commit("HEAD").map_err(git_error)?;
    let tried = bench.measure(&head, Role::Probe)?;
    let (judged, tried) = question.judge(&reference, tried, direction);
    bench.report(&Step {
        commit: head,
        role: Role::Probe,
        tried,
        judged,
        left: 0,
    });
    Ok(match judged {
        Judged::Good => Code::Ok,
        Judged::Bad => Code::Failure,
        Judged::Skipped => Code::Skip,
    })
}

#[cfg(test)]
mod tests;
