//! The choice at several sizes of the work: whether it depends on the size.

use super::candidates::{Candidate, Dropped, Field};
use super::{Question, Recommendation};
use crate::lists::unique;
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// The fastest contenders at one size of the work.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct SizeOfWork {
    /// The size as a multiple of the smallest one.
    pub times: f64,
    /// The amount of work of each workload: files and bytes, or the size setting of an application.
    pub amount: Vec<String>,
    /// The name of its run in the store.
    pub run: String,
    /// The fastest contender and all that are not slower by a verdict, fastest first.
    pub fastest: Vec<String>,
}

impl SizeOfWork {
    /// The sizes of a question, the smallest first. `less` are the contenders with less work.
    pub(super) fn all(question: &Question<'_>, less: &[Field]) -> Vec<Self> {
        let whole = question.smaller.first().map_or(1.0, |(whole, _)| *whole);
        let of = |times, set, field: &Field| Self::of(times, &question.amounts(set), set, field);
        let smaller = question.smaller.iter().zip(less);
        let smaller = smaller.filter_map(|((part, set), field)| of(whole / part, set, field));
        let set = question.defaults;
        smaller.chain(of(whole, set, &Field::of(set))).collect()
    }

    /// The size of a run with these contenders; none without any.
    fn of(times: f64, amount: &[String], set: &ResultSet, field: &Field) -> Option<Self> {
        let order = field.eligible();
        let (first, others) = order.split_first()?;
        let level = others.iter().copied();
        let level = level.filter(|at| field.verdict(*first, *at) != Some(Verdict::Faster));
        let fastest: Vec<usize> = std::iter::once(*first).chain(level).collect();
        let label = |at: &usize| field.candidates[*at].label.clone();
        Some(Self {
            times,
            amount: amount.iter().map(|one| terms::printable(one)).collect(),
            run: terms::printable(&set.run.id),
            fastest: fastest.iter().map(label).collect(),
        })
    }
}

/// The amount of the first phase of each workload: `1,000 files, 12.7 MiB`.
pub(crate) fn amounts(set: &ResultSet) -> Vec<String> {
    let comparison = super::comparison(set);
    let workloads = comparison.iter().flat_map(|one| &one.workloads);
    let amounts = workloads.filter_map(|workload| {
        let phase = workload.measured_phases().next()?;
        (!phase.amount.is_empty()).then(|| format!("{}: {}", phase.label, phase.amount))
    });
    unique(amounts)
}

/// Drops the contenders that were measured with less work alone: they are much slower.
pub(super) fn drop_slower(
    less: &Field,
    amount: &[String],
    candidates: &[Candidate],
    dropped: &mut Vec<Dropped>,
) {
    let Some(fastest) = less.eligible().first().map(|at| &less.candidates[*at]) else {
        return;
    };
    let with = match amount {
        [amount] => format!(" ({})", terms::printable(amount)),
        _ => String::new(),
    };
    let slower = less.candidates.iter().map(|one| {
        let (ratio, of) = (terms::ratio(one.cost / fastest.cost), &fastest.label);
        let why = format!("with less work{with} it takes {ratio} times as long as {of}");
        Dropped::new(&one.label, why)
    });
    // One that was not durable has its own reason.
    for one in less.dropped.iter().cloned().chain(slower) {
        let is_known = candidates.iter().any(|other| other.label == one.name)
            || dropped.iter().any(|other| other.name == one.name);
        if !is_known {
            dropped.push(one);
        }
    }
}

/// The label of a contender without the options that were added to it.
fn defaults_of(advice: &Recommendation, label: &str) -> String {
    let mut label = label.to_owned();
    let base = |label: &str| {
        let mut notes = advice.options.iter();
        let note = notes.find(|note| terms::printable(&note.label) == label)?;
        Some(terms::printable(&note.base)).filter(|base| base != label)
    };
    while let Some(base) = base(&label) {
        label = base;
    }
    label
}

/// The size of the work, and whether the choice depends on it, in sentences.
pub(super) fn text(advice: &Recommendation) -> Option<String> {
    let choice = advice.choice.as_ref()?;
    let chosen = &defaults_of(advice, &choice.contender);
    let (largest, smaller) = advice.sizes.split_last()?;
    let measured = match &largest.amount[..] {
        [] => String::new(),
        amounts => format!("Measured with {}. ", amounts.join("; ")),
    };
    if smaller.is_empty() {
        return Some(format!(
            "{measured}Only one size of the work was measured: a larger one may have another answer."
        ));
    }
    let these = |sizes: &[SizeOfWork]| {
        let words = sizes.iter().map(|size| match &advice.application {
            Some(_) => size.amount.join(", "),
            None => format!("1/{}", largest.times / size.times),
        });
        let words: Vec<String> = words.collect();
        let words = terms::joined(&words, "and");
        match &advice.application {
            Some(_) => words,
            None => format!("{words} of this work"),
        }
    };
    let more = "More was not measured.";
    let holds = |size: &SizeOfWork| size.fastest.contains(chosen);
    if smaller.iter().all(holds) {
        let all = these(smaller);
        return Some(format!(
            "{measured}{chosen} is among the fastest with {all} too. {more}"
        ));
    }
    let changes = smaller.chunk_by(|one, next| one.fastest == next.fastest);
    let changes = changes.map(|group| {
        let fastest = terms::joined(&group[0].fastest, "or");
        format!("with {}, {fastest} is the fastest", these(group))
    });
    let changes: Vec<String> = changes.collect();
    Some(format!(
        "{measured}The choice depends on the size of the work: {}. {more}",
        changes.join("; ")
    ))
}
