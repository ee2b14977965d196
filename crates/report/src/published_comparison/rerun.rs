//! The details of a rerun: differences from the original setup, contenders that did not run, and
//! figures that differ from the published ones, with the measured causes.

use super::{CheckedConclusion, ComparedPhase, Paired};
use crate::lists::by_key;
use crate::published::{Table, place};
use crate::reruns::{KnownCause, Setting, Shown};
use crate::terms;
use fsdyno_model::{Outcome, ResultSet};
use serde::Serialize;

/// A figure has another order of magnitude from this factor on.
const ANOTHER_ORDER: f64 = 10.0;

/// The details of a rerun.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RerunSummary {
    /// The disk, and its used size.
    pub disk: String,
    /// The model processor.
    pub processor: String,
    /// The memory of the original machine and of the guest.
    pub memory: String,
    /// Other differences from the original setup.
    pub differs: Vec<String>,
    /// The contenders of the table that did not run or have no figures.
    pub not_run: Vec<NotRun>,
    /// The number of figures with a published counterpart, and how many have its order of
    /// magnitude.
    pub of_the_same_order: (usize, usize),
    /// Figures of another order of magnitude, grouped by their explanation.
    pub departures: Vec<Departure>,
}

/// A contender without figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// Its label in the table.
    pub contender: String,
    /// The reason.
    pub why: String,
}

/// Figures of another order of magnitude than published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// Contender, phase and factor of each.
    pub figures: Vec<String>,
    /// The explanation; `None` if it is unknown.
    pub cause: Option<Cause>,
}

/// An explanation, with the figures of this run that support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The explanation as text.
    pub text: String,
    /// The figures measured in the run.
    pub measured: Vec<String>,
}

/// A run and its table, with the comparison so far.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The run.
    pub set: &'a ResultSet,
    /// Its table.
    pub table: &'a Table,
    /// The contenders in both.
    pub pairs: &'a [Paired],
    /// The phases in both.
    pub lines: &'a [ComparedPhase],
}

impl RerunSummary {
    pub(super) fn of(setting: &Setting, context: Context<'_>) -> Self {
        let (all, departed) = context.departed();
        Self {
            disk: setting.disk_text(),
            processor: Setting::processor_text(&context.set.run.plan),
            memory: setting.memory_text(&context.set.run.plan),
            differs: setting.differs.clone(),
            not_run: not_run(setting, context),
            of_the_same_order: (all - departed.len(), all),
            departures: departures(setting, context, &departed),
        }
    }
}

impl Cause {
    /// The explanation on one line.
    pub fn words(&self) -> String {
        if self.measured.is_empty() {
            return self.text.clone();
        }
        format!("{} (measured: {})", self.text, self.measured.join("; "))
    }
}

/// A figure of another order of magnitude: its line and contender in the table, and its factor.
struct FarFigure<'a> {
    line: &'a str,
    contender: &'a str,
    text: String,
}

impl<'a> Context<'a> {
    /// The number of comparable figures, and those of another order of magnitude.
    fn departed(&self) -> (usize, Vec<FarFigure<'a>>) {
        let (mut all, mut departed) = (0, Vec::new());
        for line in self.lines {
            for entry in &line.entries {
                let Some(factor) = entry.by_published else {
                    continue;
                };
                all += 1;
                if (1.0 / ANOTHER_ORDER..=ANOTHER_ORDER).contains(&factor) {
                    continue;
                }
                let pair = &self.pairs[entry.contender];
                departed.push(FarFigure {
                    line: &line.label,
                    contender: &pair.published,
                    text: format!("{} {} ({}x)", pair.now, line.label, terms::ratio(factor)),
                });
            }
        }
        (all, departed)
    }

    fn cause(&self, known: &KnownCause) -> Cause {
        Cause {
            text: known.text.clone(),
            measured: known
                .figures
                .iter()
                .filter_map(|figure| self.shown(figure))
                .collect(),
        }
    }

    /// `xfs portage copy: 214 flushes`, from the first repeat. `None` if it was not measured.
    fn shown(&self, shown: &Shown) -> Option<String> {
        let mut pairs = self.pairs.iter();
        let pair = pairs.find(|pair| pair.published == shown.contender)?;
        let line = self.table.line(&shown.line)?;
        let (workload, phase) = place(self.set, line)?;
        let samples = self.set.samples(pair.in_run, workload, phase);
        let (_, sample) = samples.first()?;
        let figure = shown.of.words(sample)?;
        Some(format!("{} {}: {figure}", pair.now, line.label))
    }
}

