//! The tables of model disks, as the template takes them.

use super::costs::Cell;
use crate::table::Comparison;
use crate::table::disks::{ABOUT_DEVICE, ABOUT_TIMES, Column};
use serde::Serialize;

/// Both tables.
#[derive(Debug, Serialize)]
pub struct Disks {
    heading: String,
    tables: Vec<Table>,
}

/// One table, over all phases.
#[derive(Debug, Serialize)]
struct Table {
    name: &'static str,
    about: String,
    headings: Vec<&'static str>,
    phases: Vec<Phase>,
}

#[derive(Debug, Serialize)]
struct Phase {
    place: String,
    rows: Vec<Row>,
}

/// A contender, or one of its disks.
#[derive(Debug, Serialize)]
struct Row {
    contender: String,
    disk: Option<u32>,
    cells: Vec<Cell>,
}

impl Disks {
    /// Those of a run; without phases where nobody ran on a model disk.
    pub fn of(comparison: &Comparison) -> Self {
        let disks = &comparison.disks;
        let tables = if disks.phases.is_empty() {
            Vec::new()
        } else {
            let (about, times) = (disks.about.clone(), format!("{ABOUT_TIMES} {ABOUT_DEVICE}"));
            vec![
                Table::of(comparison, "Requests", about, &disks.requests()),
                Table::of(comparison, "Where their time went", times, &disks.times()),
            ]
        };
        Self {
            heading: disks.heading.clone(),
            tables,
        }
    }
}

impl Table {
    fn of(
        comparison: &Comparison,
        name: &'static str,
        about: String,
        columns: &[&'static Column],
    ) -> Self {
        let row = |row: &crate::table::disks::Row| Row {
            contender: comparison.contenders[row.contender].clone(),
            disk: row.disk,
            cells: columns
                .iter()
                .map(|column| {
                    let told = (column.of)(row);
                    told.unwrap_or_else(|| ("\u{2013}".to_owned(), -1.0)).into()
                })
                .collect(),
        };
        let phases = comparison.disks.phases.iter().map(|phase| Phase {
            place: phase.place.clone(),
            rows: phase.rows.iter().map(row).collect(),
        });
        Self {
            name,
            about,
            headings: columns.iter().map(|column| column.heading).collect(),
            phases: phases.collect(),
        }
    }
}
