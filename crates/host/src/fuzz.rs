//! Entry points for the fuzz targets.

use crate::guard::{identity, signatures};
use crate::journal::Resource;
use crate::journal::record::{Record, remaining};
use crate::last_lines;
use crate::mounts::table;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Reads what `wipefs` printed: the offset of each signature, or why it cannot be read.
pub fn read_wipefs(printed: &str) -> Result<Vec<u64>, String> {
    let found = signatures::parse_wipefs(printed, "device")?;
    Ok(found.iter().map(|signature| signature.offset).collect())
}

/// Reads what `blkid` printed: how many signatures there are.
pub fn read_blkid(printed: &str) -> usize {
    signatures::parse_blkid(printed, "device").len()
}

/// Reads a list of mounts, in which mount points and sources are as users chose them: how many
/// mounts there are.
pub fn read_mounts(text: &[u8]) -> usize {
    table::parse(text).len()
}

/// Parses the serial number that a device reports.
pub fn read_serial(page: &[u8]) -> Option<String> {
    identity::unit_serial(page)
}

/// Reads what a guest printed to its console: the lines that are kept.
pub fn read_console(printed: &[u8]) -> Vec<String> {
    let kept = Mutex::new(VecDeque::new());
    // Memory can be read.
    let _ = last_lines::keep(printed, &kept);
    kept.into_inner().unwrap_or_default().into()
}

/// The resources that a journal records and that are not removed yet.
pub fn read_journal(journal: &[u8]) -> Vec<(u64, Resource)> {
    remaining(journal)
}

/// The lines of a journal with these resources.
pub fn journal_of(things: &[(u64, Resource)]) -> String {
    let lines = things.iter().cloned();
    lines
        .map(|(id, thing)| Record::Make(id, thing).line())
        .collect()
}
