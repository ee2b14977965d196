//! The cause of a difference between two contenders: the time of each phase split for both, the
//! counters, and one sentence that states no more than the counters show.
//!
//! The parts are in [`parts`], the cause and the sentence in [`cause`], the figures in [`rows`].
//! The remedies come from recipes, as a function.

pub mod cause;
pub mod document;
pub mod parts;
pub mod rows;
pub(crate) mod work;

use crate::comparison::labs;
use crate::comparison::verdicts::LineVerdicts;
use crate::comparison::warnings::about_work;
use crate::history;
use crate::lists::{applicable, unique};
use crate::processor::Processor;
use crate::resolution::{RESOLUTION, both_negligible};
use crate::terms;
use cause::Cause;
use fsdyno_model::{Contender, DiskUse, ResultSet, Sample};
use fsdyno_stats::{Rule, Verdict};
use parts::{Anatomy, Part, Source};
use rows::Row;
use schemars::JsonSchema;
use serde::Serialize;
use work::Counted;

/// Returns the remedy for a cause, given the slower and the faster of two contenders.
pub type Advice<'a> = &'a dyn Fn([&Contender; 2], Cause) -> Option<String>;

/// Two contenders of a run, compared part by part.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Why {
    /// The version of this structure.
    #[schemars(extend("const" = Why::SCHEMA))]
    pub schema: u32,
    /// The run.
    pub run: String,
    /// The labels of the two, escaped for printing.
    pub contenders: [String; 2],
    /// Whether both ran in virtual time.
    pub virtual_time: bool,
    /// The processor of virtual time, as text; none in real time.
    pub processor: Option<String>,
    /// The warnings about work that is not what the run should measure.
    pub warnings: Vec<String>,
    /// The sources of the figures.
    pub sources: Vec<String>,
    /// The figures that are not known, each with the reason.
    pub missing: Vec<String>,
    /// The phases that both have, the phase with the largest difference first.
    pub phases: Vec<PhaseWhy>,
}

/// One phase.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct PhaseWhy {
    /// The workload and the phase, as a heading.
    pub phase: String,
    /// The number of blocks in which both were measured.
    pub blocks: usize,
    /// The time of both by parts, of their samples with the median time.
    pub anatomies: [Anatomy; 2],
    /// The names of the parts, in their order.
    pub part_names: [&'static str; Part::COUNT],
    /// The time of the second contender minus that of the first.
    pub difference_ns: i64,
    /// The cause of the difference; none if there is no single cause.
    pub cause: Option<Cause>,
    /// The figures, as text.
    pub rows: Vec<Row>,
    /// The explanation of the difference, one sentence.
    pub sentence: String,
}

/// The reason why two contenders cannot be compared.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum WhyError {
    /// No contender has this name.
    #[error("the run {run} has no contender `{requested}`; it has {known}")]
    NoContender {
        run: String,
        requested: String,
        known: String,
    },
    /// Both names are the same.
    #[error("`{0}` was named twice: name two contenders of the run")]
    Twice(String),
    /// They ran on different kernels.
    #[error("{0} and {1} ran in different labs or kernels. {why}", why = labs::WHY)]
    OtherLab(String, String),
    /// No phase has this name.
    #[error("the run {run} has no phase `{requested}`; it has {known}")]
    NoPhase {
        run: String,
        requested: String,
        known: String,
    },
    /// No phase was named, and there are several.
    #[error("name one phase of the run {run}: {known}")]
    WhichPhase { run: String, known: String },
    /// No phase was measured for both.
    #[error("no phase of the run {0} was measured for both {1} and {2} (fsdyno show {0})")]
    Nothing(String, String, String),
}

impl Why {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 4;

    /// Compares two contenders by their labels, over one phase or all. The verdicts are those of
    /// the lab's report.
    pub fn of(
        set: &ResultSet,
        labels: [&str; 2],
        phase: Option<&str>,
        advice: Advice<'_>,
    ) -> Result<Self, WhyError> {
        let places = [place(set, labels[0])?, place(set, labels[1])?];
        let share = share_of(set, places).unwrap_or_default();
        Self::judged(
            set,
            labels,
            phase,
            advice,
            &LineVerdicts::of(&set.only(&share)),
        )
    }

