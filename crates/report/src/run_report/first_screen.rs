//! The first screen of a run: the answer, one table, the three most important warnings, and the
//! commands that print the rest. The options limit its lines.

use super::{Lab, with_each_lab};
use crate::comparison::{Comparison, Comparisons, Line, Overall, WarningSummary};
use crate::document::{
    Block, Cell, Column, Document, Figure, Group, Item, Mark, Outcome, Overflow, RatioTo, Row,
    Table, Text, Tone,
};
use crate::options::Options;
use crate::resolution::{RESOLUTION, RESOLUTION_NS};
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::Verdict;

/// The largest number of warnings.
pub const WARNINGS: usize = 3;
/// The largest number of contenders in a table with a row for each.
const CONTENDERS: usize = 20;

/// The rows of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// One for each phase.
    Phases,
    /// One for each workload, with the geometric mean of its phases.
    Workloads,
    /// One for each contender, with the geometric mean of all phases.
    Contenders,
    /// No table.
    None,
}

impl Rows {
    /// All kinds of rows, the most detailed first.
    pub const ALL: [Self; 4] = [Self::Phases, Self::Workloads, Self::Contenders, Self::None];
}

/// The first screen with these rows, and as many warnings.
pub fn document(set: &ResultSet, options: &Options, (rows, warnings): (Rows, usize)) -> Document {
    let comparisons = Comparisons::of(set);
    let mut blocks = Vec::new();
    with_each_lab(set, &comparisons, options, |lab| {
        let table = match rows {
            _ if !lab.comparison.measured() => return,
            Rows::Phases => phases(lab),
            Rows::Workloads => workloads(lab),
            Rows::Contenders => contenders(lab),
            Rows::None => return,
        };
        if !table.is_empty() {
            let legend = legend(lab.comparison, &table, rows);
            blocks.extend([table.into(), Block::Legend(legend)]);
        }
    });
    let notes = notes(&comparisons, warnings);
    let left_out = comparisons.warning_summaries.len().saturating_sub(warnings);
    blocks.extend((!notes.is_empty()).then_some(Block::List(notes)));
    blocks.push(Block::List(rest(set, left_out)));
    Document {
        lead: comparisons.answers().into_iter().map(Text::from).collect(),
        blocks,
        ..Document::default()
    }
}

/// The whole time of each phase, and the geometric mean of all.
fn phases(lab: &Lab<'_>) -> Table {
    let comparison = lab.comparison;
    let groups = comparison.whole_times().map(|(workload, phase, line)| {
        let values = line.values.iter().flatten();
        // A negligible time does not need three digits.
        let times = values.map(|value| value.summary.median.max(RESOLUTION_NS));
        let scale = match line.scale() {
            Some(_) if line.is_time() && lab.options.clock => Some(terms::Scale::Clock),
            Some(_) if line.is_time() => Some(terms::Scale::of_times(times)),
            scale => scale,
        };
        let place = comparison.place(workload, phase);
        let name = match scale {
            Some(scale) if line.is_time() => format!("{place}, {}", scale.unit()),
            _ => format!("{place}: {}", line.name()),
        };
        Group {
            scale,
            rows: vec![Row::new(name, self::times(lab, line))],
            ..Group::default()
        }
    });
    let name = format!("geometric mean of {} phases", comparison.overall.phases);
    Table {
        name: "Whole times".to_owned(),
        rows_are: "phase",
        summary: mean(name, comparison, &comparison.overall),
        ..table(lab, groups.collect())
    }
}

fn table(lab: &Lab<'_>, groups: Vec<Group>) -> Table {
    Table {
        columns: lab.columns().collect(),
        groups,
        overflow: Overflow::SplitWithBaseline,
        ..Table::default()
    }
}

fn times(lab: &Lab<'_>, line: &Line) -> Vec<Cell> {
    let values = line.values.iter().enumerate();
    let cell = |(at, value): (usize, &Option<_>)| {
        Cell::known(value.as_ref(), |value| {
            let figure = lab.figure(value, at);
            let ratio = match figure.ratio.without_interval() {
                RatioTo::Baseline => RatioTo::None,
                ratio => ratio,
            };
            let figure = Figure {
                spread: None,
                samples: Vec::new(),
                warned: false,
                ratio,
                ..figure
            };
            figure.into()
        })
    };
    values.map(cell).collect()
}

