//! Series of power cuts: recorded one by one, and read back whole.

use crate::error::{Refusal, fault};
use crate::resolve::{check_id, free_id};
use crate::row::{self, Fields, all, insert, json, json_or_none, one, path_text, signed};
use crate::{Store, StoreError};
use fsdyno_model::{
    Contender, Judgement, PowerCut, Recovery, Series, SeriesInfo, Shard, StopReason,
};
use rusqlite::{Connection, Transaction, params};

/// A series without its power cuts.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SeriesSummary {
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended; none if it has not.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it has not.
    pub stop: Option<StopReason>,
    /// The labels of its contenders.
    pub contenders: Vec<String>,
    /// Recorded power cuts of all contenders.
    pub power_cuts_recorded: u64,
    /// Planned power cuts of the whole series.
    pub power_cuts_planned: u64,
    /// Power cuts that lost acknowledged data, or after which the file system could not be mounted.
    pub losing: u64,
}

impl Store {
    /// Gives a series an unused id, and records that it begins.
    pub fn begin_series(&mut self, info: &mut SeriesInfo) -> Result<(), StoreError> {
        let start = info.started_unix_ns;
        self.write("beginning a series", |transaction| {
            info.id = free_id(transaction, Series::NAME, start)?;
            insert_series(transaction, info)
        })
    }

    /// Records a power cut, after those recorded before.
    pub fn record_power_cut(&mut self, id: &str, power_cut: &PowerCut) -> Result<(), StoreError> {
        let operation = format!("recording a power cut of series `{id}`");
        let known = self.write(&operation, |transaction| {
            let Some(info) = info(transaction, id)? else {
                return Ok(false);
            };
            let place: u64 = transaction
                .prepare_cached("SELECT count(*) FROM cut WHERE series = ?1")?
                .query_row([id], |row| row.get::<_, i64>(0))?
                .cast_unsigned();
            insert_power_cut(transaction, &info, place, power_cut)?;
            Ok::<_, Refusal>(true)
        })?;
        self.known_or_refused(known, id)
    }

    /// Records the end of a series: its time and reason.
    pub fn end_series(
        &mut self,
        id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        let operation = format!("ending series `{id}`");
        self.set_end("series", &operation, id, Some((reason, at_unix_ns)))
    }

    /// All series, newest first.
    pub fn series(&self) -> Result<Vec<SeriesSummary>, StoreError> {
        const QUERY: &str = "
            SELECT series.id, started_unix_ns, ended_unix_ns, stop,
                (SELECT json_group_array(json_extract(value, '$.label'))
                    FROM json_each(contenders)),
                count(cut.place), cuts_planned * json_array_length(contenders), shard,
                count(cut.place) FILTER (WHERE lost_files IS NULL OR lost_files > 0)
            FROM series LEFT JOIN cut ON cut.series = series.id
            GROUP BY series.id
            ORDER BY started_unix_ns DESC, series.rowid DESC";
        all(&self.connection, QUERY, &[], |fields| {
            Ok(SeriesSummary {
                id: fields.take()?,
                started_unix_ns: fields.moment()?,
                ended_unix_ns: fields.moment_or_none()?,
                stop: fields.word_or_none()?,
                contenders: fields.json()?,
                power_cuts_recorded: fields.number()?,
                power_cuts_planned: {
                    let (all, shard) = (fields.number()?, fields.json_or_none::<Shard>()?);
                    shard.map_or(all, |shard| shard.share(all))
                },
                losing: fields.number()?,
            })
        })
        .map_err(fault(&self.path, "listing the series"))
    }

    /// A whole series, read in one transaction.
    pub fn load_series(&self, id: &str) -> Result<Series, StoreError> {
        self.read_whole("series", id, |snapshot| series(snapshot, id))
    }
}

/// A series with its power cuts, within a transaction of the caller.
pub(crate) fn series(connection: &Connection, id: &str) -> rusqlite::Result<Option<Series>> {
    let Some(info) = info(connection, id)? else {
        return Ok(None);
    };
    let query = format!(
        "SELECT {} FROM cut WHERE series = ?1 ORDER BY place",
        row::POWER_CUT
    );
    let power_cuts = all(connection, &query, &[id], |fields| {
        read_power_cut(fields, &info.contenders)
    })?;
    Ok(Some(Series {
        schema: Series::SCHEMA,
        info,
        power_cuts,
    }))
}

