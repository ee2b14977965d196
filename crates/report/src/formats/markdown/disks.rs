//! The tables of model disks in Markdown.

use super::grid::{escape, header, row};
use crate::table::Comparison;
use crate::table::disks::{ABOUT_DEVICE, ABOUT_TIMES, Column};
use std::fmt::Write as _;

/// Writes both tables; nothing where nobody ran on a model disk.
pub fn tables(page: &mut String, comparison: &Comparison) {
    let disks = &comparison.disks;
    if disks.phases.is_empty() {
        return;
    }
    let (heading, about) = (escape(&disks.heading), escape(&disks.about));
    let _ = write!(page, "\n## {heading}\n\n{about}\n\n");
    table(page, comparison, &disks.requests());
    let _ = write!(page, "\n{ABOUT_TIMES} {ABOUT_DEVICE}\n\n");
    table(page, comparison, &disks.times());
}

fn table(page: &mut String, comparison: &Comparison, columns: &[&Column]) {
    let headings: Vec<String> = columns.iter().map(|of| of.heading.to_owned()).collect();
    header(page, &["phase", "contender"], &headings);
    for phase in &comparison.disks.phases {
        for of in &phase.rows {
            let mut who = escape(&comparison.contenders[of.contender]);
            if let Some(disk) = of.disk {
                let _ = write!(who, ", disk {disk}");
            }
            let mut cells = vec![escape(&phase.place), who];
            let texts = columns.iter().map(|column| (column.of)(of));
            cells.extend(texts.map(|told| told.map_or_else(|| "-".to_owned(), |of| escape(&of.0))));
            row(page, &cells);
        }
    }
}
