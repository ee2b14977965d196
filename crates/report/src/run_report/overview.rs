//! The faster contender of each phase, with ratios and confidence; ranks, tiers and means.

use super::Lab;
use crate::comparison::overview::{Entry, Overview, Relation};
use crate::comparison::{Comparison, TIERS};
use crate::document::{
    Audience, Block, Cell, Column, Compared, Group, Item, Mark, Outcome, Overflow, Row, Section,
    Table, Text, Tone, VerdictCell,
};
use fsdyno_stats::PairedRatio;

/// The section; `None` if nothing is compared.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let comparison = lab.comparison;
    if !comparison.compares() {
        return None;
    }
    let all: Vec<usize> = (0..comparison.contenders.len()).collect();
    let charts = lab.charts.iter().filter(|chart| chart.phase.is_none());
    let mut section = Section::new("overview", "Overview").with(Block::Only(
        Audience::Page,
        vec![
            table(lab, &all, "Overview").into(),
            Block::Legend(legend(comparison)),
        ],
    ));
    section.blocks.extend(means(lab));
    if let Some(reached) = &comparison.reached {
        section.blocks.push(Block::paragraph(reached.as_str()));
    }
    let order = comparison.order.as_deref().map(Block::paragraph);
    section.blocks.extend(order);
    let adjusted = comparison.adjusted_text().map(Block::paragraph);
    section.blocks.extend(adjusted);
    section.blocks.extend(tiers(comparison));
    section
        .blocks
        .push(Block::Charts(charts.cloned().collect()));
    Some(section)
}

/// The ratios of some contenders in all phases.
pub fn table(lab: &Lab<'_>, among: &[usize], name: &str) -> Table {
    let comparison = lab.comparison;
    let overview = comparison.overview(among);
    let mut groups: Vec<Group> = Vec::new();
    for row in &overview.rows {
        let entries = row.entries.iter();
        let cells =
            entries.map(|entry| Cell::known(entry.as_ref(), |entry| cell(comparison, entry)));
        let cells = cells.collect();
        let line = Row {
            place: Some(row.place.clone()),
            ..Row::new(row.phase, cells)
        };
        let several = comparison.workloads.len() > 1;
        let heading = if several { row.workload } else { "" };
        match groups.last_mut().filter(|group| group.heading == heading) {
            Some(group) => group.rows.push(line),
            None => groups.push(Group {
                heading: heading.to_owned(),
                rows: vec![line],
                ..Group::default()
            }),
        }
    }
    let columns = among.iter().map(|at| Column::new(lab.label(*at)));
    Table {
        summary: summary(comparison, &overview),
        overflow: Overflow::SplitWithBaseline,
        ..Table::grouped(name, ["workload", "phase"], columns, groups)
    }
}

fn cell(comparison: &Comparison, entry: &Entry) -> Cell {
    Cell::Verdict(Box::new(VerdictCell {
        to_base: Some(compared(comparison, &entry.to_base)),
        to_best: compared(comparison, &entry.to_best),
        ..VerdictCell::default()
    }))
}

/// A ratio with its verdict; without verdict if there are too few repeats for any.
pub fn compared(comparison: &Comparison, relation: &Relation) -> Compared {
    let judged = comparison.judged();
    Compared {
        outcome: Some(relation.outcome).filter(|outcome| *outcome != Outcome::TooFew || judged),
        ..relation.ratio.as_ref().map(of_ratio).unwrap_or_default()
    }
}

fn of_ratio(ratio: &PairedRatio) -> Compared {
    // The ratio of a contender to itself has no interval.
    let exact = ratio.low.to_bits() == ratio.high.to_bits() && (ratio.middle - 1.0).abs() < 1e-12;
    Compared {
        ratio: Some(ratio.middle),
        interval: ratio
            .interval
            .filter(|_| !exact)
            .map(|of| (of.low, of.high)),
        outcome: None,
    }
}

/// The geometric means.
fn summary(comparison: &Comparison, overview: &Overview<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let outcome = comparison.one_draw().then_some(Outcome::OneDraw);
    let of_mean = |ratio: &PairedRatio| Compared {
        outcome,
        ..of_ratio(ratio)
    };
    let both = overview.to_base.iter().zip(&overview.to_best);
    let means = both.map(|(base, best)| {
        Cell::Verdict(Box::new(VerdictCell {
            to_base: Some(of_mean(base)),
            to_best: of_mean(best),
            ..VerdictCell::default()
        }))
    });
    let means: Vec<Cell> = means.collect();
    if !means.is_empty() {
        let name = format!("geometric mean of {} phases", overview.phases);
        rows.push(Row::new(name, means));
    }
    rows
}

fn legend(comparison: &Comparison) -> Text {
    let mut text = Text::from(format!(
        "The whole time of each phase: to durable where it writes, else to return. {}.",
        comparison.figures()
    ));
    text = if comparison.judged() {
        text.plain(format!(" {}", comparison.verdicts_text()))
    } else if comparison.one_draw() {
        text
    } else {
        text.plain(" There are too few repeats to judge: a lower figure is a hint.")
    };
    text = text.plain(format!(" {}", comparison.ratios_text()));
    if comparison.unjudged() {
        text = text
            .plain(" ")
            .mark(Mark::Inconclusive)
            .plain(" inconclusive.");
    }
    if comparison.intervals() {
        text = text.plain(" Below a ratio: its interval at 95 % or more.");
    }
    text
}

/// The geometric means, for text formats.
fn means(lab: &Lab<'_>) -> Option<Block> {
    let comparison = lab.comparison;
    let overall = &comparison.overall;
    if overall.ratios.is_empty() {
        return None;
    }
    let means = overall.ratios.iter();
    let one_draw = comparison.one_draw();
    let cells = means.map(|mean| {
        Cell::known(mean.as_ref(), |mean| {
            if one_draw {
                Cell::JudgedRatio(mean.middle, Outcome::OneDraw)
            } else {
                Cell::Ratio(mean.middle)
            }
        })
    });
    let name = format!("geometric mean of {} phases", overall.phases);
    let mut rows = vec![Row::new(name, cells.collect())];
    let intervals = overall.ratios.iter().enumerate().map(|(at, mean)| {
        let interval = mean.and_then(|mean| mean.interval).filter(|_| at > 0);
        interval.map_or(Cell::Empty, |of| Cell::Interval(of.low, of.high))
    });
    if overall
        .ratios
        .iter()
        .flatten()
        .any(|mean| mean.interval.is_some())
    {
        rows.push(Row::new("interval at 95 %", intervals.collect()));
    }
    Some(Block::Only(
        Audience::Text,
        vec![
            Block::paragraph(
                "The mean of the ratios to the first contender, to durable where a phase writes.",
            ),
            Table {
                overflow: Overflow::SplitWithBaseline,
                ..Table::new("Geometric mean", "ratio", lab.columns(), rows)
            }
            .into(),
        ],
    ))
}

/// The tiers of all phases, for text formats.
fn tiers(comparison: &Comparison) -> Option<Block> {
    let tiers = comparison.tiers();
    if tiers.is_empty() {
        return None;
    }
    let items = tiers.into_iter().map(|(place, tiers)| Item {
        place: Some(place.clone()),
        ..Item::new(place, Tone::Plain, tiers)
    });
    let list = Block::List(items.collect());
    let blocks = vec![Block::paragraph(TIERS), list];
    Some(Block::Only(Audience::Text, blocks))
}
