//! The systematic search of `crash`: programs of operations, and the states that a power cut can
//! leave. Each program is stored when it is explored.

use super::{CrashArgs, guest_error};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_crash::StateId;
use fsdyno_files::kept::KeptDir;
use fsdyno_lab::GuestLab;
use fsdyno_model::{
    CancelToken, Contender, Exploration, ExplorationInfo, ExplorationUnit, ExploredProgram,
    Finding, GuestSize, ModelDisk, Nanos, Search, StopReason,
};
use fsdyno_report::exploration::Progress;
use fsdyno_report::{Format, Options, render_exploration};
use fsdyno_run::conductor::unix_now;
use fsdyno_run::explore::{Case, ExploreError, Explorer, Programs, Subject, extra_promises};
use fsdyno_store::{Store, StoreError};
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two updates of the screen.
const REDRAW: Duration = Duration::from_millis(500);

pub(super) fn search(args: &CrashArgs, contenders: &[Contender]) -> Result<Search, CliError> {
    Ok(Search {
        programs: super::programs::source(args)?,
        class: args.class,
        states: args.states,
        nested: !args.no_nested,
        seed: args.seed,
        extra: extra_promises(contenders),
    })
}

pub(super) fn fresh(
    args: &CrashArgs,
    lab: &GuestLab,
    (contenders, guest, disk, work_dir): (Vec<Contender>, GuestSize, ModelDisk, PathBuf),
    store: &mut Store,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let search = search(args, &contenders)?;
    let programs = Programs::of(&search).map_err(CliError::usage)?;
    let mut info = ExplorationInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        provenance: super::provenance_of(&contenders, &work_dir),
        contenders,
        search,
        programs_planned: programs.count(),
        budget: Some(args.budget),
        shard: args.shard.shard,
        guest,
        disk,
        work_dir,
        command_line: crate::args::command_line(),
    };
    if let Some(shard) = info.shard.filter(|_| info.programs() == 0) {
        return Err(CliError::usage(format!(
            "--shard {shard}: the search has fewer programs than shards, and this shard has none"
        )));
    }
    let subjects = subjects(lab, &info);
    check_untouched(&programs, &subjects)?;
    if stop.requested() {
        return Err(CliError::new(
            Code::Interrupted,
            "interrupted; nothing was recorded",
        ));
    }
    store.begin_exploration(&mut info)?;
    output::note(format_args!("exploration {} begins", info.id));
    go(args, subjects, &info, &programs, store, stop)
}

/// The contenders on their disks.
fn subjects<'a>(lab: &'a GuestLab, info: &ExplorationInfo) -> Vec<Subject<'a>> {
    let contenders = info.contenders.iter();
    let subject = |contender| Subject::new(lab, contender, &info.disk, &info.search);
    contenders.map(subject).collect()
}

/// Refuses an application that fails without a power cut, or whose check does. Nothing is recorded
/// of it.
fn check_untouched(programs: &Programs, subjects: &[Subject<'_>]) -> Result<(), CliError> {
    let Programs::Application(application) = programs else {
        return Ok(());
    };
    for subject in subjects {
        let checked = subject.explorer();
        let checked = checked.and_then(|mut explorer| explorer.check_untouched(application));
        checked.map_err(failed)?;
    }
    Ok(())
}

/// The rest of an exploration.
pub(super) fn resumed(
    args: &CrashArgs,
    name: &str,
    lab_of: impl FnOnce(&ExplorationInfo) -> Result<GuestLab, CliError>,
    store: &mut Store,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let id = store
        .resolve_exploration(name)
        .map_err(|error| match error {
            StoreError::NoSuchRun { .. } => CliError::usage(format!(
                "--resume {name}: this is no exploration of crash states (fsdyno runs)"
            )),
            error => error.into(),
        })?;
    let info = store.exploration(&id)?.info;
    let programs = Programs::of(&info.search).map_err(CliError::usage)?;
    if programs.count() != info.programs_planned {
        return Err(CliError::usage(format!(
            "--resume {id}: this version of fsdyno generates {} programs, and the search has {}. \
             Resume it with the version that began it, or begin a new one",
            programs.count(),
            info.programs_planned
        )));
    }
    let lab = lab_of(&info)?;
    store.reopen_exploration(&id)?;
    let subjects = subjects(&lab, &info);
    go(args, subjects, &info, &programs, store, stop)
}

/// The data that the workers share.
struct Work<'a> {
    args: &'a CrashArgs,
    info: &'a ExplorationInfo,
    programs: &'a Programs,
    subjects: Vec<Subject<'a>>,
    units: Mutex<Box<dyn Iterator<Item = ExplorationUnit> + Send + 'a>>,
    /// The signatures that were minimised, by contender, with the first program of each.
    minimised: Mutex<BTreeMap<(usize, String), u32>>,
    deadline: Instant,
    ended: AtomicBool,
    kept_dir: KeptDir<'static>,
    stop: &'a CancelToken,
}

type Sent = Result<ExploredProgram, ExploreError>;

