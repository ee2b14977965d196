//! Writes and reads records with their parts, each part one document.

use crate::document::{LARGEST, Reader, at, document, parse, refused};
use crate::error::Refusal;
use crate::join::Record;
use crate::resolve::check_id;
use crate::row::signed;
use crate::{Detail, StoreError};
use fsdyno_model::profile::Profile;
use fsdyno_model::{
    CellRecord, Exploration, ExplorationInfo, ExploredProgram, FaultTest, FaultTests,
    FaultTestsInfo, FigureName, LatencyDistribution, PowerCut, ResultSet, RunInfo, Sample, Series,
    SeriesInfo,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::ControlFlow;

/// A kind of record that a store keeps.
pub(crate) trait Kept: Record {
    /// The name of the kind, and that of a part.
    const KIND: &'static str;
    const PART: &'static str;
    /// A record without its parts.
    type Info: Serialize + DeserializeOwned + PartialEq;

    fn info(&self) -> &Self::Info;
    fn whole(info: Self::Info, parts: Vec<Self::Part>) -> Self;
    /// The position of a part among those of its record; none if its record has no such part.
    fn position(info: &Self::Info, part: &Self::Part) -> Option<u64>;
    /// Names a part in an error.
    fn name(part: &Self::Part) -> String;
    /// The SQL of the document of a part in this detail.
    fn document(_info: &Self::Info, _detail: Detail) -> String {
        "document".to_owned()
    }
    /// An error if a record is none that fsdyno writes.
    fn check_info(_info: &Self::Info) -> Result<(), String> {
        Ok(())
    }
    /// An error if a part is none that fsdyno writes. `operations` is what the operations of its
    /// histograms add up to, those of the parts before it included.
    fn check(_info: &Self::Info, _part: &Self::Part, _operations: &mut u64) -> Result<(), String> {
        Ok(())
    }
}

/// Inserts a record with its parts.
pub(crate) fn insert<R: Kept>(
    transaction: &Transaction<'_>,
    record: &mut R,
) -> Result<(), Refusal> {
    let id = record.heading().id.clone();
    check_id(&id)?;
    let document = document(R::KIND, record.info())?;
    let values = params![id, R::KIND, signed(record.planned()), document];
    let inserted = transaction
        .prepare("INSERT INTO record (id, kind, planned, document) VALUES (?, ?, ?, ?)")?
        .execute(values);
    if let Err(error) = inserted {
        let refused = error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation);
        if refused && crate::resolve::is_taken(transaction, &id)? {
            return Err(StoreError::RunExists { id }.into());
        }
        return Err(error.into());
    }
    for part in std::mem::take(record.parts()) {
        let place = place::<R>(record.info(), &id, &part)?;
        insert_part::<R>(transaction, &id, place, &part)?;
    }
    Ok(())
}

/// The position of a part; an error if its record has no such part.
pub(crate) fn place<R: Kept>(info: &R::Info, id: &str, part: &R::Part) -> Result<u64, StoreError> {
    R::position(info, part).ok_or_else(|| StoreError::Unstorable {
        what: "a part of a record",
        why: format!("`{id}` has no {}", R::name(part)),
    })
}

/// Inserts a part of a record.
pub(crate) fn insert_part<R: Kept>(
    transaction: &Transaction<'_>,
    id: &str,
    place: u64,
    part: &R::Part,
) -> Result<(), Refusal> {
    let recorded = transaction
        .prepare("SELECT 1 FROM part WHERE record = ?1 AND place = ?2")?
        .exists(params![id, signed(place)])?;
    if recorded {
        return Err(StoreError::PartRecorded {
            part: R::name(part),
            id: id.to_owned(),
        }
        .into());
    }
    let document = document("a part of a record", part)?;
    transaction
        .prepare("INSERT INTO part (record, place, document) VALUES (?, ?, ?)")?
        .execute(params![id, signed(place), document])?;
    Ok(())
}

/// Changes a record without its parts. Whether the store has it.
pub(crate) fn change<R: Kept>(
    transaction: &Transaction<'_>,
    id: &str,
    change: impl FnOnce(&mut R),
) -> Result<bool, Refusal> {
    let Some(info) = info::<R>(transaction, id)? else {
        return Ok(false);
    };
    let mut record = R::whole(info, Vec::new());
    change(&mut record);
    let document = document(R::KIND, record.info())?;
    transaction.execute(
        "UPDATE record SET planned = ?2, document = ?3 WHERE id = ?1",
        params![id, signed(record.planned()), document],
    )?;
    Ok(true)
}

