//! Advice: the contender of some runs to choose, how much better it is, and the change of the work
//! that would change the choice. It judges the sum of the durable times of all phases with the rule
//! of all reports.

mod candidates;
mod document;
mod robustness;
mod safety;
mod sizes;
mod validation;

pub use candidates::{Candidate, Dropped, PhaseTime};
pub use document::{ROWS, document, figures};
pub use robustness::{ChoiceInVariant, RobustChoice};
pub use safety::{CrashTests, DeadDisks, FlippedBits, FullDisks};
pub use sizes::SizeOfWork;
pub use validation::{Departure, Pair, Validation};

use crate::compare::RunVerdict;
use crate::comparison::warnings::about_work;
use crate::comparison::{Comparisons, user_code};
use crate::lists::unique;
use crate::power_losses::PowerLosses;
use crate::run_json::{self, RatioInterval};
use crate::terms;
pub(crate) use candidates::{Field, Total};
use fsdyno_model::{
    Contender, Exploration, FaultTests, Plan, ProgramSource, ResultSet, Series, StateClass,
    WarningKind, Workload,
};
use fsdyno_stats::Verdict;
use safety::release;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
pub(crate) use sizes::amounts;

/// The input of the advice.
pub struct Question<'a> {
    /// The run of the file systems with their defaults and the most work: of those that are not much
    /// slower than others with less work.
    pub defaults: &'a ResultSet,
    /// The runs of the best of them with further options, in order. The last one decides.
    pub later: &'a [ResultSet],
    /// The runs with less work, the least first, with the work of the defaults as a multiple of theirs.
    pub smaller: &'a [(f64, &'a ResultSet)],
    /// Variants of the run that decides, with the choice and the runner-up.
    pub variants: &'a [ResultSet],
    /// The explorations of crash states in the store.
    pub explorations: &'a [Exploration],
    /// The strongest class of crash states without violations that is required.
    pub safety: Option<StateClass>,
    /// The power cuts during usual work in the store.
    pub power_cuts: &'a [Series],
    /// The tests with faulty disks in the store.
    pub fault_tests: &'a [FaultTests],
    /// Whether no flipped bit may give wrong data.
    pub bitrot: bool,
    /// Whether the loss of a disk may lose nothing.
    pub dead_disk: bool,
    /// The file systems that were not measured, with the reason.
    pub dropped: Vec<Dropped>,
    /// The measured options.
    pub options: &'a [VariantNote],
    /// The options that were not measured, because the time budget ended.
    pub left_out: Vec<String>,
    /// The device to which the model disk was fitted.
    pub fit: Option<DeviceFit>,
    /// Returns the command lines that make a contender and mount it, also at each boot.
    pub commands: &'a dyn Fn(&Contender) -> Vec<String>,
    /// A run of the same contenders in real time, with which the prediction is compared.
    pub validated: Option<&'a ResultSet>,
    /// The application that is asked about, instead of other work.
    pub application: Option<Application<'a>>,
}

/// An application that is asked about.
#[derive(Clone, Copy)]
pub struct Application<'a> {
    /// Its name with its settings, as typed.
    pub name: &'a str,
    /// Returns the size of its data in a plan, in its own words: `scale 10`.
    pub size: &'a dyn Fn(&Plan) -> Option<String>,
    /// Its crash test with these settings.
    pub crash_test: Option<&'a ProgramSource>,
}

impl Question<'_> {
    /// The size of the work of a run.
    fn amounts(&self, set: &ResultSet) -> Vec<String> {
        match self.application {
            Some(application) => (application.size)(&set.run.plan).into_iter().collect(),
            None => amounts(set),
        }
    }

    /// The work of a plan.
    fn work(&self, plan: &Plan) -> String {
        match self.application {
            Some(application) => of_application(application.name, plan),
            None => work(plan),
        }
    }

    /// The kernel on which a contender was measured.
    fn kernel_of(&self, contender: &Contender) -> Option<&str> {
        let sets = self.later.iter().rev().chain([self.defaults]);
        let mut kernels = sets.filter_map(|set| {
            let mut contenders = set.run.plan.contenders.iter();
            set.kernel_of(contenders.position(|one| one.label == contender.label)?)
        });
        kernels.next()
    }
}

