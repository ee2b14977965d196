//! A series of crash tests: how each file system recovered after power cuts, and its lost files.

use crate::document::{
    Audience, Block, Cell, Column, Document, Filter, Fold, Item, Label, Row, Section, Table, Tone,
};
use crate::terms;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    CacheLoss, Contender, GuestSize, Judgement, LabChoice, Nanos, PowerCut, Provenance, Recovery,
    Series, SeriesInfo,
};
use fsdyno_stats::median_whole;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The numbers of rows and of lists of lost files on a screen. The first one that fits is used.
pub const ROWS: [usize; 5] = [20, 12, 8, 5, 3];

/// The series: a row for each contender. Longer formats also have each power cut and its
/// environment.
pub fn document(series: &Series) -> Document {
    let mut blocks = summary(&series.info, &series.power_cuts, usize::MAX);
    blocks.push(Block::Only(Audience::Long, power_cuts(series)));
    with_title(series, blocks)
}

/// The answer and at most this number of contenders, those that lost something first, for a screen.
pub fn screen(series: &Series, rows: usize) -> Document {
    let id = terms::printable(&series.info.id);
    let left_out = series.info.contenders.len().saturating_sub(rows);
    let more = match left_out {
        0 => String::new(),
        n => format!("{}, ", terms::count(n, "more contender")),
    };
    let rest = vec![
        Item::new(
            "More",
            Tone::Soft,
            format!("fsdyno show {id} ({more}each power cut and its environment)"),
        ),
        Item::new(
            "Page",
            Tone::Soft,
            format!("fsdyno report {id} -o report.html"),
        ),
    ];
    let mut blocks = summary(&series.info, &series.power_cuts, rows);
    blocks.push(Block::List(rest));
    Document {
        title: String::new(),
        ..with_title(series, blocks)
    }
}

/// Every power cut, and the environment of the series.
pub fn details(series: &Series) -> Document {
    with_title(series, power_cuts(series))
}

fn with_title(series: &Series, blocks: Vec<Block>) -> Document {
    let date = terms::date(series.info.started_unix_ns);
    let title = format!(
        "fsdyno: {} of {date}, series {}",
        Series::NAME,
        series.info.id
    );
    let names = series.info.contenders.iter();
    let names: Vec<String> = names.map(|one| terms::printable(&one.label)).collect();
    Document {
        page_title: Some(format!("Crash tests of {}", terms::contenders(&names))),
        subtitle: subtitle(series),
        lead: vec![lead(&series.info, &series.power_cuts).into()],
        blocks,
        filters: Filter::of_contenders(names),
        ..Document::new(title)
    }
}

/// The series, its date, its kernels and the number of power cuts.
pub fn subtitle(series: &Series) -> String {
    let info = &series.info;
    let kernels = series.power_cuts.iter();
    let kernels = kernels.filter_map(|one| one.guest.split(',').next());
    let kernels: BTreeSet<String> = kernels
        .filter(|kernel| !kernel.is_empty())
        .map(terms::printable)
        .collect();
    let each = terms::count(info.power_cuts_planned as usize, "power cut");
    let parts = [
        format!("Series {}", terms::printable(&info.id)),
        terms::date(info.started_unix_ns),
    ];
    let parts = parts.into_iter().chain(kernels);
    let parts: Vec<String> = parts.chain([format!("{each} of each")]).collect();
    parts.join(" \u{b7} ")
}

/// The answer: which file systems lost something that was acknowledged, and which lost nothing.
fn lead(info: &SeriesInfo, power_cuts: &[PowerCut]) -> String {
    /// The largest number of contenders that are named.
    const NAMED: usize = 4;
    let (mut whole, mut broken) = (Vec::new(), Vec::new());
    for contender in &info.contenders {
        let name = terms::printable(&contender.label);
        let recoveries: Vec<&Recovery> = of(contender, power_cuts)
            .iter()
            .map(|power_cut| &power_cut.recovery)
            .collect();
        let bad = recoveries.iter().filter(|one| !lost_nothing(one)).count();
        match (recoveries.len(), bad) {
            (0, _) => {}
            (_, 0) => whole.push(name),
            (all, bad) => {
                let lost = lost(&recoveries);
                let of = terms::count(all, "power cut");
                broken.push((bad, format!("{name} lost {lost} in {bad} of {of}")));
            }
        }
    }
    let tested = whole.len() + broken.len();
    let nothing = if whole.len() > NAMED {
        format!(
            "{} contenders lost nothing that was acknowledged",
            whole.len()
        )
    } else {
        format!("{} lost nothing that was acknowledged", terms::list(&whole))
    };
    let most = broken.iter().rev().max_by_key(|(bad, _)| *bad).cloned();
    let broken = match most {
        Some((_, most)) if broken.len() > NAMED => vec![format!(
            "{} of {tested} contenders lost something that was acknowledged (most: {most})",
            broken.len()
        )],
        _ => broken.into_iter().map(|(_, text)| text).collect(),
    };
    match (&whole[..], &broken[..]) {
        ([], []) => "No power was cut.".to_owned(),
        (_, []) => format!("{nothing}."),
        ([], _) => format!("{}.", terms::list(&broken)),
        _ => format!("{}; {nothing}.", terms::list(&broken)),
    }
}

