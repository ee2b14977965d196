//! What the template is filled with: texts and numbers, nothing to decide any more.

use super::costs::{COSTS, Cell};
use super::fragments::Fragments;
use super::glance::{self, Glance};
use super::notes::{Doubt, Proof, State, Unmeasured};
use super::{bars, commands};
use crate::Options;
use crate::table::{
    Comparison, Measure, PhaseTable, Standing, Told, ToldValue, Value, WorkloadTable, facts,
};
use crate::words::{self, Scale};
use fsdyno_model::ResultSet;
use serde::Serialize;

/// The whole page.
#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers one question of the template"
)]
pub struct Page {
    title: String,
    subtitle: String,
    run: String,
    conclusion: String,
    cells: String,
    figures: String,
    repeated: bool,
    judged: bool,
    unjudged: bool,
    intervals: bool,
    compares: bool,
    doubted: bool,
    writes: bool,
    baseline: String,
    contenders: Vec<String>,
    glance: Vec<Glance>,
    glance_note: String,
    overall: Vec<String>,
    overall_phases: usize,
    told: Vec<ToldRow>,
    workloads: Vec<Workload>,
    cost_headings: Vec<&'static str>,
    fragments: Fragments,
    proofs: Vec<Proof>,
    states: Vec<State>,
    doubts: Vec<Doubt>,
    unmeasured: Vec<Unmeasured>,
    facts: Vec<(&'static str, String)>,
    in_force: commands::Texts,
    commands: commands::Texts,
    plan: String,
    schema: u32,
}

/// A figure that a program reported.
#[derive(Debug, Serialize)]
struct ToldRow {
    phase: String,
    name: String,
    direction: &'static str,
    values: Vec<String>,
}

impl ToldRow {
    fn of(told: &Told) -> Self {
        let text = |(at, value): (usize, &Option<ToldValue>)| {
            value.map_or_else(
                || "\u{2013}".to_owned(),
                |v| format!("{} {}", v.in_words(), v.ratio_in_words(at == 0)),
            )
        };
        Self {
            phase: told.phase.clone(),
            name: format!("{}, {}", told.name, told.unit),
            direction: told.direction(),
            values: told.values.iter().enumerate().map(text).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Workload {
    name: String,
    dataset: String,
    phases: Vec<Phase>,
}

#[derive(Debug, Serialize)]
struct Phase {
    label: String,
    about: String,
    unit: &'static str,
    writes: bool,
    rows: Vec<Row>,
    costs: Vec<(String, Vec<Cell>)>,
}

/// One contender at one phase.
#[derive(Debug, Serialize)]
struct Row {
    contender: String,
    bars: String,
    /// To return, and to durable where the phase writes.
    figures: Vec<Option<Figure>>,
}

/// A figure in words; `median_ns` and `ratio_value` are what it sorts by.
#[derive(Debug, Serialize)]
pub struct Figure {
    class: &'static str,
    median: String,
    median_ns: f64,
    spread: String,
    ratio: String,
    interval: Option<String>,
    ratio_value: f64,
    best: bool,
    doubted: bool,
}

impl Page {
    /// The page of a run.
    pub fn of(set: &ResultSet, options: &Options) -> Self {
        let comparison = Comparison::of(set);
        let run = &set.run;
        Self {
            title: title(&comparison),
            subtitle: format!(
                "{} \u{b7} {} \u{b7} {}",
                words::printable(&run.plan.name),
                words::date(run.started_unix_ns),
                words::printable(set.kernel())
            ),
            run: words::printable(&run.id),
            conclusion: comparison.conclusion.join(" "),
            cells: comparison.cells.in_words(),
            figures: comparison.figures(),
            repeated: comparison.repeated(),
            judged: comparison.judged(),
            unjudged: comparison.unjudged(),
            intervals: comparison.intervals(),
            compares: comparison.compares(),
            doubted: comparison.doubted(),
            writes: comparison.lines().any(|l| l.measure == Measure::Durable),
            baseline: comparison.contenders.first().cloned().unwrap_or_default(),
            glance_note: comparison.glance_note(),
            glance: glance::tables(&comparison, options.clock),
            overall: comparison.overall.iter().map(|r| times(*r)).collect(),
            overall_phases: comparison.overall_phases,
            told: comparison.told.iter().map(ToldRow::of).collect(),
            workloads: comparison
                .workloads
                .iter()
                .filter(|w| w.measured())
                .map(|w| Workload::of(w, &comparison.contenders, options.clock))
                .collect(),
            cost_headings: COSTS.iter().map(|(heading, _)| *heading).collect(),
            fragments: Fragments::of(&comparison),
            proofs: comparison
                .proofs
                .iter()
                .map(|p| Proof::of(p, comparison.workloads.len()))
                .collect(),
            states: comparison.states.iter().map(State::of).collect(),
            doubts: comparison.doubts.iter().map(Doubt::of).collect(),
            unmeasured: comparison.unmeasured.iter().map(Unmeasured::of).collect(),
            facts: facts::facts(set),
            in_force: commands::in_force(set),
            commands: commands::commands(set),
            plan: serde_json::to_string_pretty(&run.plan)
                .unwrap_or_else(|e| format!("the plan has no JSON form: {e}")),
            schema: set.schema,
            contenders: comparison.contenders.clone(),
        }
    }
}

fn title(comparison: &Comparison) -> String {
    // Characters of a heading of two lines at most.
    const LONGEST: usize = 80;
    let named = words::list(&comparison.contenders);
    match comparison.contenders.len() {
        0 => "Nothing compared".to_owned(),
        1 => format!("{named}, measured"),
        _ if named.chars().count() <= LONGEST => format!("{named} compared"),
        n => format!("{n} file systems and settings compared"),
    }
}

impl Workload {
    fn of(workload: &WorkloadTable, contenders: &[String], clock: bool) -> Self {
        Self {
            name: workload.name.clone(),
            dataset: workload.dataset.clone(),
            phases: workload
                .phases
                .iter()
                .filter(|p| !p.lines.is_empty())
                .map(|p| Phase::of(p, contenders, clock))
                .collect(),
        }
    }
}

impl Phase {
    fn of(phase: &PhaseTable, contenders: &[String], clock: bool) -> Self {
        let scale = phase.scale(clock);
        let mut columns: Vec<_> = phase
            .lines
            .iter()
            .map(|line| figures(&line.values, line.measure, scale).into_iter())
            .collect();
        let rows = contenders.iter().enumerate().map(|(at, contender)| Row {
            contender: contender.clone(),
            bars: bars::bars(phase, at),
            figures: columns.iter_mut().filter_map(Iterator::next).collect(),
        });
        let costs = contenders
            .iter()
            .zip(&phase.costs)
            .filter_map(|(contender, cost)| {
                let cost = cost.as_ref()?;
                let cells = COSTS.iter().map(|(_, cell)| cell(cost).into());
                Some((contender.clone(), cells.collect()))
            })
            .collect();
        Self {
            label: phase.label.clone(),
            about: phase.about(),
            unit: scale.unit(),
            writes: phase.lines.len() > 1,
            rows: rows.collect(),
            costs,
        }
    }
}

pub fn figures(values: &[Option<Value>], measure: Measure, scale: Scale) -> Vec<Option<Figure>> {
    values
        .iter()
        .enumerate()
        .map(|(at, v)| Some(Figure::of(v.as_ref()?, measure, scale, at == 0)))
        .collect()
}

impl Figure {
    fn of(value: &Value, measure: Measure, scale: Scale, baseline: bool) -> Self {
        let summary = value.summary;
        let level = match value.standing {
            Standing::TooFew => "? ",
            Standing::Level => "\u{2248} ",
            Standing::Plain => "",
        };
        Self {
            class: measure.name(),
            median: scale.show(summary.median),
            median_ns: summary.median,
            spread: if summary.n > 1 {
                scale.span(summary.min, summary.max, "\u{2013}")
            } else {
                String::new()
            },
            ratio: match value.ratio {
                Some(_) if baseline => "base".to_owned(),
                Some(ratio) => format!("{level}{}", times(ratio.median_ratio)),
                None if baseline => String::new(),
                None => "\u{2013}".to_owned(),
            },
            interval: value
                .ratio
                .filter(|_| !baseline)
                .and_then(|r| r.interval)
                .map(|i| format!("{}\u{2013}{}", words::ratio(i.low), words::ratio(i.high))),
            ratio_value: value.ratio.map_or(f64::MAX, |r| r.median_ratio),
            best: value.best,
            doubted: value.doubted,
        }
    }
}

/// `0.78×`.
pub fn times(ratio: f64) -> String {
    format!("{}\u{d7}", words::ratio(ratio))
}
