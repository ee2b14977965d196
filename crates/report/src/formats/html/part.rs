//! The tables of one lab, as the template takes them: texts and numbers, nothing to decide any more.

use super::bars::{self, Dots};
use super::charts::Charts;
use super::costs::{COSTS, Cell};
use super::disks::Disks;
use super::fragments::Fragments;
use super::glance::{self, Glance};
use super::notes::{Proof, State};
use super::overview::{Layouts, Overview};
use super::why::Why;
use crate::table::{
    Comparison, Measure, PhaseTable, Scaling, Standing, TIERS, Told, ToldValue, Value,
    WorkloadTable, scaling,
};
use crate::terms::{self, Scale};
use serde::Serialize;

/// Everything of one lab, which is the whole run where there is one.
#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers one question of the template"
)]
pub struct Part {
    /// Its heading, where there are others.
    lab: Option<String>,
    /// What tells its places on the page from those of the others.
    suffix: String,
    /// Whether the page tells of cells that were not measured.
    unmeasured: bool,
    figures: String,
    repeated: bool,
    judged: bool,
    level: bool,
    margin: String,
    verdicts: String,
    unjudged: bool,
    intervals: bool,
    compares: bool,
    doubted: bool,
    writes: bool,
    /// Whether dots stand for several samples.
    binned: bool,
    dotted: bool,
    baseline: String,
    contenders: Vec<String>,
    /// Drawings of all phases.
    charts: Vec<String>,
    overview: Option<Overview>,
    tiers_about: &'static str,
    tiers: Vec<(String, String)>,
    reached: Option<String>,
    layouts: Option<Layouts>,
    glance: Vec<Glance>,
    glance_note: String,
    told: Vec<ToldRow>,
    scaling: Vec<ScalingRow>,
    scaling_about: &'static str,
    workloads: Vec<Workload>,
    why: Why,
    cost_headings: Vec<&'static str>,
    disks: Disks,
    fragments: Fragments,
    proofs: Vec<Proof>,
    states: Vec<State>,
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

/// What a phase reached with a number of workers.
#[derive(Debug, Serialize)]
struct ScalingRow {
    phase: String,
    workers: u32,
    values: Vec<String>,
}

impl ScalingRow {
    fn of(scaling: &Scaling) -> impl Iterator<Item = Self> {
        let rows = scaling.rows.iter();
        rows.map(|row| Self {
            phase: scaling.phase.clone(),
            workers: row.workers,
            values: row
                .values
                .iter()
                .map(|value| value.map_or_else(|| "\u{2013}".to_owned(), |one| one.in_words()))
                .collect(),
        })
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
    /// What it is called on the whole page.
    place: String,
    label: String,
    about: String,
    unit: &'static str,
    writes: bool,
    rows: Vec<Row>,
    /// Drawings of it.
    charts: Vec<String>,
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

impl Part {
    /// Part `at` of the page.
    pub fn of(
        at: usize,
        comparison: &Comparison,
        (why, charts): (Why, &Charts),
        (unmeasured, clock): (bool, bool),
    ) -> Self {
        let suffix = match at {
            0 => String::new(),
            at => format!("-{}", at + 1),
        };
        let dots = Dots::of(comparison);
        Self {
            lab: comparison.heading(),
            charts: charts.overview(),
            overview: Overview::of_all(comparison),
            tiers_about: TIERS,
            tiers: comparison.tiers(),
            binned: dots != Dots::Each,
            dotted: dots != Dots::None,
            reached: comparison.reached.clone(),
            layouts: Layouts::of(comparison, clock),
            suffix,
            why,
            unmeasured,
            figures: comparison.figures(),
            repeated: comparison.repeated(),
            judged: comparison.judged(),
            level: comparison.level(),
            margin: terms::percent(comparison.rule.margin),
            verdicts: comparison.verdicts_in_words(),
            unjudged: comparison.unjudged(),
            intervals: comparison.intervals(),
            compares: comparison.compares(),
            doubted: comparison.doubted(),
            writes: comparison.lines().any(|l| l.measure == Measure::Durable),
            baseline: comparison.contenders.first().cloned().unwrap_or_default(),
            glance_note: comparison.glance_note(),
            glance: glance::tables(comparison, clock),
            told: comparison.told.iter().map(ToldRow::of).collect(),
            scaling: comparison.scaling.iter().flat_map(ScalingRow::of).collect(),
            scaling_about: scaling::ABOUT,
            workloads: comparison
                .workloads
                .iter()
                .filter(|w| w.measured())
                .map(|w| Workload::of(w, comparison, charts, (clock, dots)))
                .collect(),
            cost_headings: COSTS.iter().map(|(heading, _)| *heading).collect(),
            disks: Disks::of(comparison),
            fragments: Fragments::of(comparison),
            proofs: comparison
                .proofs
                .iter()
                .map(|p| Proof::of(p, comparison.workloads.len()))
                .collect(),
            states: comparison.states.iter().map(State::of).collect(),
            contenders: comparison.contenders.clone(),
        }
    }
}

impl Workload {
    fn of(
        workload: &WorkloadTable,
        comparison: &Comparison,
        charts: &Charts,
        (clock, dots): (bool, Dots),
    ) -> Self {
        let place = |phase: &str| terms::phase(comparison.workloads.len(), &workload.name, phase);
        Self {
            name: workload.name.clone(),
            dataset: workload.dataset.clone(),
            phases: workload
                .phases
                .iter()
                .filter(|p| !p.lines.is_empty())
                .map(|p| {
                    let charts = charts.of(&workload.name, &p.label);
                    let place = (place(&p.label), charts);
                    Phase::of(p, place, &comparison.contenders, (clock, dots))
                })
                .collect(),
        }
    }
}

impl Phase {
    fn of(
        phase: &PhaseTable,
        (place, charts): (String, Vec<String>),
        contenders: &[String],
        (clock, dots): (bool, Dots),
    ) -> Self {
        let scale = phase.scale(clock);
        let mut columns: Vec<_> = phase
            .lines
            .iter()
            .map(|line| figures(&line.values, line.measure, scale).into_iter())
            .collect();
        let rows = contenders.iter().enumerate().map(|(at, contender)| Row {
            contender: contender.clone(),
            bars: bars::bars(phase, at, scale, dots),
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
            place,
            label: phase.label.clone(),
            about: phase.about(),
            unit: scale.unit(),
            writes: phase.lines.len() > 1,
            rows: rows.collect(),
            charts,
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
            Standing::TooFew | Standing::Open => "? ",
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
                Some(ratio) => format!("{level}{}", times(ratio.middle)),
                None if baseline => String::new(),
                None => "\u{2013}".to_owned(),
            },
            interval: value
                .ratio
                .filter(|_| !baseline)
                .and_then(|r| r.interval)
                .map(|i| format!("{}\u{2013}{}", terms::ratio(i.low), terms::ratio(i.high))),
            ratio_value: value.ratio.map_or(f64::MAX, |r| r.middle),
            best: value.best,
            doubted: value.doubted,
        }
    }
}

/// `0.78×`.
pub fn times(ratio: f64) -> String {
    format!("{}\u{d7}", terms::ratio(ratio))
}
