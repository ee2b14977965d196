//! The workloads of many phases, each in a table of its own: a row for each time.

use super::grid::{escape, header, row};
use super::median_and_ratio;
use crate::table::Comparison;
use crate::table::glance::Figures;
use std::fmt::Write as _;

/// Writes the tables; nothing where no workload has many phases.
pub fn tables(page: &mut String, comparison: &Comparison, clock: bool) {
    let glances = comparison.long_glances(clock);
    if glances.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "\n## At a glance\n\nA row for each phase, in the unit above: its time to return and, where \
         it writes, to durable.{} Spreads, amounts and methods stand below.",
        comparison.glance_note()
    );
    for glance in &glances {
        let name = escape(&glance.workload.name);
        let _ = write!(page, "\n### {name}, {}\n\n", glance.scale.unit());
        header(page, &["phase"], &comparison.contenders);
        for one in &glance.rows {
            let mut cells = vec![escape(&one.name())];
            match &one.figures {
                Figures::Times(line) => {
                    cells.extend(line.values.iter().enumerate().map(|(at, value)| {
                        let text = |v| median_and_ratio(v, glance.scale, at == 0);
                        value.as_ref().map_or_else(|| "-".to_owned(), text)
                    }));
                }
                Figures::Fragments(texts) => {
                    let or_dash = |text: &Option<String>| text.clone().unwrap_or("-".to_owned());
                    cells.extend(texts.iter().map(or_dash));
                }
            }
            row(page, &cells);
        }
    }
}
