//! The user code of programs in virtual time, which counts only kernel and disk. A run on the host
//! measured its processor time. It may overlap with waiting, so that it adds nothing, or with nothing,
//! so that all of it is added: a verdict must hold at both ends, and then holds between them, because
//! the ratio of two figures moves towards 1 with a constant time in both.

use super::{Comparison, Line};
use crate::figures::summary;
use crate::terms;
use fsdyno_cpu::Profile;
use fsdyno_model::{
    Better, Figure, FigureName, ModelCpu, Nanos, Outcome, ResultSet, Sample, WarningKind,
};
use fsdyno_stats::{Summary, Times, ratio_paired};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The unit of rates to which user time can be added.
const PER_SECOND: &str = "1/s";

/// The largest number of phases that a sentence names.
const NAMED: usize = 3;

/// The user code of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct UserCode {
    /// The processor time in user mode of the phase on the host, of programs and services, ns.
    pub time: Summary,
    /// What counts its work, if the programs report it, and the number: 2000 transactions.
    pub units: Option<UnitsOfWork>,
    /// By how much the model processor is slower than that of a machine of today.
    pub factor: f64,
    /// Whether it can be added to the figure that the phase is judged by.
    pub is_added: bool,
}

/// The number of units of work of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnitsOfWork {
    /// Their name: `transactions`.
    pub name: String,
    /// Their number.
    pub number: f64,
}

impl UserCode {
    /// The user code of a phase, measured for a run; `None` if it was not.
    pub fn of(set: &ResultSet, workload: usize, phase: usize) -> Option<Self> {
        let measured = measurement(set)?;
        let plan = &set.run.plan;
        let planned = &plan.workloads[workload];
        let mut workloads = measured.run.plan.workloads.iter();
        let place = workloads.position(|other| other.name == planned.name)?;
        let samples = measured.samples(0, place, phase);
        let times = samples.iter();
        let times: Vec<(u32, f64)> = times
            .map(|(block, sample)| (*block, sample.cpu.user_ns.0 as f64))
            .collect();
        Some(Self {
            // Below the resolution of the host nothing is known.
            time: summary(&times).filter(|time| time.max > 0.0)?,
            units: samples.iter().find_map(|(_, sample)| units_of(sample)),
            factor: factor(plan.cpu.as_ref()),
            is_added: false,
        })
    }

    /// What all of it adds to the cost of a figure; `None` if its unit is that of another quantity.
    pub fn cost(&self, figure: &FigureName, unit: &str, better: Better) -> Option<f64> {
        let all = self.time.max * self.factor;
        if figure.is_time() {
            return Some(all);
        }
        let is_rate = better == Better::Higher && unit == PER_SECOND;
        let units = self.units.as_ref().filter(|_| is_rate)?;
        Some(all / 1e9 / units.number)
    }

    /// Its time with its spread: `0.21 ms (0.20 to 0.23 ms) for each of 2,000 transactions`.
    pub fn describe(&self) -> String {
        let each = self.units.as_ref().map_or(1.0, |units| units.number);
        let shown = |ns: f64| Nanos::from_seconds(ns / each / 1e9).to_string();
        let time = self.time;
        let spread = if time.n > 1 {
            format!(" ({} to {})", shown(time.min), shown(time.max))
        } else {
            String::new()
        };
        let of = match &self.units {
            Some(units) => {
                let number = terms::amount("", units.number, false);
                format!(
                    " for each of {} {}",
                    number.trim(),
                    terms::printable(&units.name)
                )
            }
            None => String::new(),
        };
        format!("{}{spread}{of}", shown(time.median))
    }
}

/// The run that measured the user code of a run.
fn measurement(set: &ResultSet) -> Option<&ResultSet> {
    let mut variants = set.variants.iter();
    variants.find(|one| one.run.plan.measures_user_code())
}

/// The units of work that the programs of a sample report.
fn units_of(sample: &Sample) -> Option<UnitsOfWork> {
    let mut figures = sample.figures.iter();
    let found = figures.find(|figure| figure.unit == Figure::UNITS && figure.value > 0.0)?;
    Some(UnitsOfWork {
        name: found.name.clone(),
        number: found.value,
    })
}

/// By how much a model processor is slower than the default one, which is of today as the host is: by
/// the price of a basic block of the kernel. A faster one counts as equal, because the measured time is
/// an upper bound.
fn factor(cpu: Option<&ModelCpu>) -> f64 {
    let block_ns = |profile: Option<Profile>| profile.map(|profile| profile.prices.block_ns);
    let own = block_ns(cpu.and_then(|cpu| Profile::parse(&cpu.profile, &cpu.text).ok()));
    let usual = block_ns(Profile::named(fsdyno_cpu::DEFAULT.as_ref()).ok());
    let ratio = own.zip(usual).map_or(1.0, |(own, usual)| own / usual);
    if ratio.is_finite() {
        ratio.max(1.0)
    } else {
        1.0
    }
}

