//! `disk list`: the built-in profiles.

use crate::exit::CliError;
use crate::output;
use fsdyno_disk::{Profile, profiles};
use fsdyno_model::Bytes;
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    name: String,
    model: &'static str,
    capacity: Bytes,
    queue_depth: u32,
    title: String,
    source: String,
}

pub fn list(json: bool) -> Result<(), CliError> {
    let mut rows = Vec::new();
    for shipped in &profiles::ALL {
        let profile = Profile::try_from(shipped).map_err(CliError::failure)?;
        rows.push(Row {
            model: profile.timing.name(),
            name: profile.name,
            capacity: profile.capacity,
            queue_depth: profile.queue_depth,
            title: profile.title,
            source: profile.source,
        });
    }
    if json {
        return output::json(&rows);
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| vec![row.name, row.model.to_owned(), row.title])
        .collect();
    output::rows(&rows, output::width())
}
