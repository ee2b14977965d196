//! A history, as a document and as a table of figures.

use super::LEVEL;
use super::chart;
use super::figures::{axis, change, heading};
use super::json::{History, Moved, Point, SeriesHistory, Step};
use super::steps::MIN_NOISY_RUNS;
use crate::document::{
    Block, Cell, Column, Document, Filter, Group, Item, Label, Overflow, Row, Section, Table, Text,
    Tone,
};
use crate::terms::{self, amount};
use fsdyno_model::Better;
use fsdyno_model::figures::NANOSECONDS;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The largest number of counters in the description of a step.
const MAX_COUNTERS: usize = 6;

/// The part of a history that a document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The largest number of phases. Those with steps are first.
    phases: usize,
    /// Whether there are tables of all figures, and not only steps.
    has_tables: bool,
}

impl Screen {
    /// All of it.
    pub const ALL: Self = Self::tables(usize::MAX);

    const fn tables(phases: usize) -> Self {
        Self {
            phases,
            has_tables: true,
        }
    }

    const fn steps(phases: usize) -> Self {
        Self {
            phases,
            has_tables: false,
        }
    }
}

/// The parts on a screen. The first that fits is used.
pub const SCREENS: [Screen; 8] = [
    Screen::ALL,
    Screen::tables(4),
    Screen::tables(2),
    Screen::tables(1),
    Screen::steps(6),
    Screen::steps(3),
    Screen::steps(1),
    Screen::steps(0),
];

/// Builds the document.
pub fn document(history: &History, screen: Screen) -> Document {
    let (metric, by) = (&history.metric, history.by);
    let mut document = Document::new(format!("History of {metric} by {by}"));
    document.lead = vec![lead(history)];
    let contenders = history.series.iter().map(SeriesHistory::name);
    document.filters = Filter::of_contenders(contenders.map(|name| terms::printable(&name)));
    document.chart_command = format!("fsdyno history --by {by} --format svg");
    document.blocks.push(Block::warnings(&history.warnings));
    document.blocks.push(Block::Legend(legend(history)));
    let mut phases: Vec<(usize, &[SeriesHistory])> = history.phases().enumerate().collect();
    if screen.phases < phases.len() {
        let steps =
            |phase: &[SeriesHistory]| phase.iter().map(|one| one.steps.len()).sum::<usize>();
        phases.sort_by_key(|(number, phase)| (std::cmp::Reverse(steps(phase)), *number));
    }
    let left_out = phases.split_off(screen.phases.min(phases.len())).len();
    for (number, phase) in phases {
        let section = section(history, number, phase, screen.has_tables);
        document.blocks.push(section.into());
    }
    if left_out > 0 {
        let more = terms::count(left_out, "more phase");
        document
            .blocks
            .push(Block::paragraph(format!("{more}: --long.")));
    }
    document
}

fn lead(history: &History) -> Text {
    let series = || history.series.iter();
    let with_steps = series().filter(|one| !one.steps.is_empty()).count();
    let enough = series().filter(|one| one.has_enough_runs).count();
    let (all, runs) = (history.series.len(), terms::count(history.runs, "run"));
    let text = match history.steps() {
        0 if enough == 0 => format!(
            "No step can be detected in {runs}. With noise a series needs {MIN_NOISY_RUNS}, without \
             noise two points."
        ),
        0 if enough < all => format!(
            "No step was detected in {enough} of {all} series, from {runs}; the others have too few."
        ),
        0 => format!("No step was detected in {runs}."),
        steps => format!(
            "{} in {with_steps} of {all} series, from {runs}.",
            terms::count(steps, "step")
        ),
    };
    text.into()
}

/// What is followed, as a part of a sentence.
fn about(history: &History) -> Cow<'static, str> {
    match history.metric.function() {
        Some((function, all)) if history.unit == NANOSECONDS => {
            let below = if all { " and of all that it calls" } else { "" };
            format!("the sampled processor time of {function}{below}").into()
        }
        _ => history.metric.about(),
    }
}

fn legend(history: &History) -> Text {
    let mut text = format!("Medians of {}. ", about(history));
    let margins = |exact: bool| {
        let series = history.series.iter().filter(move |one| one.exact == exact);
        let margins: BTreeSet<String> = series.map(|one| terms::percent(one.margin)).collect();
        margins.into_iter().collect::<Vec<_>>().join(" or ")
    };
    let (exact, noisy) = (margins(true), margins(false));
    if !exact.is_empty() {
        let _ = write!(
            text,
            "In virtual time the same draws have exact figures: each change of more than {exact} is a \
             step. "
        );
    }
    if !noisy.is_empty() {
        let _ = write!(
            text,
            "Otherwise steps are change points of the medians of runs: E-divisive with means \
             (Matteson and James 2014), permutation test at {}, above {noisy}. ",
            terms::percent(LEVEL)
        );
    }
    text += "A percentage follows the first figure of a new level.";
    text.into()
}

fn section(history: &History, number: usize, phase: &[SeriesHistory], has_table: bool) -> Section {
    let heading = phase.first().map(|one| heading(history, one));
    let mut section = Section::new(format!("phase-{}", number + 1), heading.unwrap_or_default());
    if has_table {
        section.blocks.push(table(history, phase).into());
    }
    let steps = phase.iter().flat_map(|series| {
        let steps = series.steps.iter();
        steps.map(move |step| item(history, series, step))
    });
    section.blocks.push(Block::List(steps.collect()));
    let notes = phase.iter().filter_map(|series| {
        let note = series.note.as_ref()?;
        Some(format!("{}: {note}", terms::printable(&series.name())))
    });
    section.blocks.push(Block::sentences(notes));
    section.blocks.push(Block::Charts(
        chart::of_phase(history, number, phase)
            .into_iter()
            .collect(),
    ));
    section
}