/// Inserts all rows of a series.
pub(crate) fn insert_whole(transaction: &Transaction<'_>, series: &Series) -> Result<(), Refusal> {
    insert_series(transaction, &series.info)?;
    for (place, power_cut) in (0..).zip(&series.power_cuts) {
        insert_power_cut(transaction, &series.info, place, power_cut)?;
    }
    Ok(())
}

pub(crate) fn insert_series(
    transaction: &Transaction<'_>,
    info: &SeriesInfo,
) -> Result<(), Refusal> {
    check_id(&info.id)?;
    let work_dir = path_text("the directory of the images", &info.work_dir)?;
    let values = params![
        info.id,
        signed(info.started_unix_ns),
        info.ended_unix_ns.map(signed),
        info.stop.map(|reason| reason.to_string()),
        info.power_cuts_planned,
        signed(info.seed),
        json("the size of guests", &info.guest)?,
        work_dir,
        json("the contenders", &info.contenders)?,
        json("the provenance", &info.provenance)?,
        json("the argv", &info.command_line)?,
        json_or_none("the model disk", info.disk.as_ref())?,
        json_or_none("the shard", info.shard.as_ref())?,
    ];
    insert(transaction, "series", row::SERIES, values)?;
    Ok(())
}

pub(crate) fn insert_power_cut(
    transaction: &Transaction<'_>,
    info: &SeriesInfo,
    place: u64,
    power_cut: &PowerCut,
) -> Result<(), Refusal> {
    let mut contenders = info.contenders.iter();
    let contender = contenders.position(|one| one.label == power_cut.contender);
    let contender = contender.ok_or_else(|| StoreError::Unstorable {
        what: "a power cut",
        why: format!("its series has no contender `{}`", power_cut.contender),
    })?;
    let Recovery {
        took_ns,
        corrected_by,
        refused,
        beyond_repair,
        judgement,
        before_check,
        clean,
        found,
    } = &power_cut.recovery;
    let judged = |judgement: &Option<Judgement>| json_or_none("a judgement", judgement.as_ref());
    let lost = judgement.as_ref().map(|one| signed(one.losses()));
    let values = params![
        info.id,
        signed(place),
        signed(contender as u64),
        power_cut.number,
        signed(power_cut.seed),
        power_cut.guest,
        signed(power_cut.after_ns.0),
        signed(power_cut.acknowledged),
        signed(took_ns.0),
        corrected_by,
        refused,
        beyond_repair,
        clean,
        found,
        lost,
        judged(judgement)?,
        judged(before_check)?,
        json("the paths of images", &power_cut.images)?,
        json_or_none("what a disk lost", power_cut.disk.as_ref())?,
    ];
    insert(transaction, "cut", row::POWER_CUT, values)?;
    Ok(())
}

pub(crate) fn info(connection: &Connection, id: &str) -> rusqlite::Result<Option<SeriesInfo>> {
    let query = format!("SELECT {} FROM series WHERE id = ?1", row::SERIES);
    one(connection, &query, [id], |fields| {
        Ok(SeriesInfo {
            id: fields.take()?,
            started_unix_ns: fields.moment()?,
            ended_unix_ns: fields.moment_or_none()?,
            stop: fields.word_or_none()?,
            power_cuts_planned: fields.take()?,
            seed: fields.seed()?,
            guest: fields.json()?,
            work_dir: fields.take::<String>()?.into(),
            contenders: fields.json()?,
            provenance: fields.json()?,
            command_line: fields.json()?,
            disk: fields.json_or_none()?,
            shard: fields.json_or_none()?,
        })
    })
}

fn read_power_cut(fields: &mut Fields<'_>, contenders: &[Contender]) -> rusqlite::Result<PowerCut> {
    let (_series, _place): (String, i64) = (fields.take()?, fields.take()?);
    // Struct fields are read in the order written here, which is that of `row::POWER_CUT`.
    Ok(PowerCut {
        contender: fields.contender(contenders, "series")?.label.clone(),
        number: fields.take()?,
        seed: fields.seed()?,
        guest: fields.take()?,
        after_ns: fields.nanos()?,
        acknowledged: fields.number()?,
        recovery: Recovery {
            took_ns: fields.nanos()?,
            corrected_by: fields.take()?,
            refused: fields.take()?,
            beyond_repair: fields.take()?,
            clean: fields.take()?,
            found: fields.take()?,
            judgement: {
                let _lost: Option<i64> = fields.take()?;
                fields.json_or_none()?
            },
            before_check: fields.json_or_none()?,
        },
        images: fields.json()?,
        disk: fields.json_or_none()?,
    })
}
