//! Reads and writes the rows of `latency` and `progress`. Lists that are only read whole are one
//! JSON column.

use crate::error::Refusal;
use crate::row::{self, Fields, LARGEST, insert, json, place_of, signed};
use fsdyno_model::{Bytes, LatencyDistribution, Progress, Slice};
use rusqlite::{Transaction, params};

pub(crate) fn insert_latencies(
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
        let values = params![
            cell,
            sample,
            place_of(place),
            operation,
            signed(*count),
            signed(*sum_ns),
            signed(*min_ns),
            signed(*max_ns),
            classes,
        ];
        insert(transaction, "latency", row::LATENCY, values)?;
    }
    Ok(())
}

pub(crate) fn insert_progress(
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
    let values = params![cell, sample, signed(slice_ns.0), slices];
    insert(transaction, "progress", row::PROGRESS, values)?;
    Ok(())
}

/// Reads the rest of a row, after its key.
pub(crate) fn read_latencies(fields: &mut Fields<'_>) -> rusqlite::Result<LatencyDistribution> {
    let _place: i64 = fields.take()?;
    let operation = fields.take()?;
    let (count, sum_ns) = (fields.number()?, fields.number()?);
    let (min_ns, max_ns) = (fields.number()?, fields.number()?);
    if min_ns > max_ns {
        let why = format!("{max_ns} is below min_ns, which is {min_ns}");
        return Err(fields.unexpected(why.into()));
    }
    let buckets: Vec<(u64, u64)> = fields.json()?;
    fields.add(buckets.iter().map(|(_, count)| *count))?;
    let ascends = buckets.is_sorted_by(|(one, _), (next, _)| one < next);
    if !ascends || buckets.last().is_some_and(|(end, _)| *end > LARGEST) {
        return Err(fields.unexpected("its classes do not ascend to an end".into()));
    }
    Ok(LatencyDistribution {
        operation,
        count,
        sum_ns,
        min_ns,
        max_ns,
        buckets,
    })
}

/// Reads the rest of a row, beginning with the width of its slices.
pub(crate) fn read_progress(fields: &mut Fields<'_>) -> rusqlite::Result<Progress> {
    let slice_ns = fields.nanos()?;
    let pairs: Vec<(u64, u64)> = fields.json()?;
    fields.add(pairs.iter().map(|(operations, _)| *operations))?;
    fields.add(pairs.iter().map(|(_, bytes)| *bytes))?;
    let slice = |(operations, bytes)| Slice {
        operations,
        bytes: Bytes(bytes),
    };
    Ok(Progress {
        slice_ns,
        slices: pairs.into_iter().map(slice).collect(),
    })
}