fn table(history: &History, phase: &[SeriesHistory]) -> Table {
    let rows = axis(history, phase).into_iter().map(|label| {
        let cells = phase.iter().map(|series| cell(history, series, &label));
        Row::new(label.clone(), cells.collect())
    });
    let names = phase.iter().map(|one| terms::printable(&one.name()));
    let columns = names.map(|name| Column::of_text(Label::contender(name)));
    Table {
        overflow: Overflow::Split,
        ..Table::new("Figures", history.by.name(), columns, rows)
    }
}

fn cell(history: &History, series: &SeriesHistory, label: &str) -> Cell {
    let found = series.points.iter().position(|point| point.label == label);
    let Some(at) = found else {
        return Cell::Unknown;
    };
    let figure = amount(&history.unit, series.points[at].figure, series.exact);
    let steps = series.steps.iter().filter(|step| step.point == at);
    let steps: Vec<String> = steps
        .map(|step| format!(" {}", change(step.before, step.after)))
        .collect();
    Cell::Text(format!("{figure}{}", steps.concat()))
}

fn item(history: &History, series: &SeriesHistory, step: &Step) -> Item {
    let rises = step.after > step.before;
    let lead = match (rises, &*history.unit) {
        (true, NANOSECONDS) => "slower",
        (false, NANOSECONDS) => "faster",
        (true, _) => "more",
        (false, _) => "fewer",
    };
    let tone = match history.better {
        Better::Neither => Tone::Plain,
        better if rises == (better == Better::Higher) => Tone::Good,
        _ => Tone::Bad,
    };
    let contender = terms::printable(&series.name());
    let chance = step.p.map_or_else(String::new, |p| format!(", p = {p:.3}"));
    let figure = |value| amount(&history.unit, value, series.exact);
    let text = format!(
        "{contender} at {}: {}, {} -> {}{chance}",
        step.to,
        change(step.before, step.after),
        figure(step.before),
        figure(step.after),
    );
    let mut more = Vec::new();
    if step.moved.is_empty() {
        let margin = terms::percent(series.margin);
        let text = format!("no other figure changed by more than {margin}");
        more.push((text.into(), Tone::Soft));
    } else {
        let text = format!("with it: {}", listed(&step.moved));
        more.push((text.into(), Tone::Plain));
    }
    let mut changed: Vec<String> = Vec::new();
    if step.from != step.to {
        changed.push(format!("{} -> {}", step.from, step.to));
    }
    changed.extend(
        step.changed
            .iter()
            .map(|one| format!("{} {} -> {}", one.what, one.base, one.run)),
    );
    changed.push(format!("runs {} and {}", step.run_before, step.run_after));
    more.push((changed.join("; ").into(), Tone::Soft));
    Item {
        more,
        contender: Some(contender),
        ..Item::new(lead, tone, text)
    }
}

/// Counters with both figures, those that changed most.
pub(crate) fn listed(all: &[Moved]) -> String {
    let mut shown: Vec<String> = all.iter().take(MAX_COUNTERS).map(moved).collect();
    if all.len() > MAX_COUNTERS {
        shown.push(format!("and {} more", all.len() - MAX_COUNTERS));
    }
    shown.join("; ")
}

fn moved(moved: &Moved) -> String {
    let unit = moved.metric.definition().map_or("", |one| one.unit);
    let figure = |value| amount(unit, value, true);
    format!(
        "{} {} -> {} ({})",
        moved.metric,
        figure(moved.before),
        figure(moved.after),
        change(moved.before, moved.after)
    )
}

/// A point of a series, for CSV.
struct Line<'a> {
    history: &'a History,
    series: &'a SeriesHistory,
    point: &'a Point,
    step: Option<&'a Step>,
}

/// A column: its heading, and its cell of a row.
type Field = (&'static str, fn(&Line<'_>) -> Cell);

const COLUMNS: [Field; 14] = [
    ("workload", |l| text(&l.series.workload)),
    ("phase", |l| text(&l.series.phase)),
    ("conditions", |l| text(&l.series.conditions.join(", "))),
    ("kernel", |l| text(&l.point.kernel)),
    ("commit", |l| Cell::known(l.point.commit.as_deref(), text)),
    ("started", |l| text(&terms::date(l.point.started_unix_ns))),
    ("runs", |l| text(&l.point.runs.join(" "))),
    ("metric", |l| text(l.history.metric.as_str())),
    ("unit", |l| text(&l.history.unit)),
    ("figure", |l| Cell::Number(l.point.figure)),
    ("low", |l| Cell::Number(l.point.low)),
    ("high", |l| Cell::Number(l.point.high)),
    ("samples", |l| Cell::Count(l.point.samples as u64)),
    ("step", |l| {
        Cell::known(l.step.and_then(|step| step.ratio), Cell::Ratio)
    }),
];

fn text(text: &str) -> Cell {
    Cell::Text(terms::printable(text))
}

/// The figures as a table for CSV: a row for each point of each series.
pub fn figures(history: &History) -> Table {
    let groups = history.series.iter().map(|series| {
        let rows = series.points.iter().enumerate().map(|(at, point)| {
            let line = Line {
                history,
                series,
                point,
                step: series.steps.iter().find(|step| step.point == at),
            };
            let cells = COLUMNS.iter().map(|(_, cell)| cell(&line));
            Row::new(point.label.clone(), cells.collect())
        });
        Group {
            heading: terms::printable(&series.contender),
            rows: rows.collect(),
            ..Group::default()
        }
    });
    let columns = COLUMNS.iter().map(|(name, _)| Column::new(*name));
    Table::grouped("History", ["contender", "point"], columns, groups)
}