/// Figures of another order of magnitude, each with its first explanation, grouped by explanation.
fn departures(
    setting: &Setting,
    context: Context<'_>,
    departed: &[FarFigure<'_>],
) -> Vec<Departure> {
    let known = |one: &FarFigure<'_>| {
        let is_of_it = |known: &KnownCause| {
            known.lines.iter().any(|line| line == one.line)
                && known.contenders.iter().any(|label| label == one.contender)
        };
        setting.causes.iter().position(is_of_it)
    };
    let grouped = by_key(departed.iter().map(|one| (known(one), one.text.clone())));
    let departure = |(reason, figures): (Option<usize>, Vec<String>)| Departure {
        figures,
        cause: reason.map(|reason| context.cause(&setting.causes[reason])),
    };
    grouped.into_iter().map(departure).collect()
}

/// Each contender of the table without figures, with the reason.
fn not_run(setting: &Setting, context: Context<'_>) -> Vec<NotRun> {
    let mut not_run = Vec::new();
    for (at, contender) in context.table.contenders.iter().enumerate() {
        let pair = context.pairs.iter().position(|pair| pair.in_table == at);
        let measured = context
            .lines
            .iter()
            .flat_map(|line| &line.entries)
            .any(|entry| Some(entry.contender) == pair);
        // A substitute is not this contender.
        if measured && pair.is_some_and(|pair| !context.pairs[pair].instead) {
            continue;
        }
        let mut left_out = setting.left_out.iter();
        let left_out = left_out.find(|one| one.contender == contender.label);
        let why = match (left_out, pair) {
            (Some(left_out), _) => left_out.why.clone(),
            (None, Some(pair)) => unmeasured(context.set, context.pairs[pair].in_run),
            (None, None) => "not requested (--fs)".to_owned(),
        };
        not_run.push(NotRun {
            contender: contender.label.clone(),
            why,
        });
    }
    not_run
}

/// The reason why a contender of the run has no figures.
fn unmeasured(set: &ResultSet, contender: usize) -> String {
    let mut cells = set.unmeasured();
    let cell = cells.find(|record| record.cell.contender as usize == contender);
    let text = match cell.map(|record| &record.outcome) {
        Some(Outcome::Failed(failure)) => format!("it failed: {}", failure.message),
        Some(Outcome::Skipped { reason, .. }) => format!("it cannot run here: {reason}"),
        _ => "none of its phases was measured".to_owned(),
    };
    terms::printable(&text)
}

/// Adds the explanation to each conclusion that does not hold.
pub(super) fn explain(
    setting: &Setting,
    context: Context<'_>,
    conclusions: &mut [CheckedConclusion],
) {
    for conclusion in conclusions {
        if conclusion.holding.departs() {
            let known = setting.causes.iter().filter(|known| {
                let begin = known.conclusion.as_ref();
                begin.is_some_and(|begin| conclusion.text.starts_with(begin))
            });
            conclusion.causes = known.map(|known| context.cause(known)).collect();
        }
    }
}

impl RerunSummary {
    /// The setup of a rerun, and its differences from the original one.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("disk", self.disk.clone()),
            ("processor", self.processor.clone()),
            ("memory", self.memory.clone()),
        ];
        facts.extend(self.differs.iter().map(|text| ("differs", text.clone())));
        let not_run = self.not_run.iter();
        facts.extend(not_run.map(|one| ("not rerun", format!("{}: {}", one.contender, one.why))));
        facts
    }

    /// The heading of the different figures.
    pub(super) fn of_figures(&self) -> String {
        let (same, all) = self.of_the_same_order;
        format!(
            "Figures of another order of magnitude ({} of {all})",
            all - same
        )
    }
}

impl Departure {
    /// The figures and their explanation.
    pub fn words(&self) -> String {
        let known = match &self.cause {
            Some(cause) => cause.words(),
            None => "the reason is unknown".to_owned(),
        };
        format!("{}: {known}", self.figures.join(", "))
    }
}
