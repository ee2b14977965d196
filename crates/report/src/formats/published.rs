//! Published tables, and a run beside one, in the formats they have.

use super::csv::safe;
use super::{Format, html, markdown, terminal};
use crate::published::{Published, PublishedComparison};
use crate::{Options, ReportError};
use serde::Serialize;

/// The columns of a run beside a table: a row for each contender of each phase.
const COLUMNS: [&str; 19] = [
    "run",
    "table",
    "year",
    "scale",
    "phase",
    "contender",
    "contender_then",
    "better",
    "unit_then",
    "then",
    "unit_now",
    "now_median",
    "repeats",
    "ratio_then",
    "ratio_now",
    "rank_then",
    "rank_now",
    "rank_correlation",
    "now_by_then",
];

/// What comes behind them where a run has several labs.
const LAB_COLUMN: &str = "lab";

/// Why a format that only runs have is refused.
const ONLY_RUNS: &str = "it shows the figures of a run, alone: choose another format";

/// Writes a published table; as CSV, its figures are as they came.
pub fn published(
    published: &Published,
    format: Format,
    options: &Options,
) -> Result<Vec<u8>, ReportError> {
    let trouble = |why: String| ReportError::Published {
        table: published.name.to_owned(),
        format,
        why,
    };
    let table = published.read().map_err(|e| trouble(e.to_string()))?;
    match format {
        Format::Terminal => Ok(terminal::published(&table, options)),
        Format::Markdown => Ok(markdown::published::table(&table, options.clock)),
        Format::Csv => Ok(published.figures.as_bytes().to_vec()),
        Format::Json => json(&table).map_err(|e| trouble(e.to_string())),
        Format::Html => html::published(&table, options).map_err(|e| trouble(e.to_string())),
        Format::BonnieCsv | Format::Bencher | Format::OpenMetrics => {
            Err(trouble(ONLY_RUNS.to_owned()))
        }
    }
}

/// Writes a run beside a published table: lab by lab, where it has several. JSON is an array then.
pub fn against(
    against: &[PublishedComparison],
    format: Format,
    options: &Options,
) -> Result<Vec<u8>, ReportError> {
    let trouble = |why: String| ReportError::Published {
        table: against
            .first()
            .map_or_else(String::new, |of| of.table.clone()),
        format,
        why,
    };
    let one_by_one = |write: &dyn Fn(&PublishedComparison) -> Vec<u8>| {
        let pages: Vec<Vec<u8>> = against.iter().map(write).collect();
        pages.join(&b"\n\n"[..])
    };
    match format {
        Format::Terminal => Ok(one_by_one(&|of| terminal::against(of, options))),
        Format::Markdown => Ok(one_by_one(&|of| {
            markdown::published::against(of, options.clock)
        })),
        Format::Csv => csv(against).map_err(|e| trouble(e.to_string())),
        Format::Json => match against {
            [one] => json(one),
            several => json(&several),
        }
        .map_err(|e| trouble(e.to_string())),
        Format::Html => html::against(against, options).map_err(|e| trouble(e.to_string())),
        Format::BonnieCsv | Format::Bencher | Format::OpenMetrics => {
            Err(trouble(ONLY_RUNS.to_owned()))
        }
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn csv(all: &[PublishedComparison]) -> Result<Vec<u8>, ::csv::Error> {
    let mut writer = ::csv::WriterBuilder::new()
        .terminator(::csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let apart = all.iter().any(|against| against.lab.is_some());
    writer.write_record(COLUMNS.into_iter().chain(apart.then_some(LAB_COLUMN)))?;
    let known = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    let lines = all
        .iter()
        .flat_map(|one| one.lines.iter().map(move |line| (one, line)));
    for (against, line) in lines {
        for entry in &line.entries {
            let pair = &against.contenders[entry.contender];
            let row: [String; COLUMNS.len()] = [
                safe(&against.run),
                against.table.clone(),
                against.year.to_string(),
                against.scale.to_string(),
                line.label.clone(),
                safe(&pair.now),
                pair.then.clone(),
                line.better.name().to_owned(),
                line.unit_then.clone(),
                entry.then.to_string(),
                safe(&line.unit_now),
                entry.now.to_string(),
                entry.repeats.to_string(),
                known(entry.ratio_then),
                known(entry.ratio_now),
                entry.rank_then.to_string(),
                entry.rank_now.to_string(),
                known(line.rank_correlation),
                known(entry.by_then),
            ];
            let lab = against.lab.as_deref().map(safe);
            writer.write_record(row.into_iter().chain(lab))?;
        }
    }
    writer
        .into_inner()
        .map_err(|e| ::csv::Error::from(e.into_error()))
}
