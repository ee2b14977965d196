//! The measured contenders of a run with the sum of the times of their phases.

use super::{CrashTests, FlippedBits};
use crate::comparison::{Comparisons, Value};
use crate::figures::summary;
use crate::terms;
use fsdyno_model::{Contender, Nanos, ResultSet, StopReason};
use fsdyno_stats::{PairedRatio, Times, Verdict, Verdicts, judge_table, ratio_paired};
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
    /// The median of the sum of all phases: to durable if a phase writes, else to return.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "u64")]
    pub total_ns: f64,
    /// Its total as a multiple of that of the choice, as for the runner-up; null for the choice itself
    /// and without one.
    pub ratio: Option<f64>,
    /// The phases, in order.
    pub phases: Vec<PhaseTime>,
    /// Whether it may be recommended.
    pub eligible: bool,
    /// The safety that its options cost; null if they cost none.
    pub costs: Option<String>,
    /// The results of crash tests; null if it was not tested.
    pub crash_tests: Option<CrashTests>,
    /// The results of flipped bits on its disks; null if it was not tested.
    pub flipped_bits: Option<FlippedBits>,
}

/// The time of a phase.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "PhaseFigure")]
pub struct PhaseTime {
    /// The phase.
    pub phase: String,
    /// The median.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "u64")]
    pub time_ns: f64,
}

/// Whole nanoseconds.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde requires"
)]
fn whole<S: Serializer>(ns: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Nanos::from_seconds(ns / 1e9).0.serialize(serializer)
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
}

/// The sum of the times of all phases in each block that has them.
fn totals(values: &[&Value], times: impl Fn(&Value) -> &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut blocks: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for (block, time) in values.iter().flat_map(|value| times(value)) {
        let sum = blocks.entry(*block).or_default();
        *sum = (sum.0 + 1, sum.1 + time);
    }
    let whole = blocks.into_iter().filter(|(_, (n, _))| *n == values.len());
    whole.map(|(block, (_, sum))| (block, sum)).collect()
}

/// Whether a contender, by its number in the plan, has a cell of each workload.
fn ran_all_workloads(set: &ResultSet, contender: u32) -> bool {
    let mut workloads = (0..).zip(&set.run.plan.workloads);
    workloads.all(|(workload, _)| {
        let mut cells = set.cells.iter().map(|record| record.cell);
        cells.any(|cell| cell.contender == contender && cell.workload == workload)
    })
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
        };
        let plan = &set.run.plan;
        let lab = super::comparison(set);
        let mut rule = fsdyno_stats::Rule::of(&set.run);
        if let Some(comparison) = &lab {
            rule = comparison.rule.clone();
            let phases: Vec<_> = comparison
                .whole_times()
                .map(|(workload, phase, line)| (comparison.place(workload, phase), line))
                .collect();
            for (at, label) in comparison.contenders.iter().enumerate() {
                let mut contenders = (0..).zip(&plan.contenders);
                let contender = contenders
                    .find(|(_, one)| terms::printable(&one.label) == *label)
                    .filter(|(number, _)| ran_all_workloads(set, *number));
                let times: Option<Vec<_>> = phases
                    .iter()
                    .map(|(name, line)| Some((name, line.values[at].as_ref()?)))
                    .collect();
                let (Some((_, contender)), Some(times)) = (contender, times) else {
                    continue;
                };
                let values: Vec<&Value> = times.iter().map(|(_, value)| *value).collect();
                let total = totals(&values, |value| &value.adjusted);
                let Some(summary) = summary(&totals(&values, |value| &value.times)) else {
                    continue;
                };
                field.totals.push(total);
                field.candidates.push(Candidate {
                    label: label.clone(),
                    planned: contender.clone(),
                    filesystem: terms::printable(&contender.filesystem),
                    total_ns: summary.median,
                    ratio: None,
                    phases: times
                        .into_iter()
                        .map(|(name, value)| PhaseTime {
                            phase: name.clone(),
                            time_ns: value.summary.median,
                        })
                        .collect(),
                    eligible: !values.iter().any(|value| value.not_durable),
                    costs: None,
                    crash_tests: None,
                    flipped_bits: None,
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
        let verdicts = judge_table(
            &[&Times::without_probes(&field.totals)],
            &rule.family_wise(),
        );
        field.verdicts = verdicts.into_iter().next().unwrap_or_default();
        field
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
        let total = |at: &usize| self.candidates[*at].total_ns;
        order.sort_by(|a, b| total(a).total_cmp(&total(b)));
        order
    }

    /// The totals of a candidate by block.
    pub fn totals(&self, at: usize) -> &[(u32, f64)] {
        &self.totals[at]
    }

    /// The verdict on one candidate compared with another.
    pub fn verdict(&self, one: usize, other: usize) -> Option<Verdict> {
        self.verdicts.of(one, other)
    }

    /// The ratio of the totals of two candidates, paired by block.
    pub fn ratio(&self, one: usize, other: usize) -> Option<PairedRatio> {
        ratio_paired(self.totals.get(one)?, self.totals.get(other)?)
    }
}
