//! `plug`: file systems whose plug is pulled while they are written to, and what came back.

use super::lab::guest_trouble;
use crate::args::PlugArgs;
use crate::exit::{Code, Trouble};
use crate::{output, places};
use fsdyno_host::journal::Journal;
use fsdyno_host::signals;
use fsdyno_lab::GuestLab;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Contender, Cut, FilesystemKind, GuestSize, Nanos, Recovery, Stop};
use fsdyno_recipes as recipes;
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
            match lab.cut(contender, number, seed, work) {
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
    let mut all = Vec::new();
    for list in lists {
        let parsed = Contender::parse_list(list, &recipes::kind_of).map_err(Trouble::usage)?;
        for contender in parsed {
            recipes::validate(&contender).map_err(Trouble::usage)?;
            recipes::check_options(&contender).map_err(Trouble::usage)?;
            let on_blocks = recipes::kind_of(&contender.filesystem) == Some(FilesystemKind::Block);
            let joined = recipes::layouts::find(&contender.layout.name).is_some_and(|l| l.below);
            if !on_blocks || joined {
                return Err(Trouble::usage(format!(
                    "{}: the plug is pulled on file systems that lie on disks themselves",
                    contender.label
                )));
            }
            all.push(contender);
        }
    }
    Ok(all)
}

/// A line for each cut that did not come back whole, with the command that shows it again.
fn tell(args: &PlugArgs, contender: &Contender, cut: &Cut) {
    let head = format!(
        "cut {} of {}: {} after {} and {} operations",
        cut.number, args.cuts, cut.contender, cut.after_ns, cut.acknowledged
    );
    let Recovery {
        refused,
        beyond_repair,
        judgement,
        found,
        ..
    } = &cut.recovery;
    if cut.recovery.is_whole() {
        eprintln!("{head}: whole");
        return;
    }
    eprintln!("{head}:");
    for text in refused.iter().chain(beyond_repair).chain(found) {
        eprintln!("  {text}");
    }
    for text in judgement.iter().flat_map(|judgement| &judgement.told) {
        eprintln!("  {text}");
    }
    let images: Vec<String> = cut.images.iter().map(|i| i.display().to_string()).collect();
    let seed = cut.seed.to_string();
    let acknowledged = cut.acknowledged.to_string();
    let again = [
        "fsdyno",
        "plug",
        "--fs",
        &contender.label,
        "--seed",
        &seed,
        "--acknowledged",
        &acknowledged,
        "--again",
        &images.join(","),
    ];
    eprintln!("  {}", shell_line(&again.map(str::to_owned)));
}

fn table(contenders: &[Contender], cuts: &[Cut]) -> Result<(), Trouble> {
    let head = [
        "CONTENDER",
        "CUTS",
        "MOUNTED",
        "CLEAN",
        "RECOVERY",
        "ACKNOWLEDGED",
        "LOST",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for contender in contenders {
        let of: Vec<&Cut> = cuts
            .iter()
            .filter(|c| c.contender == contender.label)
            .collect();
        rows.push(row(contender, &of));
    }
    output::rows(&rows, output::width())?;
    output::bytes(
        b"\nMounted: as it was left, without a repair. Clean: the checker found nothing after that.\n\
          Recovery: median and longest time to be mounted. Lost: files of which something\n\
          acknowledged by fsync is gone. The disk of a guest keeps all that was sent to it, flushed\n\
          or not: what a disk with a cache of its own would lose is not seen here.\n",
    )?;
    Ok(())
}

fn row(contender: &Contender, cuts: &[&Cut]) -> Vec<String> {
    let count = cuts.len();
    let mounted = cuts.iter().filter(|cut| cut.recovery.refused.is_none());
    let mounted = mounted
        .filter(|cut| cut.recovery.judgement.is_some())
        .count();
    let checked = cuts.iter().filter_map(|cut| cut.recovery.clean);
    let clean = checked.clone().filter(|clean| *clean).count();
    let clean = match checked.count() {
        0 => "no checker".to_owned(),
        checked => format!("{clean} of {checked}"),
    };
    let mut times: Vec<Nanos> = cuts.iter().map(|cut| cut.recovery.took_ns).collect();
    times.sort_unstable();
    let time = |at: usize| times.get(at).map(ToString::to_string).unwrap_or_default();
    let mut lost: Vec<String> = Vec::new();
    let judged = || {
        cuts.iter()
            .filter_map(|cut| cut.recovery.judgement.as_ref())
    };
    let mut by_kind = std::collections::BTreeMap::new();
    for (loss, files) in judged().flat_map(|judgement| &judgement.lost) {
        *by_kind.entry(*loss).or_insert(0) += files;
    }
    lost.extend(
        by_kind
            .iter()
            .map(|(loss, files)| format!("{files} {loss}")),
    );
    let unjudged = count - judged().count();
    lost.extend((unjudged > 0).then(|| format!("all, {unjudged} times")));
    let acknowledged: u64 = cuts.iter().map(|cut| cut.acknowledged).sum();
    vec![
        contender.label.clone(),
        count.to_string(),
        format!("{mounted} of {count}"),
        clean,
        format!("{} / {}", time(count / 2), time(count.saturating_sub(1))),
        acknowledged.to_string(),
        if lost.is_empty() {
            "nothing".to_owned()
        } else {
            lost.join(", ")
        },
    ]
}
