//! What stands around the tables: the conclusion, the proof of cache states, warnings, cells
//! that were not measured, provenance.

use super::Page;
use super::paint::{self, left, width};
use crate::table::{Comparison, Comparisons, facts, labs};
use crate::terms;
use fsdyno_model::ResultSet;
use std::fmt::Write as _;

/// The title, what the figures allow to be said, and how the cells ended.
pub fn head(page: &mut Page, set: &ResultSet, comparisons: &Comparisons) {
    let title = format!(
        "fsdyno: {} of {}, run {}",
        terms::printable(&set.run.plan.name),
        terms::date(set.run.started_unix_ns),
        terms::printable(&set.run.id),
    );
    page.heading_first(&title);
    for said in comparisons.conclusions() {
        page.line("");
        page.paragraph(&said, 0);
    }
    if comparisons.apart() {
        page.line("");
        page.paragraph(labs::WHY, 0);
    }
    page.line("");
    page.paragraph(&format!("{}.", comparisons.cells.in_words()), 0);
}

/// Whether phases began in the cache state asked for.
pub fn proofs(page: &mut Page, comparison: &Comparison) {
    if comparison.states.is_empty() {
        return;
    }
    page.heading("Cache states");
    for state in &comparison.states {
        page.paragraph(&state.summary, 2);
        for exception in &state.exceptions {
            for line in paint::wrap(&format!("  {exception}"), page.width, 4) {
                let line = page.paint.doubtful(&line);
                page.line(&line);
            }
        }
    }
}

/// The warnings, each once.
pub fn doubts(page: &mut Page, comparisons: &Comparisons) {
    if comparisons.doubts.is_empty() {
        return;
    }
    page.heading("Warnings");
    for doubt in &comparisons.doubts {
        let mut text = format!("! {}", doubt.kind);
        if !doubt.places.is_empty() {
            let _ = write!(text, " x{}", doubt.count);
        }
        let _ = write!(text, ": {}", doubt.message);
        if doubt.varies {
            text += " (one of several)";
        }
        if !doubt.places.is_empty() {
            let _ = write!(text, "; at {}", doubt.places_in_words());
        }
        for line in paint::wrap(&text, page.width, 2) {
            let line = page.paint.doubtful(&line);
            page.line(&line);
        }
        if !doubt.advice.is_empty() {
            page.paragraph(&format!("  {}", doubt.advice), 2);
        }
    }
}

/// The cells that were not measured.
pub fn unmeasured(page: &mut Page, comparisons: &Comparisons) {
    if comparisons.unmeasured.is_empty() {
        return;
    }
    page.heading("Not measured");
    for one in &comparisons.unmeasured {
        for line in paint::wrap(&one.heading(), page.width, 2) {
            let line = page.paint.bad(&line);
            page.line(&line);
        }
        for line in one.reason.lines() {
            page.paragraph(&format!("  {line}"), 4);
        }
        if let Some(remedy) = &one.remedy {
            page.paragraph(&format!("  to have it: {remedy}"), 4);
        }
    }
}

/// Where the figures come from.
pub fn provenance(page: &mut Page, set: &ResultSet) {
    page.heading("Provenance");
    let facts = facts::facts(set);
    let stub = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
    for (name, text) in &facts {
        for (at, line) in text.lines().enumerate() {
            let name = if at == 0 { name } else { "" };
            for (at, part) in paint::wrap(line, page.width - stub, 2).iter().enumerate() {
                let name = page.paint.dim(&left(if at == 0 { name } else { "" }, stub));
                page.line(&format!("{name}{part}"));
            }
        }
    }
}
