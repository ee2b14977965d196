//! A comparison of runs, as a document.

use super::{Checked, Holds, Line, RunComparison};
use crate::document::{
    Block, Cell, Column, Document, Group, Item, Outcome, Row, Section, Table, Tone,
};
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_stats::Verdict;

/// A run compared with the first one, with the results of the thresholds.
pub fn document(comparison: &RunComparison, checked: &[Checked<'_>]) -> Document {
    let title = format!("{} compared with {}", comparison.run, comparison.base);
    let mut document = Document::new(title);
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
    let section = Section::new("times", "Times")
        .with(Block::Legend(legend.into()))
        .with(figures(comparison));
    document.blocks.push(section.into());
    document.blocks.extend(thresholds(checked));
    document
}

/// The times of both runs.
pub fn figures(comparison: &RunComparison) -> Table {
    let by_contender = comparison
        .lines
        .chunk_by(|one, next| one.contender == next.contender);
    let groups = by_contender.map(|lines| Group {
        heading: lines[0].contender.clone(),
        rows: lines.iter().filter_map(row).collect(),
        ..Group::default()
    });
    Table {
        name: "Times".to_owned(),
        groups_are: "contender",
        rows_are: "phase",
        columns: vec![
            Column::new("first"),
            Column::new("this"),
            Column::new("ratio"),
            Column::giving_way("95\u{a0}%", 1),
            Column::of_text("verdict"),
        ],
        groups: groups.collect(),
        ..Table::default()
    }
}

fn row(line: &Line) -> Option<Row> {
    let (base, now) = line.medians()?;
    let interval = line.ratio.and_then(|ratio| ratio.interval);
    let outcome = match line.verdict {
        Some(Verdict::Faster) => Outcome::Faster,
        Some(Verdict::Slower) => Outcome::Slower,
        Some(Verdict::Indistinguishable) => Outcome::Equivalent,
        Some(Verdict::Inconclusive) | None => Outcome::Inconclusive,
    };
    let name = format!("{} / {}, {}", line.workload, line.phase, line.measure());
    let time = |ns: f64| Cell::Duration(Nanos::from_seconds(ns / 1e9));
    let cells = vec![
        time(base),
        time(now),
        Cell::known(line.ratio, |ratio| Cell::Ratio(ratio.middle)),
        interval.map_or(Cell::Empty, |of| Cell::Interval(of.low, of.high)),
        Cell::Outcome(outcome),
    ];
    Some(Row::new(name, cells))
}

fn differences(comparison: &RunComparison) -> Option<Block> {
    let items = comparison.differences.iter().map(|one| {
        let forbids = if one.forbids {
            " (their figures are not comparable)"
        } else {
            ""
        };
        Item {
            lead: Some((one.what.to_owned(), Tone::Plain)),
            text: format!("{} -> {}{forbids}", one.base, one.run).into(),
            ..Item::default()
        }
    });
    let section = Section::new("differences", "What differs");
    (!comparison.differences.is_empty()).then(|| section.with(Block::List(items.collect())).into())
}

fn thresholds(checked: &[Checked<'_>]) -> Option<Block> {
    let count = |holds| checked.iter().filter(|one| one.holds == holds).count();
    let heading = format!(
        "Thresholds: {} met, {} exceeded, {} inconclusive",
        count(Holds::Yes),
        count(Holds::No),
        count(Holds::Open)
    );
    let failed = checked.iter().filter(|one| one.holds != Holds::Yes);
    let items = failed.map(|one| {
        let (verdict, tone) = match one.holds {
            Holds::No => ("EXCEEDED", Tone::Bad),
            _ => (
                "inconclusive, for it may be chance: add repeats",
                Tone::Warning,
            ),
        };
        let ratio = one.line.ratio.map_or(f64::NAN, |ratio| ratio.middle);
        Item {
            lead: Some((one.threshold.to_string(), tone)),
            text: format!(
                "{}x: {verdict}, {} / {} at {}",
                terms::ratio(ratio),
                one.line.workload,
                one.line.phase,
                one.line.contender,
            )
            .into(),
            ..Item::default()
        }
    });
    let section = Section::new("thresholds", heading);
    (!checked.is_empty()).then(|| section.with(Block::List(items.collect())).into())
}
