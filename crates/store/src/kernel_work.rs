//! Reads and writes the rows of `kernel_work`: the work that the kernel of a guest counted.

use crate::disk_use::{DURABLE, RETURN};
use crate::error::Refusal;
use crate::row::{self, Fields, insert, json, signed};
use fsdyno_model::{KernelWork, Point};
use rusqlite::{Transaction, params};

pub(crate) fn insert_all(
    transaction: &Transaction<'_>,
    cell: i64,
    sample: i64,
    works: &[KernelWork],
) -> Result<(), Refusal> {
    for work in works {
        // Destructured by name, so that a new field of the model is a compile error here.
        let KernelWork {
            until,
            process_blocks,
            kthread_blocks,
            interrupt_blocks,
            system_calls,
            copied,
            cleared,
            checksummed,
            disk_requests,
            waits,
            charged_ns,
            threads,
        } = work;
        let threads = json("the kernel threads", threads)?;
        let until = if *until == Point::Durable {
            DURABLE
        } else {
            RETURN
        };
        let values = params![
            cell,
            sample,
            until,
            signed(*process_blocks),
            signed(*kthread_blocks),
            signed(*interrupt_blocks),
            signed(*system_calls),
            signed(copied.0),
            signed(cleared.0),
            signed(checksummed.0),
            signed(*disk_requests),
            signed(*waits),
            signed(charged_ns.0),
            threads,
        ];
        insert(transaction, "kernel_work", row::KERNEL_WORK, values)?;
    }
    Ok(())
}

/// Reads the rest of a row, after its key.
pub(crate) fn read(fields: &mut Fields<'_>) -> rusqlite::Result<KernelWork> {
    let until: String = fields.take()?;
    let until = match until.as_str() {
        RETURN => Point::Returned,
        DURABLE => Point::Durable,
        _ => return Err(fields.unexpected(format!("`{until}` is no point of a phase").into())),
    };
    // Struct fields are read in the order written here, which is that of `row::KERNEL_WORK`.
    Ok(KernelWork {
        until,
        process_blocks: fields.number()?,
        kthread_blocks: fields.number()?,
        interrupt_blocks: fields.number()?,
        system_calls: fields.number()?,
        copied: fields.bytes()?,
        cleared: fields.bytes()?,
        checksummed: fields.bytes()?,
        disk_requests: fields.number()?,
        waits: fields.number()?,
        charged_ns: fields.nanos()?,
        threads: fields.json()?,
    })
}
