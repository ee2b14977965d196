//! The measured contenders of a run with the sum of the times of their phases.

use super::{CrashTests, DeadDisks, FlippedBits, FullDisks};
use crate::comparison::{Comparisons, Line, Value};
use crate::figures::summary;
use crate::power_losses::PowerLosses;
use crate::terms;
use fsdyno_model::{Contender, Nanos, ResultSet, StopReason};
use fsdyno_stats::{
    PairedRatio, Rule, Times, Verdict, Verdicts, cost, in_both, judge_table, ratio_paired,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// A measured contender.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "MeasuredContender")]
pub struct Candidate {
    /// Its label.
    #[serde(rename = "contender")]
    pub label: String,
    /// The contender, as in the plan.
    #[serde(skip)]
    pub planned: Contender,
    /// Its file system.
    pub filesystem: String,
    /// The median of the sum of all phases: to durable if a phase writes, else to return. Null if a
    /// phase is judged by another figure: then the geometric mean of all phases decides.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "Option<u64>")]
    pub total_ns: Option<f64>,
    /// What decides: less is better.
    #[serde(skip)]
    pub cost: f64,
    /// What decides, as a multiple of that of the choice, as for the runner-up; null for the choice
    /// itself and without one.
    pub ratio: Option<f64>,
    /// The phases, in order.
    pub phases: Vec<PhaseTime>,
    /// Whether it may be recommended.
    pub eligible: bool,
    /// The safety that its options cost; null if they cost none.
    pub costs: Option<String>,
    /// The results of crash tests; null if it was not tested.
    pub crash_tests: Option<CrashTests>,
    /// What power cuts during usual work took; null if it was not tested.
    pub power_losses: Option<PowerLosses>,
    /// The results of flipped bits on its disks; null if it was not tested.
    pub flipped_bits: Option<FlippedBits>,
    /// The results of disks that died; null if none did.
    pub dead_disks: Option<DeadDisks>,
    /// The results of full disks; null if they were not tested.
    pub full_disks: Option<FullDisks>,
}

/// The figure that a phase is judged by.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "PhaseFigure")]
pub struct PhaseTime {
    /// The phase.
    pub phase: String,
    /// The median of its time; null if it is judged by another figure.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "Option<u64>")]
    pub time_ns: Option<f64>,
    /// The figure: `durable`, `tps`.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// Its median.
    pub median: f64,
    /// The same as a cost: less is better.
    #[serde(skip)]
    pub cost: f64,
    /// What decides, by block.
    #[serde(skip)]
    pub costs: Vec<(u32, f64)>,
}

/// Whole nanoseconds.
#[expect(clippy::ref_option, reason = "the signature that serde requires")]
fn whole<S: Serializer>(ns: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let ns = ns.map(|ns| Nanos::from_seconds(ns / 1e9).0);
    ns.serialize(serializer)
}

/// A file system or a contender that is not recommended, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
pub struct Dropped {
    /// The file system, or the label of a contender; escaped for printing.
    pub name: String,
    /// The reason, one line.
    pub why: String,
}

impl Dropped {
    /// A file system or a contender with the reason.
    pub fn new(name: &str, why: impl AsRef<str>) -> Self {
        let why = why.as_ref().lines().next().unwrap_or_default();
        Self {
            name: terms::printable(name),
            why: terms::printable(why),
        }
    }
}

/// The candidates of one run, with the verdicts on their totals.
pub(crate) struct Field {
    pub candidates: Vec<Candidate>,
    pub dropped: Vec<Dropped>,
    /// The contenders that were not measured, because the time budget ended.
    pub unmeasured: usize,
    totals: Vec<Vec<(u32, f64)>>,
    verdicts: Verdicts,
    /// What user code makes of each pair of candidates; empty if there is none to add.
    with_user_code: BTreeMap<(usize, usize), WithUserCode>,
}

/// The ratio of two candidates between none and all user code.
#[derive(Debug, Clone, Copy)]
struct WithUserCode {
    range: Option<(f64, f64)>,
    /// Whether the verdict does not hold at both ends.
    decides: bool,
}

/// What phases make of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Total {
    /// The sum of their times.
    Sum,
    /// The geometric mean of the costs that they are judged by.
    Mean,
}

impl Total {
    /// The total of all phases in each block that has them.
    pub fn of(self, phases: &[&[(u32, f64)]]) -> Vec<(u32, f64)> {
        let mut blocks: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
        for (block, cost) in phases.iter().copied().flatten() {
            let sum = blocks.entry(*block).or_default();
            let part = match self {
                Self::Sum => *cost,
                Self::Mean => cost.ln(),
            };
            *sum = (sum.0 + 1, sum.1 + part);
        }
        let n = phases.len();
        let whole = blocks.into_iter().filter(|(_, (count, _))| *count == n);
        let total = |sum: f64| match self {
            Self::Sum => sum,
            Self::Mean => (sum / n as f64).exp(),
        };
        whole.map(|(block, (_, sum))| (block, total(sum))).collect()
    }

