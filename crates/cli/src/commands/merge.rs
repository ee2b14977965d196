//! `merge`: copies the runs of other stores into this one, and joins shards.

use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_store::{Joined, Merged, Store, Unit};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Files of the other stores
    #[arg(value_name = "STORE", required = true)]
    pub others: Vec<PathBuf>,
    /// Print all runs, not only one screen
    #[arg(long)]
    pub long: bool,
}

/// The most lines that are printed without `--long`: the answer, the runs, and what is left out.
const MOST_LINES: usize = 40;

/// Merges these stores into one, and prints the answer and the result for each run.
pub fn merge(args: &MergeArgs, path: &Path) -> Result<(), CliError> {
    let mut store = Store::open(path)?;
    let merged = store.merge_all(&args.others)?;
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
            Unit::PowerCut | Unit::FaultTest => None,
            Unit::Program => Some(store.exploration(&joined.id)?.digest()),
        };
        text.push_str(&line(joined, digest.as_deref()));
    }
    let text = answer(&merged, &args.others) + &limited(&text, args.long);
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

/// One sentence about all runs, as a line.
fn answer(merged: &Merged, others: &[PathBuf]) -> String {
    let mut parts = Vec::new();
    let mut add = |number: usize, what: &str| {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    };
    add(merged.taken.len(), "copied");
    add(merged.known.len(), "already in this store");
    let is_whole = |joined: &&Joined| joined.recorded >= joined.planned;
    let whole = merged.joined.iter().filter(is_whole).count();
    add(whole, "joined from shards and complete");
    let incomplete = merged.joined.len() - whole;
    add(incomplete, "joined from shards and incomplete");
    add(merged.refused.len(), "refused");
    if parts.is_empty() {
        let others = others.iter().map(|other| other.display().to_string());
        let others: Vec<String> = others.collect();
        return format!("No runs are in {}.\n", others.join(", "));
    }
    format!("Runs: {}.\n", parts.join(", "))
}

/// The lines that are printed.
fn limited(text: &str, long: bool) -> String {
    let count = text.lines().count();
    if long || count < MOST_LINES {
        return text.to_owned();
    }
    let shown = MOST_LINES - 2;
    let lines: String = text.split_inclusive('\n').take(shown).collect();
    format!(
        "{lines}{} more: fsdyno merge --long, or fsdyno runs\n",
        count - shown
    )
}

/// `joined: quick-1a2b: 24 of 24 cells, digest ...`, or the missing cells.
fn line(joined: &Joined, digest: Option<&str>) -> String {
    let unit = match joined.unit {
        Unit::Cell => "cells",
        Unit::PowerCut => "power cuts",
        Unit::Program => "programs",
        Unit::FaultTest => "contenders",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_first_and_many_runs_are_one_screen() {
        let taken = |name: &str| (name.to_owned(), name.to_owned());
        let merged = Merged {
            taken: vec![taken("a"), taken("b")],
            known: vec!["c".to_owned()],
            joined: Vec::new(),
            refused: Vec::new(),
        };
        let others = [PathBuf::from("other.db")];
        let answer = |merged: &Merged| answer(merged, &others);
        assert_eq!(
            answer(&merged),
            "Runs: 2 copied, 1 already in this store.\n"
        );
        let none = Merged {
            taken: Vec::new(),
            known: Vec::new(),
            ..merged
        };
        assert_eq!(answer(&none), "No runs are in other.db.\n");
        let lines = |count: usize| "copied: x\n".repeat(count);
        assert_eq!(limited(&lines(39), false), lines(39));
        let many = limited(&lines(40), false);
        assert_eq!(many.lines().count(), 39);
        assert!(
            many.ends_with("2 more: fsdyno merge --long, or fsdyno runs\n"),
            "{many}"
        );
        assert_eq!(limited(&lines(99), true), lines(99));
    }
}