fn lost_nothing(recovery: &Recovery) -> bool {
    let judgement = recovery.judgement.as_ref();
    judgement.is_some_and(|judgement| judgement.losses() == 0)
}

pub fn power_cuts(series: &Series) -> Vec<Block> {
    let each = each(&series.info, &series.power_cuts);
    vec![
        Section::new("cuts", "Each power cut").with(each).into(),
        provenance(series).into(),
    ]
}

/// The losses and the figures of at most this number of contenders, with the legend.
fn summary(info: &SeriesInfo, power_cuts: &[PowerCut], rows: usize) -> Vec<Block> {
    let shown = most_losses(info, power_cuts, rows);
    let losses = shown.iter().flat_map(|contender| {
        let label = terms::printable(&contender.label);
        let losses = losses(&of(contender, power_cuts)).into_iter();
        losses.map(move |text| Item {
            contender: Some(label.clone()),
            ..Item::new(label.clone(), Tone::Plain, text)
        })
    });
    let mut blocks = vec![
        Block::List(losses.collect()),
        of_contenders(&shown, power_cuts).into(),
    ];
    let mut legend = String::new();
    if let Some(disk) = &info.disk {
        let faults = if disk.faults.is_some() {
            ", with injected faults"
        } else {
            ""
        };
        let _ = write!(legend, "Disk: {}{faults}, virtual time. ", disk.profile);
    }
    legend += "unaided: mounted without a repair; replaying a journal is none. clean: its checker \
               found nothing after that. recovery: the median time until it was mounted. lost: \
               files of which something acknowledged by fsync is gone. ";
    legend += if info.disk.is_some() {
        "The disk lost what it had acknowledged and not yet written to its medium. Times are those \
         of that disk, with infinitely fast processors; the same seed gives the same power cut."
    } else {
        "The disk of a guest keeps everything that was sent to it, flushed or not: losses of a disk \
         with a cache are not seen here."
    };
    blocks.push(Block::Legend(legend.into()));
    blocks
}

/// The contenders with the most power cuts that lost something, in their order.
fn most_losses<'a>(
    info: &'a SeriesInfo,
    power_cuts: &[PowerCut],
    rows: usize,
) -> Vec<&'a Contender> {
    let mut contenders: Vec<(usize, &Contender)> = info.contenders.iter().enumerate().collect();
    contenders.sort_by_key(|(_, contender)| {
        let power_cuts = of(contender, power_cuts).into_iter();
        let bad = power_cuts
            .filter(|one| !lost_nothing(&one.recovery))
            .count();
        std::cmp::Reverse(bad)
    });
    contenders.truncate(rows);
    contenders.sort_by_key(|(place, _)| *place);
    contenders.into_iter().map(|(_, one)| one).collect()
}

/// A row for each contender.
pub fn figures(info: &SeriesInfo, power_cuts: &[PowerCut]) -> Table {
    of_contenders(&info.contenders.iter().collect::<Vec<_>>(), power_cuts)
}

fn of_contenders(contenders: &[&Contender], power_cuts: &[PowerCut]) -> Table {
    let columns = [
        ("power cuts", 0),
        ("unaided", 0),
        ("clean", 0),
        ("recovery", 0),
        ("longest", 2),
        ("operations", 1),
    ];
    let columns = columns
        .into_iter()
        .map(|(name, gives_way)| Column::giving_way(name, gives_way));
    let rows = contenders.iter();
    let rows = rows.map(|contender| row(contender, &of(contender, power_cuts)));
    let columns = columns.chain([Column::of_text("lost")]);
    Table::new("Crash tests", "contender", columns, rows)
}

fn of<'a>(contender: &Contender, power_cuts: &'a [PowerCut]) -> Vec<&'a PowerCut> {
    let power_cuts = power_cuts.iter();
    let of = power_cuts.filter(|power_cut| power_cut.contender == contender.label);
    of.collect()
}

