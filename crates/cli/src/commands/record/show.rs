//! `record show`: the figures of a recording. The reasons why it is not complete come first.

use super::args::ShowRecording;
use crate::exit::CliError;
use crate::output;
use fsdyno_datasets::recorded::{self, Recording};
use fsdyno_model::{Bytes, CancelToken, Nanos};
use fsdyno_trace::summary::{Summary, TimeSlice, Transfers, Tree, Unexplained, summarise};
use fsdyno_trace::{Ending, Reader, Recorder, TraceError};
use std::fmt::Write as _;
use std::path::Path;

pub fn show(args: &ShowRecording) -> Result<(), CliError> {
    let path = args.file.display();
    let reader = Reader::open(&args.file).map_err(|error| match error {
        TraceError::Open { .. } => CliError::usage(error),
        error => CliError::failure(format!("{path}: {error}")),
    })?;
    let (mut summary, error) = summarise(reader);
    if error.is_none() && summary.last_tree.is_some() {
        summary.unexplained = unexplained(&args.file);
    }
    if args.json {
        output::json(&summary)?;
    } else {
        output::bytes(text(&summary, error.as_ref()).as_bytes())?;
    }
    match error {
        Some(error) => Err(CliError::failure(format!("{path}: {error}"))),
        None => Ok(()),
    }
}

/// The differences of the tree at the end that the operations do not explain; none if the recording
/// is too long to be replayed.
fn unexplained(path: &Path) -> Option<Unexplained> {
    let recording = Recording::open(path, &CancelToken::new()).ok()?;
    let compared = recorded::unexplained(&recording)?;
    Some(Unexplained {
        count: compared.total,
        first: compared
            .differences
            .iter()
            .map(ToString::to_string)
            .collect(),
    })
}

/// The reasons why a recording is not complete, one sentence each.
pub fn missing(ending: &Ending) -> Vec<String> {
    let mut lines = Vec::new();
    if ending.lost > 0 {
        lines.push(format!(
            "not complete: {} events were lost. Record again with a larger --buffer",
            ending.lost
        ));
    }
    if ending.unknown > 0 {
        let count = ending.unknown;
        lines.push(format!(
            "not complete: {count} events could not be interpreted"
        ));
    }
    lines.extend(
        ending
            .incomplete
            .iter()
            .map(|why| format!("not complete: {why}")),
    );
    if !lines.is_empty() {
        lines.extend(ending.notes.iter().cloned());
    }
    lines
}

/// How much of a log of strace the recording has, as a sentence.
pub fn explained(ending: &Ending) -> Option<String> {
    let explained = ending.explained?;
    let share = 100.0 * explained.understood as f64 / explained.seen.max(1) as f64;
    let (understood, seen) = (explained.understood, explained.seen);
    Some(format!(
        "{share:.1} % explained: the files of {understood} of {seen} calls of the log are known"
    ))
}

/// The cost of recording as a sentence.
pub fn overhead(ending: &Ending) -> Option<String> {
    let overhead = ending.overhead?;
    let share = |ns: u64| 100.0 * ns as f64 / overhead.programs_ns.max(1) as f64;
    let (kernel, own) = (Nanos(overhead.kernel_ns), Nanos(overhead.recorder_ns));
    let mut text = format!("recording took {kernel} in the kernel and {own} of processor time");
    if overhead.programs_ns > 0 {
        let programs = Nanos(overhead.programs_ns);
        let (in_kernel, outside) = (share(overhead.kernel_ns), share(overhead.recorder_ns));
        let _ = write!(
            text,
            "; the programs took {programs} ({in_kernel:.1} % and {outside:.1} % of it)"
        );
    }
    if overhead.manifest_ns > 0 {
        let manifest = Nanos(overhead.manifest_ns);
        let _ = write!(
            text,
            "; the lists of the tree took {manifest} before they started and after they ended"
        );
    }
    Some(text)
}

fn text(summary: &Summary, error: Option<&TraceError>) -> String {
    let mut text = String::new();
    if let Some(error) = error {
        let _ = writeln!(text, "not complete: {error}\n");
    }
    let mut missing = summary.ending.as_ref().map(missing).unwrap_or_default();
    missing.extend(summary.unexplained.as_ref().and_then(differences));
    for line in &missing {
        let _ = writeln!(text, "{line}");
    }
    if !missing.is_empty() {
        text.push('\n');
    }
    about(&mut text, summary);
    tree(&mut text, "Tree at the start", &summary.tree, Vec::new());
    if let Some(last) = &summary.last_tree {
        let explained = match &summary.unexplained {
            Some(unexplained) if unexplained.count == 0 => "yes".to_owned(),
            Some(unexplained) => format!("no: {} entries differ", unexplained.count),
            None => "not known".to_owned(),
        };
        let explained = row([&"explained by the operations", &explained]);
        tree(&mut text, "Tree at the end", last, vec![explained]);
    }
    kinds(&mut text, summary);
    transfers(&mut text, summary);
    directories(&mut text, summary);
    timeline(&mut text, summary);
    limits(&mut text, summary);
    text
}

