//! `crash`: explores the states that a power cut can leave (`explore`). Its random mode cuts the
//! power of guests that write, and checks what each file system recovers. Each power cut is stored
//! before it is printed.

mod args;
mod explore;
mod programs;
mod summary;

pub use args::CrashArgs;

use super::lab::{guest_error, guest_size};
use crate::catalogue::array_unavailable;
use crate::exit::{CliError, Code};
use crate::{output, places};
use fsdyno_disk::Profile;
use fsdyno_disk::profiles::Timing;
use fsdyno_files::kept::KeptDir;
use fsdyno_host::signals;
use fsdyno_lab::{CrashTest, GuestLab};
use fsdyno_model::{
    CancelToken, Contender, ContenderSpec, ExplorationInfo, GuestSize, LabChoice, ModelDisk,
    PowerCut, Provenance, Recovery, Series, SeriesInfo, Shard, Step, StopReason,
};
use fsdyno_observe::provenance;
use fsdyno_recipes as recipes;
use fsdyno_report::{Format, Options};
use fsdyno_run::conductor::unix_now;
use fsdyno_run::resolve::{ContenderParser, ResolveError};
use fsdyno_store::Store;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use summary::Summaries;

pub fn crash(args: &CrashArgs, store: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    if let Some(name) = &args.resume {
        let mut store = Store::open(store)?;
        let lab = |info: &ExplorationInfo| virtual_lab_for(&info.guest, &info.work_dir, &stop);
        return explore::resumed(args, name, lab, &mut store, &stop);
    }
    let contenders = contenders(&args.contenders, &args.lab)?;
    let is_search = args.power_cuts.is_none() && args.acknowledged.is_none();
    if is_search {
        need_one_disk(&contenders)?;
    }
    let disk = model_disk(args)?;
    let size = guest_size(&args.lab, args.guest_memory, args.guest_kernel.as_ref());
    let work = std::path::absolute(&args.work_dir)?;
    let lab = lab_for(&args.lab, &size, &work, &stop)?;
    if is_search || disk.is_some() {
        lab.check_virtual_time().map_err(guest_error)?;
    }
    if let Some(power_cuts) = args.power_cuts {
        let mut store = Store::open(store)?;
        let settings = (contenders, size, disk, work);
        return pull(args, power_cuts, &lab, settings, &mut store);
    }
    if args.again.is_empty() {
        return explored(args, &lab, (contenders, size, work), disk, store, &stop);
    }
    let [contender] = contenders.as_slice() else {
        return Err(CliError::usage(
            "--again: a state and images belong to one contender. Name only that one with --fs.",
        ));
    };
    match (args.again.as_slice(), args.acknowledged) {
        ([state], None) => {
            let disk = search_disk(args, disk)?;
            explore::again(args, &lab, contender, &disk, &state.to_string_lossy())
        }
        (_, None) => Err(CliError::usage(
            "--again: name one state of a search, or images with --acknowledged",
        )),
        (images, Some(acknowledged)) => {
            let images = images.iter().map(std::path::absolute);
            let images = images.collect::<Result<Vec<_>, _>>()?;
            let pull = CrashTest {
                contender,
                seed: args.seed,
                disk: disk.as_ref(),
                program: None,
            };
            let recovery = lab.again(pull, acknowledged, &images);
            let recovery = recovery.map_err(guest_error)?;
            output::json(&recovery)?;
            Ok(code(std::iter::once(&recovery)))
        }
    }
}

pub(in crate::commands) fn lab_for(
    lab: &LabChoice,
    size: &GuestSize,
    work: &Path,
    stop: &CancelToken,
) -> Result<GuestLab, CliError> {
    let journal = places::journal()?;
    let lab = GuestLab::for_crash_tests(lab, size.clone(), work.to_owned(), journal, stop.clone());
    lab.map_err(guest_error)
}

