//! Reads and writes the rows of model disk activity of a sample. Each disk has two rows: until the
//! work returned, and from then until it was durable.

use crate::error::Refusal;
use crate::row::{self, Fields, insert, place_of, signed};
use fsdyno_model::disk_use::{Causes, Tallied, Work};
use fsdyno_model::{DiskFigures, DiskUse, Nanos};
use rusqlite::types::Value;
use rusqlite::{Transaction, params_from_iter};

pub(crate) const RETURN: &str = "return";
pub(crate) const DURABLE: &str = "durable";

pub(crate) fn insert_all(
    transaction: &Transaction<'_>,
    cell: i64,
    sample: i64,
    disks: &[DiskFigures],
) -> Result<(), Refusal> {
    for (place, figures) in disks.iter().enumerate() {
        let DiskFigures {
            disk,
            to_return,
            to_durable,
        } = figures;
        for (until, did) in [(RETURN, to_return), (DURABLE, to_durable)] {
            let key = [cell, sample, place_of(place), i64::from(*disk)];
            let mut values: Vec<Value> = key.into_iter().map(Value::from).collect();
            values.push(until.to_owned().into());
            values.extend(numbers(did).map(|number| Value::from(signed(number))));
            let DiskUse { waits, busy, .. } = did;
            let waits = waits.map(|waits| waits.parts().map(Some));
            let late = waits.unwrap_or([None; 4]).into_iter();
            let late = late.chain([busy.map(|busy| busy.0)]);
            values.extend(late.map(|ns| Value::from(ns.map(signed))));
            let values = params_from_iter(values);
            insert(transaction, "disk_use", row::DISK_USE, values)?;
        }
    }
    Ok(())
}

/// The columns after the key, in the order of `row::DISK_USE`.
fn numbers(did: &DiskUse) -> impl Iterator<Item = u64> {
    // Destructured by name, so that a new field of the model is a compile error here.
    let DiskUse {
        reads,
        writes,
        discards,
        flushes,
        seeks,
        seek_distance,
        causes,
        waits: _,
        busy: _,
        slowest,
        work,
    } = did;
    let kinds = [reads, writes, discards, flushes].map(|kind| {
        let Tallied {
            requests,
            bytes,
            failed,
        } = kind;
        [*requests, *bytes, *failed]
    });
    let seeks = [*seeks, seek_distance.0];
    let kinds = kinds.into_iter().flatten();
    kinds
        .chain(seeks)
        .chain(causes.parts())
        .chain([slowest.0])
        .chain(work.parts())
}

/// Reads a row, from its place on, and adds it to the figures of its sample.
pub(crate) fn read(fields: &mut Fields<'_>, disks: &mut Vec<DiskFigures>) -> rusqlite::Result<()> {
    let (place, disk): (i64, u32) = (fields.take()?, fields.take()?);
    let until: String = fields.take()?;
    if disks.len() == usize::try_from(place).unwrap_or(usize::MAX) {
        disks.push(DiskFigures {
            disk,
            ..DiskFigures::default()
        });
    }
    let Some(figures) = disks.last_mut().filter(|last| last.disk == disk) else {
        return Err(fields.unexpected(format!("a disk is missing before {place}").into()));
    };
    let did = stretch(fields)?;
    match until.as_str() {
        RETURN => figures.to_return = did,
        DURABLE => figures.to_durable = did,
        _ => return Err(fields.unexpected(format!("`{until}` is no end of a stretch").into())),
    }
    Ok(())
}

fn stretch(fields: &mut Fields<'_>) -> rusqlite::Result<DiskUse> {
    // Struct fields are read in the order written here, which is that of `row::DISK_USE`.
    let mut did = DiskUse {
        reads: kind(fields)?,
        writes: kind(fields)?,
        discards: kind(fields)?,
        flushes: kind(fields)?,
        seeks: fields.number()?,
        seek_distance: fields.distance()?,
        causes: Causes::from_parts(fields.numbers()?),
        slowest: fields.nanos()?,
        work: Work::from_parts(fields.numbers()?),
        waits: None,
        busy: None,
    };
    did.waits = fields.waits()?;
    did.busy = fields.number_or_none()?.map(Nanos);
    Ok(did)
}

fn kind(fields: &mut Fields<'_>) -> rusqlite::Result<Tallied> {
    let [requests, bytes, failed] = fields.numbers()?;
    Ok(Tallied {
        requests,
        bytes,
        failed,
    })
}
