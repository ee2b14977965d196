//! The figures of a run next to those of the user's own tables. They are of other machines or other
//! times, so nothing is judged.

use crate::document::{Block, Cell, Column, Document, Figure, Group, Label, Row, Section, Table};
use crate::figures::{Blocked, summary};
use crate::lists::unique;
use crate::terms::{self, Scale, figure_with_unit};
use fsdyno_model::figure_unit::normalised;
use fsdyno_model::{Better, FigureName, OwnFigure, OwnPhase, OwnTable, PhasePlan, ResultSet};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The number of names in a message.
const NAMED: usize = 6;

/// A run next to tables of the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnComparison {
    /// The version of this structure in JSON.
    pub schema: u32,
    /// The run.
    pub run: String,
    /// The plan of the run.
    pub plan: String,
    /// The start of the run: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The kernel of the run.
    pub kernel: String,
    /// Whether the run used virtual time.
    pub virtual_time: bool,
    /// The files of the tables.
    pub tables: Vec<String>,
    /// The figures in both, by phase.
    pub figures: Vec<OwnLine>,
    /// The figures in the tables only, by name.
    pub only_in_tables: Vec<String>,
}

/// A figure of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnLine {
    /// The phase.
    pub phase: String,
    /// The figure.
    pub figure: String,
    /// The unit of all values.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// The contenders of the run, then those of the tables only.
    pub contenders: Vec<OwnEntry>,
}

/// The figures of a contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnEntry {
    /// The contender.
    pub contender: String,
    /// Its figure in a table.
    pub table: Option<f64>,
    /// The median in the run.
    pub now: Option<f64>,
    /// The number of figures in the median.
    pub repeats: usize,
    /// The least and the largest of them.
    pub range: Option<(f64, f64)>,
}

impl OwnComparison {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 1;

    /// Finds the figures of the tables in a run. The error is the reason why there are none, or why
    /// two do not compare.
    pub fn of(set: &ResultSet, tables: &[OwnTable]) -> Result<Self, String> {
        let all: Vec<&OwnFigure> = tables.iter().flat_map(|table| &table.figures).collect();
        let mut found = vec![false; all.len()];
        let names: BTreeSet<FigureName> =
            all.iter().map(|one| FigureName::new(&one.name)).collect();
        let mut figures = Vec::new();
        for place in places(set) {
            for name in &names {
                let of_line = all.iter().enumerate().filter_map(|(at, figure)| {
                    let contender = place.contender(figure)?;
                    (figure.name == name.as_str()).then_some((at, *figure, contender))
                });
                let of_line: Vec<_> = of_line.collect();
                if let Some(line) = OwnLine::of(set, &place, name, &of_line)? {
                    for (at, ..) in &of_line {
                        found[*at] = true;
                    }
                    figures.push(line);
                }
            }
        }
        let only = all.iter().zip(&found).filter(|(_, found)| !**found);
        let only = unique(only.map(|(figure, _)| label(figure)));
        let tables: Vec<String> = tables
            .iter()
            .map(|one| terms::printable(&one.name))
            .collect();
        if figures.is_empty() {
            let phases: Vec<String> = places(set).map(|place| place.label).collect();
            return Err(format!(
                "run {} has none of the figures of {} ({}); its phases are {}",
                set.run.id,
                tables.join(", "),
                few(&only),
                few(&phases)
            ));
        }
        Ok(Self {
            schema: Self::SCHEMA,
            run: terms::printable(&set.run.id),
            plan: terms::printable(&set.run.plan.name),
            started_unix_ns: set.run.started_unix_ns,
            kernel: terms::printable(set.kernel()),
            virtual_time: set.run.plan.in_virtual_time(),
            tables,
            figures,
            only_in_tables: only,
        })
    }
}

/// The first of these names, and the number of the others.
fn few(names: &[String]) -> String {
    let mut text = names[..names.len().min(NAMED)].join(", ");
    if let more @ 1.. = names.len().saturating_sub(NAMED) {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// A figure of a table, for messages: `copy durable`.
fn label(figure: &OwnFigure) -> String {
    let name = terms::printable(&figure.name);
    match &figure.phase {
        OwnPhase::Named(phase) | OwnPhase::Command(phase) => {
            format!("{}: {name}", terms::printable(phase))
        }
        OwnPhase::Reporting => name,
    }
}

/// A phase of a run.
struct Place<'a> {
    workload: usize,
    phase: usize,
    planned: &'a PhasePlan,
    /// Whether it is the only one.
    alone: bool,
    label: String,
}

fn places(set: &ResultSet) -> impl Iterator<Item = Place<'_>> {
    let workloads = &set.run.plan.workloads;
    let number: usize = workloads.iter().map(|workload| workload.phases.len()).sum();
    workloads
        .iter()
        .enumerate()
        .flat_map(move |(at, workload)| {
            let phases = workload.phases.iter().enumerate();
            phases.map(move |(phase, planned)| Place {
                workload: at,
                phase,
                planned,
                alone: number == 1,
                label: terms::phase(workloads.len(), &workload.name, &planned.label),
            })
        })
}

impl Place<'_> {
    /// The contender of a figure if it is one of this phase.
    fn contender<'a>(&self, figure: &'a OwnFigure) -> Option<&'a str> {
        let is_named = |name: &String| *name == self.planned.label || *name == self.label;
        let is_here = match &figure.phase {
            OwnPhase::Reporting => true,
            OwnPhase::Named(name) => is_named(name),
            OwnPhase::Command(command) => {
                let runs = self.planned.parameters.get("command") == Some(command);
                if !runs && !is_named(command) && self.alone {
                    // The commands of the results are the contenders.
                    return Some(command);
                }
                runs || is_named(command)
            }
        };
        is_here.then_some(figure.contender.as_str())
    }
}