fn section(text: &mut String, title: &str, rows: &[Vec<String>]) {
    if !rows.is_empty() {
        let _ = write!(text, "\n{title}\n{}", output::align(rows, output::width()));
    }
}

fn row<const N: usize>(cells: [&dyn std::fmt::Display; N]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

fn about(text: &mut String, summary: &Summary) {
    let about = &summary.about;
    let recorder = match about.recorder {
        Recorder::Ebpf => "eBPF".to_owned(),
        Recorder::Strace => about.tool.clone(),
    };
    let mut rows = Vec::new();
    if about.anonymous {
        rows.push(row([&"names", &"hashes (--anonymous)"]));
    } else {
        rows.push(row([&"recorded", &about.recorded.join(" ")]));
        rows.push(row([&"directory", &about.root]));
    }
    // A log does not state them.
    for (name, text) in [
        ("file system", &about.filesystem),
        ("kernel", &about.kernel),
    ] {
        if !text.is_empty() {
            rows.push(row([&name, text]));
        }
    }
    rows.push(row([&"recorder", &recorder]));
    if let Some(ending) = &summary.ending {
        rows.push(row([&"time", &Nanos(ending.duration_ns)]));
        if let Some(status) = ending.exit_status {
            rows.push(row([&"exit status", &status]));
        }
        rows.push(row([
            &"outside",
            &format!("{} operations, of which nothing is kept", ending.outside),
        ]));
        if let Some(explained) = explained(ending) {
            rows.push(row([&"log", &explained]));
        }
        if let Some(overhead) = overhead(ending) {
            rows.push(row([&"overhead", &overhead]));
        }
    }
    text.push_str(&output::align(&rows, output::width()));
}

/// A sentence about the entries that the operations do not explain.
fn differences(unexplained: &Unexplained) -> Option<String> {
    let first = unexplained.first.first()?;
    Some(format!(
        "not explained: at the end, {} entries of the tree are not what the operations leave, as \
         {first}. Other programs changed the tree, or operations are missing",
        unexplained.count
    ))
}

fn tree(text: &mut String, title: &str, tree: &Tree, more: Vec<Vec<String>>) {
    let mut rows = vec![
        row([&"directories", &tree.directories]),
        row([&"files", &format!("{}, {}", tree.files, Bytes(tree.bytes))]),
    ];
    for (name, count) in [
        ("hard links", tree.hard_links),
        ("symbolic links", tree.symlinks),
        ("FIFOs, sockets, devices", tree.others),
    ] {
        if count > 0 {
            rows.push(row([&name, &count]));
        }
    }
    if tree.hole_bytes > 0 {
        rows.push(row([&"holes", &Bytes(tree.hole_bytes)]));
    }
    if tree.mapped_files > 0 {
        let mean = tree.extents as f64 / tree.mapped_files as f64;
        rows.push(row([&"extents per file", &format!("{mean:.2}")]));
    }
    if let Some(permille) = tree.compressed_permille {
        let percent = permille as f64 / 10.0;
        rows.push(row([&"compressible to", &format!("{percent:.0} %")]));
    }
    rows.extend(more);
    section(text, title, &rows);
}

fn kinds(text: &mut String, summary: &Summary) {
    let mut rows = vec![row([
        &"operation",
        &"count",
        &"failed",
        &"bytes",
        &"total",
        &"median <=",
        &"99 % <=",
        &"longest",
    ])];
    for kind in &summary.kinds {
        let bytes = if kind.bytes > 0 {
            Bytes(kind.bytes).to_string()
        } else {
            String::new()
        };
        rows.push(row([
            &kind.kind,
            &kind.count,
            &kind.failed,
            &bytes,
            &Nanos(kind.total_ns),
            &Nanos(kind.median_ns),
            &Nanos(kind.p99_ns),
            &Nanos(kind.longest_ns),
        ]));
    }
    section(text, "Operations", &rows);
}

fn transfers(text: &mut String, summary: &Summary) {
    let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    let describe = |transfers: &Transfers| {
        let sequential = percent(transfers.sequential, transfers.count);
        format!("{}, {sequential:.0} % sequential", Bytes(transfers.bytes))
    };
    let seconds = summary
        .ending
        .as_ref()
        .map_or(0.0, |end| end.duration_ns as f64 / 1e9);
    let mut syncs = summary.syncs.to_string();
    if summary.syncs > 0 && seconds > 0.0 {
        let _ = write!(syncs, ", {:.1} a second", summary.syncs as f64 / seconds);
        if summary.writes.count > 0 {
            let mean = summary.writes.bytes / summary.syncs;
            let _ = write!(syncs, ", one for {} written", Bytes(mean));
        }
    }
    let in_flight = format!(
        "{:.2} mean, {:.2} in the busiest slice",
        summary.mean_in_flight, summary.most_in_flight
    );
    let rows = vec![
        row([&"read", &describe(&summary.reads)]),
        row([&"written", &describe(&summary.writes)]),
        row([&"flushes", &syncs]),
        row([&"threads", &summary.threads]),
        row([&"in flight", &in_flight]),
    ];
    section(text, "Transfers and concurrency", &rows);
    let classes = summary.reads.sizes.len().max(summary.writes.sizes.len());
    let mut rows = vec![row([&"size", &"reads", &"writes"])];
    for class in 0..classes {
        let count = |transfers: &Transfers| transfers.sizes.get(class).copied().unwrap_or(0);
        let (reads, writes) = (count(&summary.reads), count(&summary.writes));
        if reads + writes > 0 {
            rows.push(row([
                &format!("from {}", Bytes(1 << class)),
                &reads,
                &writes,
            ]));
        }
    }
    if rows.len() > 1 {
        section(text, "Sizes", &rows);
    }
}

fn directories(text: &mut String, summary: &Summary) {
    let mut rows = vec![row([&"directory", &"operations", &"bytes"])];
    for directory in &summary.directories {
        rows.push(row([
            &directory.path,
            &directory.operations,
            &Bytes(directory.bytes),
        ]));
    }
    if rows.len() > 1 {
        section(text, "Directories with most operations", &rows);
    }
}

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A row of the timeline: its name, the value of a slice, and the text of the largest value.
type Line = (&'static str, fn(&TimeSlice) -> u64, fn(u64, u64) -> String);

/// The picture: rates over the time, a bar for each slice.
fn timeline(text: &mut String, summary: &Summary) {
    let lines: [Line; 5] = [
        (
            "operations",
            |slice| slice.operations,
            |most, ns| format!("{}/s", count(most, ns)),
        ),
        (
            "read",
            |slice| slice.read_bytes,
            |most, ns| format!("{}/s", bytes(most, ns)),
        ),
        (
            "written",
            |slice| slice.written_bytes,
            |most, ns| format!("{}/s", bytes(most, ns)),
        ),
        (
            "flushes",
            |slice| slice.syncs,
            |most, ns| format!("{}/s", count(most, ns)),
        ),
        (
            "in flight",
            |slice| slice.busy_ns,
            |most, ns| format!("{:.2}", most as f64 / ns as f64),
        ),
    ];
    let mut rows = Vec::new();
    for (name, value, shown) in lines {
        let most = summary.slices.iter().map(value).max().unwrap_or(0);
        if most == 0 {
            continue;
        }
        let bar = |slice: &TimeSlice| {
            let height = u128::from(value(slice)) * 8;
            let height = usize::try_from(height.div_ceil(u128::from(most))).unwrap_or(8);
            BARS[height.min(8)]
        };
        let bars: String = summary.slices.iter().map(bar).collect();
        rows.push((name, bars, shown(most, summary.slice_ns)));
    }
    if rows.is_empty() {
        return;
    }
    let width = Nanos(summary.slice_ns);
    let _ = writeln!(
        text,
        "\nTimeline: a column is {width}; the largest value is on the right"
    );
    for (name, bars, most) in rows {
        let _ = writeln!(text, "{name:<11}|{bars}| {most}");
    }
}

/// Counts a second.
fn count(value: u64, slice_ns: u64) -> String {
    fsdyno_model::units::three_digits(value as f64 / (slice_ns as f64 / 1e9))
}

/// Bytes a second.
fn bytes(value: u64, slice_ns: u64) -> Bytes {
    let rate = u128::from(value) * 1_000_000_000 / u128::from(slice_ns.max(1));
    Bytes(u64::try_from(rate).unwrap_or(u64::MAX))
}

fn limits(text: &mut String, summary: &Summary) {
    let notes = summary.ending.iter().flat_map(|ending| &ending.notes);
    let limits: Vec<&String> = summary.about.limits.iter().chain(notes).collect();
    if !limits.is_empty() {
        text.push_str("\nLimits of this recording\n");
        for limit in limits {
            let _ = writeln!(text, "- {limit}");
        }
    }
}
