//! Joins the shards of a plan into one run, those of a crash series into one series, and those of
//! an exploration into one exploration.

use crate::error::Refusal;
use crate::exploration;
use crate::insert::{insert_cell, insert_run, plan_text};
use crate::query::run;
use crate::resolve::{id_of_whole, id_of_whole_exploration, id_of_whole_series};
use crate::row::{all, only, signed};
use crate::series::{info, insert_power_cut, insert_series};
use fsdyno_model::{
    Cell, CellRecord, Effective, Exploration, ExplorationInfo, ExplorationUnit, Outcome, Plan,
    Provenance, ResultSet, RunInfo, Series, SeriesInfo, Shard, StopReason,
};
use rusqlite::{OptionalExtension, Params, Transaction, params};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// A run, a series or an exploration that shards were joined into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedShards {
    pub id: String,
    /// The kind of its units.
    pub unit: Unit,
    /// The number of its recorded units.
    pub recorded: u64,
    /// The number of its planned units.
    pub planned: u64,
    /// The shards that lack units.
    pub missing: Vec<Shard>,
}

impl JoinedShards {
    fn of(id: &str, unit: Unit, [recorded, planned]: [u64; 2], missing: BTreeSet<Shard>) -> Self {
        Self {
            id: id.to_owned(),
            unit,
            recorded,
            planned,
            missing: missing.into_iter().collect(),
        }
    }
}

/// The unit of a run, a series or an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The cells of a run.
    Cell,
    /// The power cuts of a series.
    PowerCut,
    /// The programs of an exploration.
    Program,
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
            RecordState::Missing => new.push(record),
            RecordState::Failed(key) => {
                new.push(record);
                failed.push(key);
            }
            RecordState::Recorded => {}
            RecordState::Contradicts(why) => return Ok(Err(why)),
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

/// The reason why the figures of a shard are not compared with those of the whole.
fn other_system(
    transaction: &Transaction<'_>,
    whole: &RunInfo,
    theirs: &ResultSet,
) -> Result<Option<String>, Refusal> {
    let first = text_of(
        transaction,
        "SELECT text FROM effective JOIN cell ON cell.id = effective.cell
         WHERE run = ?1 AND source = ?2 ORDER BY cell_index LIMIT 1",
        params![whole.id, Effective::GUEST],
    )?;
    // Figures in real time are not compared between machines.
    let first = first.filter(|_| whole.plan.in_virtual_time());
    let cells = theirs.cells.iter();
    let guests = cells.filter_map(|record| text(record, Effective::GUEST));
    let systems = (&whole.provenance, &theirs.run.provenance);
    Ok(differing(
        &name(&theirs.run),
        systems,
        first.as_deref(),
        guests,
    ))
}

/// The version of fsdyno or the kernel of guests of a shard, if it differs from that of the whole.
fn differing<'a>(
    shard: &str,
    (whole, theirs): (&Provenance, &Provenance),
    guest: Option<&str>,
    guests: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let differ = |what: &str, ours: &str, new: &str| {
        format!("{shard} was measured with another {what} ({new}; the other shards: {ours})")
    };
    if whole.fsdyno != theirs.fsdyno {
        return Some(differ("version of fsdyno", &whole.fsdyno, &theirs.fsdyno));
    }
    let of_kernel = |about: &str| about.split(", ").take(2).collect::<Vec<_>>().join(", ");
    let ours = of_kernel(guest?);
    let mut guests = guests.map(of_kernel);
    let new = guests.find(|new| *new != ours)?;
    Some(differ("kernel of its guests", &ours, &new))
}

/// Whether a cell of a shard is recorded in the whole.
enum RecordState {
    Missing,
    /// It failed, and the shard measured it; with the key of its row.
    Failed(i64),
    Recorded,
    /// Its figures differ, although they cannot; with the message.
    Contradicts(String),
}

fn compare(
    transaction: &Transaction<'_>,
    id: &str,
    theirs: &ResultSet,
    record: &CellRecord,
) -> Result<RecordState, Refusal> {
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
        return Ok(RecordState::Missing);
    };
    let measured = matches!(record.outcome, Outcome::Measured);
    if started == signed(record.started_unix_ns) || !measured {
        return Ok(RecordState::Recorded);
    }
    if outcome == "failed" {
        return Ok(RecordState::Failed(key));
    }
    let disk = text_of(
        transaction,
        "SELECT text FROM effective WHERE cell = ?1 AND source = ?2",
        params![key, Effective::DISK],
    )?;
    let same = outcome != "measured" || disk.as_deref() == text(record, Effective::DISK);
    if same || !theirs.run.plan.in_virtual_time() {
        return Ok(RecordState::Recorded);
    }
    Ok(RecordState::Contradicts(format!(
        "cell {index} of {} differs from the one that is recorded in {id}, although time is \
         virtual; run it again on both machines, and compare their block traces (--disk-trace)",
        name(&theirs.run)
    )))
}

