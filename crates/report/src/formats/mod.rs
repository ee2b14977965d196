//! The renderers: a [`Document`] becomes text for a terminal, Markdown or a page, and a table CSV.
//! Formats of other programs exist only for runs.

pub mod bencher;
pub mod bonnie;
mod cells;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod openmetrics;
pub mod terminal;

use crate::document::{Document, Table};
use crate::figures::summary;
use crate::format::{Format, ReportError};
use crate::options::Options;
use fsdyno_model::{Better, FigureName, ResultSet};
use fsdyno_stats::Summary;
use serde::Serialize;
use std::collections::BTreeSet;

/// A figure of a contender in a phase, for JSON and the formats of other programs.
pub(crate) struct Exported<'a> {
    pub contender: &'a str,
    pub workload: &'a str,
    pub phase: &'a str,
    pub figure: FigureName,
    pub unit: String,
    pub better: Better,
    pub summary: Summary,
}

impl Exported<'_> {
    /// The name of its figure in other programs. Those of the kernel's blocks and of times are
    /// older than that of the figure.
    fn name(&self) -> String {
        if self.figure == FigureName::BLOCKS {
            return "kernel-blocks".to_owned();
        }
        self.figure.to_string()
    }
}

/// All figures of a run, defined and reported, by phase, then by contender.
pub(crate) fn exported(set: &ResultSet) -> impl Iterator<Item = Exported<'_>> {
    let plan = &set.run.plan;
    let reported = FigureName::reported(set.cells.iter().flat_map(|cell| &cell.samples));
    let figures: BTreeSet<FigureName> = FigureName::all().chain(reported).collect();
    let figures: Vec<FigureName> = figures.into_iter().collect();
    set.lines_of(&figures).into_iter().flat_map(move |line| {
        let workload = &plan.workloads[line.workload];
        let both = plan.contenders.iter().zip(line.figures);
        both.filter_map(move |(contender, figures)| {
            Some(Exported {
                contender: &contender.label,
                workload: &workload.name,
                phase: &workload.phases[line.phase].label,
                figure: line.figure.clone(),
                unit: line.unit.clone(),
                better: line.better,
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
