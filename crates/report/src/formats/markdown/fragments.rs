//! The table of fragments in Markdown.

use super::grid::{escape, header, row};
use crate::table::Comparison;
use crate::table::fragments::{Found, Told, class_in_words};
use std::fmt::Write as _;

type Column = (&'static str, fn(&Told) -> String);

const COLUMNS: [Column; 6] = [
    ("files", |t| t.files.to_string()),
    ("extents", |t| t.extents.to_string()),
    ("extents per file", Told::per_file_in_words),
    ("files fragmented", Told::fragmented_in_words),
    ("median extent", |t| class_in_words(t.median_class)),
    ("largest extent", |t| class_in_words(t.largest_class)),
];

/// Writes the table, and below it why some have no figures; nothing where nobody counted.
pub fn tables(page: &mut String, comparison: &Comparison) {
    let fragments = &comparison.fragments;
    if fragments.phases.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "\n## {}\n\n{}\n\n",
        escape(&fragments.heading),
        escape(&fragments.about)
    );
    let headings = COLUMNS.map(|(heading, _)| heading.to_owned());
    header(page, &["phase", "contender"], &headings);
    let mut reasons: Vec<String> = Vec::new();
    for counted in &fragments.phases {
        for (contender, found) in &counted.contenders {
            let contender = escape(&comparison.contenders[*contender]);
            let mut cells = vec![escape(&counted.place), contender.clone()];
            match found {
                Found::Told(told) => cells.extend(COLUMNS.iter().map(|(_, show)| show(told))),
                Found::Unavailable(reason) => {
                    cells.push("not available".to_owned());
                    cells.extend(COLUMNS.iter().skip(1).map(|_| "-".to_owned()));
                    let line = format!("- {contender}: not available: {}\n", escape(reason));
                    if !reasons.contains(&line) {
                        reasons.push(line);
                    }
                }
            }
            row(page, &cells);
        }
    }
    if !reasons.is_empty() {
        page.push('\n');
        page.push_str(&reasons.concat());
    }
}