    /// The comparison of two contenders, with the verdicts of their lab.
    pub(crate) fn judged(
        set: &ResultSet,
        labels: [&str; 2],
        phase: Option<&str>,
        advice: Advice<'_>,
        judged: &LineVerdicts,
    ) -> Result<Self, WhyError> {
        let Two {
            places,
            shown,
            share,
        } = Two::of(set, labels)?;
        let among = places.map(|at| share.iter().position(|one| *one == at).unwrap_or(0));
        let verdicts = Pair { judged, among };
        let mut phases = phases(set, places, phase, advice, &verdicts)?;
        if phases.is_empty() {
            let [a, b] = shown;
            return Err(WhyError::Nothing(set.run.id.clone(), a, b));
        }
        phases.sort_by_key(|one| std::cmp::Reverse(one.difference_ns.unsigned_abs()));
        let virtual_time = set.run.plan.in_virtual_time();
        Ok(Self {
            schema: Self::SCHEMA,
            run: set.run.id.clone(),
            contenders: shown,
            virtual_time,
            processor: virtual_time.then(|| terms::printable(&set.run.plan.processor())),
            warnings: about_work(&set.only(&places)),
            sources: sources(&phases, virtual_time),
            missing: missing(set, places, &phases),
            phases,
        })
    }
}

/// Two contenders that can be compared.
pub(crate) struct Two {
    pub places: [usize; 2],
    /// Their labels, escaped for printing.
    pub shown: [String; 2],
    /// The contenders of their lab and kernel, or the same contender on other kernels.
    pub share: Vec<usize>,
}

impl Two {
    /// By their labels.
    pub fn of(set: &ResultSet, labels: [&str; 2]) -> Result<Self, WhyError> {
        let places = [place(set, labels[0])?, place(set, labels[1])?];
        let shown = places.map(|at| terms::printable(&set.run.plan.contenders[at].label));
        if places[0] == places[1] {
            return Err(WhyError::Twice(shown[0].clone()));
        }
        let Some(share) = share_of(set, places) else {
            let [a, b] = shown;
            return Err(WhyError::OtherLab(a, b));
        };
        Ok(Self {
            places,
            shown,
            share,
        })
    }
}

/// The contenders that are compared with them: those of their lab and kernel, or the same contender
/// on other kernels.
fn share_of(set: &ResultSet, places: [usize; 2]) -> Option<Vec<usize>> {
    let mut shares = set.labs().into_iter();
    let share = shares.find(|share| places.iter().all(|at| share.contenders.contains(at)));
    share.map(|share| share.contenders).or_else(|| {
        let contenders = &set.run.plan.contenders;
        let [one, other] = places.map(|at| &contenders[at]);
        let is_same = |at: &usize| contenders[*at].kernel == one.kernel;
        let on_one_kernel = one.kernel.is_some() && one.kernel == other.kernel;
        on_one_kernel.then(|| (0..contenders.len()).filter(is_same).collect())
    })
}

/// The verdicts of a lab, and the indices of two contenders in it.
struct Pair<'a> {
    judged: &'a LineVerdicts,
    among: [usize; 2],
}

/// The contender with this label; without its state (`ext4 fill=80%`) if only one contender has it.
pub(crate) fn place(set: &ResultSet, label: &str) -> Result<usize, WhyError> {
    let contenders = &set.run.plan.contenders;
    let found = contenders.iter().position(|one| one.label == label);
    let without_state = || {
        let named = |one: &Contender| one.label.strip_suffix(&one.state.suffix()) == Some(label);
        let mut all = (0..contenders.len()).filter(|at| named(&contenders[*at]));
        all.next().filter(|_| all.next().is_none())
    };
    found
        .or_else(without_state)
        .ok_or_else(|| WhyError::NoContender {
            run: set.run.id.clone(),
            requested: terms::printable(label),
            known: terms::list(
                &contenders
                    .iter()
                    .map(|one| terms::printable(&one.label))
                    .collect::<Vec<_>>(),
            ),
        })
}

fn phases(
    set: &ResultSet,
    places: [usize; 2],
    requested: Option<&str>,
    advice: Advice<'_>,
    pair: &Pair<'_>,
) -> Result<Vec<PhaseWhy>, WhyError> {
    let plan = &set.run.plan;
    let (mut all, mut known, mut found) = (Vec::new(), Vec::new(), requested.is_none());
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let heading = terms::phase(plan.workloads.len(), &workload.name, &phase.label);
            known.push(terms::printable(&heading));
            if requested.is_some_and(|requested| requested != heading && requested != phase.label) {
                continue;
            }
            found = true;
            let samples = places.map(|at| set.samples(at, w, p));
            let contenders = places.map(|at| &plan.contenders[at]);
            let one = Compared {
                set,
                contenders,
                samples: [&samples[0], &samples[1]],
                verdict: pair.judged.whole(w, p).of(pair.among[0], pair.among[1]),
                rule: pair.judged.rule(),
            };
            all.extend(one.why(terms::printable(&heading), advice));
        }
    }
    if !found {
        return Err(WhyError::NoPhase {
            run: set.run.id.clone(),
            requested: terms::printable(requested.unwrap_or_default()),
            known: terms::list(&known),
        });
    }
    Ok(all)
}

