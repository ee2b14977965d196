//! Warnings and cells that were not measured, deduplicated with a count.

use crate::terms;
use fsdyno_model::{CacheState, Outcome, ResultSet, Sample, Warning, WarningKind};

/// A kind of warning with one advice, and its count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarningSummary {
    /// The kind.
    pub kind: WarningKind,
    /// The number of occurrences.
    pub count: usize,
    /// The places: contender and phase, deduplicated; empty for the whole run.
    pub places: Vec<String>,
    /// The finding at one place.
    pub message: String,
    /// Whether messages at other places differ.
    pub varies: bool,
    /// The remedy.
    pub advice: String,
}

/// Cells of one contender and workload that were not measured for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// The contender.
    pub contender: String,
    /// The workload; for a skipped phase, the phase.
    pub workload: String,
    /// The blocks, counted from 1; empty for a phase that is skipped in all of them.
    pub blocks: Vec<u32>,
    /// `failed` or `skipped`.
    pub outcome: &'static str,
    /// The failed stage, or the missing requirement.
    pub place: String,
    /// The reason; may have several lines.
    pub reason: String,
    /// The remedy, if one is known.
    pub remedy: Option<String>,
}

impl WarningSummary {
    /// The place of its kind, the most important first.
    pub fn importance(&self) -> u8 {
        importance(self.kind)
    }

    /// The finding with its first place.
    pub fn in_brief(&self) -> String {
        let places = match self.places.as_slice() {
            [] => String::new(),
            [one] => format!(" ({one})"),
            [first, ..] => format!(" ({first} and {} more)", self.places.len() - 1),
        };
        format!("{}{places}", self.message)
    }

    /// The first places and the number of others: `ext4 copy, xfs copy and 4 more`.
    pub fn places_text(&self) -> String {
        const SHOWN: usize = 4;
        if self.places.len() <= SHOWN {
            return terms::list(&self.places);
        }
        let shown = self.places[..SHOWN].join(", ");
        format!("{shown} and {} more", self.places.len() - SHOWN)
    }
}

/// The place of a kind among the kinds of warning, the most important first: kinds that make figures
/// wrong, then kinds that make them noisy, then kinds about missing data.
fn importance(kind: WarningKind) -> u8 {
    match kind {
        WarningKind::IncompleteRecording
        | WarningKind::Divergence
        | WarningKind::NotCounted
        | WarningKind::NoCleaner
        | WarningKind::GivenUp
        | WarningKind::NotDurable => 0,
        WarningKind::NotLocked | WarningKind::BackgroundLoad | WarningKind::TimeLimit => 1,
        WarningKind::CacheUnproven | WarningKind::NotFromDevice | WarningKind::FreeCopy => 2,
        WarningKind::Steal | WarningKind::Frequency | WarningKind::NotQuiet => 3,
        WarningKind::SmallerThanCache | WarningKind::Device | WarningKind::TooShort => 4,
        WarningKind::WarmUp
        | WarningKind::Drift
        | WarningKind::Multimodal
        | WarningKind::Retried => 5,
        WarningKind::Dependent | WarningKind::Outlier | WarningKind::Imprecise => 6,
        WarningKind::Entry | WarningKind::Unobserved | WarningKind::NotConfined => 7,
    }
}

/// Whether a kind of warning is about work that is not what a run should measure.
pub fn is_about_work(kind: WarningKind) -> bool {
    importance(kind) == 0
}

/// All warnings of a run, in the order of their first occurrence. First are those about work that
/// is not what the run should measure.
pub(super) fn warning_summaries(set: &ResultSet) -> Vec<WarningSummary> {
    let plan = &set.run.plan;
    let mut warning_summaries: Vec<WarningSummary> = Vec::new();
    for record in &set.cells {
        let [label, workload] = terms::of_cell(plan, record.cell);
        for warning in &record.warnings {
            note(&mut warning_summaries, warning, terms::printable(label));
        }
        for sample in &record.samples {
            for warning in sample.warnings.iter().chain(&not_warm(sample)) {
                let phase = terms::phase(plan.workloads.len(), workload, &sample.label);
                let place = terms::printable(&format!("{label} {phase}"));
                note(&mut warning_summaries, warning, place);
            }
        }
    }
    warning_summaries.sort_by_key(|summary| summary.importance() > 0);
    warning_summaries
}

/// The warnings about work that is not what a run should measure. They are first in each report of
/// the run.
pub fn about_work(set: &ResultSet) -> Vec<String> {
    let all = warning_summaries(set).into_iter();
    let first = all.take_while(|summary| is_about_work(summary.kind));
    first
        .map(|one| format!("{}: {}", one.kind, one.in_brief()))
        .collect()
}

/// The same warnings for a report of several runs.
pub fn about_work_of_run(set: &ResultSet) -> Vec<String> {
    let all = about_work(set).into_iter();
    all.map(|text| run_prefix(&set.run.id) + &text).collect()
}