/// A device whose model disk the runs used.
#[derive(Debug, Clone, PartialEq, JsonSchema, Deserialize, Serialize)]
pub struct DeviceFit {
    /// Its path.
    pub device: String,
    /// The model: `hdd`, `flash` or `volume`.
    pub model: String,
    /// Root mean square of the logarithms of model / measured: 0.1 is 10 %.
    pub error: f64,
    /// The number of figures in that error.
    pub figures: usize,
}

/// The atlas from which an advice was made.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AtlasSource {
    /// The version of fsdyno that measured it.
    pub fsdyno: String,
    /// The command that measures its cells again here, and compares them.
    pub verify: String,
    /// The command that answers the same question by a measurement here.
    pub measure: String,
}

/// Options of a contender that were measured.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct VariantNote {
    /// The label of the contender.
    pub label: String,
    /// The label of the contender without these options; without the last one, if they were joined.
    pub base: String,
    /// The change that they make.
    pub why: String,
    /// The safety that they cost.
    pub costs: Option<String>,
    /// The document that describes them.
    pub source: String,
}

/// The file system to choose for some work, with the reasons.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "AdviceReport")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about the question and its figures"
)]
pub struct Recommendation {
    /// The version of this structure.
    #[schemars(extend("const" = Recommendation::SCHEMA))]
    pub schema: u32,
    /// The names of the runs in the store; the last one decides.
    pub runs: Vec<String>,
    /// The work: phases and datasets.
    pub work: String,
    /// The application with its settings; null for other work.
    pub application: Option<String>,
    /// The user code that virtual time does not count, in sentences; null if all code is counted.
    pub user_code: Option<String>,
    /// The fastest contenders at each size of the work, the smallest size first.
    pub sizes: Vec<SizeOfWork>,
    /// Whether the choice holds in variants of the model; null if none was measured.
    pub robustness: Option<RobustChoice>,
    /// The kernels that the contenders were measured on.
    pub kernels: Vec<String>,
    /// When the first of them started: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The profile of the model disk; null if the runs were on image files in real time.
    pub model_disk: Option<String>,
    /// The device to which the profile was fitted; null if it was not.
    pub fit: Option<DeviceFit>,
    /// The atlas that has the runs; null if they were measured here.
    pub atlas: Option<AtlasSource>,
    /// Whether the figures are exact, as in virtual time.
    pub certain: bool,
    /// Whether each figure is one draw, so that no difference is decided.
    pub one_draw: bool,
    /// The smallest difference that matters: 0.02 is 2 %.
    pub margin: f64,
    /// The warnings about work that is not what the runs should measure.
    pub warnings: Vec<String>,
    /// The recommended contender; null if none can be recommended.
    pub choice: Option<Choice>,
    /// All measured contenders, fastest first.
    #[serde(rename = "contenders")]
    pub candidates: Vec<Candidate>,
    /// Whether no flipped bit on a disk may give wrong data.
    pub bitrot: bool,
    /// Whether the loss of a disk may lose nothing.
    pub dead_disk: bool,
    /// The measured options.
    pub options: Vec<VariantNote>,
    /// Contenders with options that the time budget left out.
    pub left_out: Vec<String>,
    /// The file systems and contenders that are not recommended.
    pub dropped: Vec<Dropped>,
    /// The number of contenders that were not measured, because the time budget ended.
    pub unmeasured: usize,
    /// The prediction compared with a run in real time; null without `--validate`.
    pub validation: Option<Validation>,
}

/// The recommended contender.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "ChosenContender")]
pub struct Choice {
    /// Its label.
    pub contender: String,
    /// Its index among the candidates.
    #[serde(skip)]
    pub best: usize,
    /// The time of the defaults as a multiple of its time; null if its options are the defaults.
    #[serde(rename = "options_gain", serialize_with = "Effect::gain")]
    #[schemars(with = "Option<f64>")]
    pub options: Effect,
    /// The best of another file system, or else of another contender; null if no other is left.
    pub runner_up: Option<RunnerUp>,
    /// The contenders of other file systems that no verdict separates from it, fastest first.
    #[serde(serialize_with = "RunnerUp::labels")]
    #[schemars(with = "Vec<String>")]
    pub undecided: Vec<RunnerUp>,
    /// The command lines that make it and mount it, also at each boot, in order.
    pub commands: Vec<String>,
    /// Options that are faster and cost safety.
    pub unsafe_options: Vec<UnsafeOptions>,
}

