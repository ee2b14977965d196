//! The renderers: a [`Document`] becomes text for a terminal, Markdown or a page, and a table CSV.
//! Formats of other programs exist only for runs.

pub mod bencher;
pub mod bonnie;
mod cells;
mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod openmetrics;
pub mod terminal;

use crate::document::{Document, Table};
use crate::figures::summary;
use crate::format::{Format, ReportError};
use crate::options::Options;
use fsdyno_model::{Metric, ResultSet};
use fsdyno_stats::Summary;
use serde::Serialize;

/// The figures of a contender in a phase, for formats of other programs.
struct Exported<'a> {
    contender: &'a str,
    workload: &'a str,
    phase: &'a str,
    metric: Metric,
    summary: Summary,
}

/// These metrics of a run, by phase, then by contender.
fn exported<'a>(set: &'a ResultSet, metrics: &[Metric]) -> impl Iterator<Item = Exported<'a>> {
    let plan = &set.run.plan;
    set.lines_of(metrics).into_iter().flat_map(move |line| {
        let workload = &plan.workloads[line.workload];
        let both = plan.contenders.iter().zip(line.figures);
        both.filter_map(move |(contender, figures)| {
            Some(Exported {
                contender: &contender.label,
                workload: &workload.name,
                phase: &workload.phases[line.phase].label,
                metric: line.metric,
                summary: summary(&figures)?,
            })
        })
    })
}

/// The parts of a report, each built on demand.
pub struct Report<'a> {
    /// The subject, for messages: `run 2026-quick`.
    pub what: &'a str,
    /// Builds the document.
    pub document: &'a dyn Fn() -> Document,
    /// Builds the table of figures.
    pub figures: &'a dyn Fn() -> Table,
}

/// Renders a report in a format that all kinds of reports support; `value` is its JSON.
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
