//! What is told of cuts: each as it is made, the command that brings it back again, and the table of a
//! series.

use crate::output;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    CacheLoss, Contender, GuestSize, Judgement, LabChoice, Nanos, PowerCut, Recovery, SeriesInfo,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What came of a cut, and where its images were kept the command that shows it again.
pub fn tell(info: &SeriesInfo, contender: &Contender, cut: &PowerCut) {
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
        output::note(format_args!("{head}: whole{}", how.unwrap_or_default()));
    } else {
        output::note(format_args!("{head}:"));
    }
    let corrected = corrected.filter(|_| !cut.recovery.is_whole());
    for text in corrected
        .iter()
        .chain(refused)
        .chain(beyond_repair)
        .chain(found)
    {
        output::note(format_args!("  {text}"));
    }
    for text in judgement.iter().flat_map(|judgement| &judgement.messages) {
        output::note(format_args!("  {text}"));
    }
    if let Some(lost) = lost_by_disk(cut).filter(|_| !cut.recovery.is_whole()) {
        output::note(format_args!("  {lost}"));
    }
    if let Some(again) = again(contender, cut, info) {
        output::note(format_args!("  {again}"));
    }
}

/// What the disk lost with its power, where it had not brought all to its medium.
pub fn lost_by_disk(cut: &PowerCut) -> Option<String> {
    let CacheLoss {
        lost,
        torn,
        sectors_lost,
        in_flight,
        ..
    } = cut.disk.as_ref()?;
    let mut parts = vec![format!("{lost} writes")];
    parts.extend((*torn > 0).then(|| format!("parts of {torn}")));
    let mut text = format!(
        "its disk had acknowledged and lost {} ({sectors_lost} sectors)",
        parts.join(" and ")
    );
    if *in_flight > 0 {
        let _ = write!(text, "; {in_flight} in flight");
    }
    Some(text)
}

/// The command that brings back again what a cut left, where its images were kept.
pub fn again(contender: &Contender, cut: &PowerCut, info: &SeriesInfo) -> Option<String> {
    if cut.images.is_empty() {
        return None;
    }
    let images: Vec<String> = cut.images.iter().map(|i| i.display().to_string()).collect();
    let seed = cut.seed.to_string();
    let acknowledged = cut.acknowledged.to_string();
    let (label, images) = (&contender.label, images.join(","));
    let mut again = vec!["fsdyno", "crash", "--fs", label, "--seed", &seed];
    again.extend(["--acknowledged", &acknowledged, "--again", &images]);
    let guest = &info.guest;
    // A profile of the user's lies in a file, and so do faults.
    if let Some(disk) = &info.disk {
        let said_of_disk = said(info, "--disk");
        again.extend(["--disk", said_of_disk.unwrap_or(&disk.profile)]);
        if let Some(faults) = said(info, "--disk-faults") {
            again.extend(["--disk-faults", faults]);
        }
    }
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

/// A file of the user's that a series was given: what was said after this word.
fn said<'a>(info: &'a SeriesInfo, option: &str) -> Option<&'a str> {
    let mut words = info.command_line.iter();
    let joined = words.find_map(|word| match word.strip_prefix(option)? {
        "" => Some(None),
        joined => joined.strip_prefix('=').map(Some),
    });
    joined?.or_else(|| words.next().map(String::as_str))
}

/// How a cut came back, in few words.
pub fn came_back(cut: &PowerCut) -> String {
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

/// What the columns mean.
const LEGEND: &str = "
UNAIDED: mounted without a repair; a journal that is replayed is none. CLEAN: its
checker found nothing after that. RECOVERY: until it was mounted, the median.
LOST: of which something acknowledged by fsync is gone. ";

/// What they cannot show where the disks are files.
const OF_FILES: &str = "The disk of a guest keeps
all that was sent to it, flushed or not: what a disk with a cache of its own would
lose is not seen here.
";

/// What they show where the disks are model disks.
const OF_MODELS: &str = "The disk lost what
it had acknowledged and not brought to its medium. Times are those of that disk, with
infinitely fast processors; the same seed gives the same cut again.
";

/// The table of a series, with its legend.
pub fn table(info: &SeriesInfo, cuts: &[PowerCut]) -> String {
    let contenders = &info.contenders;
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
    match &info.disk {
        Some(disk) => {
            let faults = disk.faults.as_ref().map(|_| ", with the faults of a file");
            let faults = faults.unwrap_or_default();
            text + &format!("\nDisk: {}{faults}, virtual time.", disk.profile) + LEGEND + OF_MODELS
        }
        None => text + LEGEND + OF_FILES,
    }
}

fn row(contender: &Contender, cuts: &[&PowerCut]) -> Vec<String> {
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
fn details<'a>(cuts: impl Iterator<Item = &'a PowerCut> + Clone) -> Vec<String> {
    let lost = by_kind(
        cuts.clone()
            .filter_map(|cut| cut.recovery.judgement.as_ref()),
    );
    let before_check: Vec<&Judgement> = cuts
        .filter_map(|cut| cut.recovery.before_check.as_ref())
        .collect();
    let mut lines = Vec::new();
    if !lost.is_empty() {
        lines.push(format!("lost: {lost}"));
    }
    if !before_check.is_empty() {
        let count = before_check.len();
        let before = by_kind(before_check.into_iter());
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
