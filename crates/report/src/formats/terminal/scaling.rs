//! Operations a second by the number of workers: a line for each number, a column a contender.

use super::Page;
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::Comparison;
use crate::table::scaling::{ABOUT, HEADING, Scaling};
use std::fmt::Write as _;

/// The widest label that is not abbreviated.
const LABEL: usize = 16;

/// Writes the section, where numbers of workers were compared.
pub fn section(page: &mut Page, comparison: &Comparison, names: &Names) {
    if comparison.scaling.is_empty() {
        return;
    }
    let called: Vec<&str> = (0..comparison.contenders.len())
        .map(|contender| names.fitting(contender, LABEL))
        .collect();
    page.heading(HEADING);
    page.paragraph(ABOUT, 0);
    names.legend(page, called.iter().map(|name| (*name).to_owned()));
    for scaling in &comparison.scaling {
        page.line("");
        table(page, scaling, &called);
    }
}

/// One phase; contenders for which the page is too narrow go on below.
fn table(page: &mut Page, scaling: &Scaling, called: &[&str]) {
    let stub = scaling.rows.iter().map(|row| width(&row.name())).max();
    let stub = 2 + stub
        .unwrap_or(0)
        .max(width(&scaling.phase).saturating_sub(2));
    let texts = |contender: usize| -> Vec<[String; 2]> {
        let rows = scaling.rows.iter();
        let cells = rows.map(|row| match row.values[contender] {
            Some(reached) => [reached.rate_in_words(), reached.speedup_in_words()],
            None => ["-".to_owned(), String::new()],
        });
        cells.collect()
    };
    let mut at = 0;
    while at < called.len() {
        let mut lines: Vec<String> = std::iter::once(left(&scaling.phase, stub))
            .chain(
                scaling
                    .rows
                    .iter()
                    .map(|row| left(&format!("  {}", row.name()), stub)),
            )
            .collect();
        let first = at;
        while at < called.len() {
            let cells = texts(at);
            let widest = |part: usize| cells.iter().map(|cell| width(&cell[part])).max();
            let times = widest(1).unwrap_or(0);
            let rates = widest(0).unwrap_or(0);
            let rates = rates.max(width(called[at]).saturating_sub(times + 1));
            let more = 2 + rates + 1 + times;
            if at > first && width(&lines[0]) + more > page.width {
                break;
            }
            let _ = write!(lines[0], "  {}", right(called[at], rates + 1 + times));
            for (line, [rate, speedup]) in lines[1..].iter_mut().zip(&cells) {
                let _ = write!(line, "  {} {}", right(rate, rates), right(speedup, times));
            }
            at += 1;
        }
        for line in lines {
            page.line(line.trim_end());
        }
    }
}
