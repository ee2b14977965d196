//! A comparison of runs, as a document.

use super::{Checked, Line, RunComparison, ThresholdResult};
use crate::document::{
    Block, Cell, Column, Document, Group, Item, Outcome, Row, Section, Table, Tone,
};
use crate::lists::unique;
use crate::resolution::RESOLUTION;
use crate::terms;
use fsdyno_model::figures::{BYTES, COUNT, NANOSECONDS};
use fsdyno_model::{Bytes, Nanos};
use fsdyno_stats::Verdict;
use std::fmt::Write as _;

/// The numbers of rows of each table and list on a screen. The first number that fits is used.
pub const ROWS: [usize; 6] = [24, 16, 10, 6, 4, 2];

/// A run compared with the first one, with the results of the thresholds; at most this number of rows
/// in each table and list.
pub fn document(comparison: &RunComparison, checked: &[Checked<'_>], rows: usize) -> Document {
    let title = format!("{} compared with {}", comparison.run, comparison.base);
    let mut document = Document::new(title);
    document.lead = vec![(answer(comparison) + &user_code(comparison)).into()];
    document.blocks.push(Block::warnings(&comparison.warnings));
    document.blocks.extend(differences(comparison, rows));
    if comparison.lines.is_empty() {
        document.blocks.push(Block::paragraph(
            "The runs have no phase of a contender in common.",
        ));
        return document;
    }
    let mut legend = format!(
        "Medians; the ratio of this run to the first, with an interval at 95 % or more. {pairs} \
         Faster, slower: by more than {margin}; equivalent: by less; inconclusive: not known.",
        pairs = if comparison.paired {
            "Both runs have the same draws, and the ratios are taken within draws."
        } else {
            "The figures are not paired: everything that differs is part of the ratio."
        },
        margin = terms::percent(comparison.margin)
    );
    if comparison.one_draw {
        legend += " One draw decides nothing: measure more in both runs (--repeats 6 or more).";
    }
    if comparison.lines.iter().any(is_below_resolution) {
        let _ = write!(legend, " Times below {RESOLUTION} have no ratio.");
    }
    let section = Section::new("times", "Times")
        .with(Block::Legend(legend.into()))
        .with(table("Times", &largest(comparison.lines_of(true), rows)));
    document.blocks.push(section.into());
    document
        .blocks
        .extend(left_out(comparison.lines_of(true), rows));
    document.blocks.extend(counts(comparison, rows));
    document.blocks.extend(thresholds(checked, rows));
    document
}

/// The answer: in how many times the run is faster and slower, and the largest difference of each.
fn answer(comparison: &RunComparison) -> String {
    let (run, base) = (&comparison.run, &comparison.base);
    let times = comparison.lines_of(true);
    let times: Vec<&Line> = times.filter(|line| line.medians().is_some()).collect();
    if times.is_empty() {
        return format!("{run} and {base} have no time in common.");
    }
    let with = |verdict| {
        let lines = times.iter().copied();
        let lines = lines.filter(move |line| line.verdict == Some(verdict));
        largest(lines, usize::MAX)
    };
    let of = |word: &str, lines: &[&Line]| {
        let most = lines
            .iter()
            .max_by(|a, b| a.distance().total_cmp(&b.distance()))?;
        let ratio = most.shown_ratio().map_or_else(String::new, |ratio| {
            format!(": {} times the time", terms::ratio(ratio.middle))
        });
        let most = format!(
            "{} in {} / {}{ratio}",
            most.contender, most.workload, most.phase
        );
        Some(format!("{word} in {} (most: {most})", lines.len()))
    };
    let (slower, faster) = (with(Verdict::Slower), with(Verdict::Faster));
    let parts = [of("slower", &slower), of("faster", &faster)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let equivalent = with(Verdict::Equivalent).len();
    let open = times.len() - slower.len() - faster.len() - equivalent;
    let all = terms::count(times.len(), "time");
    let mut text = if parts.is_empty() {
        format!(
            "No difference of more than {} is shown between {run} and {base} in {all}",
            terms::percent(comparison.margin)
        )
    } else {
        format!(
            "Of {all}, {run} compared with {base} is {}",
            terms::joined(&parts, "and")
        )
    };
    if open > 0 {
        let verb = if open == 1 { "is" } else { "are" };
        let _ = write!(text, "; {open} {verb} inconclusive");
    }
    text + "."
}

/// How the verdicts depend on user code; empty if all code is counted.
fn user_code(comparison: &RunComparison) -> String {
    let lines = comparison.lines.iter();
    if lines.clone().all(|line| line.user_code.is_none()) {
        return String::new();
    }
    let mut text =
        " User code is not counted: verdicts hold with none and with all of it, as measured \
                    on the host"
            .to_owned();
    let dependent = lines.filter(|line| line.depends_on_user_code).count();
    if dependent > 0 {
        let _ = write!(text, "; {dependent} inconclusive would hold without it");
    }
    text + "."
}

/// The lines with the largest decided differences, in their order.
fn largest<'a>(lines: impl Iterator<Item = &'a Line>, rows: usize) -> Vec<&'a Line> {
    let mut lines: Vec<(usize, &Line)> = lines.enumerate().collect();
    lines.sort_by(|a, b| {
        let decided = |line: &Line| matches!(line.verdict, Some(Verdict::Faster | Verdict::Slower));
        let order = decided(b.1).cmp(&decided(a.1));
        order.then(b.1.distance().total_cmp(&a.1.distance()))
    });
    lines.truncate(rows);
    lines.sort_by_key(|(place, _)| *place);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The number of lines that a screen leaves out.
fn left_out<'a>(lines: impl Iterator<Item = &'a Line>, rows: usize) -> Option<Block> {
    let more = lines.count().saturating_sub(rows);
    (more > 0).then(|| {
        Block::paragraph(format!(
            "{} with smaller differences: --long.",
            terms::count(more, "more figure")
        ))
    })
}

