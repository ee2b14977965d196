//! Warnings, and cells that were not measured.

use crate::comparison::{Comparisons, Unmeasured, WarningSummary};
use crate::document::{Block, Item, Section, Text, Tone};
use std::fmt::Write as _;

/// The sections, without empty ones.
pub fn sections(comparisons: &Comparisons) -> Vec<Block> {
    let warnings: Vec<Item> = comparisons.warning_summaries.iter().map(warning).collect();
    let unmeasured: Vec<Item> = comparisons.unmeasured.iter().map(not_measured).collect();
    let sections = [
        ("warnings", "Warnings", warnings),
        ("not-measured", "Not measured", unmeasured),
    ];
    let sections = sections
        .into_iter()
        .filter(|(_, _, items)| !items.is_empty());
    sections
        .map(|(id, heading, items)| Section::new(id, heading).with(Block::List(items)).into())
        .collect()
}

fn warning(warning_summary: &WarningSummary) -> Item {
    let mut text = warning_summary.message.clone();
    if warning_summary.varies {
        text += " (one of several)";
    }
    if !warning_summary.places.is_empty() {
        let _ = write!(
            text,
            "; {} times: {}",
            warning_summary.count,
            warning_summary.places_text()
        );
    }
    let advice = Some(&warning_summary.advice).filter(|advice| !advice.is_empty());
    let advice = advice.map(|advice| (Text::from(advice.as_str()), Tone::Soft));
    Item {
        more: advice.into_iter().collect(),
        ..Item::new(format!("! {}", warning_summary.kind), Tone::Warning, text)
    }
}

fn not_measured(one: &Unmeasured) -> Item {
    let remedy = one.remedy.as_ref();
    let remedy = remedy.map(|remedy| (Text::from("Remedy: ").code(remedy.as_str()), Tone::Soft));
    Item {
        lead: Some((one.heading(), Tone::Bad)),
        output: one.reason.clone(),
        more: remedy.into_iter().collect(),
        contender: Some(one.contender.clone()),
        ..Item::default()
    }
}
