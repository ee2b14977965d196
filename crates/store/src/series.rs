//! Series of power cuts: recorded one by one, and read back whole.

use crate::error::fault;
use crate::kept::Kept as _;
use crate::row::all;
use crate::{Store, StoreError};
use fsdyno_model::{PowerCut, Series, SeriesInfo, StopReason};

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
    /// Whether the power was cut during usual work.
    #[serde(skip)]
    pub has_activities: bool,
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
        let mut whole = Series::whole(info.clone(), Vec::new());
        info.id = self.begin_as(&mut whole, Series::NAME)?;
        Ok(())
    }

    /// Records a power cut. It is recorded only once.
    pub fn record_power_cut(&mut self, id: &str, power_cut: &PowerCut) -> Result<(), StoreError> {
        self.record_part::<Series>(id, power_cut)
    }

    /// Records the end of a series: its time and reason.
    pub fn end_series(
        &mut self,
        id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        self.set_end::<Series>(id, Some((reason, at_unix_ns)))
    }

    /// All series, newest first.
    pub fn series(&self) -> Result<Vec<SeriesSummary>, StoreError> {
        const QUERY: &str = "
            SELECT id, started_unix_ns, ended_unix_ns, stop,
                (SELECT json_group_array(value ->> '$.label')
                    FROM json_each(record.document, '$.contenders')),
                record.document ->> '$.activities' IS NOT NULL,
                count(part.key), planned,
                count(part.key) FILTER (WHERE coalesce((SELECT sum(value) FROM
                    json_each(part.document, '$.recovery.judgement.lost')) > 0,
                    part.document ->> '$.recovery.judgement' IS NULL))
            FROM record LEFT JOIN part ON part.record = id
            WHERE kind = 'series'
            GROUP BY id
            ORDER BY started_unix_ns DESC, record.rowid DESC";
        all(&self.connection, QUERY, [], |fields| {
            Ok(SeriesSummary {
                id: fields.take()?,
                started_unix_ns: fields.moment()?,
                ended_unix_ns: fields.moment_or_none()?,
                stop: fields.word_or_none()?,
                contenders: fields.json()?,
                has_activities: fields.take()?,
                power_cuts_recorded: fields.number()?,
                power_cuts_planned: fields.number()?,
                losing: fields.number()?,
            })
        })
        .map_err(fault(&self.path, "listing the series"))
    }

    /// A whole series, read in one transaction.
    pub fn load_series(&self, id: &str) -> Result<Series, StoreError> {
        self.read_whole(id)
    }
}