/// Options that are faster and cost safety.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct UnsafeOptions {
    /// The label of the contender.
    pub contender: String,
    /// The time of the choice as a multiple of its time.
    pub gain: f64,
    /// The safety that they cost.
    pub costs: Option<String>,
}

/// The effect of options of the recommended file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// No options were measured.
    NotMeasured,
    /// No options are faster by a verdict: the defaults are recommended.
    NoDifference,
    /// The options are recommended: the ratio of the time of the defaults to theirs.
    Faster(f64),
}

/// The runner-up, or another contender that is compared with the choice.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "RunnerUpContender")]
pub struct RunnerUp {
    /// Its label.
    pub contender: String,
    /// Its index among the candidates.
    #[serde(skip)]
    pub at: usize,
    /// Its total time as a multiple of that of the choice: the estimate within blocks, or the ratio
    /// of the medians if no block has both.
    pub ratio: f64,
    /// The smallest and the largest such multiple of a block.
    #[serde(skip)]
    pub range: Option<(f64, f64)>,
    /// The lowest and the highest multiple, with none and with all user code; null if all code is counted.
    pub range_with_user_code: Option<(f64, f64)>,
    /// Whether the verdict is inconclusive because it depends on user code.
    pub depends_on_user_code: bool,
    /// The 95 % interval of the ratio; null with too few repeats.
    pub interval: Option<RatioInterval>,
    /// The number of repeats in that interval.
    pub pairs: usize,
    /// The verdict on the choice compared with it; null with too few repeats.
    pub verdict: Option<RunVerdict>,
    /// The phase that would turn the decision first; null if none can.
    pub turn: Option<Turn>,
}

impl RunnerUp {
    /// Whether it has a verdict other than inconclusive.
    pub fn is_decided(&self) -> bool {
        let verdict = self.verdict;
        verdict.is_some_and(|verdict| verdict != RunVerdict::Inconclusive)
    }

    fn labels<S: Serializer>(all: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|one| &one.contender))
    }
}

impl Effect {
    fn gain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let gain = match self {
            Self::Faster(ratio) => Some(*ratio),
            Self::NotMeasured | Self::NoDifference => None,
        };
        gain.serialize(serializer)
    }
}

/// The phase that would turn a decision first.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Turn {
    /// The phase.
    pub phase: String,
    /// The factor by which the work needs more of it, so that both take the same time.
    pub factor: f64,
}

impl Recommendation {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 2;

