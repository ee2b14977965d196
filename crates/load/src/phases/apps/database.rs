//! A database with a write-ahead log: each commit appends to the log and waits until it is durable;
//! checkpoints write the changed pages to the table.

use super::inventory::{LOG, PAGE, PAGE_LENGTH};
use super::steps::Steps;
use crate::engines::{Calls, DataFile};
use crate::error::LoadError;
use crate::phases::data::{self, stamp};
use std::ffi::CStr;

pub(super) const TABLE: &CStr = c"table";
pub(super) const LOG_FILE: &CStr = c"log";
/// Added to the number of a page of the new table, so that its content differs.
pub(super) const LOADED: usize = 1 << 30;

fn opened(makes: bool) -> DataFile {
    DataFile {
        writes: true,
        makes,
        direct: false,
        dsync: false,
        also_reads: false,
        appends: false,
    }
}

/// Writes the table, and a log of one segment.
pub(super) fn load<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for (name, bytes) in [(TABLE, steps.parameters.size), (LOG_FILE, LOG)] {
        let mut file = steps.calls.open_data(steps.home, name, opened(true))?;
        let mut at = 0;
        while at + PAGE <= bytes {
            let pages = (bytes - at) / PAGE * PAGE;
            let length = usize::try_from(pages).map_or(data::BUFFER, |left| left.min(data::BUFFER));
            let piece = &mut steps.worker.buffers.data[..length];
            for (page, content) in (at / PAGE..).zip(piece.chunks_mut(PAGE_LENGTH)) {
                stamp(content, LOADED + usize::try_from(page).unwrap_or(0), 0);
            }
            steps.calls.write_at(&mut file, piece, at)?;
            at += length as u64;
            steps.ended(length as u64)?;
        }
        steps.calls.make_durable(&mut file)?;
        steps.calls.close(file)?;
    }
    Ok(())
}

/// Commits transactions. A checkpoint writes the pages that have changed since the last one.
pub(super) fn commit<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    let mut log = steps.calls.open_data(steps.home, LOG_FILE, opened(false))?;
    let mut table = steps.calls.open_data(steps.home, TABLE, opened(false))?;
    let transactions = steps.inventory.requests.len();
    let mut written = 0;
    for number in 0..transactions {
        let record = &mut steps.worker.buffers.data[..PAGE_LENGTH];
        stamp(record, number, 0);
        steps
            .calls
            .write_at(&mut log, record, number as u64 * PAGE % LOG)?;
        steps.calls.make_data_durable(&mut log)?;
        let mut bytes = PAGE;
        if number + 1 - written == steps.parameters.checkpoint || number + 1 == transactions {
            for changed in written..=number {
                let page = steps.inventory.requests[changed] as u64;
                let content = &mut steps.worker.buffers.data[..PAGE_LENGTH];
                stamp(content, changed, 0);
                steps.calls.write_at(&mut table, content, page * PAGE)?;
                bytes += PAGE;
            }
            steps.calls.make_durable(&mut table)?;
            written = number + 1;
        }
        steps.ended(bytes)?;
    }
    steps.calls.close(table)?;
    steps.calls.close(log)
}