/// The row of a geometric mean; none if there is no mean.
fn mean(name: String, comparison: &Comparison, overall: &Overall) -> Vec<Row> {
    let winner = overall.leaders().and_then(|leaders| leaders.winner());
    let judged = comparison.judged();
    let cells = overall.ratios.iter().enumerate().map(|(at, ratio)| {
        let outcome = match overall.verdict(at, 0) {
            _ if comparison.one_draw() => Some(Outcome::OneDraw),
            _ if at == 0 => None,
            Some(Verdict::Equivalent) => Some(Outcome::Equivalent),
            Some(Verdict::Inconclusive) => Some(Outcome::Inconclusive),
            None if judged => Some(Outcome::TooFew),
            _ => None,
        };
        Cell::known(ratio.as_ref(), |ratio| Cell::Mean {
            ratio: ratio.middle,
            outcome,
            best: winner == Some(at),
        })
    });
    let cells: Vec<Cell> = cells.collect();
    if cells.is_empty() {
        return Vec::new();
    }
    vec![Row::new(name, cells)]
}

/// The geometric mean of each workload and of all.
fn workloads(lab: &Lab<'_>) -> Table {
    let comparison = lab.comparison;
    let means = Overall::by_workload(comparison);
    let rows = means.iter().flat_map(|(name, overall)| {
        let phases = terms::count(overall.phases, "phase");
        mean(format!("{name} ({phases})"), comparison, overall)
    });
    let group = Group {
        rows: rows.collect(),
        ..Group::default()
    };
    let name = format!("geometric mean of {} phases", comparison.overall.phases);
    Table {
        name: "Workloads".to_owned(),
        rows_are: "workload",
        summary: mean(name, comparison, &comparison.overall),
        ..table(lab, vec![group])
    }
}

/// The mean of each contender, and the number of phases by verdict, the lowest mean first.
fn contenders(lab: &Lab<'_>) -> Table {
    let comparison = lab.comparison;
    let all = comparison.contenders.len();
    let mean = |at: usize| comparison.overall.ratios.get(at)?.map(|ratio| ratio.middle);
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by(|a, b| {
        let key = |at: usize| mean(at).unwrap_or(f64::INFINITY);
        key(*a).total_cmp(&key(*b))
    });
    let lines = || comparison.whole_times().map(|(_, _, line)| line);
    let rows = order.iter().take(CONTENDERS).map(|at| {
        let counted = |wanted: &dyn Fn(&Line) -> bool| {
            let n = lines().filter(|line| wanted(line)).count();
            Cell::Count(n as u64)
        };
        let verdict = |wanted| counted(&|line: &Line| line.verdict(*at, 0) == Some(wanted));
        let mut cells = vec![
            self::mean(String::new(), comparison, &comparison.overall)
                .pop()
                .map_or(Cell::Unknown, |mut row| row.cells.swap_remove(*at)),
            counted(&|line| line.values[*at].as_ref().is_some_and(|value| value.best)),
        ];
        if *at == 0 {
            cells.resize(5, Cell::Empty);
        } else {
            let verdicts = [Verdict::Faster, Verdict::Slower, Verdict::Inconclusive];
            cells.extend(verdicts.map(verdict));
        }
        Row::new(comparison.contenders[*at].clone(), cells)
    });
    let mut rows: Vec<Row> = rows.collect();
    if all > CONTENDERS {
        let more = format!("and {} more", all - CONTENDERS);
        rows.push(Row::new(more, vec![Cell::Empty; 5]));
    }
    let columns = ["mean ratio", "fastest", "faster", "slower", "inconclusive"];
    Table::new("Contenders", "contender", columns.map(Column::new), rows)
}

/// Runs on model disks, for the end of the first screen of a measured run: the geometric mean of
/// each with their names; and a document with only the names.
pub fn model_disks(sets: &[(String, ResultSet)], options: &Options) -> Vec<Document> {
    let (mut rows, mut names, mut frame) = (Vec::new(), Vec::new(), None);
    for (label, set) in sets {
        let comparisons = Comparisons::of(set);
        with_each_lab(set, &comparisons, options, |lab| {
            let comparison = lab.comparison;
            rows.extend(mean(label.clone(), comparison, &comparison.overall));
            let frame_of = || (table(lab, Vec::new()), comparison.clone(), set);
            frame.get_or_insert_with(frame_of);
        });
        names.push(terms::printable(&set.run.id));
    }
    let list = |names: Vec<String>| {
        let names = names.join(", ");
        Block::List(vec![Item::new("On model disks", Tone::Soft, names)])
    };
    let document = |blocks| Document {
        blocks,
        ..Document::default()
    };
    let Some((empty, comparison, set)) = frame.filter(|_| !rows.is_empty()) else {
        return Vec::new();
    };
    let table = Table {
        name: "Model disks".to_owned(),
        rows_are: "model disk",
        groups: vec![Group {
            rows,
            ..Group::default()
        }],
        ..empty
    };
    let plan = &set.run.plan;
    let processor = plan.cpu.as_ref().map_or("free", |cpu| &cpu.profile);
    let about = format!(
        "Modelled, not measured: virtual time of model disks and processor {}, scale {}. Geometric \
         mean of {} phases, relative to {}.",
        terms::printable(processor),
        plan.scale,
        comparison.overall.phases,
        comparison.contenders[0],
    );
    let legend = with_marks(Text::from(about), &comparison, &table);
    let names = list(names);
    let all = vec![table.into(), Block::Legend(legend), names.clone()];
    vec![document(all), document(vec![names])]
}

