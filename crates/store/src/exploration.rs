//! Explorations of crash states: recorded program by program, and read back whole.

use crate::error::{Refusal, fault};
use crate::resolve::{check_id, free_id};
use crate::row::{
    self, Fields, all, each, insert, json, json_or_none, one, path_text, place_of, signed,
};
use crate::{Store, StoreError};
use fsdyno_model::{
    Exploration, ExplorationInfo, ExplorationUnit, ExploredProgram, Finding, Nanos, ProgramCost,
    StateCounts, StopReason,
};
use rusqlite::{Connection, Transaction, params};
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
        let start = info.started_unix_ns;
        self.write("beginning an exploration", |transaction| {
            info.id = free_id(transaction, Exploration::NAME, start)?;
            insert_exploration(transaction, info)
        })
    }

    /// Records a program on a contender. It replaces the record of the same program if that one
    /// failed; another one is never replaced.
    pub fn record_program(
        &mut self,
        id: &str,
        program: &ExploredProgram,
    ) -> Result<(), StoreError> {
        let operation = format!("recording program {} of `{id}`", program.number);
        let known = self.write(&operation, |transaction| {
            let Some(info) = info(transaction, id)? else {
                return Ok(false);
            };
            insert_program(transaction, &info, program)?;
            Ok(true)
        })?;
        self.known_or_refused(known, id)
    }

    /// Records the end of an exploration: its time and reason.
    pub fn end_exploration(
        &mut self,
        id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        let operation = format!("writing the end of `{id}`");
        self.set_end("exploration", &operation, id, Some((reason, at_unix_ns)))
    }

    /// Records that an ended exploration resumes.
    pub fn reopen_exploration(&mut self, id: &str) -> Result<(), StoreError> {
        let operation = format!("writing the end of `{id}`");
        self.set_end("exploration", &operation, id, None)
    }

    /// All explorations, newest first.
    pub fn explorations(&self) -> Result<Vec<ExplorationSummary>, StoreError> {
        const QUERY: &str = "
            SELECT id,
                (SELECT count(*) FROM explored WHERE exploration = exploration.id),
                (SELECT coalesce(sum(distinct_states), 0) FROM explored
                    WHERE exploration = exploration.id),
                (SELECT count(DISTINCT contender || ' ' || coalesce(
                    (SELECT json_extract(least.minimal, '$.signature')
                        FROM finding AS least
                        WHERE least.exploration = finding.exploration
                            AND least.contender = finding.contender
                            AND least.signature = finding.signature
                            AND json_extract(least.minimal, '$.signature') <> ''
                        ORDER BY least.number LIMIT 1),
                    signature)) FROM finding
                    WHERE exploration = exploration.id AND class <> 'c5' AND violation <> 'extra')
            FROM exploration
            ORDER BY started_unix_ns DESC, rowid DESC";
        let read = || {
            let snapshot = self.connection.unchecked_transaction()?;
            let counted = all(&snapshot, QUERY, &[], |fields| {
                Ok((
                    fields.take::<String>()?,
                    fields.number()?,
                    fields.number()?,
                    fields.number()?,
                ))
            })?;
            let mut summaries = Vec::with_capacity(counted.len());
            for (id, programs_recorded, states, findings) in counted {
                let Some(info) = info(&snapshot, &id)? else {
                    continue;
                };
                summaries.push(ExplorationSummary {
                    programs_planned: info.programs(),
                    id,
                    started_unix_ns: info.started_unix_ns,
                    ended_unix_ns: info.ended_unix_ns,
                    stop: info.stop,
                    contenders: info.contenders.into_iter().map(|one| one.label).collect(),
                    programs_recorded,
                    states,
                    findings,
                });
            }
            Ok(summaries)
        };
        read().map_err(fault(&self.path, "listing the explorations"))
    }

    /// A whole exploration, read in one transaction.
    pub fn exploration(&self, id: &str) -> Result<Exploration, StoreError> {
        self.read_whole("exploration", id, |snapshot| exploration(snapshot, id))
    }

    /// The recorded units of an exploration; a resumed one skips them. A program that failed is not
    /// among them: it is explored again.
    pub fn explored(&self, id: &str) -> Result<BTreeSet<ExplorationUnit>, StoreError> {
        units(&self.connection, id, "failed IS NULL")
            .map_err(fault(&self.path, format!("reading the programs of `{id}`")))
    }
}