/// The reason why the user code of a run was not measured.
fn failure(set: &ResultSet) -> Option<String> {
    let cells = measurement(set)?.cells.iter();
    let mut reasons = cells.filter_map(|record| match &record.outcome {
        Outcome::Measured => None,
        Outcome::Failed(failure) => Some(failure.message.clone()),
        Outcome::Skipped { reason, .. } => Some(reason.clone()),
    });
    let first = |reason: String| reason.lines().next().map(terms::printable);
    reasons.next().and_then(first)
}

/// Whether virtual time did not count the code of an application.
fn is_uncounted(set: &ResultSet, workload: usize, phase: usize) -> bool {
    let samples = set.samples_of_all(workload, phase);
    let mut samples = samples.iter().flatten();
    samples.any(|(_, sample)| {
        let mut warnings = sample.warnings.iter();
        warnings.any(|warning| warning.kind == WarningKind::NotCounted)
    })
}

/// The sentences about user code after an answer; empty if all code is counted.
pub(crate) fn text(comparison: &Comparison, set: &ResultSet) -> String {
    let (mut measured, mut unmeasured, mut not_added) = (Vec::new(), Vec::new(), Vec::new());
    for (at, workload) in comparison.workloads.iter().enumerate() {
        let phases = workload.phases.iter().enumerate();
        for (number, phase) in phases.filter(|(_, phase)| !phase.lines.is_empty()) {
            let name = comparison.place(workload, phase);
            match &phase.user_code {
                Some(code) => {
                    measured.push(format!("{name} {}", code.describe()));
                    not_added.extend((!code.is_added).then_some(name));
                }
                None if is_uncounted(set, at, number) => unmeasured.push(name),
                None => {}
            }
        }
    }
    let mut text = String::new();
    if !measured.is_empty() {
        let more = measured.len().saturating_sub(NAMED);
        measured.truncate(NAMED);
        if more > 0 {
            measured.push(format!("{more} more"));
        }
        let _ = write!(
            text,
            " User code is not counted; it takes, as measured on the host: {}.",
            measured.join("; ")
        );
        if comparison.judged() && not_added.is_empty() && unmeasured.is_empty() {
            text += " Verdicts hold with none and with all of it.";
        }
    }
    let alone = "those of kernel and disk alone.";
    if !not_added.is_empty() {
        let places = terms::list(&not_added);
        let _ = write!(
            text,
            " It cannot be added to the figures of {places}, which are {alone}"
        );
    }
    if !unmeasured.is_empty() {
        let places = match measured[..] {
            [] => String::new(),
            _ => format!(" of {}", terms::list(&unmeasured)),
        };
        let why = failure(set).map_or(String::new(), |why| format!(" ({why})"));
        let _ = write!(
            text,
            " User code is not counted, and was not measured{why}: figures{places} are {alone}"
        );
    }
    text
}

impl Line {
    /// Whether the verdict on two contenders depends on user code: it would be another one without.
    pub fn depends_on_user_code(&self, one: usize, other: usize) -> bool {
        let before = self.with_user_code.as_ref();
        before.is_some_and(|(_, before)| {
            before.of(one, other) != self.verdict(one, other) && !self.both_negligible(one, other)
        })
    }

    /// The ratio of two contenders with all user code in the figures of both; `None` if it is not
    /// known.
    pub fn ratio_with_user_code(&self, one: usize, other: usize) -> Option<f64> {
        let figures = self.with_user_code.as_ref()?.0.figures();
        let (one, other) = (figures.get(one)?, figures.get(other)?);
        Some(ratio_paired(one, other)?.middle)
    }

    /// The costs with none and with all user code; twice the same if there is none to add.
    pub(crate) fn costs_by_user_code(&self) -> [&Times; 2] {
        let with_all = self.with_user_code.as_ref();
        [
            &self.compared,
            with_all.map_or(&self.compared, |(with_all, _)| with_all),
        ]
    }

    /// The costs at an end of the ratio of two contenders: with none or with all user code.
    pub(crate) fn end_of_ratio(&self, one: usize, other: usize, lowest: bool) -> &Times {
        let Some((with_all, _)) = &self.with_user_code else {
            return &self.compared;
        };
        let without = ratio_paired(self.times(one), self.times(other));
        let all = self.ratio_with_user_code(one, other);
        let lowers = all
            .zip(without)
            .is_some_and(|(all, without)| all < without.middle);
        if lowers == lowest {
            with_all
        } else {
            &self.compared
        }
    }
}
