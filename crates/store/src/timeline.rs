//! Reads and writes the rows of `latency` and `progress`. Lists that are only read whole are one
//! JSON column.

use crate::error::Refusal;
use crate::row::{self, Fields, insert, json, place_of, signed};
use fsdyno_model::{Bytes, LatencyDistribution, Progress, Slice};
use rusqlite::{Transaction, params};

/// Inserts both for a sample, keyed by its cell and its index there.
pub(crate) fn insert_both(
    transaction: &Transaction<'_>,
    (cell, sample): (i64, i64),
    latencies: &[LatencyDistribution],
    progress: Option<&Progress>,
) -> Result<(), Refusal> {
    insert_latencies(transaction, cell, sample, latencies)?;
    insert_progress(transaction, cell, sample, progress)
}

fn insert_latencies(
    transaction: &Transaction<'_>,
    cell: i64,
    sample: i64,
    latencies: &[LatencyDistribution],
) -> Result<(), Refusal> {
    for (place, of_kind) in latencies.iter().enumerate() {
        // Destructured by name, so that a new field of the model is a compile error here.
        let LatencyDistribution {
            operation,
            count,
            sum_ns,
            min_ns,
            max_ns,
            buckets,
        } = of_kind;
        let classes = json("a distribution", buckets)?;
        transaction
            .prepare_cached(&insert("latency", row::LATENCY))?
            .execute(params![
                cell,
                sample,
                place_of(place),
                operation,
                signed(*count),
                signed(*sum_ns),
                signed(*min_ns),
                signed(*max_ns),
                classes,
            ])?;
    }
    Ok(())
}

fn insert_progress(
    transaction: &Transaction<'_>,
    cell: i64,
    sample: i64,
    progress: Option<&Progress>,
) -> Result<(), Refusal> {
    let Some(Progress { slice_ns, slices }) = progress else {
        return Ok(());
    };
    let pair = |Slice { operations, bytes }: &Slice| (*operations, bytes.0);
    let pairs: Vec<(u64, u64)> = slices.iter().map(pair).collect();
    let slices = json("the progress", &pairs)?;
    transaction
        .prepare_cached(&insert("progress", row::PROGRESS))?
        .execute(params![cell, sample, signed(slice_ns.0), slices])?;
    Ok(())
}

/// The query for all rows of `latency` of the cells that `of_run` picks.
pub(crate) fn latencies(of_run: &str) -> String {
    format!(
        "SELECT {} FROM latency {of_run} ORDER BY cell, sample, place",
        row::LATENCY
    )
}

/// Reads the rest of a row, after its key.
pub(crate) fn read_latencies(fields: &mut Fields<'_>) -> rusqlite::Result<LatencyDistribution> {
    let _place: i64 = fields.take()?;
    Ok(LatencyDistribution {
        operation: fields.take()?,
        count: fields.number()?,
        sum_ns: fields.number()?,
        min_ns: fields.number()?,
        max_ns: fields.number()?,
        buckets: fields.json()?,
    })
}

/// The query for all rows of `progress` of the cells that `of_run` picks.
pub(crate) fn progress(of_run: &str) -> String {
    format!(
        "SELECT {} FROM progress {of_run} ORDER BY cell, sample",
        row::PROGRESS
    )
}

/// Reads the rest of a row, beginning with the width of its slices.
pub(crate) fn read_progress(fields: &mut Fields<'_>) -> rusqlite::Result<Progress> {
    let slice_ns = fields.nanos()?;
    let pairs: Vec<(u64, u64)> = fields.json()?;
    let slice = |(operations, bytes)| Slice {
        operations,
        bytes: Bytes(bytes),
    };
    Ok(Progress {
        slice_ns,
        slices: pairs.into_iter().map(slice).collect(),
    })
}
