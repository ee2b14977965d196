//! Reads whole runs, and lists runs.

use crate::error::fault;
use crate::kept::{Kept, each, exists, info, read};
use crate::row::{Fields, all, only};
use crate::{Store, StoreError};
use fsdyno_model::{CellRecord, Nanos, ResultSet, RunInfo, StopReason};
use rusqlite::{Connection, Transaction};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// What is read of the cells of a run: their commands, timelines, histograms and profiles are most
/// of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    All,
    /// All figures: no commands, no timelines, and no profiles.
    Latencies,
    /// Figures: no latencies either, unless a phase is judged by them.
    Figures,
}

/// A run in a list of runs.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct RunSummary {
    pub id: String,
    /// The suite or the user's name for its plan.
    pub name: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended; none if it has not.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it has not.
    pub stop: Option<StopReason>,
    /// Whether a process works on it. A run that has no end and is not running
    /// was killed, or could not write to its store.
    pub running: bool,
    /// The tags that its user gave it, sorted.
    pub tags: Vec<String>,
    /// The labels of its contenders, the baseline first.
    pub contenders: Vec<String>,
    /// Recorded cells, with any outcome.
    pub cells_recorded: u64,
    /// Cells of the whole plan.
    pub cells_planned: u64,
    /// Cells that failed.
    pub failed: u64,
    /// Cells that were skipped.
    pub skipped: u64,
    /// The duration: the sum of the times of its recorded cells. Pauses between an interruption and
    /// `--resume`, and unrecorded work of a killed session, do not count.
    pub took_ns: Nanos,
}

/// A run that is read cell by cell, because all of them may not fit into memory. It is read in one
/// transaction: another process may be writing to it.
#[derive(Debug)]
pub struct Reading<'a> {
    store: &'a Store,
    snapshot: Transaction<'a>,
    run: RunInfo,
}

impl Reading<'_> {
    /// The run without its cells.
    pub fn run(&self) -> &RunInfo {
        &self.run
    }

    /// Gives each recorded cell in this detail to a function, by index, until that breaks off.
    pub fn cells(
        &self,
        detail: Detail,
        take: impl FnMut(CellRecord) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let of = (self.run.id.as_str(), &self.run);
        let read = each::<ResultSet>(&self.snapshot, of, detail, take);
        read.map_err(fault(
            &self.store.path,
            format!("reading run `{}`", self.run.id),
        ))
    }
}

