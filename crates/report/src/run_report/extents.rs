//! The extents of files after phases that write, if they were counted.

use super::Lab;
use crate::comparison::extents::{ExtentSummary, Found};
use crate::document::{Block, Cell, Column, Group, Row, Section, Table};

/// A quantity: its heading, its drop priority, and its cell.
type Kind = (&'static str, u8, fn(&ExtentSummary) -> Cell);

const KINDS: [Kind; 6] = [
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
    let groups = extents.phases.iter().map(|counted| Group {
        heading: counted.place.clone(),
        place: Some(counted.place.clone()),
        rows: counted
            .contenders
            .iter()
            .map(|(at, found)| match found {
                Found::Counted(counted) => {
                    let cells = KINDS.iter().map(|(_, _, cell)| cell(counted));
                    Row::new(lab.label(*at), cells.collect())
                }
                Found::Unavailable(reason) => {
                    Row::without_cells(lab.label(*at), format!("not available: {reason}"))
                }
            })
            .collect(),
        ..Group::default()
    });
    let columns = KINDS.iter();
    let columns = columns.map(|(heading, gives_way, _)| Column::giving_way(*heading, *gives_way));
    let table = Table {
        name: extents.heading.clone(),
        groups_are: "phase",
        rows_are: "contender",
        columns: columns.collect(),
        groups: groups.collect(),
        ..Table::default()
    };
    Some(
        Section::new("fragments", extents.heading.as_str())
            .with(Block::Legend(extents.about.as_str().into()))
            .with(table),
    )
}
