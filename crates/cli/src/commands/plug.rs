//! `plug`: file systems whose plug is pulled while they are written to, and what came back. Each cut is
//! in the store before anybody hears of it.

use super::lab::{guest_size, guest_trouble};
use crate::args::PlugArgs;
use crate::exit::{Code, Trouble};
use crate::{output, places};
use fsdyno_host::journal::Journal;
use fsdyno_host::{provenance, signals};
use fsdyno_lab::{GuestLab, GuestLabError};
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Contender, Cut, GuestSize, Judgement, LabChoice, Nanos, Recovery, SeriesInfo, Step, Stop,
    StopReason, Typed,
};
use fsdyno_recipes as recipes;
use fsdyno_run::conductor::unix_now;
use fsdyno_run::resolve::{Judge, ResolveError};
use fsdyno_store::Store;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub fn plug(args: &PlugArgs, store: &Path) -> Result<Code, Trouble> {
    let contenders = contenders(&args.contenders, &args.lab)?;
    let stop = Stop::new();
    signals::install(&stop)?;
    let journal = Journal::open(&places::journals()?).map_err(Trouble::failure)?;
    let size = guest_size(&args.lab, args.guest_memory, args.guest_kernel.as_ref());
    let work = std::path::absolute(&args.work_dir)?;
    let lab = GuestLab::for_cuts(&args.lab, size.clone(), work.clone(), journal, stop)
        .map_err(guest_trouble)?;
    if args.again.is_empty() {
        let mut store = Store::open(store)?;
        return pull(args, &lab, (contenders, size, work), &mut store);
    }
    let [contender] = contenders.as_slice() else {
        return Err(Trouble::usage(
            "--again is of one contender: name it with --fs",
        ));
    };
    let images = args.again.iter().map(std::path::absolute);
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let acknowledged = args.acknowledged.unwrap_or_default();
    let recovery = lab
        .again(contender, args.seed, acknowledged, &images)
        .map_err(guest_trouble)?;
    output::json(&recovery)?;
    Ok(code(std::iter::once(&recovery)))
}

/// Pulls all plugs and tells what came back; of what was done before somebody stopped it, too.
fn pull(
    args: &PlugArgs,
    lab: &GuestLab,
    (contenders, size, work_dir): (Vec<Contender>, GuestSize, PathBuf),
    store: &mut Store,
) -> Result<Code, Trouble> {
    let mut info = info(args, contenders, size, work_dir);
    store.begin_series(&mut info)?;
    eprintln!("series {} begins", info.id);
    let SeriesInfo {
        id,
        contenders,
        work_dir,
        ..
    } = &info;
    let mut cuts: Vec<Cut> = Vec::new();
    let mut ended = Ok(());
    // One of each, then the next of each: what drifts drifts for all.
    'all: for number in 1..=args.cuts {
        for contender in contenders {
            let seed = args.seed.wrapping_add(u64::from(number) - 1);
            match lab.cut(contender, number, seed, work_dir, args.keep) {
                Ok(cut) => {
                    store.record_cut(id, &cut)?;
                    tell(&info, contender, &cut);
                    cuts.push(cut);
                }
                Err(error) => {
                    if matches!(error, GuestLabError::Stopped) {
                        store.end_series(id, StopReason::Interrupted, unix_now())?;
                    }
                    ended = Err(guest_trouble(error));
                    break 'all;
                }
            }
        }
    }
    if ended.is_ok() {
        store.end_series(id, StopReason::Complete, unix_now())?;
    }
    if cuts.is_empty() {
        // There is nothing to tell but why.
        return ended.map(|()| Code::Ok);
    }
    if args.json {
        output::json(&cuts)?;
    } else {
        output::bytes(table(contenders, &cuts).as_bytes())?;
    }
    ended?;
    Ok(code(cuts.iter().map(|cut| &cut.recovery)))
}

/// A series that begins now.
fn info(
    args: &PlugArgs,
    contenders: Vec<Contender>,
    guest: GuestSize,
    work_dir: PathBuf,
) -> SeriesInfo {
    let versions = contenders.iter().filter_map(|contender| {
        let Step::Command { argv } = recipes::find(&contender.filesystem)?.version()? else {
            return None;
        };
        Some((argv.first()?.clone(), argv))
    });
    let mut programs: Vec<(String, Vec<String>)> = versions.collect();
    programs.sort();
    programs.dedup();
    SeriesInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        cuts_planned: args.cuts,
        seed: args.seed,
        guest,
        provenance: provenance::collect(&programs, &[(work_dir.clone(), "image files")]),
        command_line: std::env::args_os()
            .map(|a| a.to_string_lossy().into_owned())
            .collect(),
        contenders,
        work_dir,
    }
}

/// Whether anything acknowledged was lost, or could not be mounted at all.
fn code<'a>(mut recoveries: impl Iterator<Item = &'a Recovery>) -> Code {
    let lost = |one: &Recovery| one.judgement.as_ref().is_none_or(|j| j.losses() > 0);
    if recoveries.any(lost) {
        Code::Failure
    } else {
        Code::Ok
    }
}

