//! `merge`: copies the runs of other stores into this one, and joins shards.

use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_store::{Joined, Store, Unit};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Files of the other stores
    #[arg(value_name = "STORE", required = true)]
    pub others: Vec<PathBuf>,
}

/// Merges these stores into one, and prints the result for each run.
pub fn merge(others: &[PathBuf], path: &Path) -> Result<(), CliError> {
    let mut store = Store::open(path)?;
    let merged = store.merge_all(others)?;
    let mut text = String::new();
    for (theirs, id) in &merged.taken {
        if theirs == id {
            writeln!(text, "copied: {id}")
        } else {
            writeln!(
                text,
                "copied: {theirs} as {id}, for another run here has its name"
            )
        }
        .ok();
    }
    for id in &merged.known {
        let _ = writeln!(text, "skipped, already in this store: {id}");
    }
    for joined in &merged.joined {
        let digest = match joined.unit {
            _ if joined.recorded < joined.planned => None,
            Unit::Cell => store.load(&joined.id)?.digest(),
            Unit::PowerCut => None,
            Unit::Program => Some(store.exploration(&joined.id)?.digest()),
        };
        text.push_str(&line(joined, digest.as_deref()));
    }
    if text.is_empty() && merged.refused.is_empty() {
        let others: Vec<_> = others
            .iter()
            .map(|other| other.display().to_string())
            .collect();
        let _ = writeln!(text, "no runs in {}", others.join(", "));
    }
    output::bytes(text.as_bytes())?;
    if merged.refused.is_empty() {
        return Ok(());
    }
    Err(CliError::failure(format!(
        "{} refused; everything else is merged:\n{}",
        match merged.refused.len() {
            1 => "1 shard, copy or store was".to_owned(),
            more => format!("{more} shards, copies or stores were"),
        },
        merged.refused.join("\n")
    )))
}

/// `joined: quick-1a2b: 24 of 24 cells, digest ...`, or the missing cells.
fn line(joined: &Joined, digest: Option<&str>) -> String {
    let unit = match joined.unit {
        Unit::Cell => "cells",
        Unit::PowerCut => "power cuts",
        Unit::Program => "programs",
    };
    let Joined {
        id,
        unit: _,
        recorded,
        planned,
        missing,
    } = joined;
    let mut line = format!("joined: {id}: {recorded} of {planned} {unit}");
    if let Some(digest) = digest {
        let _ = write!(line, ", digest {digest}");
    }
    if !missing.is_empty() {
        let shards: Vec<_> = missing.iter().map(ToString::to_string).collect();
        let _ = write!(line, ", missing {unit} of shards {}", shards.join(", "));
    }
    line.push('\n');
    line
}
