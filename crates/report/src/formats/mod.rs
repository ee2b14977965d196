//! The renderers: a [`Document`] becomes text for a terminal, Markdown or a page, a table CSV; and
//! the formats of other programs, which a run alone has.

pub mod bencher;
pub mod bonnie;
mod cells;
mod csv;
mod html;
mod json;
mod markdown;
pub mod openmetrics;
mod terminal;

use crate::document::{Document, Table};
use crate::format::{Format, ReportError};
use crate::options::Options;
use serde::Serialize;

/// What a report consists of, each part made when a format needs it.
pub struct Report<'a> {
    /// What it is of, for messages: `run 2026-quick`.
    pub what: &'a str,
    /// The report for people.
    pub document: &'a dyn Fn() -> Document,
    /// The figures as a table.
    pub figures: &'a dyn Fn() -> Table,
}

/// Writes a report in a format that reports of all kinds have; `value` is its JSON.
pub fn render(
    report: &Report<'_>,
    value: &impl Serialize,
    format: Format,
    options: &Options,
) -> Result<Vec<u8>, ReportError> {
    let what = || report.what.to_owned();
    match format {
        Format::Terminal => Ok(terminal::render(&(report.document)(), options)),
        Format::Html => Ok(html::render(&(report.document)(), options)),
        Format::Markdown => Ok(markdown::render(&(report.document)(), options)),
        Format::Csv => csv::render(&(report.figures)()).map_err(|source| ReportError::Csv {
            what: what(),
            source,
        }),
        Format::Json => json::render(value).map_err(|source| ReportError::Json {
            what: what(),
            source,
        }),
        Format::BonnieCsv | Format::Bencher | Format::OpenMetrics => Err(ReportError::OnlyRuns {
            what: what(),
            format,
        }),
    }
}