/// The meaning of the figures, and of the marks that occur.
fn legend(comparison: &Comparison, table: &Table, rows: Rows) -> Text {
    let mut text = match rows {
        Rows::Phases => Text::from(format!(
            "{}; {}.",
            comparison.figures(),
            comparison.judged_text(),
        )),
        Rows::Contenders => Text::from(format!(
            "{}. Phases by verdict: fastest of all; faster, slower and inconclusive to {}.",
            comparison.figures(),
            comparison.contenders[0],
        )),
        _ => Text::from(format!("{}.", comparison.figures())),
    };
    if !comparison.compares() {
        return text;
    }
    text = text.plain(format!(" {}", comparison.ratios_text()));
    if rows == Rows::Phases && comparison.has_negligible() {
        text = text.plain(format!(" Times below {RESOLUTION} have no ratio."));
    }
    with_marks(text, comparison, table)
}

/// Adds the marks that occur in a table.
fn with_marks(mut text: Text, comparison: &Comparison, table: &Table) -> Text {
    let ratios = || {
        let cells = table.rows().flat_map(|row| &row.cells);
        cells.filter_map(Cell::outcome)
    };
    let mut marks = Vec::new();
    if table.rows().flat_map(|row| &row.cells).any(Cell::is_best) {
        marks.push((Mark::Best, comparison.words().best.to_owned()));
    }
    if ratios().any(|of| of == Outcome::Equivalent) {
        let margin = terms::percent(comparison.rule.margin);
        marks.push((Mark::Equivalent, format!("equivalent, within {margin}")));
    }
    if ratios().any(|of| matches!(of, Outcome::Inconclusive | Outcome::TooFew)) {
        marks.push((Mark::Inconclusive, "inconclusive".to_owned()));
    }
    let is_sensitive = |cell: &Cell| matches!(cell, Cell::Figure(figure) if figure.sensitive);
    if table.rows().flat_map(|row| &row.cells).any(is_sensitive) {
        marks.push((Mark::Sensitive, "depends on the model".to_owned()));
    }
    for (at, (mark, meaning)) in marks.into_iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "; " };
        text = text.plain(gap).mark(mark).plain(format!(" {meaning}"));
    }
    text
}

/// The cells that were not measured, and the most important warnings.
fn notes(comparisons: &Comparisons, most: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let counts = comparisons.cells.describe();
    let unmeasured = &comparisons.unmeasured;
    let failed = unmeasured.iter().find(|one| one.outcome == "failed");
    if let Some(first) = failed.or(unmeasured.first()) {
        let reason = first.reason.lines().next().unwrap_or_default();
        let (contender, workload) = (&first.contender, &first.workload);
        let text = format!("{counts}: {reason} ({contender}, {workload})");
        items.push(Item::new(format!("! {}", first.outcome), Tone::Bad, text));
    } else if comparisons.cells.measured < comparisons.cells.planned {
        items.push(Item::new("! incomplete", Tone::Warning, counts));
    }
    let mut warnings: Vec<&WarningSummary> = comparisons.warning_summaries.iter().collect();
    // The sort is stable: equally important ones keep their order.
    warnings.sort_by_key(|warning| warning.importance());
    items.extend(warnings.into_iter().take(most).map(|warning| {
        let kind = format!("! {}", warning.kind);
        Item::new(kind, Tone::Warning, warning.in_brief())
    }));
    items.truncate(most);
    items
}

/// The commands that print the rest.
fn rest(set: &ResultSet, left_out: usize) -> Vec<Item> {
    let id = terms::printable(&set.run.id);
    let more = match left_out {
        0 => "all figures and advice".to_owned(),
        n => format!(
            "{}, all figures and advice",
            terms::count(n, "more warning")
        ),
    };
    let more = format!("fsdyno report {id} --long ({more})");
    let page = format!("fsdyno report {id} -o report.html");
    vec![
        Item::new("More", Tone::Soft, more),
        Item::new("Page", Tone::Soft, page),
    ]
}
