//! The extents of files after phases that write, if they were counted.

use super::Lab;
use crate::comparison::extents::{ExtentSummary, Found};
use crate::document::{Block, Cell, Column, Group, Quantity, Row, Section, Table};

const KINDS: [Quantity<ExtentSummary>; 6] = [
    ("files", 0, |t| Cell::Count(t.files)),
    ("extents", 3, |t| Cell::Count(t.extents)),
    ("extents per file", 0, ExtentSummary::per_file_cell),
    ("files fragmented", 0, |t| {
        Cell::known(t.fragmented_percent, Cell::Percent)
    }),
    ("median extent", 1, |t| {
        ExtentSummary::class_cell(t.median_class)
    }),
    ("largest extent", 2, |t| {
        ExtentSummary::class_cell(t.largest_class)
    }),
];

/// The section; `None` if nothing was counted.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let extents = &lab.comparison.extents;
    if extents.phases.is_empty() {
        return None;
    }
    let groups = extents.phases.iter().map(|counted| {
        let rows = counted.contenders.iter();
        let rows = rows.map(|(at, found)| match found {
            Found::Counted(counted) => Row::of_quantities(lab.label(*at), &KINDS, counted),
            Found::Unavailable(reason) => {
                Row::without_cells(lab.label(*at), format!("not available: {reason}"))
            }
        });
        Group::of_phase(counted.place.clone(), rows.collect())
    });
    let columns = Column::of_quantities(&KINDS);
    let kinds = ["phase", "contender"];
    let table = Table::grouped(extents.heading.as_str(), kinds, columns, groups);
    Some(
        Section::new("fragments", extents.heading.as_str())
            .with(Block::Legend(extents.about.as_str().into()))
            .with(table),
    )
}
