//! Whether the choice holds in variants of the model disk and the model processor.

use super::candidates::Field;
use super::{Choice, Recommendation};
use crate::comparison::robustness::{agrees, change_of_ratio};
use crate::lists::by_key;
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether the choice holds in variants of the model.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RobustChoice {
    /// The number of all variants; fewer may be measured.
    pub planned: u32,
    /// The measured variants.
    pub variants: Vec<ChoiceInVariant>,
}

/// The choice compared with the runner-up in one variant.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ChoiceInVariant {
    /// The change of the model.
    pub change: String,
    /// The name of its run in the store.
    pub run: String,
    /// The total time of the runner-up as a multiple of that of the choice.
    pub ratio: f64,
    /// Whether the verdict holds.
    pub holds: bool,
}

impl RobustChoice {
    /// The choice in the variants of the run that decides. `None` without a decision, and if no
    /// variant has both contenders.
    pub(super) fn of(
        choice: &Choice,
        field: &Field,
        variants: &[ResultSet],
        set: &ResultSet,
    ) -> Option<Self> {
        let other = choice.runner_up.as_ref()?;
        let place = |label: &str| field.candidates.iter().position(|one| one.label == label);
        let pair = [place(&other.contender)?, place(&choice.contender)?];
        let verdict = field.verdict(pair[0], pair[1])?;
        if verdict == Verdict::Inconclusive {
            return None;
        }
        let in_run = field.ratio(pair[0], pair[1])?.middle;
        let known = variants.iter().filter_map(|variant| {
            let of = variant.run.plan.variant.as_ref()?;
            let there = Field::of(variant);
            let totals = |at: usize| {
                let mut others = there.candidates.iter();
                let label = &field.candidates[at].label;
                let place = others.position(|one| one.label == *label)?;
                Some([field.totals(at), there.totals(place)])
            };
            let change = change_of_ratio(&[[totals(pair[0])?, totals(pair[1])?]])?;
            let ratio = in_run * change;
            Some(ChoiceInVariant {
                change: terms::printable(&of.change),
                run: terms::printable(&variant.run.id),
                ratio,
                holds: agrees(verdict, ratio, set.run.plan.margin),
            })
        });
        let known: Vec<ChoiceInVariant> = known.collect();
        let of = variants.first()?.run.plan.variant.as_ref()?;
        (!known.is_empty()).then_some(Self {
            planned: of.all,
            variants: known,
        })
    }
}

/// Whether the choice depends on the model, in a sentence.
pub(super) fn text(advice: &Recommendation) -> Option<String> {
    let robust = advice.robustness.as_ref()?;
    let choice = advice.choice.as_ref()?;
    let other = choice.runner_up.as_ref()?;
    let measured = robust.variants.len();
    let scope = if measured == robust.planned as usize {
        format!("all {measured} variants")
    } else {
        format!("the {measured} measured of {} variants", robust.planned)
    };
    let of_model = "of the model disk and processor";
    let fails = robust.variants.iter().filter(|one| !one.holds);
    let in_words = |ratio: f64| match ratio {
        ratio if agrees(Verdict::Equivalent, ratio, advice.margin) => {
            "there is no difference".to_owned()
        }
        ratio if ratio < 1.0 => format!("{} is faster", other.contender),
        _ => format!("{} is faster", choice.contender),
    };
    let groups = by_key(fails.map(|one| (in_words(one.ratio), one.change.clone())));
    if groups.is_empty() {
        return Some(format!("The choice holds in {scope} {of_model}."));
    }
    let groups = groups.into_iter();
    let groups =
        groups.map(|(what, changes)| format!("{what} with {}", terms::joined(&changes, "or with")));
    let groups: Vec<String> = groups.collect();
    Some(format!(
        "The choice depends on the model: {} (in {scope} {of_model}).",
        groups.join("; ")
    ))
}