    /// The advice on some runs.
    pub fn of(question: &Question<'_>) -> Self {
        let set = question.later.last().unwrap_or(question.defaults);
        let field = Field::of(set);
        let mut dropped = question.dropped.clone();
        let mut unmeasured = field.unmeasured;
        let mut candidates = field.candidates.clone();
        dropped.extend(field.dropped.iter().cloned());
        let earlier = question.later.iter().rev().skip(1);
        let before = (!question.later.is_empty()).then_some(question.defaults);
        for others in earlier.chain(before).map(Field::of) {
            let is_new = |one: &Candidate| candidates.iter().all(|c| c.label != one.label);
            let new: Vec<Candidate> = others.candidates.into_iter().filter(is_new).collect();
            candidates.extend(new);
            dropped.extend(others.dropped);
            unmeasured += others.unmeasured;
        }
        let smaller = question.smaller.iter().map(|(_, set)| *set);
        let less: Vec<Field> = smaller.clone().map(Field::of).collect();
        // More work is that of some contenders of the least.
        unmeasured += less.first().map_or(0, |field| field.unmeasured);
        for (field, set) in less.iter().zip(smaller) {
            sizes::drop_slower(field, &question.amounts(set), &candidates, &mut dropped);
        }
        dropped.dedup();
        add_tests(&mut candidates, question);
        if let Some(class) = question.safety {
            dropped.extend(require(class, &mut candidates));
            dropped.extend(drop_those(&mut candidates, |one| one.power_losses?.fails()));
        }
        if question.bitrot {
            dropped.extend(require_right_data(&mut candidates));
        }
        if question.dead_disk {
            dropped.extend(require_redundancy(&mut candidates));
        }
        let mut choice = Choice::of(&field, &candidates, question);
        if let Some(choice) = &choice {
            choice.compare(&field, &mut candidates);
        }
        let robustness = choice.as_ref();
        let robustness =
            robustness.and_then(|choice| RobustChoice::of(choice, &field, question.variants, set));
        // Fastest first.
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|a, b| candidates[*a].cost.total_cmp(&candidates[*b].cost));
        let place = |of: usize| order.iter().position(|at| *at == of).unwrap_or(of);
        if let Some(choice) = &mut choice {
            choice.best = place(choice.best);
            if let Some(other) = &mut choice.runner_up {
                other.at = place(other.at);
            }
        }
        candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let plan = &set.run.plan;
        let user_code = user_code_of(set);
        let runs = || std::iter::once(question.defaults).chain(question.later);
        let smallest = question.smaller.first();
        let first = smallest.map_or(question.defaults, |(_, set)| *set);
        Self {
            schema: Self::SCHEMA,
            runs: runs().map(|set| terms::printable(&set.run.id)).collect(),
            work: question.work(plan),
            application: question
                .application
                .map(|application| terms::printable(application.name)),
            user_code: user_code.clone(),
            sizes: SizeOfWork::all(question, &less),
            robustness,
            kernels: unique(candidates.iter().filter_map(|one| {
                let kernel = question.kernel_of(&one.planned)?;
                Some(format!("Linux {}", terms::printable(release(kernel)?)))
            })),
            started_unix_ns: first.run.started_unix_ns,
            model_disk: plan
                .disk
                .as_ref()
                .filter(|_| plan.in_virtual_time())
                .map(|disk| terms::printable(&disk.profile)),
            certain: plan.in_virtual_time(),
            one_draw: plan.is_one_draw(),
            margin: plan.margin,
            candidates,
            // The sentences about user code have it with its figures.
            warnings: unique(runs().flat_map(about_work).filter(|text| {
                user_code.is_none() || !text.starts_with(WarningKind::NotCounted.name())
            })),
            choice,
            options: question.options.to_vec(),
            bitrot: question.bitrot,
            dead_disk: question.dead_disk,
            left_out: question
                .left_out
                .iter()
                .map(|one| terms::printable(one))
                .collect(),
            fit: question.fit.clone(),
            atlas: None,
            dropped,
            unmeasured,
            validation: question
                .validated
                .map(|measured| Validation::of(first, measured)),
        }
    }
}

/// Adds what tests found about the contenders, and what their options cost.
fn add_tests(candidates: &mut [Candidate], question: &Question<'_>) {
    for one in candidates {
        one.costs = costs_of(&one.planned, question.options);
        let kernel = question.kernel_of(&one.planned);
        let application = question.application.as_ref();
        one.crash_tests = CrashTests::of(&one.planned, kernel, question.explorations, application);
        one.power_losses = PowerLosses::of_contender(&one.planned, kernel, question.power_cuts);
        one.flipped_bits = FlippedBits::of(&one.planned, kernel, question.fault_tests);
        one.dead_disks = DeadDisks::of(&one.planned, kernel, question.fault_tests);
        one.full_disks = FullDisks::of(&one.planned, kernel, question.fault_tests);
        // A contender with unsafe options is one if the user named it.
        let mut named = question.defaults.run.plan.contenders.iter();
        one.eligible &= one.costs.is_none() || named.any(|other| other.label == one.planned.label);
    }
}

/// The safety that the options of a contender cost.
fn costs_of(contender: &Contender, options: &[VariantNote]) -> Option<String> {
    let mut notes = options.iter().filter(|note| note.label == contender.label);
    let costs = contender.gives_up.clone();
    costs.or_else(|| notes.find_map(|note| note.costs.clone()))
}