/// The section of counted work, if both runs counted it.
fn counts(comparison: &RunComparison, rows: usize) -> Option<Block> {
    comparison.lines_of(false).next()?;
    let figures = unique(comparison.lines_of(false).map(|line| line.figure.clone()));
    let about = figures
        .iter()
        .map(|one| format!("{one}: {}", terms::printable(&one.about())));
    let about: Vec<String> = about.collect();
    let margins = [comparison.margin_of_counts, comparison.margin].map(terms::percent);
    let legend = format!(
        "{}. Fewer, more: counts by more than {}, other figures by more than {}.",
        about.join("; "),
        margins[0],
        margins[1],
    );
    let table = table("Work", &largest(comparison.lines_of(false), rows));
    let section = Section::new("work", "Work").with(Block::Legend(legend.into()));
    let mut section = section.with(table);
    section
        .blocks
        .extend(left_out(comparison.lines_of(false), rows));
    Some(section.into())
}

/// Whether a time has no ratio, because one of the times is below the resolution.
fn is_below_resolution(line: &Line) -> bool {
    line.figure.is_time() && line.ratio.is_some() && line.shown_ratio().is_none()
}

/// All figures of both runs.
pub fn figures(comparison: &RunComparison) -> Table {
    table("Figures", &comparison.lines.iter().collect::<Vec<_>>())
}

fn table(name: &str, lines: &[&Line]) -> Table {
    let by_contender = lines.chunk_by(|one, next| one.contender == next.contender);
    let groups = by_contender.map(|lines| Group {
        heading: lines[0].contender.clone(),
        rows: lines.iter().filter_map(|line| row(line)).collect(),
        ..Group::default()
    });
    let columns = [
        Column::new("first"),
        Column::new("this"),
        Column::new("ratio"),
        Column::giving_way("95\u{a0}%", 1),
        Column::of_text("verdict"),
    ];
    Table::grouped(name, ["contender", "phase"], columns, groups)
}