impl Work<'_> {
    /// The next unit; none if the time is over, or if all are done.
    fn next(&self) -> Option<ExplorationUnit> {
        if self.stop.requested() || self.ended.load(Ordering::Relaxed) {
            return None;
        }
        let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        if Instant::now() >= self.deadline {
            return None;
        }
        units.next()
    }

    fn work(&self, send: &mpsc::Sender<Sent>) {
        let mut explorers: BTreeMap<usize, Explorer<'_>> = BTreeMap::new();
        while let Some(unit) = self.next() {
            let (explored, failed) = match self.explore(unit, &mut explorers) {
                // The explored program is stored, also if an image cannot be kept.
                Ok((program, minimised)) => (Some(program), minimised.err()),
                Err(error) => (None, Some(error)),
            };
            self.ended.fetch_or(failed.is_some(), Ordering::Relaxed);
            let ends = failed.is_some();
            for sent in explored.map(Ok).into_iter().chain(failed.map(Err)) {
                // Nobody receives it after an error of the store.
                if send.send(sent).is_err() {
                    return;
                }
            }
            if ends {
                return;
            }
        }
    }

    fn explore<'s>(
        &'s self,
        unit: ExplorationUnit,
        explorers: &mut BTreeMap<usize, Explorer<'s>>,
    ) -> Result<(ExploredProgram, Result<(), ExploreError>), ExploreError> {
        let guest = match explorers.entry(unit.contender) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(self.subjects[unit.contender].explorer()?)
            }
        };
        let Some(case) = self.programs.get(unit.number) else {
            return Err(ExploreError::State(format!("no program {}", unit.number)));
        };
        let explored = guest.explore(unit.number, &case, &self.info.search);
        // A process that a stop ends, such as a checker, may look like a failure of the program.
        let stopped = self.stop.requested();
        let mut explored = match explored {
            Err(error) if stopped || error.is_stopped() => return Err(error),
            // One program does not end the search.
            Err(error) => ExploredProgram {
                contender: self.info.contenders[unit.contender].label.clone(),
                number: unit.number,
                program: case.to_string(),
                failed: Some(error.to_string()),
                ..ExploredProgram::default()
            },
            Ok(explored) => match explored.failed {
                Some(reason) if stopped => return Err(ExploreError::State(reason)),
                _ => explored,
            },
        };
        let minimised = self.minimise(guest, unit, &case, &mut explored);
        Ok((explored, minimised))
    }

    /// Minimises the findings whose signature no earlier program has: the first program decides
    /// which findings are one ([`fsdyno_model::Signatures`]), in any order of exploration.
    fn minimise(
        &self,
        guest: &mut Explorer<'_>,
        unit: ExplorationUnit,
        case: &Case,
        explored: &mut ExploredProgram,
    ) -> Result<(), ExploreError> {
        if self.args.no_minimize {
            return Ok(());
        }
        for finding in &mut explored.findings {
            let key = (unit.contender, finding.signature.clone());
            let known = self.minimised.lock();
            let mut known = known.unwrap_or_else(PoisonError::into_inner);
            let first = known.entry(key).or_insert(u32::MAX);
            if unit.number < *first {
                *first = unit.number;
                drop(known);
                let minimal = guest.minimise(case, finding, &self.kept_dir)?;
                finding.minimal = Some(minimal);
            }
        }
        Ok(())
    }
}

fn go(
    args: &CrashArgs,
    subjects: Vec<Subject<'_>>,
    info: &ExplorationInfo,
    programs: &Programs,
    store: &mut Store,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let _claim = store.claim(&info.id)?;
    let done = store.explored(&info.id)?;
    let before = store.exploration(&info.id)?.programs;
    // In the order of the numbers, from the last: the first remains.
    let minimised = before.iter().rev().flat_map(|program| {
        let mut contenders = info.contenders.iter();
        let at = contenders.position(|one| one.label == program.contender);
        let minimal = program.findings.iter().filter(|one| one.minimal.is_some());
        minimal.filter_map(move |one| Some(((at?, one.signature.clone()), program.number)))
    });
    let began = Instant::now();
    let work = Work {
        args,
        info,
        programs,
        subjects,
        units: Mutex::new(Box::new(info.units().filter(|unit| !done.contains(unit)))),
        minimised: Mutex::new(minimised.collect()),
        deadline: began + Duration::from_nanos(args.budget.0),
        ended: AtomicBool::new(false),
        kept_dir: super::kept_dir(args, &info.id)?,
        stop,
    };
    let jobs = args.jobs.of_guests(info.guest.memory);
    // A program that failed is explored again.
    let recorded = before.iter().filter(|one| one.failed.is_none());
    let mut progress = Progress::new(info.programs(), recorded);
    let ended = conduct(&work, store, &mut progress, (jobs, began));
    output::note(format_args!(
        "fsdyno: {}",
        progress.line(Nanos::from(began.elapsed()), Some(args.budget))
    ));
    let left = work
        .units
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .next();
    let reason = match (stop.requested(), left) {
        (true, _) => Some(StopReason::Interrupted),
        (false, Some(_)) if ended.is_ok() => Some(StopReason::Budget),
        (false, None) if ended.is_ok() => Some(StopReason::Complete),
        _ => None,
    };
    if let Some(reason) = reason {
        store.end_exploration(&info.id, reason, unix_now())?;
    }
    let exploration = store.exploration(&info.id)?;
    print(args, &exploration)?;
    ended?;
    if stop.requested() {
        return Err(CliError::new(
            Code::Interrupted,
            format!(
                "interrupted; the explored programs are stored. Resume with: fsdyno crash --resume {}",
                info.id
            ),
        ));
    }
    let violated = exploration.programs.iter().flat_map(|one| &one.findings);
    let violated = violated.into_iter().any(|one| one.score().fails());
    Ok(Code::ok_if(!violated))
}