/// Drops the contenders that are not known to have no violation of a class. One that was not tested
/// is never better than one that was: it is dropped too, unless none was tested. Returns the reasons.
fn require(class: StateClass, candidates: &mut [Candidate]) -> Vec<Dropped> {
    let tests = |one: &Candidate| {
        let tests = one.crash_tests.clone();
        tests.filter(|tests| tests.same_options)
    };
    let is_any_tested = candidates.iter().any(|one| tests(one).is_some());
    drop_those(candidates, |one| match tests(one) {
        Some(tests) if tests.passes(class) => None,
        Some(tests) => Some(match tests.fails(class) {
            Some(why) => why,
            None => format!("it was not tested up to class {class}"),
        }),
        None => {
            is_any_tested.then(|| "it was not tested with this kernel and these options".to_owned())
        }
    })
}

/// Drops the contenders that gave wrong data after a flipped bit, and those that were not tested, unless
/// none was. Returns the reasons.
fn require_right_data(candidates: &mut [Candidate]) -> Vec<Dropped> {
    let is_any_tested = candidates.iter().any(|one| one.flipped_bits.is_some());
    drop_those(candidates, |one| match one.flipped_bits {
        Some(bits) => (bits.wrong > 0).then(|| bits.describe()),
        None => is_any_tested.then(|| {
            "it was not tested with flipped bits, this kernel and these options".to_owned()
        }),
    })
}

/// Drops the contenders that failed without a disk, and those that were not tested, unless none was.
/// Returns the reasons.
fn require_redundancy(candidates: &mut [Candidate]) -> Vec<Dropped> {
    let is_any_tested = candidates.iter().any(|one| one.dead_disks.is_some());
    drop_those(candidates, |one| match one.dead_disks {
        Some(disks) => (disks.failed > 0).then(|| disks.describe()),
        None => is_any_tested
            .then(|| "it was not tested with dead disks, this kernel and these options".to_owned()),
    })
}

/// Drops the contenders that have a reason. Returns the reasons.
fn drop_those(
    candidates: &mut [Candidate],
    reason: impl Fn(&Candidate) -> Option<String>,
) -> Vec<Dropped> {
    let mut dropped = Vec::new();
    for one in candidates {
        if let Some(why) = reason(one) {
            dropped.push(Dropped::new(&one.label, why));
            one.eligible = false;
        }
    }
    dropped
}

/// The phases and datasets of a plan.
fn work(plan: &Plan) -> String {
    let of_workload = |workload: &Workload| {
        let phases: Vec<&str> = workload.phases.iter().map(|one| &*one.label).collect();
        match &workload.dataset {
            none if none.is_none() => phases.join(", "),
            dataset => format!("{} on {dataset}", phases.join(", ")),
        }
    };
    let mut all: Vec<String> = plan.workloads.iter().map(of_workload).collect();
    all.dedup();
    let mut workloads = plan.workloads.iter();
    if workloads.any(|one| !one.dataset.is_users()) {
        all.push(format!("scale {}", plan.scale));
    }
    terms::printable(&all.join("; "))
}

