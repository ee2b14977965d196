//! The JSON of advice. Contenders are named by their labels.

use super::{
    Candidate, DeviceFit, Dropped, Effect, Recommendation, RunnerUp, Safety, Turn, Validation,
    VariantNote,
};
use crate::compare::RunVerdict;
use crate::run_json::RatioInterval;
use fsdyno_model::{Nanos, StateClass};
use schemars::JsonSchema;
use serde::Serialize;

/// Which file system to choose for some work, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AdviceReport {
    /// The version of this structure.
    #[schemars(extend("const" = AdviceReport::SCHEMA))]
    pub schema: u32,
    /// The names of the runs in the store; the last one decides.
    pub runs: Vec<String>,
    /// The work: phases and datasets.
    pub work: String,
    /// When the first of them started: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The profile of the model disk; null if the runs were on image files in real time.
    pub model_disk: Option<String>,
    /// The device to which the profile was fitted; null if it was not.
    pub fit: Option<DeviceFit>,
    /// Whether the figures have no noise.
    pub certain: bool,
    /// The smallest difference that matters: 0.02 is 2 %.
    pub margin: f64,
    /// The warnings about work that is not what the runs should measure.
    pub warnings: Vec<String>,
    /// The recommended contender; null if none can be recommended.
    pub choice: Option<ChosenContender>,
    /// All measured contenders, fastest first.
    pub contenders: Vec<MeasuredContender>,
    /// The measured options.
    pub options: Vec<VariantNote>,
    /// Contenders with options that the time budget left out.
    pub left_out: Vec<String>,
    /// What is not recommended.
    pub dropped: Vec<Dropped>,
    /// The number of contenders that were not measured, because the time budget ended.
    pub unmeasured: usize,
    /// The prediction compared with a run in real time; null without `--validate`.
    pub validation: Option<Validation>,
}

/// The recommended contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChosenContender {
    /// Its label.
    pub contender: String,
    /// The time of the defaults as a multiple of its time; null if its options are the defaults.
    pub options_gain: Option<f64>,
    /// The best of another file system, or else of another contender; null if no other is left.
    pub runner_up: Option<RunnerUpContender>,
    /// The commands that make it, in order.
    pub make: Vec<String>,
    /// Its line of fstab(5); null if it is not mounted by one.
    pub fstab: Option<String>,
    /// Options that are faster and cost safety.
    pub unsafe_options: Vec<UnsafeOptions>,
}

/// The runner-up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunnerUpContender {
    /// Its label.
    pub contender: String,
    /// Its total time as a multiple of that of the choice.
    pub ratio: f64,
    /// The 95 % interval of the ratio; null with too few repeats.
    pub interval: Option<RatioInterval>,
    /// The number of repeats in that interval.
    pub pairs: usize,
    /// The verdict on the choice compared with it; null with too few repeats.
    pub verdict: Option<RunVerdict>,
    /// The phase that would turn the decision first; null if none can.
    pub turn: Option<Turn>,
}

/// Options that are faster and cost safety.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnsafeOptions {
    /// The label of the contender.
    pub contender: String,
    /// The time of the choice as a multiple of its time.
    pub gain: f64,
    /// What they cost.
    pub costs: Option<String>,
}

/// A measured contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredContender {
    /// Its label.
    pub contender: String,
    /// Its file system.
    pub filesystem: String,
    /// The median of the sum of all phases: durable where a phase writes, else to return.
    pub total_ns: u64,
    /// The phases, in order.
    pub phases: Vec<PhaseFigure>,
    /// Whether it may be recommended.
    pub eligible: bool,
    /// What its options cost in safety; null if nothing.
    pub costs: Option<String>,
    /// The results of crash tests; null if it was not tested.
    pub crash_tests: Option<CrashTests>,
}

/// The time of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseFigure {
    /// The phase.
    pub phase: String,
    /// The median.
    pub time_ns: u64,
}

/// The results of crash tests of a contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CrashTests {
    /// Whether the tests had the same options. If not, they had the defaults of the file system.
    pub same_options: bool,
    /// Distinct violations.
    pub violations: usize,
    /// The weakest class of states that shows one; null without violations.
    pub weakest: Option<StateClass>,
    /// The strongest class that was checked; null if none was.
    pub strongest: Option<StateClass>,
    /// Distinct states.
    pub states: u64,
}

impl AdviceReport {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 1;

    /// The advice.
    pub fn of(advice: &Recommendation) -> Self {
        Self {
            schema: Self::SCHEMA,
            runs: advice.runs.clone(),
            work: advice.work.clone(),
            started_unix_ns: advice.started_unix_ns,
            model_disk: advice.model_disk.clone(),
            fit: advice.fit.clone(),
            certain: advice.certain,
            margin: advice.margin,
            warnings: advice.warnings.clone(),
            choice: chosen(advice),
            contenders: advice.ranking().into_iter().map(measured).collect(),
            options: advice.options.clone(),
            left_out: advice.left_out.clone(),
            dropped: advice.dropped.clone(),
            unmeasured: advice.unmeasured,
            validation: advice.validation.clone(),
        }
    }
}

/// Whole nanoseconds.
fn whole(ns: f64) -> u64 {
    Nanos::from_seconds(ns / 1e9).0
}

fn chosen(advice: &Recommendation) -> Option<ChosenContender> {
    let choice = advice.choice.as_ref()?;
    let label = |at: usize| advice.candidates[at].label.clone();
    let unsafe_options = choice.unsafe_options.iter();
    Some(ChosenContender {
        contender: label(choice.best),
        options_gain: match choice.options {
            Effect::Faster(ratio) => Some(ratio),
            Effect::NotMeasured | Effect::NoDifference => None,
        },
        runner_up: choice
            .runner_up
            .as_ref()
            .map(|other| runner_up(other, label(other.at))),
        make: choice.commands.make.clone(),
        fstab: choice.commands.fstab.clone(),
        unsafe_options: unsafe_options
            .map(|(at, gain)| UnsafeOptions {
                contender: label(*at),
                gain: *gain,
                costs: advice.candidates[*at].costs.clone(),
            })
            .collect(),
    })
}

fn runner_up(other: &RunnerUp, contender: String) -> RunnerUpContender {
    RunnerUpContender {
        contender,
        ratio: other.ratio,
        interval: other
            .paired
            .and_then(|paired| paired.interval)
            .map(|interval| RatioInterval {
                low: interval.low,
                high: interval.high,
            }),
        pairs: other.paired.map_or(0, |paired| paired.pairs),
        verdict: other.verdict.map(RunVerdict::of),
        turn: other.turn.clone(),
    }
}

fn measured(one: &Candidate) -> MeasuredContender {
    let phases = one.phases.iter();
    MeasuredContender {
        contender: one.label.clone(),
        filesystem: crate::terms::printable(&one.contender.filesystem),
        total_ns: whole(one.total_ns),
        phases: phases
            .map(|phase| PhaseFigure {
                phase: phase.phase.clone(),
                time_ns: whole(phase.time_ns),
            })
            .collect(),
        eligible: one.eligible,
        costs: one.costs.clone(),
        crash_tests: match one.safety {
            Safety::NotTested => None,
            Safety::Tested {
                same_options,
                violations,
                weakest,
                strongest,
                states,
            } => Some(CrashTests {
                same_options,
                violations,
                weakest,
                strongest,
                states,
            }),
        },
    }
}