    /// The totals of contenders, by their places in these lines.
    fn of_lines(self, lines: &[&Times], places: &[usize]) -> Vec<Vec<(u32, f64)>> {
        let figures: Vec<_> = lines.iter().map(|line| line.figures()).collect();
        let of = |place: &usize| {
            let phases: Vec<&[(u32, f64)]> = figures.iter().map(|of| &of[*place][..]).collect();
            self.of(&phases)
        };
        places.iter().map(of).collect()
    }
}

/// Whether a contender, by its number in the plan, has a cell of each workload.
fn ran_all_workloads(set: &ResultSet, contender: u32) -> bool {
    let mut workloads = (0..).zip(&set.run.plan.workloads);
    workloads.all(|(workload, _)| {
        let mut cells = set.cells.iter().map(|record| record.cell);
        cells.any(|cell| cell.contender == contender && cell.workload == workload)
    })
}

/// The verdicts on totals.
fn judge_totals(totals: &[Vec<(u32, f64)>], rule: &Rule) -> Verdicts {
    let verdicts = judge_table(&[&Times::without_probes(totals)], rule);
    verdicts.into_iter().next().unwrap_or_default()
}

impl Field {
    /// The contenders that have all phases of all workloads. The others are dropped with the
    /// reason.
    pub fn of(set: &ResultSet) -> Self {
        let mut field = Self {
            candidates: Vec::new(),
            dropped: Vec::new(),
            unmeasured: 0,
            totals: Vec::new(),
            verdicts: Verdicts::default(),
            with_user_code: BTreeMap::new(),
        };
        let plan = &set.run.plan;
        let lab = super::comparison(set);
        let mut rule = Rule::of(&set.run);
        let mut lines: Vec<&Line> = Vec::new();
        let (mut kind, mut places) = (Total::Sum, Vec::new());
        if let Some(comparison) = &lab {
            rule = comparison.rule.clone();
            let phases: Vec<_> = comparison
                .whole_times()
                .map(|(workload, phase, line)| (comparison.place(workload, phase), line))
                .collect();
            lines = phases.iter().map(|(_, line)| *line).collect();
            if !lines.iter().all(|line| line.is_time()) {
                kind = Total::Mean;
            }
            for (at, label) in comparison.contenders.iter().enumerate() {
                let mut contenders = (0..).zip(&plan.contenders);
                let contender = contenders
                    .find(|(_, one)| terms::printable(&one.label) == *label)
                    .filter(|(number, _)| ran_all_workloads(set, *number));
                let values: Option<Vec<&Value>> =
                    lines.iter().map(|line| line.values[at].as_ref()).collect();
                let (Some((_, contender)), Some(values)) = (contender, values) else {
                    continue;
                };
                let adjusted: Vec<&[_]> = values.iter().map(|value| &value.adjusted[..]).collect();
                let total = kind.of(&adjusted);
                let measured = match kind {
                    Total::Sum => {
                        let times: Vec<&[_]> = values.iter().map(|one| &one.times[..]).collect();
                        summary(&kind.of(&times))
                    }
                    Total::Mean => summary(&total),
                };
                let Some(measured) = measured else {
                    continue;
                };
                field.totals.push(total);
                places.push(at);
                field.candidates.push(Candidate {
                    label: label.clone(),
                    planned: contender.clone(),
                    filesystem: terms::printable(&contender.filesystem),
                    total_ns: (kind == Total::Sum).then_some(measured.median),
                    cost: measured.median,
                    ratio: None,
                    phases: phases
                        .iter()
                        .zip(&values)
                        .map(|((name, line), value)| PhaseTime {
                            phase: name.clone(),
                            time_ns: line.is_time().then_some(value.summary.median),
                            figure: terms::printable(line.figure.as_str()),
                            unit: terms::printable(&line.unit),
                            median: value.summary.median,
                            cost: cost(line.better, value.summary.median),
                            costs: value.adjusted.clone(),
                        })
                        .collect(),
                    eligible: !values.iter().any(|value| value.not_durable),
                    costs: None,
                    crash_tests: None,
                    flipped_bits: None,
                    power_losses: None,
                    dead_disks: None,
                    full_disks: None,
                });
            }
        }
        let lossy = field.candidates.iter().filter(|one| !one.eligible);
        let lossy = lossy.map(|one| {
            let why = "it sent no flush to the disk: its work was not durable when fsync and syncfs \
                       returned";
            Dropped::new(&one.label, why)
        });
        field.dropped = lossy.collect();
        field.drop_others(set);
        // There is one line, so that the error rate covers all its pairs together.
        let rule = rule.family_wise();
        field.verdicts = judge_totals(&field.totals, &rule);
        field.bound(&lines, &places, kind, &rule);
        field
    }

