//! `plug`: file systems whose plug is pulled while they are written to, and what came back.

use super::lab::guest_trouble;
use crate::args::PlugArgs;
use crate::exit::{Code, Trouble};
use crate::{output, places};
use fsdyno_host::journal::Journal;
use fsdyno_host::signals;
use fsdyno_lab::GuestLab;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Contender, Cut, GuestSize, Judgement, LabChoice, Nanos, Recovery, Stop, Typed};
use fsdyno_recipes as recipes;
use fsdyno_run::resolve::{Judge, ResolveError};
use std::collections::BTreeMap;
use std::path::Path;

pub fn plug(args: &PlugArgs) -> Result<Code, Trouble> {
    let contenders = contenders(&args.contenders)?;
    let stop = Stop::new();
    signals::install(&stop)?;
    let journal = Journal::open(&places::journals()?).map_err(Trouble::failure)?;
    let size = GuestSize {
        memory: args.guest_memory,
    };
    let work = std::path::absolute(&args.work_dir)?;
    let lab = GuestLab::for_cuts(size, work.clone(), journal, stop).map_err(guest_trouble)?;
    if args.again.is_empty() {
        return pull(args, &lab, &contenders, &work);
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
    contenders: &[Contender],
    work: &Path,
) -> Result<Code, Trouble> {
    let mut cuts: Vec<Cut> = Vec::new();
    let mut ended = Ok(());
    // One of each, then the next of each: what drifts drifts for all.
    'all: for number in 1..=args.cuts {
        for contender in contenders {
            let seed = args.seed.wrapping_add(u64::from(number) - 1);
            match lab.cut(contender, number, seed, work, args.keep) {
                Ok(cut) => {
                    tell(args, contender, &cut);
                    cuts.push(cut);
                }
                Err(error) => {
                    ended = Err(guest_trouble(error));
                    break 'all;
                }
            }
        }
    }
    if cuts.is_empty() {
        // There is nothing to tell but why.
        return ended.map(|()| Code::Ok);
    }
    if args.json {
        output::json(&cuts)?;
    } else {
        table(contenders, &cuts)?;
    }
    ended?;
    Ok(code(cuts.iter().map(|cut| &cut.recovery)))
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

fn contenders(lists: &[String]) -> Result<Vec<Contender>, Trouble> {
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
    if let Some((lab, label)) = all.iter().find_map(no_cuts_in) {
        return Err(Trouble::usage(format!(
            "{label}: the plug is pulled on guests of the lab {}, and there is none in {lab}",
            LabChoice::Uml
        )));
    }
    let all: Vec<Contender> = all.into_iter().map(|typed| typed.contender).collect();
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

/// The lab that was said of a contender and whose plug cannot be pulled.
fn no_cuts_in(typed: &Typed) -> Option<(&LabChoice, &str)> {
    let lab = typed.lab.as_ref().filter(|lab| **lab != LabChoice::Uml)?;
    Some((lab, &typed.contender.label))
}

/// What came of a cut, and where its images were kept the command that shows it again.
fn tell(args: &PlugArgs, contender: &Contender, cut: &Cut) {
    let head = format!(
        "cut {} of {}: {} after {} and {} operations",
        cut.number, args.cuts, cut.contender, cut.after_ns, cut.acknowledged
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
    if cut.images.is_empty() {
        return;
    }
    let images: Vec<String> = cut.images.iter().map(|i| i.display().to_string()).collect();
    let seed = cut.seed.to_string();
    let acknowledged = cut.acknowledged.to_string();
    let (label, images) = (&contender.label, images.join(","));
    let mut again = vec!["fsdyno", "plug", "--fs", label, "--seed", &seed];
    again.extend(["--acknowledged", &acknowledged, "--again", &images]);
    let memory = args.guest_memory.0.to_string();
    if args.guest_memory != GuestSize::default().memory {
        again.extend(["--guest-memory", &memory]);
    }
    let again: Vec<String> = again.into_iter().map(str::to_owned).collect();
    eprintln!("  {}", shell_line(&again));
}

/// What the columns mean, and what they cannot show.
const LEGEND: &[u8] = b"
UNAIDED: mounted without a repair; a journal that is replayed is none. CLEAN: its
checker found nothing after that. RECOVERY: until it was mounted, the median.
LOST: of which something acknowledged by fsync is gone. The disk of a guest keeps
all that was sent to it, flushed or not: what a disk with a cache of its own would
lose is not seen here.
";

fn table(contenders: &[Contender], cuts: &[Cut]) -> Result<(), Trouble> {
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
    output::rows(&rows, output::width())?;
    for contender in contenders {
        let of = cuts.iter().filter(|c| c.contender == contender.label);
        for line in details(of) {
            output::bytes(format!("\n{}: {line}\n", contender.label).as_bytes())?;
        }
    }
    output::bytes(LEGEND)
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
