//! A published table, and a run beside one, in Markdown.

use super::grid::{escape, header, row};
use crate::published::{PublishedComparison, Row, Table, text};
use std::fmt::Write as _;

/// Writes a table.
pub fn table(table: &Table, clock: bool) -> Vec<u8> {
    let mut page = format!(
        "# {}: {} ({})\n\n",
        escape(&table.name),
        escape(&table.title),
        table.year
    );
    facts(&mut page, &table.facts());
    let labels: Vec<String> = table.contenders.iter().map(|c| c.label.clone()).collect();
    page.push('\n');
    header(&mut page, &["phase", "unit"], &labels);
    for line in &table.rows {
        let mut cells = vec![escape(&line.label()), escape(&line.unit)];
        cells.extend(line.values.iter().map(|value| printed(line, *value, clock)));
        row(&mut page, &cells);
    }
    page += "\n**Bold**: best of its row.\n\n## What was concluded\n\n";
    for conclusion in &table.conclusions {
        let _ = writeln!(page, "- {}", escape(&conclusion.says));
    }
    page.into_bytes()
}

fn printed(row: &Row, value: Option<f64>, clock: bool) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| {
            let text = text::printed(value, &row.unit, clock);
            bold(text, row.is_best(value))
        },
    )
}

fn bold(text: String, bold: bool) -> String {
    if bold { format!("**{text}**") } else { text }
}

fn facts(page: &mut String, facts: &[(&'static str, String)]) {
    for (name, text) in facts {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("*{name}*: ")
        };
        let _ = writeln!(page, "- {name}{}", escape(text));
    }
}

/// Writes a run beside a table.
pub fn against(against: &PublishedComparison, clock: bool) -> Vec<u8> {
    let mut page = format!("# fsdyno: {}\n\n", escape(&against.heading()));
    facts(&mut page, &against.facts());
    let legend = against.legend("@", "≈");
    let legend = escape(&legend).replacen('@', "**bold**", 1);
    let _ = write!(page, "\n## Then and now\n\n{legend}\n");
    for line in &against.lines {
        let _ = write!(page, "\n### {}\n\n", escape(&line.heading()));
        header(&mut page, &["contender"], &against.column_names());
        for entry in &line.entries {
            let mut cells = vec![escape(&against.contenders[entry.contender].now)];
            cells.extend(line.texts(entry, clock, |text| bold(text, true), "≈"));
            row(&mut page, &cells);
        }
        if let Some(correlation) = line.correlation() {
            let _ = write!(page, "\n{correlation}\n");
        }
    }
    let tally = escape(&against.tally());
    let _ = write!(page, "\n## What was concluded then ({tally})\n\n");
    for told in &against.conclusions {
        let _ = writeln!(
            page,
            "- **{}**: {} Now: {}.",
            told.holding.words(),
            escape(&told.says),
            escape(&told.today())
        );
        for because in &told.because {
            let _ = writeln!(page, "  Because: {}.", escape(&because.words()));
        }
    }
    if let Some(rerun) = &against.rerun {
        let _ = write!(page, "\n## {}\n\n", escape(&rerun.of_figures()));
        for departure in &rerun.departures {
            let _ = writeln!(page, "- {}.", escape(&departure.words()));
        }
    }
    let apart = against.apart();
    if !apart.is_empty() {
        page += "\n## Not in both\n\n";
        facts(&mut page, &apart);
    }
    page.into_bytes()
}