/// The same for tests in virtual time.
pub(in crate::commands) fn virtual_lab_for(
    size: &GuestSize,
    work: &Path,
    stop: &CancelToken,
) -> Result<GuestLab, CliError> {
    let lab = lab_for(&LabChoice::Uml, size, work, stop)?;
    lab.check_virtual_time().map_err(guest_error)?;
    Ok(lab)
}

fn need_one_disk(contenders: &[Contender]) -> Result<(), CliError> {
    let Some(large) = contenders.iter().find(|one| one.layout.devices != 1) else {
        return Ok(());
    };
    Err(CliError::usage(format!(
        "{}: a search explores the states of one disk. Name a contender with one device, or cut the \
         power at random moments: --random N",
        large.label
    )))
}

/// Begins a search.
fn explored(
    args: &CrashArgs,
    lab: &GuestLab,
    (contenders, size, work): (Vec<Contender>, GuestSize, PathBuf),
    disk: Option<ModelDisk>,
    store: &Path,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let disk = search_disk(args, disk)?;
    let mut store = Store::open(store)?;
    explore::fresh(args, lab, (contenders, size, disk, work), &mut store, stop)
}

/// The model disk of a search: the requested one, or the default.
fn search_disk(args: &CrashArgs, disk: Option<ModelDisk>) -> Result<ModelDisk, CliError> {
    if args.lab != LabChoice::Uml {
        return Err(CliError::usage(format!(
            "guests of {} have no time-travel mode, which a search needs. Use --lab uml, or cut the \
             power at random moments: --random N",
            args.lab
        )));
    }
    let default = || fsdyno_lab::model_disk(Path::new(explore::DISK)).map_err(CliError::usage);
    disk.map_or_else(default, Ok)
}

/// The requested model disk. A disk whose requests take no time is refused: virtual time would
/// never reach the power cut.
fn model_disk(args: &CrashArgs) -> Result<Option<ModelDisk>, CliError> {
    let Some(name) = &args.disk else {
        return Ok(None);
    };
    if args.lab != LabChoice::Uml {
        return Err(CliError::usage(format!(
            "--disk: guests of {} have no time-travel mode. Use --lab uml.",
            args.lab
        )));
    }
    let mut model = timed_disk(name)?;
    let faults = args.disk_faults.as_deref().map(fsdyno_lab::disk_faults);
    model.faults = faults.transpose().map_err(CliError::usage)?;
    Ok(Some(model))
}

/// A model disk on which virtual time passes.
pub(in crate::commands) fn timed_disk(name: &Path) -> Result<ModelDisk, CliError> {
    let model = fsdyno_lab::model_disk(name).map_err(CliError::usage)?;
    let profile = Profile::parse(&model.profile, &model.text).map_err(CliError::usage)?;
    if matches!(profile.timing, Timing::Null) {
        return Err(CliError::usage(format!(
            "--disk {}: its requests take no time, so virtual time never reaches the power cut. \
             Name another profile: fsdyno disk list",
            model.profile
        )));
    }
    Ok(model)
}

/// Keeps images of a search or series, within the budget.
fn kept_dir(args: &CrashArgs, id: &str) -> Result<KeptDir<'static>, CliError> {
    Ok(KeptDir::new(places::kept()?, id, args.kept_budget, &note))
}

fn note(text: &str) {
    output::note(format_args!("fsdyno: {text}"));
}

