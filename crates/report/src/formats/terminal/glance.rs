//! The workloads of many phases, each in a table of its own: a row for each time.

use super::Page;
use super::figure::{Level, Row as Part, Texts, Widths};
use super::names::Names;
use super::paint::{left, right, shortened, width};
use super::speed::{GAP, Layout, marks};
use crate::table::Comparison;
use crate::table::glance::{Figures, Glance, Row};

/// The widest name of a row that is not shortened.
const LABEL: usize = 24;

/// Writes the tables; nothing where no workload has many phases.
pub fn tables(page: &mut Page, comparison: &Comparison, names: &Names, clock: bool) {
    let glances = comparison.long_glances(clock);
    if glances.is_empty() {
        return;
    }
    let mut parts = Widths::default();
    for (row, scale) in glances
        .iter()
        .flat_map(|g| g.rows.iter().map(|r| (r, g.scale)))
    {
        match &row.figures {
            Figures::Times(line) => {
                for (at, value) in line.values.iter().enumerate() {
                    if let Some(value) = value {
                        parts.compact(&Texts::of(value, scale, at == 0));
                    }
                }
            }
            Figures::Fragments(texts) => {
                let widest = texts.iter().flatten().map(|text| width(text)).max();
                parts.at_least(widest.unwrap_or(0));
            }
        }
    }
    let rows = glances.iter().flat_map(|glance| &glance.rows);
    let stub = rows
        .map(|row| width(&name(row)))
        .max()
        .unwrap_or(0)
        .min(LABEL);
    let layout = Layout::compact(page.width, comparison, names, parts, stub);
    page.heading("At a glance");
    let text = format!(
        "{}; a row for each phase, in the unit above: its time to return and, where it writes, to \
         durable.{}{} Spreads, amounts and methods stand under Time.",
        comparison.figures(),
        comparison.glance_note(),
        marks(comparison, names)
    );
    page.paragraph(&text, 0);
    layout.legend(page, names);
    for (at, group) in layout.groups.iter().enumerate() {
        for glance in &glances {
            let part = match layout.groups.len() {
                1 => String::new(),
                all => format!(" (part {} of {all})", at + 1),
            };
            let unit = glance.scale.unit();
            page.heading(&format!("{}, {unit}{part}", glance.workload.name));
            layout.head(page, group);
            table(page, &layout, glance, group, parts);
        }
    }
}

/// `copy`, and below it `  durable`.
fn name(row: &Row<'_>) -> String {
    if row.first {
        row.phase.to_owned()
    } else {
        format!("  {}", row.figures.name())
    }
}

fn table(page: &mut Page, layout: &Layout, glance: &Glance<'_>, group: &[usize], parts: Widths) {
    for row in &glance.rows {
        let mut out = left(&shortened(&name(row), layout.stub), layout.stub);
        for c in group {
            out += &" ".repeat(GAP);
            let columns = layout.columns[*c].1;
            out += &match &row.figures {
                Figures::Times(line) => line.values[*c].as_ref().map_or_else(
                    || right("-", columns),
                    |value| {
                        let texts = Texts::of(value, glance.scale, *c == 0);
                        texts.row(page.paint, Part::MedianRatio, parts, columns)
                    },
                ),
                Figures::Fragments(texts) => {
                    let text = texts[*c].as_deref().unwrap_or("-");
                    let beside = Level::Two.beside(parts);
                    right(&format!("{text}{}", " ".repeat(beside)), columns)
                }
            };
        }
        page.line(&out);
    }
}