/// The recorded units of an exploration that fulfil a condition.
pub(crate) fn units(
    connection: &Connection,
    id: &str,
    condition: &str,
) -> rusqlite::Result<BTreeSet<ExplorationUnit>> {
    let query =
        format!("SELECT number, contender FROM explored WHERE exploration = ?1 AND {condition}");
    let units = all(connection, &query, &[id], |fields| {
        let number = fields.take()?;
        let contender = usize::try_from(fields.number()?).unwrap_or(usize::MAX);
        Ok(ExplorationUnit { number, contender })
    })?;
    Ok(units.into_iter().collect())
}

/// An exploration with its programs, within a transaction of the caller.
pub(crate) fn exploration(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<Exploration>> {
    let Some(info) = info(connection, id)? else {
        return Ok(None);
    };
    let query = format!(
        "SELECT {} FROM explored WHERE exploration = ?1 ORDER BY number, contender",
        row::EXPLORED
    );
    let mut programs = all(connection, &query, &[id], |fields| {
        read_program(fields, &info)
    })?;
    let query = format!(
        "SELECT {} FROM finding WHERE exploration = ?1 ORDER BY number, contender, place",
        row::FINDING
    );
    // Both lists have the same order.
    let mut next = 0;
    each(connection, &query, [id], |fields| {
        let _id: String = fields.take()?;
        let number: u32 = fields.take()?;
        let label = label(fields, &info)?;
        let _place: i64 = fields.take()?;
        let is_its = |one: &ExploredProgram| one.number == number && one.contender == label;
        while programs.get(next).is_some_and(|one| !is_its(one)) {
            next += 1;
        }
        let Some(program) = programs.get_mut(next) else {
            return Err(fields.unexpected("its program is not recorded".into()));
        };
        program.findings.push(read_finding(fields)?);
        Ok(())
    })?;
    Ok(Some(Exploration {
        schema: Exploration::SCHEMA,
        info,
        programs,
    }))
}

/// Inserts all rows of an exploration.
pub(crate) fn insert_whole(
    transaction: &Transaction<'_>,
    exploration: &Exploration,
) -> Result<(), Refusal> {
    insert_exploration(transaction, &exploration.info)?;
    for program in &exploration.programs {
        insert_program(transaction, &exploration.info, program)?;
    }
    Ok(())
}

pub(crate) fn insert_exploration(
    transaction: &Transaction<'_>,
    info: &ExplorationInfo,
) -> Result<(), Refusal> {
    check_id(&info.id)?;
    let work_dir = path_text("the directory of the images", &info.work_dir)?;
    let values = params![
        info.id,
        signed(info.started_unix_ns),
        info.ended_unix_ns.map(signed),
        info.stop.map(|reason| reason.to_string()),
        json("the contenders", &info.contenders)?,
        json("the search", &info.search)?,
        info.programs_planned,
        info.budget.map(|budget| signed(budget.0)),
        json_or_none("the shard", info.shard.as_ref())?,
        json("the size of guests", &info.guest)?,
        json("the model disk", &info.disk)?,
        work_dir,
        json("the provenance", &info.provenance)?,
        json("the argv", &info.command_line)?,
    ];
    insert(transaction, "exploration", row::EXPLORATION, values)?;
    Ok(())
}

/// Inserts a program with its findings, in place of its record that failed.
pub(crate) fn insert_program(
    transaction: &Transaction<'_>,
    info: &ExplorationInfo,
    program: &ExploredProgram,
) -> Result<(), Refusal> {
    let Some(unit) = info.unit(program) else {
        return Err(StoreError::Unstorable {
            what: "an explored program",
            why: format!(
                "`{}` has no program {} on `{}`",
                info.id, program.number, program.contender
            ),
        }
        .into());
    };
    let contender = place_of(unit.contender);
    transaction.execute(
        "DELETE FROM explored WHERE exploration = ?1 AND number = ?2 AND contender = ?3
            AND failed IS NOT NULL",
        params![info.id, unit.number, contender],
    )?;
    let ExploredProgram {
        states: counts,
        cost,
        ..
    } = program;
    let values = params![
        info.id,
        unit.number,
        contender,
        program.program,
        json("the kinds of operations", &program.kinds)?,
        program.guest,
        program.failed,
        signed(counts.windows),
        signed(counts.skipped_windows),
        json("the states by class", &counts.classes)?,
        signed(counts.distinct),
        signed(counts.recovered),
        signed(counts.equivalent),
        signed(counts.nested),
        signed(counts.nested_checks),
        signed(counts.trees),
        signed(cost.operations),
        signed(cost.took_ns.0),
        signed(cost.flushes),
        signed(cost.bytes_written),
        signed(cost.bytes_requested),
    ];
    insert(transaction, "explored", row::EXPLORED, values)?;
    for (place, finding) in program.findings.iter().enumerate() {
        let values = params![
            info.id,
            unit.number,
            contender,
            place_of(place),
            finding.signature,
            finding.violation.name(),
            finding.class.name().to_lowercase(),
            finding.message,
            finding.state,
            signed(finding.count),
            json_or_none("the least that shows a finding", finding.minimal.as_ref())?,
            json("the messages of the kernel", &finding.kernel)?,
            finding.checker,
        ];
        insert(transaction, "finding", row::FINDING, values)?;
    }
    Ok(())
}

pub(crate) fn info(connection: &Connection, id: &str) -> rusqlite::Result<Option<ExplorationInfo>> {
    let query = format!("SELECT {} FROM exploration WHERE id = ?1", row::EXPLORATION);
    one(connection, &query, [id], |fields| {
        // Struct fields are read in the order written here, which is that of `row::EXPLORATION`.
        Ok(ExplorationInfo {
            id: fields.take()?,
            started_unix_ns: fields.moment()?,
            ended_unix_ns: fields.moment_or_none()?,
            stop: fields.word_or_none()?,
            contenders: fields.json()?,
            search: fields.json()?,
            programs_planned: fields.take()?,
            budget: fields.number_or_none()?.map(Nanos),
            shard: fields.json_or_none()?,
            guest: fields.json()?,
            disk: fields.json()?,
            work_dir: fields.take::<String>()?.into(),
            provenance: fields.json()?,
            command_line: fields.json()?,
        })
    })
}

/// The label of the contender whose index is the next column.
fn label(fields: &mut Fields<'_>, info: &ExplorationInfo) -> rusqlite::Result<String> {
    let contender = fields.contender(&info.contenders, "exploration")?;
    Ok(contender.label.clone())
}

fn read_program(
    fields: &mut Fields<'_>,
    info: &ExplorationInfo,
) -> rusqlite::Result<ExploredProgram> {
    let _id: String = fields.take()?;
    // Struct fields are read in the order written here, which is that of `row::EXPLORED`.
    Ok(ExploredProgram {
        number: fields.take()?,
        contender: label(fields, info)?,
        program: fields.take()?,
        kinds: fields.json()?,
        guest: fields.take()?,
        failed: fields.take()?,
        states: StateCounts {
            windows: fields.number()?,
            skipped_windows: fields.number()?,
            classes: fields.json()?,
            distinct: fields.number()?,
            recovered: fields.number()?,
            equivalent: fields.number()?,
            nested: fields.number()?,
            nested_checks: fields.number()?,
            trees: fields.number()?,
        },
        cost: ProgramCost {
            operations: fields.number()?,
            took_ns: fields.nanos()?,
            flushes: fields.number()?,
            bytes_written: fields.number()?,
            bytes_requested: fields.number()?,
        },
        findings: Vec::new(),
    })
}

/// The columns of a finding after its key.
fn read_finding(fields: &mut Fields<'_>) -> rusqlite::Result<Finding> {
    Ok(Finding {
        signature: fields.take()?,
        violation: fields.word()?,
        class: fields.word()?,
        message: fields.take()?,
        state: fields.take()?,
        count: fields.number()?,
        minimal: fields.json_or_none()?,
        kernel: fields.json()?,
        checker: fields.take()?,
    })
}