/// Cuts the power of each contender and prints the recoveries, also after an interrupt or an error.
fn pull(
    args: &CrashArgs,
    power_cuts: u32,
    lab: &GuestLab,
    (contenders, size, disk, work_dir): (Vec<Contender>, GuestSize, Option<ModelDisk>, PathBuf),
    store: &mut Store,
) -> Result<Code, CliError> {
    let mut info = SeriesInfo {
        shard: args.shard.shard,
        ..info((args.seed, power_cuts), contenders, (size, disk), work_dir)
    };
    if let Some(shard) = info.shard.filter(|_| info.power_cuts() == 0) {
        return Err(CliError::usage(format!(
            "--shard {shard}: the series has fewer power cuts than shards, and this shard has none"
        )));
    }
    store.begin_series(&mut info)?;
    output::note(format_args!("series {} begins", info.id));
    let SeriesInfo { id, disk, .. } = &info;
    let kept_dir = kept_dir(args, id)?;
    let jobs = match disk {
        Some(_) => args.jobs.of_guests(args.guest_memory),
        // Real time depends on the other load of the machine.
        None => NonZeroUsize::MIN,
    };
    let (power_cuts, ended) = execute(store, &info, jobs, |contender, (number, seed)| {
        let test = CrashTest {
            contender,
            seed,
            disk: disk.as_ref(),
            program: None,
        };
        let power_cut = lab.crash(test, number, &kept_dir, args.keep);
        power_cut.map_err(guest_error)
    })?;
    if power_cuts.is_empty() {
        return ended.map(|()| Code::Ok);
    }
    if args.json {
        output::json(&power_cuts)?;
    } else {
        let series = Series {
            schema: Series::SCHEMA,
            info: info.clone(),
            power_cuts: power_cuts.clone(),
        };
        let options = Options {
            long: false,
            ..super::rendering::options(false, false)
        };
        let bytes = fsdyno_report::render_crash(&series, Format::Terminal, &options);
        output::coloured(&bytes.map_err(CliError::failure)?)?;
    }
    ended?;
    Ok(code(power_cuts.iter().map(|power_cut| &power_cut.recovery)))
}

/// Executes the power cuts of a series, each with its number and seed, and stores each of them.
/// Returns those that were executed, and how the series ended.
pub(in crate::commands) fn execute(
    store: &mut Store,
    info: &SeriesInfo,
    jobs: NonZeroUsize,
    crash: impl Fn(&Contender, (u32, u64)) -> Result<PowerCut, CliError> + Sync,
) -> Result<(Vec<PowerCut>, Result<(), CliError>), CliError> {
    // The contenders alternate, so that drift of the machine affects all of them.
    let tests: Vec<(u32, &Contender)> = (1..=info.power_cuts_planned)
        .flat_map(|number| {
            info.contenders
                .iter()
                .map(move |contender| (number, contender))
        })
        .zip(0..)
        .filter(|(_, place)| info.shard.is_none_or(|s| Shard::with(*place, s.of) == s))
        .map(|(test, _)| test)
        .collect();
    let crash = |(number, contender): &(u32, &Contender)| {
        let seed = info.seed.wrapping_add(u64::from(*number) - 1);
        crash(contender, (*number, seed))
    };
    let mut power_cuts: Vec<PowerCut> = Vec::new();
    let mut summaries = Summaries::new(info);
    let ended = in_order(&tests, jobs, crash, |(_, contender), power_cut| {
        store.record_power_cut(&info.id, &power_cut)?;
        summaries.add(contender, &power_cut);
        power_cuts.push(power_cut);
        Ok(())
    });
    summaries.end();
    let reason = match &ended {
        Ok(()) => Some(StopReason::Complete),
        Err(error) if error.code == Code::Interrupted => Some(StopReason::Interrupted),
        Err(_) => None,
    };
    if let Some(reason) = reason {
        store.end_series(&info.id, reason, unix_now())?;
    }
    Ok((power_cuts, ended))
}

/// Performs this work on each item, on this number of items at the same time, and passes the
/// results on in the order of the items. After an error no item begins.
pub(in crate::commands) fn in_order<T: Sync, R: Send, E: Send>(
    items: &[T],
    jobs: NonZeroUsize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let (send, results) = mpsc::channel();
        for _ in 0..jobs.get().min(items.len()) {
            let (send, next, failed, work) = (send.clone(), &next, &failed, &work);
            scope.spawn(move || {
                while !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { break };
                    let result = work(item);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    // Nobody receives it after an error.
                    let _ = send.send((number, result));
                }
            });
        }
        drop(send);
        let (mut waiting, mut taken) = (BTreeMap::new(), 0);
        let mut error = None;
        for (number, result) in results {
            match result {
                Ok(result) => drop(waiting.insert(number, result)),
                Err(first) => error = error.or(Some(first)),
            }
            while let Some(result) = waiting.remove(&taken) {
                if let Err(first) = take(&items[taken], result) {
                    failed.store(true, Ordering::Relaxed);
                    return Err(first);
                }
                taken += 1;
            }
        }
        // Results after one that failed are results too.
        for (number, result) in waiting {
            take(&items[number], result)?;
        }
        error.map_or(Ok(()), Err)
    })
}

