//! A comparison of runs, as a document.

use super::{Checked, Line, RunComparison, ThresholdResult};
use crate::document::{
    Block, Cell, Column, Document, Group, Item, Outcome, Row, Section, Table, Tone,
};
use crate::resolution::RESOLUTION;
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_stats::Verdict;
use std::fmt::Write as _;

/// A run compared with the first one, with the results of the thresholds.
pub fn document(comparison: &RunComparison, checked: &[Checked<'_>]) -> Document {
    let title = format!("{} compared with {}", comparison.run, comparison.base);
    let mut document = Document::new(title);
    document.blocks.push(Block::warnings(&comparison.warnings));
    document.blocks.extend(differences(comparison));
    if comparison.lines.is_empty() {
        document.blocks.push(Block::paragraph(
            "The runs have no phase of a contender in common.",
        ));
        return document;
    }
    let mut legend = format!(
        "Medians; the ratio of this run to the first, with an interval at 95 % or more. The \
         figures are not paired: everything that differs is part of the ratio. Faster, slower: by \
         more than {margin}; equivalent: by less; inconclusive: not known.",
        margin = terms::percent(comparison.margin)
    );
    if comparison.certain {
        legend += " In virtual time figures have no noise: intervals have no width.";
    }
    if comparison.lines.iter().any(is_below_resolution) {
        let _ = write!(legend, " Times below {RESOLUTION} have no ratio.");
    }
    let section = Section::new("times", "Times")
        .with(Block::Legend(legend.into()))
        .with(table("Times", comparison.lines_of(true)));
    document.blocks.push(section.into());
    document.blocks.extend(counts(comparison));
    document.blocks.extend(thresholds(checked));
    document
}

/// The section of counted work, if both runs counted it.
fn counts(comparison: &RunComparison) -> Option<Block> {
    comparison.lines_of(false).next()?;
    let legend = format!(
        "blocks: basic blocks that the kernel of a guest executed during a phase, without noise; \
         instructions: of the workload, as the processors counted them. Fewer, more: by more than \
         {}.",
        terms::percent(comparison.margin_of_counts)
    );
    let table = table("Work", comparison.lines_of(false));
    let section = Section::new("work", "Work").with(Block::Legend(legend.into()));
    Some(section.with(table).into())
}

/// Whether a time has no ratio, because one of the times is below the resolution.
fn is_below_resolution(line: &Line) -> bool {
    line.metric.is_time() && line.ratio.is_some() && line.shown_ratio().is_none()
}

/// All figures of both runs.
pub fn figures(comparison: &RunComparison) -> Table {
    table("Figures", comparison.lines.iter())
}

fn table<'a>(name: &str, lines: impl Iterator<Item = &'a Line>) -> Table {
    let lines: Vec<&Line> = lines.collect();
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
    let is_time = line.metric.is_time();
    let outcome = match line.verdict {
        _ if line.is_negligible() => Outcome::Negligible,
        Some(Verdict::Faster) if is_time => Outcome::Faster,
        Some(Verdict::Slower) if is_time => Outcome::Slower,
        Some(Verdict::Faster) => Outcome::Fewer,
        Some(Verdict::Slower) => Outcome::More,
        Some(Verdict::Equivalent) => Outcome::Equivalent,
        Some(Verdict::Inconclusive) | None => Outcome::Inconclusive,
    };
    let name = format!("{} / {}, {}", line.workload, line.phase, line.metric.name());
    let cells = vec![
        figure(line, base),
        figure(line, now),
        Cell::known(ratio, |ratio| Cell::Ratio(ratio.middle)),
        interval.map_or(Cell::Empty, |of| Cell::Interval(of.low, of.high)),
        Cell::Outcome(outcome),
    ];
    Some(Row::new(name, cells))
}

/// A median as a cell: a time, or a whole count.
fn figure(line: &Line, median: f64) -> Cell {
    let Nanos(whole) = Nanos::from_seconds(median / 1e9);
    if line.metric.is_time() {
        Cell::Duration(Nanos(whole))
    } else {
        Cell::Count(whole)
    }
}

fn differences(comparison: &RunComparison) -> Option<Block> {
    let items = comparison.differences.iter().map(|one| {
        let forbids = if one.forbids {
            " (their figures are not comparable)"
        } else {
            ""
        };
        let text = format!("{} -> {}{forbids}", one.base, one.run);
        Item::new(one.what, Tone::Plain, text)
    });
    let section = Section::new("differences", "What differs");
    (!comparison.differences.is_empty()).then(|| section.with(Block::List(items.collect())).into())
}

fn thresholds(checked: &[Checked<'_>]) -> Option<Block> {
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
    (!checked.is_empty()).then(|| section.with(Block::List(items.collect())).into())
}