/// The samples of two contenders in one phase.
struct Compared<'a> {
    set: &'a ResultSet,
    contenders: [&'a Contender; 2],
    samples: [&'a [(u32, &'a Sample)]; 2],
    /// The verdict on the first compared with the second; `None` with too few repeats.
    verdict: Option<Verdict>,
    /// The rule of the verdicts of the run.
    rule: &'a Rule,
}

impl Compared<'_> {
    fn why(&self, phase: String, advice: Advice<'_>) -> Option<PhaseWhy> {
        let middles = [
            median_sample(self.samples[0])?,
            median_sample(self.samples[1])?,
        ];
        let plan = &self.set.run.plan;
        let processor = Processor::of(plan);
        let anatomy = |at: usize| {
            let devices = self.contenders[at].layout.devices;
            Anatomy::of(middles[at], devices, processor)
        };
        let anatomies = [anatomy(0), anatomy(1)];
        let [a, b] = &anatomies;
        let difference_ns = b.whole_ns.cast_signed() - a.whole_ns.cast_signed();
        let slower = usize::from(difference_ns > 0);
        let objection = self.objection(&anatomies);
        let found = match objection {
            Some(objection) => Err(objection),
            None => cause::find(&anatomies[slower], &anatomies[1 - slower]),
        };
        let explanation = cause::Explanation {
            contenders: self.contenders,
            samples: middles,
            anatomies: &anatomies,
            slower,
            plan,
        };
        let counted = Counted {
            labels: self.contenders.map(|one| terms::printable(&one.label)),
            samples: middles,
            charges: [0, 1].map(|at| anatomies[at].charge),
            all: self.samples,
            rule: self.rule,
        };
        let cause = found
            .as_ref()
            .ok()
            .map(|found| explanation.closer(found.cause));
        Some(PhaseWhy {
            phase,
            blocks: blocks_of_both(self.samples),
            part_names: Part::ALL.map(Part::name),
            difference_ns,
            cause,
            rows: rows::of(middles, &anatomies),
            sentence: [
                Some(explanation.sentence(found, advice)),
                counted.sentence(),
                self.moved(middles),
            ]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
            anatomies,
        })
    }

    /// The counters in which the two differ. In real time differences of single samples are chance.
    fn moved(&self, [a, b]: [&Sample; 2]) -> Option<String> {
        if !self.set.run.plan.in_virtual_time() {
            return None;
        }
        let moved = history::moved(history::EXACT_MARGIN, |counter| {
            let definition = counter.definition()?;
            let is_count = [
                fsdyno_model::Source::Counted,
                fsdyno_model::Source::Modelled,
            ]
            .contains(&definition.source);
            let figure = |sample| counter.value(sample);
            is_count.then_some([figure(a)?, figure(b)?])
        });
        let margin = terms::percent(history::EXACT_MARGIN);
        Some(if moved.is_empty() {
            format!("No counter differs by more than {margin}.")
        } else {
            let listed = history::listed(&moved);
            format!("Counters that differ by more than {margin}: {listed}.")
        })
    }

    /// The reason why there is no difference to explain, by the verdict of the report. `None` with
    /// too few repeats: the measured difference is explained.
    fn objection(&self, [a, b]: &[Anatomy; 2]) -> Option<String> {
        if both_negligible(a.whole_ns as f64, b.whole_ns as f64) {
            return Some(format!(
                "both are below {RESOLUTION}, which is negligible, so there is nothing to explain"
            ));
        }
        let margin = terms::percent(self.rule.margin);
        let middles = if a.whole_ns > b.whole_ns {
            Verdict::Slower
        } else {
            Verdict::Faster
        };
        match self.verdict {
            Some(Verdict::Equivalent) => Some(format!(
                "the two are equivalent within the margin of {margin}, so there is nothing to explain"
            )),
            Some(Verdict::Inconclusive) => {
                let blocks = terms::count(blocks_of_both(self.samples), "block");
                Some(format!(
                    "inconclusive: {blocks} do not show whether the two differ by more than {margin}, \
                     so there is nothing to explain"
                ))
            }
            Some(verdict) if verdict != middles => Some(
                "the verdict by blocks is the opposite of the order of these two samples, which are \
                 the medians, so one sample of each does not explain it"
                    .to_owned(),
            ),
            Some(_) => None,
            None => {
                let difference = a.whole_ns.abs_diff(b.whole_ns) as f64;
                let least = a.whole_ns.min(b.whole_ns) as f64;
                let blocks = terms::count(blocks_of_both(self.samples), "block");
                (difference <= self.rule.margin * least).then(|| {
                    format!(
                        "they differ by at most the margin of {margin} in {blocks}, which are too few \
                         for a verdict, so there is nothing to explain"
                    )
                })
            }
        }
    }
}

fn blocks_of_both(samples: [&[(u32, &Sample)]; 2]) -> usize {
    let both = samples[0]
        .iter()
        .filter(|(block, _)| samples[1].iter().any(|(other, _)| other == block));
    both.count()
}

