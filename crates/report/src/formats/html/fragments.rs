//! The tables of fragments, as the template takes them.

use super::costs::Cell;
use crate::table::Comparison;
use crate::table::costs::grouped;
use crate::table::fragments::{Found, Told, class_in_words};
use serde::Serialize;

/// A heading, and what stands under it: text and what it sorts by.
type Column = (&'static str, fn(&Told) -> (String, f64));

const COLUMNS: [Column; 6] = [
    ("files", |t| (grouped(t.files), t.files as f64)),
    ("extents", |t| (grouped(t.extents), t.extents as f64)),
    ("extents per file", |t| {
        (t.per_file_in_words(), t.per_file.unwrap_or(-1.0))
    }),
    ("files fragmented", |t| {
        (
            t.fragmented_in_words(),
            t.fragmented_percent.unwrap_or(-1.0),
        )
    }),
    ("median extent", |t| class(t.median_class)),
    ("largest extent", |t| class(t.largest_class)),
];

fn class(class: Option<u32>) -> (String, f64) {
    (class_in_words(class), class.map_or(-1.0, f64::from))
}

/// All tables.
#[derive(Debug, Serialize)]
pub struct Fragments {
    heading: String,
    about: String,
    headings: Vec<&'static str>,
    phases: Vec<Phase>,
}

#[derive(Debug, Serialize)]
struct Phase {
    place: String,
    rows: Vec<Row>,
}

/// One contender: its figures, or the reason there are none.
#[derive(Debug, Serialize)]
struct Row {
    contender: String,
    reason: Option<String>,
    cells: Vec<Cell>,
}

impl Fragments {
    /// Those of a run.
    pub fn of(comparison: &Comparison) -> Self {
        let row = |(contender, found): &(usize, Found)| {
            let (reason, cells) = match found {
                Found::Unavailable(reason) => (Some(reason.clone()), Vec::new()),
                Found::Told(told) => {
                    let cells = COLUMNS.iter().map(|(_, cell)| cell(told).into());
                    (None, cells.collect())
                }
            };
            Row {
                contender: comparison.contenders[*contender].clone(),
                reason,
                cells,
            }
        };
        let phases = comparison.fragments.phases.iter().map(|counted| Phase {
            place: counted.place.clone(),
            rows: counted.contenders.iter().map(row).collect(),
        });
        Self {
            heading: comparison.fragments.heading.clone(),
            about: comparison.fragments.about.clone(),
            headings: COLUMNS.iter().map(|(heading, _)| *heading).collect(),
            phases: phases.collect(),
        }
    }
}
