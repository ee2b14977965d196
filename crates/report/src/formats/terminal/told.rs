//! What programs report of themselves: a line for each contender, under each figure.

use super::Page;
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::Comparison;

/// The widest label that is not abbreviated.
const LABEL: usize = 24;

/// Writes the section, where any program told anything.
pub fn section(page: &mut Page, comparison: &Comparison, names: &Names) {
    if comparison.told.is_empty() {
        return;
    }
    let called: Vec<&str> = (0..comparison.contenders.len())
        .map(|contender| names.fitting(contender, LABEL))
        .collect();
    let stub = called.iter().map(|name| width(name)).max().unwrap_or(0);
    page.heading("What the programs report");
    page.paragraph(
        "As they measured it themselves: medians, with min-max; the ratio is to the first \
         contender in the same block.",
        0,
    );
    names.legend(page, called.iter().map(|name| (*name).to_owned()));
    let mut phase = "";
    for told in &comparison.told {
        if told.phase != phase {
            page.line("");
            page.paragraph(&told.phase, 4);
            phase = &told.phase;
        }
        page.paragraph(
            &format!("  {}, {}, {}", told.name, told.unit, told.direction()),
            6,
        );
        let texts: Vec<String> = told
            .values
            .iter()
            .map(|value| value.map_or_else(|| "-".to_owned(), |v| v.in_words()))
            .collect();
        let widest = texts.iter().map(|text| width(text)).max().unwrap_or(0);
        for (at, (value, text)) in told.values.iter().zip(&texts).enumerate() {
            let ratio = value.map_or_else(String::new, |v| v.ratio_in_words(at == 0));
            let name = left(called[at], stub);
            page.line(&format!("    {name}  {}  {ratio}", right(text, widest)));
        }
    }
}