    /// Compares all pairs at both ends of the user code that can be added to these lines. A sum is at an
    /// end with none or all of it, a mean with that of the phases that lowers or raises its ratio.
    fn bound(&mut self, lines: &[&Line], places: &[usize], kind: Total, rule: &Rule) {
        let is_alone = |line: &&Line| {
            let [without, with_all] = line.costs_by_user_code();
            std::ptr::eq(without, with_all)
        };
        if lines.iter().all(is_alone) {
            return;
        }
        let ends = |one: usize, other: usize| -> [Vec<&Times>; 2] {
            let end = |at: usize| match kind {
                Total::Sum => lines
                    .iter()
                    .map(|line| line.costs_by_user_code()[at])
                    .collect(),
                Total::Mean => lines
                    .iter()
                    .map(|line| line.end_of_ratio(places[one], places[other], at == 0))
                    .collect(),
            };
            [end(0), end(1)]
        };
        let pairs = (0..places.len()).flat_map(|one| (0..places.len()).map(move |two| (one, two)));
        for (one, other) in pairs.filter(|(one, other)| one != other) {
            let before = self.verdicts.of(one, other);
            let ends = ends(one, other).map(|lines| {
                let totals = kind.of_lines(&lines, places);
                let ratio = ratio_paired(&totals[one], &totals[other]);
                (judge_totals(&totals, rule).of(one, other), ratio)
            });
            let ratios = ends.map(|(_, ratio)| ratio.map(|ratio| ratio.middle));
            let range = ratios[0].zip(ratios[1]);
            let held = ends
                .iter()
                .fold(before, |held, (at_end, _)| in_both(held, *at_end));
            let pair = WithUserCode {
                range: range.map(|(a, b)| (a.min(b), a.max(b))),
                decides: held != before,
            };
            self.with_user_code.insert((one, other), pair);
        }
    }

    /// Drops the contenders of the plan that are no candidates.
    fn drop_others(&mut self, set: &ResultSet) {
        let unmeasured = Comparisons::of(set).unmeasured;
        for contender in &set.run.plan.contenders {
            let label = terms::printable(&contender.label);
            if self.candidates.iter().any(|one| one.label == label) {
                continue;
            }
            let failed = unmeasured.iter().find(|one| one.contender == label);
            let why = failed.map_or_else(
                || match set.run.stop {
                    Some(StopReason::Budget) => {
                        self.unmeasured += 1;
                        "the time budget ended before it".to_owned()
                    }
                    _ => "not all phases were measured".to_owned(),
                },
                |one| {
                    let reason = one.reason.lines().next().unwrap_or_default();
                    format!("{} ({}): {reason}", one.outcome, one.place)
                },
            );
            self.dropped.push(Dropped::new(&contender.label, why));
        }
    }

    /// The candidates that may be recommended, by index, fastest first.
    pub fn eligible(&self) -> Vec<usize> {
        let all = 0..self.candidates.len();
        let mut order: Vec<usize> = all.filter(|at| self.candidates[*at].eligible).collect();
        let total = |at: &usize| self.candidates[*at].cost;
        order.sort_by(|a, b| total(a).total_cmp(&total(b)));
        order
    }

    /// The totals of a candidate by block.
    pub fn totals(&self, at: usize) -> &[(u32, f64)] {
        &self.totals[at]
    }

    /// The verdict on one candidate compared with another.
    pub fn verdict(&self, one: usize, other: usize) -> Option<Verdict> {
        if self.depends_on_user_code(one, other) {
            return Some(Verdict::Inconclusive);
        }
        self.verdicts.of(one, other)
    }

    /// Whether the verdict on two candidates depends on user code, which virtual time does not count.
    pub fn depends_on_user_code(&self, one: usize, other: usize) -> bool {
        let pair = self.with_user_code.get(&(one, other));
        pair.is_some_and(|pair| pair.decides)
    }

    /// The lowest and the highest ratio of two candidates between none and all user code; `None` if there
    /// is none to add.
    pub fn range_with_user_code(&self, one: usize, other: usize) -> Option<(f64, f64)> {
        self.with_user_code.get(&(one, other))?.range
    }

    /// The ratio of the totals of two candidates, paired by block.
    pub fn ratio(&self, one: usize, other: usize) -> Option<PairedRatio> {
        ratio_paired(self.totals.get(one)?, self.totals.get(other)?)
    }
}