impl OwnLine {
    /// The line of a figure with those of the tables; none if the run or the tables have none.
    fn of(
        set: &ResultSet,
        place: &Place<'_>,
        name: &FigureName,
        of_tables: &[(usize, &OwnFigure, &str)],
    ) -> Result<Option<Self>, String> {
        if of_tables.is_empty() {
            return Ok(None);
        }
        let samples = set.samples_of_all(place.workload, place.phase);
        let mut readings = samples
            .iter()
            .flatten()
            .filter_map(|(_, sample)| name.read(sample));
        let Some(first) = readings.next() else {
            return Ok(None);
        };
        let (factor, unit) = normalised(1.0, first.unit);
        let mut contenders = Vec::new();
        for (contender, samples) in set.run.plan.contenders.iter().zip(&samples) {
            let figures: Vec<Blocked> = samples
                .iter()
                .filter_map(|(block, sample)| {
                    let reading = name.read(sample).filter(|one| one.unit == first.unit)?;
                    Some((*block, reading.value * factor))
                })
                .collect();
            let now = summary(&figures);
            contenders.push(OwnEntry {
                contender: terms::printable(&contender.label),
                table: None,
                now: now.as_ref().map(|now| now.median),
                repeats: figures.len(),
                range: now.filter(|now| now.n > 1).map(|now| (now.min, now.max)),
            });
        }
        for (_, figure, contender) in of_tables {
            let what = || format!("{} of {contender}", label(figure));
            if figure.unit != unit {
                return Err(format!(
                    "{} is in `{}`, and in the run in `{}`",
                    what(),
                    figure.unit,
                    first.unit
                ));
            }
            let contender = terms::printable(contender);
            let known = contenders.iter().position(|one| one.contender == contender);
            let at = known.unwrap_or_else(|| {
                contenders.push(OwnEntry {
                    contender,
                    table: None,
                    now: None,
                    repeats: 0,
                    range: None,
                });
                contenders.len() - 1
            });
            if contenders[at].table.replace(figure.value).is_some() {
                return Err(format!("{} is there twice", what()));
            }
        }
        contenders.retain(|one| one.table.or(one.now).is_some());
        Ok(Some(Self {
            phase: terms::printable(&place.label),
            figure: terms::printable(name.as_str()),
            unit: terms::printable(&unit),
            better: first.better,
            contenders,
        }))
    }

    fn group(&self) -> Group {
        let values = self.contenders.iter().flat_map(|one| [one.table, one.now]);
        let values: Vec<f64> = values.flatten().collect();
        let scale = Scale::of_unit(&self.unit, values.iter().copied());
        let name = match scale {
            Some(_) => self.figure.clone(),
            None => figure_with_unit(&self.figure, &self.unit),
        };
        let rows = self.contenders.iter().map(|one| {
            let table = Cell::known(one.table, |value| Figure::of(value).into());
            let now = Cell::known(one.now, |value| {
                Figure {
                    spread: one.range,
                    ..Figure::of(value)
                }
                .into()
            });
            Row::new(Label::contender(one.contender.as_str()), vec![table, now])
        });
        Group {
            heading: format!("{}: {name}", self.phase),
            rows: rows.collect(),
            scale,
            ..Group::default()
        }
    }
}

/// The comparison as a document.
pub fn document(comparison: &OwnComparison) -> Document {
    let tables = comparison.tables.join(", ");
    let date = terms::date(comparison.started_unix_ns);
    let mut document = Document::new(format!(
        "fsdyno: {} of {date} next to {tables}",
        comparison.plan
    ));
    document.lead = vec![
        format!(
            "{} of {tables} next to run {}. Nothing is judged: machines and times differ.",
            terms::count(comparison.figures.len(), "figure"),
            comparison.run
        )
        .into(),
    ];
    let time = if comparison.virtual_time {
        ", virtual time"
    } else {
        ""
    };
    let mut facts = vec![
        ("table", tables),
        (
            "run",
            format!(
                "{} of {date}, {}{time}: medians, with min-max",
                comparison.run, comparison.kernel
            ),
        ),
    ];
    if !comparison.only_in_tables.is_empty() {
        facts.push(("not in the run", few(&comparison.only_in_tables)));
    }
    let groups = comparison.figures.iter().map(OwnLine::group);
    let columns = [Column::new("table"), Column::new("run")];
    document.blocks = vec![
        Section::new("figures", "Figures")
            .with(Block::Facts(facts))
            .with(Table::grouped(
                "Figures",
                ["figure", "contender"],
                columns,
                groups,
            ))
            .into(),
    ];
    document
}

/// The figures of both, a row for each contender of each figure.
pub fn figures(comparison: &OwnComparison) -> Table {
    let columns = [
        "run",
        "phase",
        "figure",
        "unit",
        "better",
        "contender",
        "table",
        "now",
        "repeats",
    ];
    let rows = comparison.figures.iter().flat_map(|line| {
        line.contenders.iter().map(|one| {
            let text = |text: &str| Cell::Text(text.to_owned());
            let cells = vec![
                text(&comparison.run),
                text(&line.phase),
                text(&line.figure),
                text(&line.unit),
                text(line.better.name()),
                text(&one.contender),
                Cell::known(one.table, Cell::Number),
                Cell::known(one.now, Cell::Number),
                Cell::Count(one.repeats as u64),
            ];
            Row::new("", cells)
        })
    });
    Table::new("figures", "", columns.map(Column::new), rows)
}