/// The sentences about the user code of a run; none if all code is counted.
fn user_code_of(set: &ResultSet) -> Option<String> {
    let text = user_code::text(&comparison(set)?, set).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// An application and its phases: `postgresql: write, select`.
fn of_application(name: &str, plan: &Plan) -> String {
    let phases = plan.workloads.iter().flat_map(|one| &one.phases);
    let phases: Vec<&str> = phases.map(|phase| phase.label.as_str()).collect();
    terms::printable(&format!("{name}: {}", phases.join(", ")))
}

/// The contenders of the two fastest file systems of a run, by index in the plan, fastest first.
pub fn best_two(set: &ResultSet) -> Vec<Contender> {
    let field = Field::of(set);
    let mut best: Vec<Contender> = Vec::new();
    for one in field.eligible().into_iter().map(|at| &field.candidates[at]) {
        let is_new = |other: &Contender| other.filesystem != one.planned.filesystem;
        if best.len() < 2 && best.iter().all(is_new) {
            best.push(one.planned.clone());
        }
    }
    best
}

/// Whether a run has a verdict on its two fastest contenders: enough repeats of both.
pub fn has_verdict(set: &ResultSet) -> bool {
    let field = Field::of(set);
    let order = field.eligible();
    matches!(order[..], [one, other, ..] if field.verdict(one, other).is_some())
}

/// The contenders of a run that are less than so many times slower than the fastest, fastest first;
/// the two fastest in any case.
pub fn contending(set: &ResultSet, times: f64) -> Vec<Contender> {
    let field = Field::of(set);
    let order = field.eligible();
    let total = |at: usize| field.candidates[at].cost;
    let limit = order.first().map_or(0.0, |at| times * total(*at));
    let near = order.into_iter().enumerate();
    let near = near.filter(|(place, at)| *place < 2 || total(*at) <= limit);
    near.map(|(_, at)| field.candidates[at].planned.clone())
        .collect()
}

/// The measured options of a run that are faster than their base by a verdict, fastest first: those
/// that cost no safety, and those that do.
pub fn helpful<'a>(
    set: &ResultSet,
    notes: &'a [VariantNote],
) -> (Vec<&'a VariantNote>, Vec<&'a VariantNote>) {
    let field = Field::of(set);
    let place = |label: &str| {
        let label = terms::printable(label);
        field.candidates.iter().position(|one| one.label == label)
    };
    let mut faster: Vec<(f64, &VariantNote)> = notes
        .iter()
        .filter_map(|note| {
            let (at, base) = (place(&note.label)?, place(&note.base)?);
            let is_faster = field.verdict(at, base) == Some(Verdict::Faster);
            is_faster.then_some((field.candidates[at].cost, note))
        })
        .collect();
    faster.sort_by(|a, b| a.0.total_cmp(&b.0));
    let notes = faster.into_iter().map(|(_, note)| note);
    notes.partition(|note| note.costs.is_none())
}

impl Choice {
    /// Sets the ratios of all others to it.
    fn compare(&self, field: &Field, candidates: &mut [Candidate]) {
        let cost = candidates[self.best].cost;
        for (at, one) in candidates.iter_mut().enumerate() {
            let paired = field.ratio(at, self.best);
            let ratio = paired.map_or(one.cost / cost, |paired| paired.middle);
            one.ratio = (at != self.best).then_some(ratio);
        }
    }