/// The sample with the median time; of two, the shorter one.
pub(crate) fn median_sample<'a>(samples: &[(u32, &'a Sample)]) -> Option<&'a Sample> {
    let mut sorted: Vec<&Sample> = samples.iter().map(|(_, sample)| *sample).collect();
    sorted.sort_by_key(|sample| sample.whole_ns());
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[last / 2])
}

/// The requests on model disks of a sample; for a read-only phase, until its return.
fn recorded(sample: &Sample) -> Option<DiskUse> {
    let of = |disk: &fsdyno_model::DiskFigures| match sample.durable_ns {
        Some(_) => disk.whole(),
        None => disk.to_return,
    };
    sample.disks.iter().map(of).reduce(|sum, one| sum + one)
}

fn any(phases: &[PhaseWhy], applies: impl FnMut(&Anatomy) -> bool) -> bool {
    phases.iter().flat_map(|of| &of.anatomies).any(applies)
}

/// Whether a model processor charged at least one of the two.
fn charged(phases: &[PhaseWhy]) -> bool {
    any(phases, |of| of.charge.is_some())
}

fn sources(phases: &[PhaseWhy], virtual_time: bool) -> Vec<String> {
    let met = |source| any(phases, |of| of.source == source);
    let all = [
        (
            charged(phases),
            "processor: the basic blocks, system calls and bytes that the kernel counted, at the \
             prices of the profile",
        ),
        (
            !virtual_time,
            "processors: getrusage of the workers until return, /proc/stat until durable",
        ),
        (
            met(Source::Recorder),
            "devices: the recorder of the model disks, exact",
        ),
        (
            any(phases, |of| of.others_ns.is_some()),
            "kernel threads and other programs: /proc/PID/stat and schedstat, around the phase",
        ),
        (
            any(phases, |of| of.traced.is_some()),
            "metadata and forced writes: the tracepoint block_bio_queue, as the file system marked \
             its requests",
        ),
        (
            met(Source::BlockStatistics),
            "devices: block statistics of the kernel, in its ticks",
        ),
    ];
    let met = applicable(all);
    met.into_iter().map(str::to_owned).collect()
}

fn missing(set: &ResultSet, places: [usize; 2], phases: &[PhaseWhy]) -> Vec<String> {
    let plan = &set.run.plan;
    let virtual_time = plan.in_virtual_time();
    let charged = charged(phases);
    let devices_unknown = any(phases, |of| of.source == Source::Unknown);
    let mut rows = phases.iter().flat_map(|of| &of.rows);
    let all = [
        (
            virtual_time && charged && Processor::of(plan) == Processor::Model(None),
            "processor time of kernel threads: the processor profile cannot be read, so that it is \
             part of the workload's",
        ),
        (
            virtual_time && !charged,
            "processor time: computing takes none here (a lab kernel that counts its work, and a \
             processor other than `free`, charge it)",
        ),
        (
            !virtual_time && any(phases, |of| of.other_work_ns.is_none()),
            "processor time elsewhere: not counted",
        ),
        (
            devices_unknown,
            "devices: not observed, so that waiting for them is in the rest",
        ),
        (
            !devices_unknown && any(phases, |of| of.waits.is_none()),
            "the time of requests by kind: not recorded by the kernel (before 5.5) or by the \
             version of fsdyno that measured",
        ),
        (
            any(phases, |of| of.source != Source::Recorder),
            "seeks: only model disks record them",
        ),
        (
            rows.all(|row| row.name != rows::EXTENTS),
            "extents per file: not counted (run --fragments)",
        ),
        (
            virtual_time,
            "metadata and forced writes (FUA): a virtio disk receives neither; instead of a forced \
             write, the guest's kernel sends a write and a flush",
        ),
    ];
    let missing = applicable(all);
    let mut missing: Vec<String> = missing.into_iter().map(str::to_owned).collect();
    if virtual_time {
        return missing;
    }
    let unobserved = unobserved(set, places);
    if unobserved.is_empty() && any(phases, |of| of.others_ns.is_none()) {
        missing.push(
            "what else the machine did, metadata and forced writes (FUA): not observed".to_owned(),
        );
    }
    missing.extend(unobserved);
    missing
}

/// The unavailable observations of both contenders, each reason once.
fn unobserved(set: &ResultSet, places: [usize; 2]) -> Vec<String> {
    let cells = set.cells.iter();
    let theirs = cells.filter(|cell| places.contains(&(cell.cell.contender as usize)));
    let observed = theirs
        .flat_map(|cell| &cell.samples)
        .filter_map(|sample| sample.observed.as_ref());
    let reasons = observed.flat_map(|of| &of.unobserved);
    unique(reasons.map(|why| terms::printable(why)))
}
