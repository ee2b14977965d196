//! `merge`: copies the runs of another store into this one.

use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_store::Store;
use std::fmt::Write as _;
use std::path::Path;

pub fn merge(other: &Path, store: &Path) -> Result<Code, CliError> {
    let merged = Store::open(store)?.merge(other)?;
    let mut text = String::new();
    for (ids, what) in [
        (&merged.taken, "copied"),
        (&merged.known, "skipped, already in this store"),
        (
            &merged.differing,
            "skipped, this store has a different run of that name",
        ),
    ] {
        for id in ids {
            let _ = writeln!(text, "{what}: {id}");
        }
    }
    if text.is_empty() {
        let _ = writeln!(text, "no runs in {}", other.display());
    }
    output::bytes(text.as_bytes())?;
    Ok(Code::Ok)
}
