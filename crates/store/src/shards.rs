//! Joins the shards of a plan into one run.

use crate::error::Refusal;
use crate::insert::{insert_cell, insert_run, plan_text};
use crate::query::run;
use crate::resolve::id_of_whole;
use crate::row::signed;
use fsdyno_model::{Cell, CellRecord, Effective, Outcome, Plan, ResultSet, RunInfo, Shard};
use rusqlite::{OptionalExtension, Transaction, params};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// A run that shards were joined into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Its id.
    pub id: String,
    /// The number of its recorded cells.
    pub recorded: u64,
    /// The number of cells of the plan.
    pub planned: u64,
    /// The shards that lack cells.
    pub missing: Vec<Shard>,
}

/// Adds the cells of a shard to the run of the whole plan, which is created if it does not exist;
/// returns its id. A cell that is recorded there stays, unless it failed and the shard measured it.
/// Adding a shard twice changes nothing. The inner error is the reason why the shard is refused.
pub fn join(
    transaction: &Transaction<'_>,
    theirs: &ResultSet,
) -> Result<Result<String, String>, Refusal> {
    let id = id_of_whole(&theirs.run);
    let plan = Plan {
        shard: None,
        ..theirs.run.plan.clone()
    };
    match run(transaction, &id)? {
        None => insert_run(
            transaction,
            &RunInfo {
                id: id.clone(),
                ended_unix_ns: None,
                stop: None,
                plan,
                ..theirs.run.clone()
            },
        )?,
        Some(whole) => {
            if let Some(why) = other_system(transaction, &whole, theirs)? {
                return Ok(Err(why));
            }
            // A shard that was extended extends the whole.
            if plan.repeats > whole.plan.repeats {
                transaction.execute(
                    "UPDATE run SET plan = ?2, cells_planned = ?3 WHERE id = ?1",
                    params![id, plan_text(&plan)?, signed(plan.cells())],
                )?;
            }
        }
    }
    // All cells are checked before the first one is written: a shard is added whole or not at all.
    let (mut new, mut failed) = (Vec::new(), Vec::new());
    for record in &theirs.cells {
        match compare(transaction, &id, theirs, record)? {
            Known::No => new.push(record),
            Known::Failed(key) => {
                new.push(record);
                failed.push(key);
            }
            Known::Yes => {}
            Known::Contradicts(why) => return Ok(Err(why)),
        }
    }
    for key in failed {
        transaction.execute("DELETE FROM cell WHERE id = ?1", [key])?;
    }
    for record in new {
        insert_cell(transaction, &id, record)?;
    }
    Ok(Ok(id))
}

/// Why the figures of a shard are not compared with those of the whole. In virtual time they depend
/// only on fsdyno and on the kernel of the guests.
fn other_system(
    transaction: &Transaction<'_>,
    whole: &RunInfo,
    theirs: &ResultSet,
) -> Result<Option<String>, Refusal> {
    let differ = |what: &str, ours: &str, theirs_is: &str| {
        let shard = name(&theirs.run);
        Some(format!(
            "{shard} was measured with another {what} ({theirs_is}; the other shards: {ours})"
        ))
    };
    let (ours, new) = (&whole.provenance, &theirs.run.provenance);
    if ours.fsdyno != new.fsdyno {
        return Ok(differ("version of fsdyno", &ours.fsdyno, &new.fsdyno));
    }
    if !whole.plan.in_virtual_time() {
        return Ok(None);
    }
    let first: Option<String> = transaction
        .prepare_cached(
            "SELECT text FROM effective JOIN cell ON cell.id = effective.cell
             WHERE run = ?1 AND source = ?2 ORDER BY cell_index LIMIT 1",
        )?
        .query_row(params![whole.id, Effective::GUEST], |row| row.get(0))
        .optional()?;
    let of_kernel = |about: &str| about.split(", ").take(2).collect::<Vec<_>>().join(", ");
    let guests = theirs
        .cells
        .iter()
        .filter_map(|record| text(record, Effective::GUEST));
    for guest in guests {
        let new = of_kernel(guest);
        if let Some(ours) = first.as_deref().map(of_kernel).filter(|ours| *ours != new) {
            return Ok(differ("kernel of its guests", &ours, &new));
        }
    }
    Ok(None)
}

