//! `runs`: what the store holds.

use crate::exit::{Code, Trouble};
use crate::output;
use fsdyno_model::Nanos;
use fsdyno_store::{RunSummary, Store};
use std::path::Path;

pub fn runs(store: &Path, json: bool) -> Result<Code, Trouble> {
    let runs = Store::open_existing_read_only(store)?.runs()?;
    if json {
        output::json(&runs)?;
        return Ok(Code::Ok);
    }
    let mut rows = vec![words(["RUN", "CELLS", "ENDED", "TOOK", "CONTENDERS"])];
    rows.extend(runs.iter().map(row));
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
    let took = run
        .ended_unix_ns
        .map(|end| Nanos(end.saturating_sub(run.started_unix_ns)).clock());
    vec![
        run.id.clone(),
        cells,
        run.stop
            .map_or("not yet".to_owned(), |stop| stop.to_string()),
        took.unwrap_or_default(),
        run.contenders.join(" "),
    ]
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
