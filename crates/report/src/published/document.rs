//! A published table as a document.

use super::{Row as Line, Table as Published};
use crate::document::{
    Block, Cell, Column, Document, Figure, Mark, Number, Overflow, Row, Section, Table, Text,
};

/// A published table.
pub fn document(published: &Published) -> Document {
    let Published {
        name, title, year, ..
    } = published;
    let conclusions = published.conclusions.iter();
    let conclusions = conclusions.map(|conclusion| conclusion.text.clone());
    let mut document = Document::new(format!("{name}: {title} ({year})"));
    document.blocks = vec![
        Block::Facts(published.facts()),
        Section::new("figures", "Figures")
            .with(figures(published))
            .with(Block::Legend(
                Text::default().mark(Mark::Best).plain(" best of its row."),
            ))
            .into(),
        Section::new("conclusions", "What was concluded")
            .with(Block::sentences(conclusions))
            .into(),
    ];
    document
}

/// The figures, a row for each phase.
pub fn figures(published: &Published) -> Table {
    let columns = published.contenders.iter();
    let columns = columns.map(|one| Column::new(one.label.as_str()));
    let rows = published.rows.iter().map(|row| {
        let cells = row.values.iter();
        let cells = cells.map(|value| Cell::known(*value, |value| cell(row, value)));
        Row::new(format!("{}, {}", row.label(), row.unit), cells.collect())
    });
    Table {
        overflow: Overflow::Split,
        ..Table::new("Figures", "phase", columns, rows)
    }
}

fn cell(row: &Line, value: f64) -> Cell {
    Figure {
        number: if row.unit == "s" {
            Number::PublishedSeconds
        } else {
            Number::Published
        },
        best: row.is_best(value),
        ..Figure::of(value)
    }
    .into()
}

impl Published {
    /// The source of the figures, as named values.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("source", self.source.clone()),
            ("machine", self.machine.clone()),
            ("measured", self.measured.clone()),
        ];
        facts.extend(self.caveat.clone().map(|caveat| ("caveat", caveat)));
        facts
    }
}
