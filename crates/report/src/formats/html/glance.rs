//! The first tables: a row for each time, one unit and one group of rows for each workload.

use super::part::{Figure, figures};
use crate::table::Comparison;
use crate::table::glance::{Figures, Row};
use serde::Serialize;

/// The rows of one workload.
#[derive(Debug, Serialize)]
pub struct Glance {
    workload: String,
    unit: &'static str,
    /// Whether it is so long that it names the contenders again.
    long: bool,
    rows: Vec<GlanceRow>,
}

#[derive(Debug, Serialize)]
struct GlanceRow {
    /// What its phase is called on the whole page.
    place: String,
    phase: String,
    first: bool,
    measure: &'static str,
    times: Option<Vec<Option<Figure>>>,
    /// What is no time, in words.
    texts: Vec<String>,
}

/// Those of a run.
pub fn tables(comparison: &Comparison, clock: bool) -> Vec<Glance> {
    let glances = comparison.glances(clock).into_iter();
    let table = glances.map(|glance| Glance {
        workload: glance.workload.name.clone(),
        unit: glance.scale.unit(),
        long: glance.is_long(),
        rows: glance
            .rows
            .iter()
            .map(|row| GlanceRow {
                place: crate::terms::phase(
                    comparison.workloads.len(),
                    &glance.workload.name,
                    row.phase,
                ),
                phase: row.phase.to_owned(),
                first: row.first,
                measure: row.figures.name(),
                times: times(row, glance.scale),
                texts: texts(row),
            })
            .collect(),
    });
    table.collect()
}

fn times(row: &Row<'_>, scale: crate::terms::Scale) -> Option<Vec<Option<Figure>>> {
    match &row.figures {
        Figures::Times(line) => Some(figures(&line.values, line.measure, scale)),
        Figures::Fragments(_) => None,
    }
}

fn texts(row: &Row<'_>) -> Vec<String> {
    match &row.figures {
        Figures::Times(_) => Vec::new(),
        Figures::Fragments(texts) => {
            let or_dash = |text: &Option<String>| text.clone().unwrap_or("\u{2013}".to_owned());
            texts.iter().map(or_dash).collect()
        }
    }
}