/// The only value of the first row of a query.
fn text_of(
    transaction: &Transaction<'_>,
    query: &str,
    parameters: impl Params,
) -> rusqlite::Result<Option<String>> {
    let mut statement = transaction.prepare_cached(query)?;
    statement.query_row(parameters, |row| row.get(0)).optional()
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

/// Adds the power cuts of a shard to the whole series, which is created if it does not exist;
/// returns its id. Adding a shard twice changes nothing. The inner error is the reason why the
/// shard is refused.
pub fn join_series(
    transaction: &Transaction<'_>,
    theirs: &Series,
) -> Result<Result<String, String>, Refusal> {
    let whole = SeriesInfo {
        id: id_of_whole_series(&theirs.info),
        ended_unix_ns: None,
        stop: None,
        shard: None,
        ..theirs.info.clone()
    };
    match info(transaction, &whole.id)? {
        None => insert_series(transaction, &whole)?,
        Some(ours) => {
            let first = text_of(
                transaction,
                "SELECT guest FROM cut WHERE series = ?1 ORDER BY place LIMIT 1",
                [&whole.id],
            )?;
            let guests = theirs.power_cuts.iter().map(|one| one.guest.as_str());
            let name = format!("series {}", theirs.info.id);
            let systems = (&ours.provenance, &whole.provenance);
            if let Some(why) = differing(&name, systems, first.as_deref(), guests) {
                return Ok(Err(why));
            }
        }
    }
    let known = power_cuts(transaction, &whole.id)?;
    for power_cut in &theirs.power_cuts {
        match whole.place(power_cut) {
            Some(place) if !known.contains(&place) => {
                insert_power_cut(transaction, &whole, place.into(), power_cut)?;
            }
            _ => {}
        }
    }
    transaction.execute(
        "UPDATE series SET ended_unix_ns = max(coalesce(ended_unix_ns, 0), ?2) WHERE id = ?1",
        params![whole.id, theirs.info.ended_unix_ns.map(signed)],
    )?;
    Ok(Ok(whole.id))
}

/// The places of the recorded power cuts of a series.
fn power_cuts(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<BTreeSet<u32>> {
    let query = "SELECT place FROM cut WHERE series = ?1";
    let places = all(transaction, query, &[id], only)?;
    Ok(places.into_iter().collect())
}

/// Adds the programs of a shard to the whole exploration, which is created if it does not exist;
/// returns its id. A program that is recorded there stays, unless it failed and the shard explored
/// it. Adding a shard twice changes nothing. The inner error is the reason why the shard is
/// refused.
pub fn join_exploration(
    transaction: &Transaction<'_>,
    theirs: &Exploration,
) -> Result<Result<String, String>, Refusal> {
    let whole = ExplorationInfo {
        id: id_of_whole_exploration(&theirs.info),
        ended_unix_ns: None,
        stop: None,
        budget: None,
        shard: None,
        ..theirs.info.clone()
    };
    let shard = theirs.info.shard;
    let shard = shard.map_or_else(String::new, |shard| format!(" (shard {shard})"));
    let name = format!("exploration {}{shard}", theirs.info.id);
    match exploration::info(transaction, &whole.id)? {
        None => exploration::insert_exploration(transaction, &whole)?,
        Some(ours) => {
            let first = text_of(
                transaction,
                "SELECT guest FROM explored WHERE exploration = ?1 AND guest <> ''
                 ORDER BY number, contender LIMIT 1",
                [&whole.id],
            )?;
            let guests = theirs.programs.iter().map(|one| one.guest.as_str());
            let guests = guests.filter(|guest| !guest.is_empty());
            let systems = (&ours.provenance, &whole.provenance);
            if let Some(why) = differing(&name, systems, first.as_deref(), guests) {
                return Ok(Err(why));
            }
        }
    }
    // All programs are checked before the first one is written: a shard is added whole or not at
    // all.
    let mut new = Vec::new();
    for program in &theirs.programs {
        let Some(unit) = whole.unit(program) else {
            continue;
        };
        let known = exploration::program(transaction, &whole, unit)?;
        match known {
            Some(known) if program.failed.is_some() || known.digest() == program.digest() => {}
            Some(known) if known.failed.is_none() => {
                return Ok(Err(format!(
                    "program {} on {} of {name} differs from the one that is recorded in {}, \
                     although time is virtual; explore it again on both machines",
                    program.number, program.contender, whole.id
                )));
            }
            _ => new.push(program),
        }
    }
    for program in new {
        exploration::insert_program(transaction, &whole, program)?;
    }
    let ended = theirs.info.ended_unix_ns.map(signed);
    let budget = theirs.info.stop == Some(StopReason::Budget);
    transaction.execute(
        "UPDATE exploration SET ended_unix_ns = max(coalesce(ended_unix_ns, 0), coalesce(?2, 0)),
            stop = CASE WHEN ?3 THEN 'budget' ELSE stop END WHERE id = ?1",
        params![whole.id, ended, budget],
    )?;
    Ok(Ok(whole.id))
}

/// Notes whether the joined run, series or exploration is complete. Returns its counts and the
/// shards that lack units, of this number of shards.
pub fn finish(
    transaction: &Transaction<'_>,
    id: &str,
    of: NonZeroU32,
) -> Result<JoinedShards, Refusal> {
    let Some(whole) = run(transaction, id)? else {
        if let Some(info) = exploration::info(transaction, id)? {
            return finish_exploration(transaction, &info, of);
        }
        return finish_series(transaction, id, of);
    };
    let plan = whole.plan;
    let query = "SELECT cell_index FROM cell WHERE run = ?1";
    let recorded = all(transaction, query, &[id], only)?;
    let recorded: BTreeSet<u32> = recorded.into_iter().collect();
    let planned = plan.cells();
    let per_block = (plan.contenders.len() * plan.workloads.len()).max(1);
    let missing = missing(&recorded, planned, |index| {
        let block = index / u32::try_from(per_block).unwrap_or(u32::MAX);
        let cell = Cell {
            index,
            block,
            contender: 0,
            workload: 0,
        };
        plan.shard_of(&cell, of)
    });
    transaction.execute(
        "UPDATE run SET stop = ?2, ended_unix_ns =
            (SELECT max(started_unix_ns + took_ns) FROM cell WHERE run = ?1) WHERE id = ?1",
        params![id, missing.is_empty().then_some("complete")],
    )?;
    let counts = [recorded.len() as u64, planned];
    Ok(JoinedShards::of(id, Unit::Cell, counts, missing))
}

fn finish_series(
    transaction: &Transaction<'_>,
    id: &str,
    of: NonZeroU32,
) -> Result<JoinedShards, Refusal> {
    let recorded = power_cuts(transaction, id)?;
    let planned = info(transaction, id)?.map_or(0, |info| info.power_cuts());
    let missing = missing(&recorded, planned, |place| Shard::with(place, of));
    transaction.execute(
        "UPDATE series SET stop = ?2 WHERE id = ?1",
        params![id, missing.is_empty().then_some("complete")],
    )?;
    let counts = [recorded.len() as u64, planned];
    Ok(JoinedShards::of(id, Unit::PowerCut, counts, missing))
}

fn finish_exploration(
    transaction: &Transaction<'_>,
    whole: &ExplorationInfo,
    of: NonZeroU32,
) -> Result<JoinedShards, Refusal> {
    let recorded = exploration::units(transaction, &whole.id, "true")?;
    let missing: BTreeSet<Shard> = whole
        .units()
        .filter(|unit| !recorded.contains(unit))
        .map(|unit: ExplorationUnit| whole.shard_of(unit, of))
        .collect();
    // Without a missing program no budget ended it.
    transaction.execute(
        "UPDATE exploration SET
            stop = CASE WHEN ?2 THEN 'complete' WHEN stop = 'complete' THEN NULL ELSE stop END
         WHERE id = ?1",
        params![whole.id, missing.is_empty()],
    )?;
    let counts = [recorded.len() as u64, whole.programs()];
    Ok(JoinedShards::of(&whole.id, Unit::Program, counts, missing))
}

/// The shards of the units that are planned and not recorded.
fn missing(recorded: &BTreeSet<u32>, planned: u64, of: impl Fn(u32) -> Shard) -> BTreeSet<Shard> {
    let all = 0..u32::try_from(planned).unwrap_or(u32::MAX);
    all.filter(|unit| !recorded.contains(unit))
        .map(of)
        .collect()
}
