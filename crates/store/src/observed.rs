//! Reads and writes the rows of `observed`: the activity of the machine during a sample.

use crate::error::Refusal;
use crate::row::{self, Fields, insert, json, signed};
use fsdyno_model::{Bytes, Frequency, Nanos, Observed, OtherIo, Pressure, Traced};
use rusqlite::types::Value;
use rusqlite::{Transaction, params_from_iter};

pub(crate) fn insert_one(
    transaction: &Transaction<'_>,
    cell: i64,
    sample: i64,
    observed: Option<&Observed>,
) -> Result<(), Refusal> {
    // Destructured by name, so that a new field of the model is a compile error here.
    let Some(Observed {
        over_ns,
        processors,
        frequency,
        throttled,
        pressure,
        kernel_threads_ns,
        others_ns,
        other_io,
        traced,
        unobserved,
    }) = observed
    else {
        return Ok(());
    };
    let number = |number: Option<u64>| Value::from(number.map(signed));
    let mut values: Vec<Value> = vec![cell.into(), sample.into()];
    values.extend([over_ns.0, u64::from(*processors)].map(|known| number(Some(known))));
    let speeds = frequency.map(|of| [of.least_khz, of.mean_khz, of.most_khz]);
    values.extend(columns(speeds));
    values.push(number(*throttled));
    values.extend(columns(pressure.as_ref().map(Pressure::parts)));
    values.extend([kernel_threads_ns, others_ns].map(|ns| number(ns.map(|ns| ns.0))));
    let other_io = other_io.as_ref().map(|io| {
        let OtherIo {
            requests,
            bytes,
            busiest,
            busiest_ns,
            below_bytes,
        } = io;
        [
            number(Some(*requests)),
            number(Some(bytes.0)),
            busiest.clone().into(),
            number(Some(busiest_ns.0)),
            number(below_bytes.map(|of| of.0)),
        ]
    });
    values.extend(other_io.unwrap_or([const { Value::Null }; 5]));
    values.extend(columns(traced.as_ref().map(Traced::parts)));
    let unobserved = json("what was not observed", unobserved)?;
    values.push(unobserved.into());
    let values = params_from_iter(values);
    insert(transaction, "observed", row::OBSERVED, values)?;
    Ok(())
}

/// Columns that are all set or all null.
fn columns<const N: usize>(known: Option<[u64; N]>) -> [Value; N] {
    let known = known.map_or([None; N], |parts| parts.map(Some));
    known.map(|number| Value::from(number.map(signed)))
}

/// Reads the rest of a row, after its key.
pub(crate) fn read(fields: &mut Fields<'_>) -> rusqlite::Result<Observed> {
    // Struct fields are read in the order written here, which is that of `row::OBSERVED`.
    Ok(Observed {
        over_ns: fields.nanos()?,
        processors: fields.take()?,
        frequency: fields
            .numbers_or_none()?
            .map(|[least_khz, mean_khz, most_khz]| Frequency {
                least_khz,
                mean_khz,
                most_khz,
            }),
        throttled: fields.number_or_none()?,
        pressure: fields.numbers_or_none()?.map(Pressure::from_parts),
        kernel_threads_ns: fields.number_or_none()?.map(Nanos),
        others_ns: fields.number_or_none()?.map(Nanos),
        other_io: other_io(fields)?,
        traced: fields.numbers_or_none()?.map(Traced::from_parts),
        unobserved: fields.json()?,
    })
}

fn other_io(fields: &mut Fields<'_>) -> rusqlite::Result<Option<OtherIo>> {
    let counts: Option<[u64; 2]> = fields.numbers_or_none()?;
    let busiest: Option<String> = fields.take()?;
    let busiest_ns = fields.number_or_none()?;
    let below_bytes = fields.number_or_none()?.map(Bytes);
    let (Some([requests, bytes]), Some(busiest), Some(busiest_ns)) = (counts, busiest, busiest_ns)
    else {
        return Ok(None);
    };
    Ok(Some(OtherIo {
        requests,
        bytes: Bytes(bytes),
        busiest,
        busiest_ns: Nanos(busiest_ns),
        below_bytes,
    }))
}