fn row(contender: &Contender, power_cuts: &[&PowerCut]) -> Row {
    let recoveries: Vec<&Recovery> = power_cuts
        .iter()
        .map(|power_cut| &power_cut.recovery)
        .collect();
    let count = |of: usize| Cell::Count(of as u64);
    let unaided = recoveries.iter().filter(|one| one.is_unaided()).count();
    let checked = recoveries.iter().filter_map(|one| one.clean);
    let clean = checked.clone().filter(|clean| *clean).count();
    let clean = match checked.count() {
        0 if recoveries.is_empty() => Cell::Unknown,
        0 => Cell::Text("no checker".to_owned()),
        _ => count(clean),
    };
    let times = recoveries.iter().map(|one| one.took_ns.0);
    let time = |of: Option<u64>| Cell::known(of, |ns| Cell::Duration(Nanos(ns)));
    let cells = vec![
        count(power_cuts.len()),
        count(unaided),
        clean,
        time(median_whole(times.clone())),
        time(times.max()),
        Cell::Count(
            power_cuts
                .iter()
                .map(|power_cut| power_cut.acknowledged)
                .sum(),
        ),
        if recoveries.is_empty() {
            Cell::Text("not tested".to_owned())
        } else {
            Cell::Text(lost(&recoveries))
        },
    ];
    Row::new(label(contender), cells)
}

/// The label of a contender in a table of crash tests.
pub fn label(contender: &Contender) -> Label {
    Label::contender(terms::printable(&contender.label))
}

/// The number of lost files.
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

