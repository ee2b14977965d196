//! Explorations of crash states: recorded program by program, and read back whole.

use crate::error::fault;
use crate::kept::{Kept as _, info, insert_part, place};
use crate::query::recorded;
use crate::row::{all, signed};
use crate::{Store, StoreError};
use fsdyno_model::{Exploration, ExplorationInfo, ExplorationUnit, ExploredProgram, StopReason};
use rusqlite::params;
use std::collections::BTreeSet;

/// An exploration without its programs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ExplorationSummary {
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended; none if it has not.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it has not.
    pub stop: Option<StopReason>,
    /// The labels of its contenders.
    pub contenders: Vec<String>,
    /// Recorded programs, each contender counted.
    pub programs_recorded: u64,
    /// Planned programs, each contender counted.
    pub programs_planned: u64,
    /// Checked states of the recorded programs that have an image of their own.
    pub states: u64,
    /// Signatures of violations, each contender counted. Extra promises and faults of a disk do not
    /// count.
    pub findings: u64,
}

impl Store {
    /// Gives an exploration an unused id, and records that it begins.
    pub fn begin_exploration(&mut self, info: &mut ExplorationInfo) -> Result<(), StoreError> {
        let mut whole = Exploration::whole(info.clone(), Vec::new());
        info.id = self.begin_as(&mut whole, Exploration::NAME)?;
        Ok(())
    }

    /// Records a program on a contender. It replaces the record of the same program if that one
    /// failed; another one is never replaced.
    pub fn record_program(
        &mut self,
        id: &str,
        program: &ExploredProgram,
    ) -> Result<(), StoreError> {
        let operation = format!("recording program {} of `{id}`", program.number);
        self.write_known(&operation, id, |transaction| {
            let Some(info) = info::<Exploration>(transaction, id)? else {
                return Ok(false);
            };
            let place = place::<Exploration>(&info, id, program)?;
            transaction.execute(
                "DELETE FROM part WHERE record = ?1 AND place = ?2
                    AND document ->> '$.failed' IS NOT NULL",
                params![id, signed(place)],
            )?;
            insert_part::<Exploration>(transaction, id, place, program)?;
            Ok(true)
        })
    }

    /// Records the end of an exploration: its time and reason.
    pub fn end_exploration(
        &mut self,
        id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        self.set_end::<Exploration>(id, Some((reason, at_unix_ns)))
    }

    /// Records that an ended exploration resumes.
    pub fn reopen_exploration(&mut self, id: &str) -> Result<(), StoreError> {
        self.set_end::<Exploration>(id, None)
    }

    /// All explorations, newest first.
    pub fn explorations(&self) -> Result<Vec<ExplorationSummary>, StoreError> {
        // A signature counts as that of its least form, if the first program with one has one.
        const QUERY: &str = "
            WITH found AS MATERIALIZED (
                SELECT record, part.document ->> '$.contender' AS contender,
                    part.document ->> '$.number' AS number, value ->> '$.signature' AS signature,
                    nullif(value ->> '$.minimal.signature', '') AS least,
                    value ->> '$.class' <> 'c5' AND value ->> '$.violation' <> 'extra' AS counts
                FROM part JOIN record AS its ON its.id = record AND its.kind = 'exploration',
                    json_each(part.document, '$.findings')
            ), minimal AS (
                SELECT record, contender, signature, least, min(number) FROM found
                WHERE least IS NOT NULL GROUP BY record, contender, signature
            ), counted AS (
                SELECT found.record, count(DISTINCT
                    found.contender || ' ' || coalesce(minimal.least, found.signature)) AS findings
                FROM found LEFT JOIN minimal USING (record, contender, signature) WHERE counts
                GROUP BY found.record
            )
            SELECT id, started_unix_ns, ended_unix_ns, stop,
                (SELECT json_group_array(value ->> '$.label')
                    FROM json_each(record.document, '$.contenders')),
                count(part.key), planned,
                coalesce(sum(part.document ->> '$.states.distinct'), 0), coalesce(findings, 0)
            FROM record LEFT JOIN part ON part.record = id LEFT JOIN counted ON counted.record = id
            WHERE kind = 'exploration'
            GROUP BY id
            ORDER BY started_unix_ns DESC, record.rowid DESC";
        all(&self.connection, QUERY, [], |fields| {
            Ok(ExplorationSummary {
                id: fields.take()?,
                started_unix_ns: fields.moment()?,
                ended_unix_ns: fields.moment_or_none()?,
                stop: fields.word_or_none()?,
                contenders: fields.json()?,
                programs_recorded: fields.number()?,
                programs_planned: fields.number()?,
                states: fields.number()?,
                findings: fields.number()?,
            })
        })
        .map_err(fault(&self.path, "listing the explorations"))
    }

    /// A whole exploration, read in one transaction.
    pub fn exploration(&self, id: &str) -> Result<Exploration, StoreError> {
        self.read_whole(id)
    }

    /// The recorded units of an exploration; a resumed one skips them. A program that failed is not
    /// among them: it is explored again.
    pub fn explored(&self, id: &str) -> Result<BTreeSet<ExplorationUnit>, StoreError> {
        let read = || {
            let Some(info) = info::<Exploration>(&self.connection, id)? else {
                return Ok(BTreeSet::new());
            };
            let explored = "document ->> '$.failed' IS NULL";
            let places = recorded::<Exploration>(&self.connection, id, explored)?;
            let contenders = info.contenders.len().max(1) as u64;
            let unit = |place: u64| {
                Some(ExplorationUnit {
                    number: (place / contenders).try_into().ok()?,
                    contender: (place % contenders).try_into().ok()?,
                })
            };
            Ok(places
                .unwrap_or_default()
                .into_iter()
                .filter_map(unit)
                .collect())
        };
        read().map_err(fault(&self.path, format!("reading the programs of `{id}`")))
    }
}