fn contenders(lists: &[String], lab: &LabChoice) -> Result<Vec<Contender>, Trouble> {
    let here = std::env::current_dir()?;
    let judge = Judge {
        base: &here,
        unchecked_options: false,
    };
    let mut all = Vec::new();
    for list in lists {
        let list = judge.list(list).map_err(ResolveError::argument("--fs"));
        all.extend(list.map_err(Trouble::usage)?);
    }
    if let Some((said, label)) = all.iter().find_map(|one| no_cuts_in(one, lab)) {
        return Err(Trouble::usage(format!(
            "{label}: the plug is pulled on guests of {lab} here, and {said} was said of it; \
             say --lab"
        )));
    }
    let all = all.into_iter().map(|typed| Contender {
        lab: lab.clone(),
        ..typed.contender
    });
    let all: Vec<Contender> = all.collect();
    let label = |at: usize| &all[at].label;
    if let Some(twice) = (1..all.len()).find(|&at| (0..at).any(|other| label(other) == label(at))) {
        let message = format!(
            "{} is named twice; --cuts N pulls the plug more often",
            label(twice)
        );
        return Err(Trouble::usage(message));
    }
    let joined = |contender: &Contender| {
        recipes::layouts::find(&contender.layout.name).is_some_and(|layout| layout.below)
    };
    match all
        .iter()
        .find(|one| !recipes::on_blocks(one) || joined(one))
    {
        None => Ok(all),
        Some(contender) => Err(Trouble::usage(format!(
            "{}: the plug is pulled on file systems that lie on disks themselves",
            contender.label
        ))),
    }
}

/// Another lab that was said of a contender.
fn no_cuts_in<'a>(typed: &'a Typed, lab: &LabChoice) -> Option<(&'a LabChoice, &'a str)> {
    let said = typed.lab.as_ref().filter(|said| *said != lab)?;
    Some((said, &typed.contender.label))
}

/// What came of a cut, and where its images were kept the command that shows it again.
fn tell(info: &SeriesInfo, contender: &Contender, cut: &Cut) {
    let head = format!(
        "cut {} of {}: {} after {} and {} operations",
        cut.number, info.cuts_planned, cut.contender, cut.after_ns, cut.acknowledged
    );
    let Recovery {
        corrected_by,
        refused,
        beyond_repair,
        judgement,
        found,
        ..
    } = &cut.recovery;
    let corrected = corrected_by.as_ref();
    let corrected = corrected.map(|by| format!("corrected by `{by}` before it was mounted"));
    if cut.recovery.is_whole() {
        let how = corrected.as_ref().map(|corrected| format!(", {corrected}"));
        eprintln!("{head}: whole{}", how.unwrap_or_default());
    } else {
        eprintln!("{head}:");
    }
    let corrected = corrected.filter(|_| !cut.recovery.is_whole());
    for text in corrected
        .iter()
        .chain(refused)
        .chain(beyond_repair)
        .chain(found)
    {
        eprintln!("  {text}");
    }
    for text in judgement.iter().flat_map(|judgement| &judgement.told) {
        eprintln!("  {text}");
    }
    if let Some(again) = again(contender, cut, &info.guest) {
        eprintln!("  {again}");
    }
}

/// The command that brings back again what a cut left, where its images were kept.
pub fn again(contender: &Contender, cut: &Cut, guest: &GuestSize) -> Option<String> {
    if cut.images.is_empty() {
        return None;
    }
    let images: Vec<String> = cut.images.iter().map(|i| i.display().to_string()).collect();
    let seed = cut.seed.to_string();
    let acknowledged = cut.acknowledged.to_string();
    let (label, images) = (&contender.label, images.join(","));
    let mut again = vec!["fsdyno", "plug", "--fs", label, "--seed", &seed];
    again.extend(["--acknowledged", &acknowledged, "--again", &images]);
    let given = guest.memory.0.to_string();
    if guest.memory != GuestSize::default().memory {
        again.extend(["--guest-memory", &given]);
    }
    let lab = contender.lab.to_string();
    if contender.lab != LabChoice::Uml {
        again.extend(["--lab", &lab]);
    }
    // Another kernel may bring back something else.
    let kernel = guest.kernel.as_ref().map(ToString::to_string);
    if let Some(kernel) = &kernel {
        again.extend(["--guest-kernel", kernel]);
    }
    let again: Vec<String> = again.into_iter().map(str::to_owned).collect();
    Some(shell_line(&again))
}

