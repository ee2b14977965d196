//! `runs`: the runs and the series of crash tests in the store.

use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::{Nanos, StopReason};
use fsdyno_store::{RunSummary, SeriesSummary, Store};
use serde::Serialize;
use std::path::Path;

/// An entry of the store.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
enum Entry {
    Run(RunSummary),
    Series(SeriesSummary),
}

impl Entry {
    fn started_unix_ns(&self) -> u64 {
        match self {
            Self::Run(run) => run.started_unix_ns,
            Self::Series(series) => series.started_unix_ns,
        }
    }

    fn row(&self) -> Vec<String> {
        match self {
            Self::Run(run) => row(run),
            Self::Series(series) => row_of_series(series),
        }
    }
}

pub fn runs(store: &Path, json: bool) -> Result<Code, CliError> {
    let store = Store::open_existing_read_only(store)?;
    let runs = store.runs()?.into_iter().map(Entry::Run);
    let mut entries: Vec<Entry> = runs.collect();
    entries.extend(store.series()?.into_iter().map(Entry::Series));
    // The sort is stable: entries with the same start keep the order of their kind.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.started_unix_ns()));
    if json {
        output::json(&entries)?;
        return Ok(Code::Ok);
    }
    let mut rows = vec![words(["RUN", "CELLS", "ENDED", "TOOK", "CONTENDERS"])];
    rows.extend(entries.iter().map(Entry::row));
    output::rows(&rows, output::width())?;
    Ok(Code::Ok)
}

fn row(run: &RunSummary) -> Vec<String> {
    let mut cells = format!("{}/{}", run.cells_recorded, run.cells_planned);
    for (count, what) in [(run.failed, "failed"), (run.skipped, "skipped")] {
        if count > 0 {
            cells = format!("{cells} {count} {what}");
        }
    }
    vec![
        run.id.clone(),
        cells,
        ended(run.stop),
        run.took_ns.clock(),
        run.contenders.join(" "),
    ]
}

fn row_of_series(series: &SeriesSummary) -> Vec<String> {
    let mut cuts = format!("{}/{} cuts", series.cuts_recorded, series.cuts_planned);
    if series.losing > 0 {
        cuts = format!("{cuts} {} losing", series.losing);
    }
    vec![
        series.id.clone(),
        cuts,
        ended(series.stop),
        took_of_series(series),
        series.contenders.join(" "),
    ]
}

fn ended(stop: Option<StopReason>) -> String {
    stop.map_or("not yet".to_owned(), |stop| stop.to_string())
}

/// The duration from the start to the end: a series is never resumed.
fn took_of_series(series: &SeriesSummary) -> String {
    let ended = series.ended_unix_ns;
    let took = ended.map(|end| Nanos(end.saturating_sub(series.started_unix_ns)).clock());
    took.unwrap_or_default()
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