    /// The choice among the candidates of the last run, which are first in the list.
    fn of(field: &Field, candidates: &[Candidate], question: &Question<'_>) -> Option<Self> {
        let own = &candidates[..field.candidates.len()];
        let eligible: Vec<usize> = (0..own.len()).filter(|at| own[*at].eligible).collect();
        let fastest = |among: &mut dyn Iterator<Item = usize>| {
            among.min_by(|a, b| own[*a].cost.total_cmp(&own[*b].cost))
        };
        let first = fastest(&mut eligible.iter().copied())?;
        // Of equivalent contenders, one that passed its crash tests is chosen.
        let is_clean = |at: &usize| {
            own[*at]
                .crash_tests
                .as_ref()
                .is_some_and(CrashTests::is_clean)
        };
        let level = |at: &usize| field.verdict(first, *at) == Some(Verdict::Equivalent);
        let mut safer = eligible.iter().copied().filter(level).filter(is_clean);
        let first = match fastest(&mut safer) {
            Some(safer) if !is_clean(&first) => safer,
            _ => first,
        };
        let of_label = |label: &str| {
            let mut all = eligible.iter().copied();
            all.find(|at| own[*at].label == terms::printable(label))
        };
        let notes = question.options.iter();
        let base_of = |at: usize| {
            let mut own_notes = notes.clone().filter(|one| of_label(&one.label) == Some(at));
            own_notes.find_map(|note| of_label(&note.base))
        };
        // Options without an effect are left out, of joined options the last one first.
        let needed = |mut at: usize| {
            while let Some(base) = base_of(at)
                && field.verdict(at, base) != Some(Verdict::Faster)
            {
                at = base;
            }
            at
        };
        let defaults_of = |mut at: usize| {
            while let Some(base) = base_of(at) {
                at = base;
            }
            at
        };
        let best = needed(first);
        let defaults = defaults_of(best);
        let has_notes = notes.clone().any(|note| of_label(&note.base) == Some(best));
        let options = match (defaults == best, has_notes) {
            (false, _) => Effect::Faster(own[defaults].cost / own[best].cost),
            (true, true) => Effect::NoDifference,
            (true, false) => Effect::NotMeasured,
        };
        let others = eligible.iter().copied().filter(|at| *at != best);
        let of_another = |at: &usize| own[*at].planned.filesystem != own[best].planned.filesystem;
        let decided = |at: &usize| {
            let verdict = field.verdict(best, *at);
            matches!(verdict, Some(Verdict::Faster | Verdict::Equivalent))
        };
        let mut undecided: Vec<usize> = others.clone().filter(of_another).collect();
        undecided.retain(|at| !decided(at));
        undecided.sort_by(|a, b| own[*a].cost.total_cmp(&own[*b].cost));
        let next = fastest(&mut others.clone().filter(of_another)).or_else(|| {
            // The user compares contenders of one file system.
            fastest(&mut others.filter(|at| defaults != *at && base_of(*at).is_none()))
        });
        let next = next.map(needed);
        let compared = |at: usize| {
            let paired = field.ratio(at, best);
            RunnerUp {
                contender: own[at].label.clone(),
                at,
                ratio: paired.map_or(own[at].cost / own[best].cost, |one| one.middle),
                range_with_user_code: field.range_with_user_code(at, best),
                depends_on_user_code: field.depends_on_user_code(at, best),
                range: paired.map(|paired| (paired.low, paired.high)),
                interval: paired.as_ref().and_then(run_json::interval),
                pairs: paired.map_or(0, |paired| paired.pairs),
                verdict: field.verdict(best, at).map(|one| RunVerdict::of(one, true)),
                turn: turn(&own[best], &own[at]),
            }
        };
        let is_unsafe = |at: &usize| {
            own[*at].costs.is_some() && field.verdict(*at, best) == Some(Verdict::Faster)
        };
        let unsafe_options = (0..own.len()).filter(is_unsafe).map(|at| UnsafeOptions {
            contender: own[at].label.clone(),
            gain: own[best].cost / own[at].cost,
            costs: own[at].costs.clone(),
        });
        Some(Self {
            contender: own[best].label.clone(),
            best,
            runner_up: next.map(compared),
            undecided: undecided.into_iter().map(compared).collect(),
            options,
            commands: (question.commands)(&own[best].planned),
            unsafe_options: unsafe_options.collect(),
        })
    }
}

/// The phase whose share in the work must grow least so that both contenders take the same time.
///
/// With weight `w` of one phase, the times are `T1 + (w-1) t1` and `T2 + (w-1) t2`. They are equal
/// at `w = 1 + (T2 - T1) / (t1 - t2)`. A geometric mean of `n` phases is such a sum of logarithms.
fn turn(best: &Candidate, other: &Candidate) -> Option<Turn> {
    let is_sum = best.total_ns.is_some();
    let part = |cost: f64| if is_sum { cost } else { cost.ln() };
    let n = if is_sum {
        1.0
    } else {
        best.phases.len() as f64
    };
    let lead = n * (part(other.cost) - part(best.cost));
    let phases = best.phases.iter().zip(&other.phases);
    let turns = phases.filter(|(one, other)| one.cost > other.cost);
    let turns = turns.map(|(one, other)| Turn {
        phase: one.phase.clone(),
        factor: 1.0 + lead / (part(one.cost) - part(other.cost)),
    });
    turns.min_by(|a, b| a.factor.total_cmp(&b.factor))
}

/// The comparison of the lab that has the most measured contenders, of a run.
fn comparison(set: &ResultSet) -> Option<crate::comparison::Comparison> {
    let labs = Comparisons::of(set).labs.into_iter();
    // Of equal ones, the first is returned.
    labs.rev().max_by_key(|lab| lab.measured_contenders().len())
}