/// How a cut came back, in few words.
pub fn came_back(cut: &Cut) -> String {
    let Recovery {
        corrected_by,
        refused,
        beyond_repair,
        judgement,
        clean,
        ..
    } = &cut.recovery;
    let mut parts = Vec::new();
    parts.extend(
        beyond_repair
            .as_ref()
            .map(|why| format!("not at all: {why}")),
    );
    parts.extend(refused.as_ref().map(|why| format!("repaired: {why}")));
    parts.extend(
        corrected_by
            .as_ref()
            .map(|by| format!("corrected by `{by}`")),
    );
    parts.extend((*clean == Some(false)).then(|| "its checker found something".to_owned()));
    let lost = by_kind(judgement.iter());
    parts.extend((!lost.is_empty()).then(|| format!("lost: {lost}")));
    if parts.is_empty() {
        parts.push("whole".to_owned());
    }
    parts.join("; ")
}

/// What the columns mean, and what they cannot show.
const LEGEND: &str = "
UNAIDED: mounted without a repair; a journal that is replayed is none. CLEAN: its
checker found nothing after that. RECOVERY: until it was mounted, the median.
LOST: of which something acknowledged by fsync is gone. The disk of a guest keeps
all that was sent to it, flushed or not: what a disk with a cache of its own would
lose is not seen here.
";

/// The table of a series, with its legend.
pub fn table(contenders: &[Contender], cuts: &[Cut]) -> String {
    let head = [
        "CONTENDER",
        "CUTS",
        "UNAIDED",
        "CLEAN",
        "RECOVERY",
        "LONGEST",
        "OPERATIONS",
        "LOST",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for contender in contenders {
        let of = cuts.iter().filter(|c| c.contender == contender.label);
        rows.push(row(contender, &of.collect::<Vec<_>>()));
    }
    let mut text = output::align(&rows, output::width());
    for contender in contenders {
        let of = cuts.iter().filter(|c| c.contender == contender.label);
        for line in details(of) {
            let _ = write!(text, "\n{}: {line}\n", contender.label);
        }
    }
    text + LEGEND
}

fn row(contender: &Contender, cuts: &[&Cut]) -> Vec<String> {
    let recoveries: Vec<&Recovery> = cuts.iter().map(|cut| &cut.recovery).collect();
    let count = cuts.len();
    let unaided = recoveries.iter().filter(|one| one.is_unaided()).count();
    let checked = recoveries.iter().filter_map(|one| one.clean);
    let clean = checked.clone().filter(|clean| *clean).count();
    let clean = if checked.count() == 0 {
        "no checker".to_owned()
    } else {
        clean.to_string()
    };
    let mut times: Vec<Nanos> = recoveries.iter().map(|one| one.took_ns).collect();
    times.sort_unstable();
    let time = |at: usize| times.get(at).map(ToString::to_string).unwrap_or_default();
    let acknowledged: u64 = cuts.iter().map(|cut| cut.acknowledged).sum();
    vec![
        contender.label.clone(),
        count.to_string(),
        unaided.to_string(),
        clean,
        time(count / 2),
        time(count.saturating_sub(1)),
        acknowledged.to_string(),
        lost(&recoveries),
    ]
}

/// How many files were lost.
fn lost(recoveries: &[&Recovery]) -> String {
    let judged = recoveries.iter().filter_map(|one| one.judgement.as_ref());
    let unjudged = recoveries.len() - judged.clone().count();
    let mut lost = Vec::new();
    match judged.map(Judgement::losses).sum() {
        0 => {}
        1 => lost.push("1 file".to_owned()),
        files => lost.push(format!("{files} files")),
    }
    match unjudged {
        0 => {}
        1 => lost.push("all, once".to_owned()),
        times => lost.push(format!("all, {times} times")),
    }
    if lost.is_empty() {
        lost.push("nothing".to_owned());
    }
    lost.join("; ")
}

/// What a column is too narrow for: how files were lost, and how before the checker ran that has
/// to run before what has no journal is mounted.
fn details<'a>(cuts: impl Iterator<Item = &'a Cut> + Clone) -> Vec<String> {
    let lost = by_kind(
        cuts.clone()
            .filter_map(|cut| cut.recovery.judgement.as_ref()),
    );
    let as_left: Vec<&Judgement> = cuts
        .filter_map(|cut| cut.recovery.as_left.as_ref())
        .collect();
    let mut lines = Vec::new();
    if !lost.is_empty() {
        lines.push(format!("lost: {lost}"));
    }
    if !as_left.is_empty() {
        let count = as_left.len();
        let before = by_kind(as_left.into_iter());
        let before = if before.is_empty() {
            "nothing"
        } else {
            &before
        };
        lines.push(format!(
            "mounted before its checker, reading only, {count} times: {before} lost"
        ));
    }
    lines
}

fn by_kind<'a>(judgements: impl Iterator<Item = &'a Judgement>) -> String {
    let mut files = BTreeMap::new();
    for (loss, count) in judgements.flat_map(|judgement| &judgement.lost) {
        *files.entry(*loss).or_insert(0) += count;
    }
    let each = files.iter().map(|(loss, count)| format!("{count} {loss}"));
    each.collect::<Vec<_>>().join(", ")
}