/// Whether the store has a record of this kind.
pub(crate) fn exists<R: Kept>(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection
        .prepare("SELECT 1 FROM record WHERE id = ?1 AND kind = ?2")?
        .exists([id, R::KIND])
}

/// A record without its parts.
pub(crate) fn info<R: Kept>(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<R::Info>> {
    let text: Option<String> = connection
        .prepare("SELECT document FROM record WHERE id = ?1 AND kind = ?2")?
        .query_row([id, R::KIND], |row| row.get(0))
        .optional()?;
    let Some(text) = text else {
        return Ok(None);
    };
    let info = parse(&text)?;
    R::check_info(&info).map_err(refused)?;
    Ok(Some(info))
}

/// A record with its parts in this detail, within a transaction of the caller.
pub(crate) fn read<R: Kept>(
    connection: &Connection,
    id: &str,
    detail: Detail,
) -> rusqlite::Result<Option<R>> {
    let Some(info) = info::<R>(connection, id)? else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    each::<R>(connection, (id, &info), detail, |part| {
        parts.push(part);
        ControlFlow::Continue(())
    })?;
    Ok(Some(R::whole(info, parts)))
}

/// Gives each part of a record in this detail to a function, in their order, until that breaks off.
pub(crate) fn each<R: Kept>(
    connection: &Connection,
    (id, info): (&str, &R::Info),
    detail: Detail,
    mut take: impl FnMut(R::Part) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let document = R::document(info, detail);
    let query = format!("SELECT place, {document} FROM part WHERE record = ?1 ORDER BY place");
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query([id])?;
    let mut reader = Reader::default();
    let mut operations = 0;
    while let Some(row) = rows.next()? {
        let (place, text): (i64, _) = (row.get(0)?, row.get_ref(1)?.as_str()?);
        let located = |error| at(&format!("{} {place}", R::PART), error);
        let part = reader.read(text).map_err(located)?;
        let checked = match R::position(info, &part).map(signed) {
            Some(position) if position == place => R::check(info, &part, &mut operations),
            _ => Err("its place is another one".to_owned()),
        };
        checked.map_err(|why| located(refused(why)))?;
        if take(part).is_break() {
            break;
        }
    }
    Ok(())
}

impl Kept for ResultSet {
    const KIND: &'static str = "run";
    const PART: &'static str = "cell";
    type Info = RunInfo;

    fn info(&self) -> &RunInfo {
        &self.run
    }

    fn whole(run: RunInfo, cells: Vec<CellRecord>) -> Self {
        Self {
            schema: Self::SCHEMA,
            run,
            cells,
            variants: Vec::new(),
        }
    }

    fn position(_: &RunInfo, record: &CellRecord) -> Option<u64> {
        Some(record.cell.index.into())
    }

    fn name(record: &CellRecord) -> String {
        format!("cell {}", record.cell.index)
    }

    /// `SQLite` removes lists much faster than they are parsed.
    fn document(run: &RunInfo, detail: Detail) -> String {
        let whole = "document".to_owned();
        if detail == Detail::All {
            return whole;
        }
        let workloads = &run.plan.workloads;
        let judged = workloads.iter().flat_map(|workload| &workload.phases);
        let judged = judged.filter_map(|phase| phase.judge.as_ref());
        let mut judged = judged.chain(run.plan.decides.iter().map(|one| &one.figure));
        let latencies = detail == Detail::Latencies || judged.any(FigureName::is_latency);
        let phases = workloads.iter().map(|workload| workload.phases.len());
        let without_commands = format!("json_set({whole}, '$.commands', json('[]'))");
        (0..phases.max().unwrap_or(0)).fold(without_commands, |document, at| {
            let sample = format!("$.samples[{at}]");
            let latencies = if latencies {
                String::new()
            } else {
                format!(", '{sample}.latencies'")
            };
            format!("json_remove({document}, '{sample}.progress', '{sample}.profile'{latencies})")
        })
    }

    /// The ranges that `run` accepts.
    fn check_info(run: &RunInfo) -> Result<(), String> {
        let plan = &run.plan;
        let part = |number: f64| (0.0..=1000.0).contains(&number);
        let precise = plan
            .adaptive
            .is_none_or(|adaptive| part(adaptive.precision));
        let scale = plan.scale.is_finite() && plan.scale >= 0.0;
        if plan.contenders.is_empty() {
            return Err("plan: it has no contender".to_owned());
        }
        if !(scale && part(plan.margin) && precise) {
            return Err("plan: its scale, margin or precision is out of range".to_owned());
        }
        Ok(())
    }

    /// Contender, workload and phase are indices of lists of the plan.
    fn check(run: &RunInfo, record: &CellRecord, operations: &mut u64) -> Result<(), String> {
        let CellRecord { cell, samples, .. } = record;
        let missing = |what: &str| Err(format!("the plan has no such {what}"));
        if run.plan.contenders.get(cell.contender as usize).is_none() {
            return missing("contender");
        }
        let Some(workload) = run.plan.workloads.get(cell.workload as usize) else {
            return missing("workload");
        };
        let is_missing = |sample: &Sample| workload.phases.get(sample.phase as usize).is_none();
        if samples.iter().any(is_missing) {
            return missing("phase");
        }
        let mut profiles = samples.iter().filter_map(|sample| sample.profile.as_ref());
        profiles.try_for_each(Profile::check)?;
        let mut latencies = samples.iter().flat_map(|sample| &sample.latencies);
        latencies.try_for_each(|one| check_latencies(one, operations))
    }
}

fn check_latencies(latencies: &LatencyDistribution, operations: &mut u64) -> Result<(), String> {
    let LatencyDistribution {
        min_ns,
        max_ns,
        buckets,
        ..
    } = latencies;
    if min_ns > max_ns {
        return Err(format!(
            "max_ns: {max_ns} is below min_ns, which is {min_ns}"
        ));
    }
    for (_, count) in buckets {
        *operations = operations.saturating_add(*count);
    }
    let ascends = buckets.is_sorted_by(|(one, _), (next, _)| one < next);
    if !ascends || buckets.last().is_some_and(|(end, _)| *end > LARGEST) || *operations > LARGEST {
        return Err(
            "buckets: they do not ascend to an end, or have too many operations".to_owned(),
        );
    }
    Ok(())
}

impl Kept for Series {
    const KIND: &'static str = "series";
    const PART: &'static str = "power cut";
    type Info = SeriesInfo;

    fn info(&self) -> &SeriesInfo {
        &self.info
    }

    fn whole(info: SeriesInfo, power_cuts: Vec<PowerCut>) -> Self {
        Self {
            schema: Self::SCHEMA,
            info,
            power_cuts,
        }
    }

    fn position(info: &SeriesInfo, power_cut: &PowerCut) -> Option<u64> {
        info.place(power_cut).map(u64::from)
    }

    fn name(power_cut: &PowerCut) -> String {
        format!(
            "power cut {} on `{}`",
            power_cut.number, power_cut.contender
        )
    }
}

impl Kept for Exploration {
    const KIND: &'static str = "exploration";
    const PART: &'static str = "program";
    type Info = ExplorationInfo;

    fn info(&self) -> &ExplorationInfo {
        &self.info
    }

    fn whole(info: ExplorationInfo, programs: Vec<ExploredProgram>) -> Self {
        Self {
            schema: Self::SCHEMA,
            info,
            programs,
        }
    }

    fn position(info: &ExplorationInfo, program: &ExploredProgram) -> Option<u64> {
        info.place(program)
    }

    fn name(program: &ExploredProgram) -> String {
        format!("program {} on `{}`", program.number, program.contender)
    }
}

impl Kept for FaultTests {
    const KIND: &'static str = "fault-tests";
    const PART: &'static str = "tested contender";
    type Info = FaultTestsInfo;

    fn info(&self) -> &FaultTestsInfo {
        &self.info
    }

    fn whole(info: FaultTestsInfo, tests: Vec<FaultTest>) -> Self {
        Self {
            schema: Self::SCHEMA,
            info,
            tests,
        }
    }

    fn position(info: &FaultTestsInfo, test: &FaultTest) -> Option<u64> {
        info.place(test)
    }

    fn name(test: &FaultTest) -> String {
        format!("test of `{}`", test.contender)
    }
}