fn row(line: &Line) -> Option<Row> {
    let (base, now) = line.medians()?;
    let ratio = line.shown_ratio();
    let interval = ratio.and_then(|ratio| ratio.interval);
    let outcome = match line.verdict {
        _ if line.is_negligible() => Outcome::Negligible,
        None if line.base.len().min(line.figures.len()) == 1 => Outcome::OneDraw,
        verdict => match Outcome::of_verdict(verdict, line.figure.is_time(), line.better) {
            Outcome::TooFew => Outcome::Inconclusive,
            outcome => outcome,
        },
    };
    let figure_name = match &*line.unit {
        NANOSECONDS | BYTES => line.figure.to_string(),
        unit => terms::figure_with_unit(line.figure.as_str(), unit),
    };
    let name = format!("{} / {}, {figure_name}", line.workload, line.phase);
    let cells = vec![
        figure(line, base),
        figure(line, now),
        Cell::known(ratio, |ratio| match outcome {
            Outcome::OneDraw => Cell::JudgedRatio(ratio.middle, outcome),
            _ => Cell::Ratio(ratio.middle),
        }),
        interval.map_or(Cell::Empty, |of| Cell::Interval(of.low, of.high)),
        Cell::Outcome(outcome),
    ];
    Some(Row::new(name, cells))
}

/// A median as a cell.
fn figure(line: &Line, median: f64) -> Cell {
    match &*line.unit {
        NANOSECONDS => Cell::Duration(Nanos::from_seconds(median / 1e9)),
        BYTES if median >= 0.0 => Cell::Size(Bytes(terms::whole(median))),
        COUNT if median >= 0.0 => Cell::Count(terms::whole(median)),
        _ => Cell::Number(median),
    }
}

fn differences(comparison: &RunComparison, rows: usize) -> Option<Block> {
    let items = comparison.differences.iter().map(|one| {
        let forbids = if one.forbids {
            " (their figures are not comparable)"
        } else {
            ""
        };
        let text = format!("{} -> {}{forbids}", one.base, one.run);
        Item::new(one.what, Tone::Plain, text)
    });
    let mut items: Vec<Item> = items.collect();
    let more = items.len().saturating_sub(rows);
    items.truncate(rows);
    if more > 0 {
        items.push(Item::new(
            "with --long",
            Tone::Plain,
            format!("{more} more"),
        ));
    }
    let section = Section::new("differences", "What differs");
    (!items.is_empty()).then(|| section.with(Block::List(items)).into())
}

fn thresholds(checked: &[Checked<'_>], rows: usize) -> Option<Block> {
    let count = |holds| checked.iter().filter(|one| one.holds == holds).count();
    let heading = format!(
        "Thresholds: {} met, {} exceeded, {} inconclusive",
        count(ThresholdResult::Kept),
        count(ThresholdResult::Beyond),
        count(ThresholdResult::Inconclusive)
    );
    let failed = checked
        .iter()
        .filter(|one| one.holds != ThresholdResult::Kept);
    let items = failed.map(|one| {
        let (verdict, tone) = match one.holds {
            ThresholdResult::Beyond => ("EXCEEDED", Tone::Bad),
            _ => (
                "inconclusive, for it may be chance: add repeats",
                Tone::Warning,
            ),
        };
        let by = one.line.shown_ratio().map_or_else(
            || format!("less than {RESOLUTION} in one run"),
            |ratio| format!("{}x", terms::ratio(ratio.middle)),
        );
        let text = format!(
            "{by}: {verdict}, {} / {} at {}",
            one.line.workload, one.line.phase, one.line.contender,
        );
        Item::new(one.threshold.to_string(), tone, text)
    });
    let section = Section::new("thresholds", heading);
    let items = items.take(rows).collect();
    (!checked.is_empty()).then(|| section.with(Block::List(items)).into())
}