/// The lost files by kind. For a file system without a journal, also the state before the checker
/// ran.
fn losses(power_cuts: &[&PowerCut]) -> Vec<String> {
    let recoveries = power_cuts.iter().map(|power_cut| &power_cut.recovery);
    let judgements = recoveries.clone();
    let lost = by_kind(judgements.filter_map(|recovery| recovery.judgement.as_ref()));
    let before = recoveries.filter_map(|recovery| recovery.before_check.as_ref());
    let before: Vec<&Judgement> = before.collect();
    let mut lines = Vec::new();
    if !lost.is_empty() {
        lines.push(format!("lost: {lost}"));
    }
    if !before.is_empty() {
        let count = before.len();
        let before = by_kind(before.into_iter());
        let before = if before.is_empty() {
            "nothing"
        } else {
            &before
        };
        lines.push(format!(
            "mounted read-only before its checker ran, {count} times: {before} lost"
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

/// A row for each power cut.
pub fn each(info: &SeriesInfo, power_cuts: &[PowerCut]) -> Table {
    let rows = power_cuts.iter().map(|power_cut| {
        let mut outcome = recovered(power_cut);
        if let Some(lost) = lost_by_disk(power_cut) {
            let _ = write!(outcome, "; {lost}");
        }
        let mut contenders = info.contenders.iter();
        let contender = contenders.find(|one| one.label == power_cut.contender);
        let name = contender.map_or_else(|| power_cut.contender.as_str().into(), label);
        let cells = vec![
            Cell::Count(u64::from(power_cut.number)),
            Cell::Duration(power_cut.after_ns),
            Cell::Count(power_cut.acknowledged),
            Cell::Duration(power_cut.recovery.took_ns),
            Cell::Text(terms::printable(&outcome)),
        ];
        Row::new(name, cells)
    });
    let columns = [
        Column::new("power cut"),
        Column::new("after"),
        Column::giving_way("operations", 1),
        Column::new("recovery"),
        Column::of_text("outcome"),
    ];
    Table::new("Each power cut", "contender", columns, rows)
}

/// The environment of the series, and the commands that repeat its power cuts.
fn provenance(series: &Series) -> Section {
    let info = &series.info;
    let repeats = series.power_cuts.iter().filter_map(|power_cut| {
        let mut contenders = info.contenders.iter();
        let contender = contenders.find(|one| one.label == power_cut.contender)?;
        Some(format!("{}\n", repeat_command(contender, power_cut, info)?))
    });
    let repeats: String = repeats.collect();
    let mut section = Section::new("provenance", "Provenance").with(Block::Facts(facts(series)));
    if !repeats.is_empty() {
        section.blocks.push(
            Fold {
                name: "Commands that check kept images again".to_owned(),
                blocks: vec![Block::Code(repeats)],
                ..Fold::default()
            }
            .into(),
        );
    }
    section
}

/// The settings of the series, and its environment.
fn facts(series: &Series) -> Vec<(&'static str, String)> {
    let info = &series.info;
    let labels: Vec<&str> = info.contenders.iter().map(|c| c.label.as_str()).collect();
    let ended = info
        .stop
        .map_or("not yet".to_owned(), |stop| stop.to_string());
    let mut facts = vec![
        ("series", info.id.clone()),
        ("begun", terms::date(info.started_unix_ns)),
        ("ended", ended),
        ("command", shell_line(&info.command_line)),
        ("contenders", labels.join(", ")),
        ("power cuts", format!("{} of each", info.power_cuts_planned)),
        ("seed", info.seed.to_string()),
    ];
    facts.extend(info.disk.iter().map(|disk| {
        let about = format!("{} (model), virtual time", disk.profile);
        ("disk", about)
    }));
    // All power cuts have the same guest, unless the user replaced its kernel during the series.
    let guests = series.power_cuts.iter();
    let guests = guests.map(|power_cut| power_cut.guest.as_str());
    with_environment(facts, guests, &info.provenance)
}

/// The settings, the guests, the machine, its kernel and its programs; printable.
pub fn with_environment<'a>(
    mut facts: Vec<(&'static str, String)>,
    guests: impl Iterator<Item = &'a str>,
    about: &Provenance,
) -> Vec<(&'static str, String)> {
    let guests: BTreeSet<&str> = guests.collect();
    facts.extend(guests.into_iter().map(|guest| ("guest", guest.to_owned())));
    let processors = format!("{}, {} processors", about.processor, about.processors);
    facts.extend([("machine", processors), ("kernel", about.kernel.clone())]);
    let programs = about.programs.iter();
    facts.extend(programs.map(|(name, version)| ("program", format!("{name}: {version}"))));
    for (_, text) in &mut facts {
        *text = terms::printable_lines(text);
    }
    facts
}

/// The recovery of a file system from a power cut, in few words.
fn recovered(power_cut: &PowerCut) -> String {
    let Recovery {
        corrected_by,
        refused,
        beyond_repair,
        judgement,
        clean,
        ..
    } = &power_cut.recovery;
    let mut parts = Vec::new();
    let beyond_repair = beyond_repair.as_ref();
    parts.extend(beyond_repair.map(|why| format!("beyond repair: {why}")));
    parts.extend(refused.as_ref().map(|why| format!("repaired: {why}")));
    let corrected_by = corrected_by.as_ref();
    parts.extend(corrected_by.map(|by| format!("corrected by `{by}`")));
    parts.extend((*clean == Some(false)).then(|| "its checker found errors".to_owned()));
    let lost = by_kind(judgement.iter());
    parts.extend((!lost.is_empty()).then(|| format!("lost: {lost}")));
    if parts.is_empty() {
        parts.push("whole".to_owned());
    }
    parts.join("; ")
}

/// The data that the disk lost at the power cut, because it had not written it to its medium.
pub fn lost_by_disk(power_cut: &PowerCut) -> Option<String> {
    let CacheLoss {
        lost,
        torn,
        sectors_lost,
        in_flight,
        ..
    } = power_cut.disk.as_ref()?;
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

/// The command that checks the kept images of a power cut again. `None` if no images were kept.
pub fn repeat_command(
    contender: &Contender,
    power_cut: &PowerCut,
    info: &SeriesInfo,
) -> Option<String> {
    if power_cut.images.is_empty() {
        return None;
    }
    let images: Vec<String> = power_cut
        .images
        .iter()
        .map(|i| i.display().to_string())
        .collect();
    let seed = power_cut.seed.to_string();
    let acknowledged = power_cut.acknowledged.to_string();
    let (label, images) = (&contender.label, images.join(","));
    let mut words = vec!["fsdyno", "crash", "--fs", label, "--seed", &seed];
    words.extend(["--acknowledged", &acknowledged, "--again", &images]);
    let guest = &info.guest;
    // A user's profile is a file. Faults are a file too.
    if let Some(disk) = &info.disk {
        words.extend(["--disk", option(info, "--disk").unwrap_or(&disk.profile)]);
        if let Some(faults) = option(info, "--disk-faults") {
            words.extend(["--disk-faults", faults]);
        }
    }
    let memory = guest.memory.0.to_string();
    if guest.memory != GuestSize::default().memory {
        words.extend(["--guest-memory", &memory]);
    }
    let lab = contender.lab.to_string();
    if contender.lab != LabChoice::Uml {
        words.extend(["--lab", &lab]);
    }
    // Another kernel may recover different data.
    let kernel = guest.kernel.as_ref().map(ToString::to_string);
    if let Some(kernel) = &kernel {
        words.extend(["--guest-kernel", kernel]);
    }
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    Some(shell_line(&words))
}

/// The value of an option on the command line of a series.
fn option<'a>(info: &'a SeriesInfo, option: &str) -> Option<&'a str> {
    let mut words = info.command_line.iter();
    let joined = words.find_map(|word| match word.strip_prefix(option)? {
        "" => Some(None),
        joined => joined.strip_prefix('=').map(Some),
    });
    joined?.or_else(|| words.next().map(String::as_str))
}
