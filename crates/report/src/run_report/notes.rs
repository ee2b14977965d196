//! Warnings, and cells that were not measured.

use crate::comparison::{Comparisons, Doubt, Unmeasured};
use crate::document::{Block, Item, Section, Text, Tone};
use std::fmt::Write as _;

/// The sections, without empty ones.
pub fn sections(comparisons: &Comparisons) -> Vec<Block> {
    let warnings: Vec<Item> = comparisons.doubts.iter().map(warning).collect();
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

fn warning(doubt: &Doubt) -> Item {
    let mut text = doubt.message.clone();
    if doubt.varies {
        text += " (one of several)";
    }
    if !doubt.places.is_empty() {
        let _ = write!(text, "; {} times: {}", doubt.count, doubt.places_in_words());
    }
    let advice = Some(&doubt.advice).filter(|advice| !advice.is_empty());
    Item {
        lead: Some((format!("! {}", doubt.kind), Tone::Warning)),
        text: text.into(),
        more: advice
            .map(|advice| (Text::from(advice.as_str()), Tone::Soft))
            .into_iter()
            .collect(),
        ..Item::default()
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