/// The beginning of a warning about a run.
pub fn run_prefix(id: &str) -> String {
    format!("run {}: ", terms::printable(id))
}

/// The warning about a phase that should have started with warm caches but did not.
pub(super) fn not_warm(sample: &Sample) -> Option<Warning> {
    let cache = &sample.cache;
    (cache.requested == CacheState::Warm && !cache.proven).then(|| {
        Warning::new(
            WarningKind::CacheUnproven,
            format!(
                "a warm start could not be proven: {}",
                cache.reason.as_deref().unwrap_or("no reason was recorded")
            ),
            "do not read these figures as warm: does something else on the machine fill or drop \
             caches?",
        )
    })
}

fn note(warning_summaries: &mut Vec<WarningSummary>, warning: &Warning, place: String) {
    let (message, advice) = (
        terms::printable(&warning.message),
        terms::printable(&warning.advice),
    );
    match warning_summaries
        .iter_mut()
        .find(|d| d.kind == warning.kind && d.advice == advice)
    {
        Some(warning_summary) => {
            warning_summary.count += 1;
            warning_summary.varies |= warning_summary.message != message;
            if !warning_summary.places.contains(&place) {
                warning_summary.places.push(place);
            }
        }
        None => warning_summaries.push(WarningSummary {
            kind: warning.kind,
            count: 1,
            places: vec![place],
            message,
            varies: false,
            advice,
        }),
    }
}

/// All cells of a run that were not measured.
pub(super) fn unmeasured(set: &ResultSet) -> Vec<Unmeasured> {
    let plan = &set.run.plan;
    let mut all: Vec<Unmeasured> = Vec::new();
    for record in set.unmeasured() {
        let (outcome, place, reason, remedy) = match &record.outcome {
            Outcome::Measured => continue,
            Outcome::Skipped {
                requirement,
                reason,
                remedy,
            } => ("skipped", requirement.clone(), reason.clone(), Some(remedy)),
            Outcome::Failed(failure) => {
                let errno = failure.errno.as_deref();
                let known = errno.filter(|e| !failure.message.contains(e));
                let reason = known.map_or_else(
                    || failure.message.clone(),
                    |e| format!("{} ({e})", failure.message),
                );
                ("failed", failure.stage.to_string(), reason, None)
            }
        };
        let [contender, workload] = terms::of_cell(plan, record.cell).map(terms::printable);
        let one = Unmeasured {
            contender,
            workload,
            blocks: vec![record.cell.block + 1],
            outcome,
            place: terms::printable(&place),
            reason: terms::printable_lines(&reason),
            remedy: remedy
                .filter(|r| !r.is_empty())
                .map(|r| terms::printable(r)),
        };
        match all.iter_mut().find(|known| known.is_same(&one)) {
            Some(known) => known.blocks.extend(one.blocks),
            None => all.push(one),
        }
    }
    all.extend(skipped_phases(set));
    all
}

/// The phases that file systems do not support, of contenders that ran other phases of the
/// workload.
fn skipped_phases(set: &ResultSet) -> Vec<Unmeasured> {
    let plan = &set.run.plan;
    let mut all: Vec<Unmeasured> = Vec::new();
    for workload in &plan.workloads {
        for contender in &plan.contenders {
            if plan.skips_all(contender, workload).is_some() {
                continue;
            }
            for skipped in plan.skipped_by(contender, workload) {
                let phase = terms::phase(plan.workloads.len(), &workload.name, &skipped.phase);
                all.push(Unmeasured {
                    contender: terms::printable(&contender.label),
                    workload: terms::printable(&phase),
                    blocks: Vec::new(),
                    outcome: "skipped",
                    place: terms::printable(&skipped.requirement),
                    reason: terms::printable(&skipped.reason),
                    remedy: None,
                });
            }
        }
    }
    all
}

impl Unmeasured {
    fn is_same(&self, other: &Self) -> bool {
        (&self.contender, &self.workload, self.outcome)
            == (&other.contender, &other.workload, other.outcome)
            && (&self.place, &self.reason, &self.remedy)
                == (&other.place, &other.reason, &other.remedy)
    }

    /// The failed or skipped cells, as text: `xfs, untar: failed at mount in block 2`.
    pub fn heading(&self) -> String {
        if self.blocks.is_empty() {
            return format!(
                "{}, {}: skipped, needs {}",
                self.contender, self.workload, self.place
            );
        }
        let blocks: Vec<String> = self.blocks.iter().map(u32::to_string).collect();
        let place = match self.outcome {
            "failed" => format!("failed at {}", self.place),
            _ => format!("skipped, needs {}", self.place),
        };
        let noun = if blocks.len() == 1 { "block" } else { "blocks" };
        format!(
            "{}, {}: {place} in {noun} {}",
            self.contender,
            self.workload,
            terms::list(&blocks)
        )
    }
}
