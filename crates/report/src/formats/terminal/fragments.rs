//! The table of fragments: one row per contender and phase after which they were counted.

use super::Page;
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::costs::grouped;
use crate::table::fragments::{Counted, Found, Told, class_in_words};
use crate::table::{Comparison, Cost};
use crate::terms;
use std::fmt::Write as _;

/// The widest label that is not abbreviated.
const LABEL: usize = 20;

/// Headings, with the widths of what stands below; those last give way where the terminal is
/// narrow.
const COLUMNS: [(&str, usize); 6] = [
    ("files", 9),
    ("frags/file", 10),
    ("fragmented", 10),
    ("median", 7),
    ("largest", 7),
    ("space/data", 10),
];

/// Writes the table; nothing where nobody counted.
pub fn tables(page: &mut Page, comparison: &Comparison, names: &Names) {
    let fragments = &comparison.fragments;
    if fragments.phases.is_empty() {
        return;
    }
    let called = |room| -> Vec<&str> {
        let all = 0..comparison.contenders.len();
        all.map(|c| names.fitting(c, room)).collect()
    };
    let stub_of = |called: &[&str]| 2 + called.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut shown = COLUMNS.len();
    let needed = |shown: usize| COLUMNS[..shown].iter().map(|(_, w)| w + 2).sum::<usize>();
    while shown > 1 && stub_of(&called(LABEL)) + needed(shown) > page.width {
        shown -= 1;
    }
    let called = called(page.width.saturating_sub(needed(shown) + 2));
    let stub = stub_of(&called);

    page.heading(&fragments.heading);
    page.paragraph(&fragments.about, 0);
    let shortened = called.iter().map(|name| (*name).to_owned());
    names.legend(page, shortened);
    page.line("");
    let mut head = left("", stub);
    for (heading, columns) in &COLUMNS[..shown] {
        let _ = write!(head, "  {}", right(heading, *columns));
    }
    let head = page.paint.bold(&head);
    page.line(&head);
    let rule = page.paint.dim(&"-".repeat(stub + needed(shown)));
    page.line(&rule);
    for counted in &fragments.phases {
        page.paragraph(&counted.place, 4);
        for (contender, found) in &counted.contenders {
            let name = left(&format!("  {}", called[*contender]), stub);
            match found {
                Found::Told(told) => {
                    let cells = cells(told, cost(comparison, counted, *contender));
                    let mut line = name;
                    for ((_, columns), cell) in COLUMNS[..shown].iter().zip(cells) {
                        let _ = write!(line, "  {}", right(&cell, *columns));
                    }
                    page.line(&line);
                }
                Found::Unavailable(reason) => {
                    page.paragraph(&format!("{name}  not available: {reason}"), 4);
                }
            }
        }
    }
}

fn cost<'a>(comparison: &'a Comparison, at: &Counted, contender: usize) -> Option<&'a Cost> {
    comparison.workloads[at.workload].phases[at.phase].costs[contender].as_ref()
}

fn cells(told: &Told, cost: Option<&Cost>) -> [String; 6] {
    [
        grouped(told.files),
        told.per_file_in_words(),
        told.fragmented_in_words(),
        class_in_words(told.median_class),
        class_in_words(told.largest_class),
        cost.and_then(|cost| cost.space_per_data)
            .map_or_else(|| "-".to_owned(), |of| format!("{}x", terms::ratio(of))),
    ]
}