/// Whether a cell of a shard is recorded in the whole.
enum Known {
    No,
    /// It failed, and the shard measured it; with the key of its row.
    Failed(i64),
    Yes,
    /// Its figures differ, although they cannot; with the message.
    Contradicts(String),
}

fn compare(
    transaction: &Transaction<'_>,
    id: &str,
    theirs: &ResultSet,
    record: &CellRecord,
) -> Result<Known, Refusal> {
    let index = record.cell.index;
    let known: Option<(i64, String, i64)> = transaction
        .prepare_cached(
            "SELECT id, outcome, started_unix_ns FROM cell WHERE run = ?1 AND cell_index = ?2",
        )?
        .query_row(params![id, index], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((key, outcome, started)) = known else {
        return Ok(Known::No);
    };
    let measured = matches!(record.outcome, Outcome::Measured);
    if started == signed(record.started_unix_ns) || !measured {
        return Ok(Known::Yes);
    }
    if outcome == "failed" {
        return Ok(Known::Failed(key));
    }
    let disk: Option<String> = transaction
        .prepare_cached("SELECT text FROM effective WHERE cell = ?1 AND source = ?2")?
        .query_row(params![key, Effective::DISK], |row| row.get(0))
        .optional()?;
    let same = outcome != "measured" || disk.as_deref() == text(record, Effective::DISK);
    if same || !theirs.run.plan.in_virtual_time() {
        return Ok(Known::Yes);
    }
    Ok(Known::Contradicts(format!(
        "cell {index} of {} differs from the one that is recorded in {id}, although time is \
         virtual; run it again on both machines, and compare their block traces (--disk-trace)",
        name(&theirs.run)
    )))
}

/// The text of a source in a record.
fn text<'a>(record: &'a CellRecord, source: &str) -> Option<&'a str> {
    let mut effective = record.effective.iter();
    let found = effective.find(|one| one.source == source)?;
    Some(&found.text)
}

fn name(run: &RunInfo) -> String {
    run.plan.shard.map_or_else(
        || format!("run {}", run.id),
        |shard| format!("run {} (shard {shard})", run.id),
    )
}

/// Notes whether the joined run is complete; returns what is missing if it has this number of
/// shards.
pub fn finish(transaction: &Transaction<'_>, id: &str, of: NonZeroU32) -> Result<Joined, Refusal> {
    let indices: BTreeSet<u32> = transaction
        .prepare_cached("SELECT cell_index FROM cell WHERE run = ?1")?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let whole = run(transaction, id)?;
    let plan = whole.map(|whole| whole.plan);
    let planned = plan.as_ref().map_or(0, Plan::cells);
    let missing: BTreeSet<Shard> = plan
        .iter()
        .flat_map(|plan| {
            let per_block = (plan.contenders.len() * plan.workloads.len()).max(1);
            let all = 0..u32::try_from(planned).unwrap_or(u32::MAX);
            let left = all.filter(|index| !indices.contains(index));
            left.map(move |index| {
                let block = index / u32::try_from(per_block).unwrap_or(u32::MAX);
                let cell = Cell {
                    index,
                    block,
                    contender: 0,
                    workload: 0,
                };
                plan.shard_of(&cell, of)
            })
        })
        .collect();
    transaction.execute(
        "UPDATE run SET stop = ?2, ended_unix_ns =
            (SELECT max(started_unix_ns + took_ns) FROM cell WHERE run = ?1) WHERE id = ?1",
        params![id, missing.is_empty().then_some("complete")],
    )?;
    Ok(Joined {
        id: id.to_owned(),
        recorded: indices.len() as u64,
        planned,
        missing: missing.into_iter().collect(),
    })
}
