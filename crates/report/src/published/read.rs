//! Parses the two files of a table into a [`Table`] with resolved references.

use super::{Competitor, Conclusion, Line, Published, Row, Table, Today};
use fsdyno_model::{Better, CacheState};
use serde::Deserialize;

/// An error in a published table.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum PublishedError {
    /// Its header cannot be parsed.
    #[error("the header of the published table {name} cannot be read: {source}")]
    Header {
        name: &'static str,
        source: toml::de::Error,
    },
    /// Its figures cannot be parsed.
    #[error("the figures of the published table {name} cannot be read: {source}")]
    Figures {
        name: &'static str,
        source: csv::Error,
    },
    /// Its parts are inconsistent.
    #[error("the published table {name} does not fit together: {what}")]
    Unsound { name: &'static str, what: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    title: String,
    year: u32,
    source: String,
    machine: String,
    measured: String,
    caveat: Option<String>,
    suite: String,
    /// The name of the table in the rows, if an article had several.
    #[serde(default)]
    parts: Vec<String>,
    contender: Vec<Competitor>,
    #[serde(default)]
    line: Vec<LineText>,
    conclusion: Vec<ConclusionText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineText {
    label: String,
    rows: Vec<String>,
    workload: String,
    dataset: String,
    kind: String,
    phase: Option<String>,
    cache: CacheState,
    today: Today,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConclusionText {
    text: String,
    phases: Vec<String>,
    ahead: Vec<String>,
    trailing: Vec<String>,
}

/// One row of the file of figures.
#[derive(Debug, Deserialize)]
struct Figure {
    table: String,
    year: u32,
    kernel: String,
    filesystem: String,
    variant: String,
    layout: String,
    test: String,
    phase: String,
    value: f64,
    unit: String,
    better: String,
}

/// Reads a table.
pub(super) fn table(published: &Published) -> Result<Table, PublishedError> {
    let name = published.name;
    let header: Header = toml::from_str(published.header)
        .map_err(|source| PublishedError::Header { name, source })?;
    let figures: Vec<Figure> = csv::Reader::from_reader(published.figures.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(|source| PublishedError::Figures { name, source })?;
    assemble(name, header, &figures).map_err(|what| PublishedError::Unsound { name, what })
}

/// Builds the table. Returns the first inconsistency as an error.
fn assemble(name: &str, header: Header, figures: &[Figure]) -> Result<Table, String> {
    let mut table = Table {
        name: name.to_owned(),
        title: header.title,
        year: header.year,
        source: header.source,
        machine: header.machine,
        measured: header.measured,
        caveat: header.caveat,
        suite: header.suite,
        contenders: header.contender,
        rows: Vec::new(),
        lines: Vec::new(),
        conclusions: Vec::new(),
    };
    for figure in figures {
        let parts = &header.parts;
        let of_part = parts.contains(&figure.table);
        if !(of_part || parts.is_empty() && figure.table == name) || figure.year != table.year {
            return Err(format!(
                "it has a row of {} of {}",
                figure.table, figure.year
            ));
        }
        table.take_up(figure)?;
    }
    for text in header.line {
        let line = table.read_line(text)?;
        table.lines.push(line);
    }
    for text in header.conclusion {
        let conclusion = table.conclusion(text)?;
        table.conclusions.push(conclusion);
    }
    Ok(table)
}

impl Table {
    /// Stores a figure in its row and column.
    fn take_up(&mut self, figure: &Figure) -> Result<(), String> {
        let better = match figure.better.as_str() {
            "lower" => Some(Better::Lower),
            "higher" => Some(Better::Higher),
            "-" => None,
            other => return Err(format!("`{other}` is no direction")),
        };
        let place = self.contenders.iter().position(|c| {
            (&c.filesystem, &c.variant, &c.layout)
                == (&figure.filesystem, &figure.variant, &figure.layout)
        });
        let column = place.ok_or_else(|| {
            format!(
                "no contender is {} {} {}",
                figure.filesystem, figure.variant, figure.layout
            )
        })?;
        let kernels = &mut self.contenders[column].kernels;
        if !kernels.contains(&figure.kernel) {
            kernels.push(figure.kernel.clone());
        }
        let of_row = |row: &Row| {
            (&row.test, &row.phase, &row.unit) == (&figure.test, &figure.phase, &figure.unit)
        };
        let row = if let Some(row) = self.rows.iter().position(of_row) {
            row
        } else {
            self.rows.push(Row {
                test: figure.test.clone(),
                phase: figure.phase.clone(),
                unit: figure.unit.clone(),
                better,
                values: vec![None; self.contenders.len()],
            });
            self.rows.len() - 1
        };
        let row = &mut self.rows[row];
        if row.better != better || row.values[column].replace(figure.value).is_some() {
            return Err(format!(
                "{} of {} occurs twice, or with two directions",
                row.label(),
                figure.filesystem
            ));
        }
        Ok(())
    }

    fn read_line(&self, text: LineText) -> Result<Line, String> {
        let rows = self.rows_named(&text.rows)?;
        let same = |a: &usize| {
            let (a, b) = (&self.rows[*a], &self.rows[rows[0]]);
            a.unit == b.unit && a.better == b.better
        };
        if !rows.iter().all(same) {
            return Err(format!("the rows of {} differ in kind", text.label));
        }
        Ok(Line {
            label: text.label,
            rows,
            workload: text.workload,
            dataset: text.dataset,
            kind: text.kind,
            phase: text.phase,
            cache: text.cache,
            today: text.today,
        })
    }

    fn conclusion(&self, text: ConclusionText) -> Result<Conclusion, String> {
        let named = |labels: &[String]| -> Result<Vec<usize>, String> {
            let place = |label: &String| {
                let place = self.contender(label);
                place.ok_or_else(|| format!("no contender is called {label}"))
            };
            labels.iter().map(place).collect()
        };
        Ok(Conclusion {
            rows: self.rows_named(&text.phases)?,
            ahead: named(&text.ahead)?,
            trailing: named(&text.trailing)?,
            text: text.text,
        })
    }

    /// The rows named `TEST/PHASE`, or `TEST/PHASE UNIT` if the first is ambiguous. Returns at
    /// least one row; each has a direction.
    fn rows_named(&self, names: &[String]) -> Result<Vec<usize>, String> {
        let place = |name: &String| {
            let rows = self.rows.iter().enumerate().filter(|(_, row)| {
                let plain = format!("{}/{}", row.test, row.phase);
                row.better.is_some() && (*name == plain || *name == format!("{plain} {}", row.unit))
            });
            match rows.map(|(place, _)| place).collect::<Vec<_>>()[..] {
                [one] => Ok(one),
                [] => Err(format!("there is no row {name}")),
                _ => Err(format!("there are several rows {name}: add the unit")),
            }
        };
        let rows: Vec<usize> = names.iter().map(place).collect::<Result<_, _>>()?;
        if rows.is_empty() {
            return Err("a line or a conclusion is about no row".to_owned());
        }
        Ok(rows)
    }
}
