//! A table as CSV (RFC 4180). Quantities are exact, and unknown values are empty.

use crate::document::Table;

/// Renders a table.
pub fn render(table: &Table) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let names = table.names();
    let columns = table
        .columns
        .iter()
        .map(|column| column.label.full.as_str());
    writer.write_record(names.iter().copied().chain(columns))?;
    for (group, row) in table.grouped_rows() {
        let mut cells: Vec<String> = Vec::with_capacity(names.len() + table.columns.len());
        if table.is_grouped() {
            cells.push(safe(group.map_or("", |group| &group.heading)));
        }
        if names.len() > cells.len() {
            cells.push(safe(&row.name()));
        }
        cells.extend(row.cells.iter().map(|cell| safe(&cell.raw())));
        cells.resize(names.len() + table.columns.len(), String::new());
        writer.write_record(&cells)?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
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