/// The record of a series that starts now, by the seed and the number of its power cuts.
pub(in crate::commands) fn info(
    (seed, power_cuts): (u64, u32),
    contenders: Vec<Contender>,
    (guest, disk): (GuestSize, Option<ModelDisk>),
    work_dir: PathBuf,
) -> SeriesInfo {
    SeriesInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        power_cuts_planned: power_cuts,
        shard: None,
        seed,
        guest,
        disk,
        activities: None,
        provenance: provenance_of(&contenders, &work_dir),
        command_line: crate::args::command_line(),
        contenders,
        work_dir,
    }
}

/// The machine, its devices and the programs of these contenders.
pub(in crate::commands) fn provenance_of(contenders: &[Contender], work_dir: &Path) -> Provenance {
    let versions = contenders.iter().filter_map(|contender| {
        let Step::Command { argv } = recipes::find(&contender.filesystem)?.version()? else {
            return None;
        };
        Some((argv.first()?.clone(), argv))
    });
    let mut programs: Vec<(String, Vec<String>)> = versions.collect();
    programs.sort();
    programs.dedup();
    provenance::collect(&programs, &[(work_dir.to_owned(), "image files")])
}

/// Failure if acknowledged data was lost, or if a file system could not be mounted.
pub(in crate::commands) fn code<'a>(mut recoveries: impl Iterator<Item = &'a Recovery>) -> Code {
    let is_whole = |one: &Recovery| one.judgement.as_ref().is_some_and(|j| j.losses() == 0);
    Code::ok_if(recoveries.all(is_whole))
}

pub(in crate::commands) fn contenders(
    lists: &[String],
    lab: &LabChoice,
) -> Result<Vec<Contender>, CliError> {
    let here = std::env::current_dir()?;
    let parser = ContenderParser {
        base: &here,
        lab: Some(lab),
        unchecked_options: false,
    };
    let mut all = Vec::new();
    for list in lists {
        let list = parser.list(list).map_err(ResolveError::argument("--fs"));
        all.extend(list.map_err(CliError::usage)?);
    }
    if let Some((own, label)) = all.iter().find_map(|one| other_lab(one, lab)) {
        return Err(CliError::usage(format!(
            "{label}: this contender names the lab {own}, but all contenders run in {lab}. Choose \
             one lab with --lab"
        )));
    }
    let all = all.into_iter().map(|typed| Contender {
        lab: lab.clone(),
        ..typed.contender
    });
    let all: Vec<Contender> = all.collect();
    let label = |at: usize| &all[at].label;
    if let Some(twice) = (1..all.len()).find(|&at| (0..at).any(|other| label(other) == label(at))) {
        let message = format!("{} is named twice. Name it once", label(twice));
        return Err(CliError::usage(message));
    }
    let mut without_array = all
        .iter()
        .filter_map(|one| Some((one, array_unavailable(one, true)?)));
    if let Some((contender, why)) = without_array.next() {
        let message = format!("{}: {why}", contender.label);
        return Err(CliError::new(Code::Missing, message));
    }
    match all.iter().find(|one| !recipes::on_blocks(one)) {
        None => Ok(all),
        Some(contender) => Err(CliError::usage(format!(
            "{}: this test needs a file system on disks. Name one, for example ext4",
            contender.label
        ))),
    }
}

/// A lab of the contender that differs from the lab of the series.
fn other_lab<'a>(typed: &'a ContenderSpec, lab: &LabChoice) -> Option<(&'a LabChoice, &'a str)> {
    let own = typed.lab.as_ref().filter(|own| *own != lab)?;
    Some((own, &typed.contender.label))
}