/// Explores the units in parallel, and stores each result.
fn conduct(
    work: &Work<'_>,
    store: &mut Store,
    progress: &mut Progress,
    (jobs, began): (NonZeroUsize, Instant),
) -> Result<(), CliError> {
    let bar = ProgressBar::new_spinner();
    let ended = thread::scope(|threads| {
        let (send, received) = mpsc::channel();
        for _ in 0..jobs.get() {
            let send = send.clone();
            threads.spawn(move || work.work(&send));
        }
        drop(send);
        let mut result = Ok(());
        loop {
            match received.recv_timeout(REDRAW) {
                Ok(Ok(program)) => {
                    if let Err(error) = store.record_program(&work.info.id, &program) {
                        work.ended.store(true, Ordering::Relaxed);
                        result = Err(error.into());
                        break;
                    }
                    announce(&bar, &program, &progress.add(&program));
                }
                Ok(Err(error)) if work.stop.requested() || error.is_stopped() => {}
                Ok(Err(error)) => result = result.and(Err(failed(error))),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            let elapsed = Nanos::from(began.elapsed());
            bar.set_message(progress.line(elapsed, Some(work.args.budget)));
            bar.tick();
        }
        result
    });
    bar.finish_and_clear();
    ended
}

/// Prints new findings, as soon as they are known.
fn announce(bar: &ProgressBar, program: &ExploredProgram, new: &[&Finding]) {
    for finding in new {
        bar.suspend(|| {
            output::note(format_args!(
                "{}: {} (program {}, {})",
                program.contender, finding.message, program.number, finding.class
            ));
        });
    }
}

fn print(args: &CrashArgs, exploration: &Exploration) -> Result<(), CliError> {
    if args.json {
        return output::json(exploration);
    }
    let options = Options {
        long: false,
        ..crate::commands::rendering::options(false, false)
    };
    let bytes = render_exploration(exploration, Format::Terminal, &options);
    output::coloured(&bytes.map_err(CliError::failure)?)
}

/// Recovers one state of a program again and prints its errors.
pub(super) fn again(
    args: &CrashArgs,
    lab: &GuestLab,
    contender: &Contender,
    disk: &ModelDisk,
    state: &str,
) -> Result<Code, CliError> {
    let search = search(args, std::slice::from_ref(contender))?;
    let programs = Programs::of(&search).map_err(CliError::usage)?;
    let (number, id) = state.split_once(':').unwrap_or(("0", state));
    let refused = |what: String| CliError::usage(format!("--again {state}: {what}"));
    let number: u32 = number
        .parse()
        .map_err(|_| refused(format!("`{number}` is no number of a program")))?;
    let id: StateId = id.parse().map_err(|error| refused(format!("{error}")))?;
    let case = programs.get(number).ok_or_else(|| {
        refused(format!(
            "the search has {} programs, from 0",
            programs.count()
        ))
    })?;
    let subject = Subject::new(lab, contender, disk, &search);
    let judged = subject.explorer().and_then(|mut one| one.again(&case, &id));
    let judged = judged.map_err(failed)?;
    let mut lines = vec![format!("program {number}:\n{case}\n\nrequests:")];
    lines.extend(judged.requests.iter().map(|line| format!("  {line}")));
    lines.push("\nrecovered:".to_owned());
    match &judged.tree {
        None => lines.push("  it cannot be mounted".to_owned()),
        Some(tree) => {
            let paths = tree.entries.keys().filter(|path| !path.is_empty());
            lines.extend(paths.map(|path| format!("  {path}")));
        }
    }
    lines.push("\nbroken promises:".to_owned());
    for wrong in &judged.wrong {
        lines.push(format!("  {}", wrong.message));
        let words = wrong.kernel.iter().chain(&wrong.checker);
        lines.extend(words.map(|line| format!("    {line}")));
    }
    if judged.wrong.is_empty() {
        lines.push("  none".to_owned());
    }
    let text = fsdyno_model::printable::printable_lines(&(lines.join("\n") + "\n"));
    output::bytes(text.as_bytes())?;
    Ok(Code::ok_if(judged.wrong.is_empty()))
}

fn failed(error: ExploreError) -> CliError {
    match error {
        ExploreError::Guest(error) => guest_error(error),
        ExploreError::State(what) | ExploreError::Untouched(what) => CliError::usage(what),
        other => CliError::failure(other),
    }
}

/// The disk of an exploration, as `--disk` names it.
pub(super) const DISK: &str = "sata-2008";
