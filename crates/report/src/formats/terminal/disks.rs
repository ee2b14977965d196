//! The tables of model disks: what was asked of them, and where the time went.

use super::Page;
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::Comparison;
use crate::table::disks::{ABOUT_DEVICE, ABOUT_TIMES, Column, Disks, Row};
use std::fmt::Write as _;

/// The widest label that is not abbreviated to make room for a column.
const LABEL: usize = 12;

/// Writes both tables; nothing where nobody ran on a model disk.
pub fn tables(page: &mut Page, comparison: &Comparison, names: &Names) {
    let disks = &comparison.disks;
    if disks.phases.is_empty() {
        return;
    }
    let columns = [disks.requests(), disks.times()].map(|all| fitting(page, disks, names, all));
    let room = |columns: &Columns| page.width.saturating_sub(needed(columns) + 2);
    let room = columns.iter().map(room).min().unwrap_or(0);
    page.heading(&disks.heading);
    page.paragraph(&disks.about, 0);
    let called = (0..comparison.contenders.len()).map(|c| names.fitting(c, room).to_owned());
    names.legend(page, called);
    let [requests, times] = &columns;
    table(page, disks, names, (requests, room));
    page.line("");
    let of_device = times.iter().any(|(column, _)| column.is_of_the_device());
    let about = if of_device { ABOUT_DEVICE } else { "" };
    page.paragraph(format!("{ABOUT_TIMES} {about}").trim_end(), 0);
    table(page, disks, names, (times, room));
}

/// Columns that fit, each with its width.
type Columns = Vec<(&'static Column, usize)>;

fn needed(columns: &Columns) -> usize {
    columns.iter().map(|(_, width)| width + 2).sum()
}

/// What a row is called.
fn label(row: &Row, names: &Names, room: usize) -> String {
    match row.disk {
        None => format!("  {}", names.fitting(row.contender, room)),
        Some(disk) => format!("    disk {disk}"),
    }
}

fn stub(disks: &Disks, names: &Names, room: usize) -> usize {
    let rows = disks.phases.iter().flat_map(|phase| &phase.rows);
    let labels = rows.map(|row| width(&label(row, names, room)));
    labels.max().unwrap_or(0)
}

/// The columns that fit beside labels.
fn fitting(page: &Page, disks: &Disks, names: &Names, all: Vec<&'static Column>) -> Columns {
    let widest = |column: &Column| {
        let rows = disks.phases.iter().flat_map(|phase| &phase.rows);
        let texts = rows.map(|row| width(&text(column, row)));
        texts.max().unwrap_or(0).max(width(column.heading))
    };
    let mut columns: Columns = all.into_iter().map(|of| (of, widest(of))).collect();
    let room = page.width.saturating_sub(stub(disks, names, LABEL));
    while needed(&columns) > room {
        let places = columns.iter().enumerate();
        let first = places.max_by_key(|(at, (column, _))| (column.gives_way, *at));
        match first {
            Some((at, (column, _))) if column.gives_way > 0 => columns.remove(at),
            _ => break,
        };
    }
    columns
}

fn text(column: &Column, row: &Row) -> String {
    (column.of)(row).map_or_else(|| "-".to_owned(), |(text, _)| text)
}

fn table(page: &mut Page, disks: &Disks, names: &Names, (columns, room): (&Columns, usize)) {
    let stub = stub(disks, names, room);
    page.line("");
    let mut head = left("", stub);
    for (column, columns) in columns {
        let _ = write!(head, "  {}", right(column.heading, *columns));
    }
    let head = page.paint.bold(&head);
    page.line(&head);
    let rule = page.paint.dim(&"-".repeat(stub + needed(columns)));
    page.line(&rule);
    for phase in &disks.phases {
        page.paragraph(&phase.place, 4);
        for row in &phase.rows {
            let mut line = left(&label(row, names, room), stub);
            for (column, columns) in columns {
                let _ = write!(line, "  {}", right(&text(column, row), *columns));
            }
            page.line(&line);
        }
    }
}
