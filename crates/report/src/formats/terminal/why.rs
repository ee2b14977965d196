//! Two contenders and what stands between them: figures beside each other, and a sentence.

use super::Page;
use super::paint::{left, right, shortened, width};
use crate::formats::why::{MISSING, SOURCES, heading};
use crate::why::{PhaseWhy, Why};

/// The widest label above a column.
const LABEL: usize = 20;

/// Writes it.
pub fn write(page: &mut Page, why: &Why) {
    page.heading_first(&heading(why));
    let labels = why
        .contenders
        .each_ref()
        .map(|label| shortened(label, LABEL));
    for phase in &why.phases {
        page.heading(&phase.phase);
        table(page, phase, &labels);
        page.line("");
        page.paragraph(&phase.sentence, 0);
    }
    for (heading, texts) in [(SOURCES, &why.sources), (MISSING, &why.missing)] {
        page.heading(heading);
        for text in texts {
            page.paragraph(&format!("  {text}"), 4);
        }
    }
}

fn table(page: &mut Page, phase: &PhaseWhy, labels: &[String; 2]) {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let widest = |at: usize| {
        let texts = phase.rows.iter().map(|row| width(&text(&row.texts[at])));
        texts.max().unwrap_or(0).max(width(&labels[at]))
    };
    let columns = [widest(0), widest(1)];
    let stub = phase
        .rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or(0)
        + 2;
    let line = |name: &str, texts: [&str; 2]| {
        let [a, b] = [0, 1].map(|at| right(texts[at], columns[at]));
        format!("{}  {a}  {b}", left(&format!("  {name}"), stub))
    };
    let head = page.paint.bold(&line("", [&labels[0], &labels[1]]));
    page.line(&head);
    for row in &phase.rows {
        let [a, b] = row.texts.each_ref().map(text);
        page.line(&line(row.name, [&a, &b]));
    }
}