impl Store {
    /// All runs, newest first, without variants of others.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        const QUERY: &str = "
            SELECT id, record.document ->> '$.plan.name', started_unix_ns, ended_unix_ns, stop,
                (SELECT json_group_array(tag)
                    FROM (SELECT tag FROM tag WHERE run = record.id ORDER BY tag)),
                (SELECT json_group_array(value ->> '$.label')
                    FROM json_each(record.document, '$.plan.contenders')),
                count(part.key), planned,
                count(part.key) FILTER (WHERE part.outcome = 'failed'),
                count(part.key) FILTER (WHERE part.outcome = 'skipped'),
                coalesce(sum(part.took_ns), 0)
            FROM record LEFT JOIN part ON part.record = id
            WHERE kind = 'run' AND varies IS NULL
            GROUP BY id
            ORDER BY started_unix_ns DESC, record.rowid DESC";
        all(&self.connection, QUERY, [], |fields| {
            let id: String = fields.take()?;
            let (name, started_unix_ns) = (fields.take()?, fields.moment()?);
            let (ended_unix_ns, stop) = (fields.moment_or_none()?, fields.word_or_none()?);
            Ok(RunSummary {
                running: ended_unix_ns.is_none() && self.is_claimed(&id),
                id,
                name,
                started_unix_ns,
                ended_unix_ns,
                stop,
                tags: fields.json()?,
                contenders: fields.json()?,
                cells_recorded: fields.number()?,
                cells_planned: fields.number()?,
                failed: fields.number()?,
                skipped: fields.number()?,
                took_ns: fields.nanos()?,
            })
        })
        .map_err(fault(&self.path, "listing the runs"))
    }

    /// The tags of a run, sorted.
    pub fn tags(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let query = "SELECT tag FROM tag WHERE run = ?1 ORDER BY tag";
        all(&self.connection, query, [id], only)
            .map_err(fault(&self.path, format!("reading the tags of run `{id}`")))
    }

    /// A whole run, read in one transaction: another process may be writing to it.
    pub fn load(&self, id: &str) -> Result<ResultSet, StoreError> {
        self.load_in(Detail::All, id)
    }

    /// A run, to read it cell by cell.
    pub fn reading(&self, id: &str) -> Result<Reading<'_>, StoreError> {
        let failed = || fault(&self.path, format!("reading run `{id}`"));
        let snapshot = self.connection.unchecked_transaction().map_err(failed())?;
        let run = info::<ResultSet>(&snapshot, id).map_err(failed())?;
        Ok(Reading {
            run: run.ok_or_else(|| self.no_such_run(id))?,
            store: self,
            snapshot,
        })
    }

    /// A run with cells in this detail.
    pub fn load_in(&self, detail: Detail, id: &str) -> Result<ResultSet, StoreError> {
        self.read_in(detail, id)
    }

    /// A run with cells in this detail, and with its variants.
    pub fn load_with_variants(&self, detail: Detail, id: &str) -> Result<ResultSet, StoreError> {
        let mut set = self.load_in(detail, id)?;
        set.variants = self.variants(id)?;
        Ok(set)
    }

    /// The variants of a run, in the order in which they began.
    pub fn variants(&self, id: &str) -> Result<Vec<ResultSet>, StoreError> {
        self.load_where("varies = ?1", id)
    }

    /// The runs of an advice, by the name of the first one, in the order in which they began.
    pub fn runs_of_advice(&self, first: &str) -> Result<Vec<ResultSet>, StoreError> {
        self.load_where("id = ?1 OR advice = ?1", first)
    }

    /// The runs for which a condition on `?1` holds, in the order in which they began.
    fn load_where(&self, condition: &str, id: &str) -> Result<Vec<ResultSet>, StoreError> {
        let query = format!(
            "SELECT id FROM record WHERE kind = 'run' AND ({condition})
             ORDER BY started_unix_ns, rowid"
        );
        let what = format!("looking for the runs of `{id}`");
        let ids: Vec<String> =
            all(&self.connection, &query, [id], only).map_err(fault(&self.path, what))?;
        ids.iter().map(|id| self.load(id)).collect()
    }

    /// Reads a run, a series or an exploration in one transaction.
    pub(crate) fn read_whole<R: Kept>(&self, id: &str) -> Result<R, StoreError> {
        self.read_in(Detail::All, id)
    }

    fn read_in<R: Kept>(&self, detail: Detail, id: &str) -> Result<R, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        snapshot
            .and_then(|snapshot| read(&snapshot, id, detail))
            .map_err(fault(&self.path, format!("reading {} `{id}`", R::KIND)))?
            .ok_or_else(|| self.no_such_run(id))
    }

    /// The indices of the recorded cells; a resumed run skips them.
    pub fn recorded(&self, id: &str) -> Result<BTreeSet<u32>, StoreError> {
        let places = recorded::<ResultSet>(&self.connection, id, "TRUE");
        let places = places.map_err(fault(
            &self.path,
            format!("reading the cells of run `{id}`"),
        ))?;
        let places = places.ok_or_else(|| self.no_such_run(id))?;
        Ok(places
            .into_iter()
            .filter_map(|one| one.try_into().ok())
            .collect())
    }
}

/// The places of the recorded parts of a record that fulfil a condition.
pub(crate) fn recorded<R: Kept>(
    connection: &Connection,
    id: &str,
    condition: &str,
) -> rusqlite::Result<Option<Vec<u64>>> {
    if !exists::<R>(connection, id)? {
        return Ok(None);
    }
    let query = format!("SELECT place FROM part WHERE record = ?1 AND {condition}");
    let read = |fields: &mut Fields<'_>| fields.number();
    all(connection, &query, [id], read).map(Some)
}
