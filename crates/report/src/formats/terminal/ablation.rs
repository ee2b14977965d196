//! An inquiry: per phase a line for each contender on each disk.

use super::Page;
use super::paint::{left, right, shortened, width};
use crate::reruns::{AblationSummary, Part};

/// The columns of figures; they are wider where a figure is.
const COLUMNS: [usize; 7] = [8, 8, 9, 8, 8, 8, 8];

/// Writes it.
pub fn write(page: &mut Page, told: &AblationSummary) {
    page.heading_first(&format!("fsdyno: {}", told.heading()));
    page.line("");
    for (name, is) in &told.contenders {
        page.paragraph(&format!("{name}: {is}"), 2);
    }
    for (at, disk) in told.disks.iter().enumerate() {
        let number = at + 1;
        page.paragraph(
            &format!("disk {number}: {} (run {})", disk.disk, disk.run),
            2,
        );
    }
    page.heading("The figures");
    page.paragraph(&told.legend(), 0);
    page.line("");
    let widths = widths(told);
    let stub = page.width - widths.iter().sum::<usize>();
    let heads = AblationSummary::COLUMNS.map(str::to_owned);
    let heads = line("", stub, &heads, &widths);
    let heads = page.paint.dim(&heads);
    page.line(&heads);
    for part in &told.parts {
        phase(page, told, part, stub, &widths);
    }
    page.heading("What can be read off");
    for read in &told.read {
        page.paragraph(&format!("- {read}."), 2);
    }
}

fn widths(told: &AblationSummary) -> Vec<usize> {
    let mut widths = COLUMNS.to_vec();
    for row in told.parts.iter().flat_map(|part| &part.rows) {
        for (columns, text) in widths.iter_mut().zip(row.texts()) {
            *columns = (*columns).max(width(&text) + 1);
        }
    }
    widths
}

fn phase(page: &mut Page, told: &AblationSummary, part: &Part, stub: usize, widths: &[usize]) {
    let heading = page.paint.bold(&part.heading());
    page.line(&heading);
    let mut last = None;
    for row in &part.rows {
        if last != Some(row.contender) {
            page.line(&format!("  {}", told.contenders[row.contender].0));
        }
        last = Some(row.contender);
        let name = format!("    disk {}", row.disk + 1);
        let text = line(&name, stub, &row.texts(), widths);
        page.line(&text);
    }
}

fn line(name: &str, stub: usize, texts: &[String], widths: &[usize]) -> String {
    let mut line = left(&shortened(name, stub), stub);
    for (text, columns) in texts.iter().zip(widths) {
        line += &right(text, *columns);
    }
    line
}
