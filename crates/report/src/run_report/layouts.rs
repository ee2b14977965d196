//! Comparisons among contenders with the same layout of devices, and among the fastest of each
//! layout.

use super::Lab;
use super::overview::{compared, table};
use crate::document::{Audience, Block, Cell, Column, Row, Section, Table, VerdictCell};

/// The section; `None` if all contenders have the same layout.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let comparison = lab.comparison;
    let groups = comparison.by_layout();
    if groups.len() < 2 || !comparison.compares() {
        return None;
    }
    let mut blocks = Vec::new();
    for (layout, places) in groups.iter().filter(|(_, places)| places.len() > 1) {
        let mut table = table(lab, places, layout);
        for row in table.groups.iter_mut().flat_map(|group| &mut group.rows) {
            to_best_only(row);
        }
        table.summary.iter_mut().for_each(to_best_only);
        if !table.is_empty() {
            let section = Section::new("", *layout).with(table);
            blocks.push(Block::Section(section));
        }
    }
    let mut section = Section::new("layouts", "By layout");
    if !blocks.is_empty() {
        section.blocks.push(Block::paragraph(
            "Contenders on as many devices joined in the same way, compared with the fastest of \
             them.",
        ));
        section.blocks.append(&mut blocks);
    }
    let best = Section::new("", "The fastest of each layout")
        .with(Block::paragraph(
            "Compared with the fastest of all: what more devices gain.",
        ))
        .with(best_of_each(lab, &groups));
    section.blocks.push(best.into());
    Some(Section {
        blocks: vec![Block::Only(Audience::Page, section.blocks)],
        ..section
    })
}

fn to_best_only(row: &mut Row) {
    for cell in &mut row.cells {
        if let Cell::Verdict(cell) = cell {
            cell.to_base = None;
        }
    }
}

fn best_of_each(lab: &Lab<'_>, groups: &[(&str, Vec<usize>)]) -> Table {
    let comparison = lab.comparison;
    let all: Vec<usize> = (0..comparison.contenders.len()).collect();
    let overview = comparison.overview(&all);
    let rows = overview.rows.iter().filter_map(|row| {
        let best = row.fastest(&all)?;
        let cells = groups.iter().map(|(_, places)| {
            let cell = row.fastest(places).and_then(|one| {
                let value = row.line.values[one].as_ref()?;
                Some(VerdictCell {
                    contender: Some(comparison.contenders[one].clone()),
                    time_ns: Some(value.summary.median),
                    to_best: compared(comparison, &row.relation(one, best)),
                    ..VerdictCell::default()
                })
            });
            Cell::known(cell, |cell| Cell::Verdict(Box::new(cell)))
        });
        Some(Row {
            place: Some(row.place.clone()),
            ..Row::new(row.place.as_str(), cells.collect())
        })
    });
    let columns = groups.iter().map(|(name, _)| Column::new(*name));
    Table::new("The fastest of each layout", "phase", columns, rows)
}
