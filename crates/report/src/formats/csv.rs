//! A table as CSV (RFC 4180). Quantities are exact, and unknown values are empty.

use crate::document::{Column, Row, Table};
use std::io::{self, Write};

/// Renders a table.
pub fn render(table: &Table) -> Result<Vec<u8>, csv::Error> {
    let mut writer = writer(Vec::new());
    let names = table.names();
    let columns = headings(&table.columns);
    writer.write_record(names.iter().copied().chain(columns))?;
    for (group, row) in table.grouped_rows() {
        let mut cells: Vec<String> = Vec::with_capacity(names.len() + table.columns.len());
        if table.is_grouped() {
            cells.push(safe(group.map_or("", |group| &group.heading)));
        }
        if names.len() > cells.len() {
            cells.push(safe(&row.name()));
        }
        write(&mut writer, cells, row, names.len() + table.columns.len())?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

/// Rows that are written one by one: those of a whole run may not fit into memory.
pub struct Rows<W: Write> {
    writer: csv::Writer<W>,
    width: usize,
}

impl<W: Write> Rows<W> {
    /// Writes the names of the columns.
    pub fn new(columns: &[Column], out: W) -> io::Result<Self> {
        let mut writer = writer(out);
        writer.write_record(headings(columns))?;
        Ok(Self {
            writer,
            width: columns.len(),
        })
    }

    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        let cells = Vec::with_capacity(self.width);
        Ok(write(&mut self.writer, cells, row, self.width)?)
    }

    pub fn end(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn writer<W: Write>(out: W) -> csv::Writer<W> {
    let mut writer = csv::WriterBuilder::new();
    writer.terminator(csv::Terminator::CRLF).from_writer(out)
}

fn headings(columns: &[Column]) -> impl Iterator<Item = &str> {
    columns.iter().map(|column| column.label.full.as_str())
}

/// Writes these cells and those of a row, with empty ones up to a width.
fn write<W: Write>(
    writer: &mut csv::Writer<W>,
    mut cells: Vec<String>,
    row: &Row,
    width: usize,
) -> Result<(), csv::Error> {
    cells.extend(row.cells.iter().map(|cell| safe(&cell.raw())));
    cells.resize(width, String::new());
    writer.write_record(&cells)
}

/// Prefixes text that a spreadsheet would execute as a formula with an apostrophe, which
/// spreadsheets hide. Negative numbers are not formulas.
fn safe(text: &str) -> String {
    let is_number = || text.parse::<f64>().is_ok();
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !is_number() {
        return format!("'{text}");
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn text_cannot_start_a_formula() {
        assert_eq!(safe("=1+1"), "'=1+1");
        assert_eq!(safe("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(safe("ext4:noatime"), "ext4:noatime");
        assert_eq!(safe("-0.5"), "-0.5");
    }
}
