//! A run beside a published table: per phase a line for each contender of both.

use super::Page;
use super::paint::{left, right, shortened, width};
use crate::published::{Beside, Holding, PublishedComparison};

/// Columns of the figures: then and now, both ratios, both ranks. They are wider where a figure is.
const COLUMNS: [usize; 6] = [10, 9, 10, 9, 7, 5];

/// The same of a rerun, with the column of now by then: narrower, so that names have room.
const OF_A_RERUN: [usize; 7] = [8, 8, 8, 8, 6, 5, 8];

type Columns = Vec<usize>;

/// Writes the comparison.
pub fn write(page: &mut Page, against: &PublishedComparison, clock: bool) {
    page.heading_first(&format!("fsdyno: {}", against.heading()));
    page.line("");
    page.facts(&against.facts());
    page.heading("Then and now");
    page.paragraph(&against.legend("*", "~"), 0);
    page.line("");
    let widths = widths(against, clock);
    let room = page.width - widths.iter().sum::<usize>();
    let names = against.contenders.iter().map(|pair| width(&pair.now) + 2);
    let stub = names.max().unwrap_or(0).max(12).min(room);
    for row in 0..2 {
        let heads = against.columns().into_iter();
        let heads: Vec<String> = heads.map(|head| head[row].to_owned()).collect();
        let line = page.paint.dim(&columns("", stub, &heads, &widths));
        page.line(&line);
    }
    for line in &against.lines {
        phase(page, against, line, (stub, &widths), clock);
    }
    conclusions(page, against);
    if let Some(rerun) = &against.rerun {
        page.heading(&rerun.of_figures());
        for departure in &rerun.departures {
            page.paragraph(&format!("- {}.", departure.words()), 2);
        }
    }
    let apart = against.apart();
    if !apart.is_empty() {
        page.heading("Not in both");
        page.facts(&apart);
    }
}

/// Of each column, so many that a blank stands before its widest figure.
fn widths(against: &PublishedComparison, clock: bool) -> Columns {
    let mut widths = match against.rerun {
        Some(_) => OF_A_RERUN.to_vec(),
        None => COLUMNS.to_vec(),
    };
    for line in &against.lines {
        for entry in &line.entries {
            let texts = line.texts(entry, clock, |text| format!("*{text}"), "~");
            for (columns, text) in widths.iter_mut().zip(&texts) {
                *columns = (*columns).max(width(text) + 1);
            }
        }
    }
    widths
}

fn columns(name: &str, stub: usize, texts: &[String], widths: &[usize]) -> String {
    let mut line = left(&shortened(name, stub), stub);
    for (text, columns) in texts.iter().zip(widths) {
        line += &right(text, *columns);
    }
    line
}

fn phase(
    page: &mut Page,
    against: &PublishedComparison,
    line: &Beside,
    (stub, widths): (usize, &[usize]),
    clock: bool,
) {
    let heading = page.paint.bold(&line.heading());
    page.line(&heading);
    for entry in &line.entries {
        let name = format!("  {}", against.contenders[entry.contender].now);
        let texts = line.texts(entry, clock, |text| format!("*{text}"), "~");
        let text = columns(&name, stub, &texts, widths);
        let text = if line.entries.len() > 1 && entry.best_now {
            page.paint.good(&text)
        } else {
            text
        };
        page.line(&text);
    }
    if let Some(correlation) = line.correlation() {
        page.line(&format!("  {correlation}"));
    }
}

fn conclusions(page: &mut Page, against: &PublishedComparison) {
    page.heading(&format!("What was concluded then ({})", against.tally()));
    for told in &against.conclusions {
        let verdict = format!("{}:", told.holding.words());
        for (at, line) in super::paint::wrap(&format!("{verdict} {}", told.says), page.width, 2)
            .into_iter()
            .enumerate()
        {
            let line = match line.strip_prefix(&verdict).filter(|_| at == 0) {
                Some(rest) => {
                    let verdict = match told.holding {
                        Holding::Holds => page.paint.good(&verdict),
                        Holding::Reversed | Holding::InPart => page.paint.bad(&verdict),
                        Holding::CannotBeSaid | Holding::NotTested => page.paint.doubtful(&verdict),
                    };
                    format!("{verdict}{rest}")
                }
                None => line,
            };
            page.line(&line);
        }
        page.paragraph(&format!("  Now: {}.", told.today()), 2);
        for because in &told.because {
            page.paragraph(&format!("  Because: {}.", because.words()), 2);
        }
    }
}
