//! A published table as it was laid out: phases by contenders.

use super::Page;
use super::paint::{left, right, width};
use crate::published::{Row, Table, text};

/// Blank columns before each contender.
const GAP: usize = 2;

/// Writes the table.
pub fn write(page: &mut Page, table: &Table, clock: bool) {
    let title = format!("{}: {} ({})", table.name, table.title, table.year);
    page.heading_first(&title);
    page.line("");
    page.facts(&table.facts());
    let stub = stub(table);
    let columns: Vec<usize> = (0..table.contenders.len())
        .map(|at| GAP + column(table, at, clock))
        .collect();
    let mut next = 0;
    while next < columns.len() {
        let mut taken = stub;
        let group: Vec<usize> = (next..columns.len())
            .take_while(|at| {
                taken += columns[*at];
                taken <= page.width || *at == next
            })
            .collect();
        next += group.len();
        part(page, table, clock, stub, &columns, &group);
    }
    page.line("");
    page.paragraph("* best of its row; units stand behind the phases.", 0);
    page.heading("What was concluded");
    for conclusion in &table.conclusions {
        page.paragraph(&format!("- {}", conclusion.says), 2);
    }
}

fn name(row: &Row) -> String {
    format!("{}  {}", row.label(), row.unit)
}

fn stub(table: &Table) -> usize {
    let names = table.rows.iter().map(|row| width(&name(row)));
    names.max().unwrap_or(0)
}

fn column(table: &Table, at: usize, clock: bool) -> usize {
    let figures = table.rows.iter().map(|row| width(&figure(row, at, clock)));
    figures
        .max()
        .unwrap_or(0)
        .max(width(&table.contenders[at].label))
}

fn figure(row: &Row, at: usize, clock: bool) -> String {
    row.values[at].map_or_else(
        || "-".to_owned(),
        |value| {
            let best = if row.is_best(value) { "*" } else { "" };
            format!("{best}{}", text::printed(value, &row.unit, clock))
        },
    )
}

/// Some columns side by side, with the rows that have a figure there.
fn part(
    page: &mut Page,
    table: &Table,
    clock: bool,
    stub: usize,
    columns: &[usize],
    group: &[usize],
) {
    page.line("");
    let mut head = left("", stub);
    for at in group {
        head += &right(&table.contenders[*at].label, columns[*at]);
    }
    let head = page.paint.bold(&head);
    page.line(&head);
    for row in &table.rows {
        if group.iter().all(|at| row.values[*at].is_none()) {
            continue;
        }
        let room = stub - width(&row.label());
        let mut line = format!("{}{}", row.label(), right(&row.unit, room));
        for at in group {
            let text = right(&figure(row, *at, clock), columns[*at]);
            let best = text.contains('*');
            line += &if best { page.paint.good(&text) } else { text };
        }
        page.line(&line);
    }
}
