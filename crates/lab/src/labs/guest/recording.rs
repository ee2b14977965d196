//! Where the whole record of a model disk goes, request by request, where that is asked for: a file
//! for each cell and disk. It is written as it arises, so that it is there however a cell ends.

use fsdyno_disk::record::Writer;
use fsdyno_disk::{Payloads, Recorder};
use fsdyno_model::{Cell, DiskRecord};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What the names of records end with.
const ENDING: &str = "record";

/// The record of a disk in a cell.
fn file(directory: &Path, cell: Cell, disk: usize) -> PathBuf {
    directory.join(format!("cell-{}-disk-{disk}.{ENDING}", cell.index))
}

/// Makes the place of records. For a run that begins it must hold none yet, for they would be
/// mixed up with its own.
pub fn record_place(record: &DiskRecord, begins: bool) -> Result<(), String> {
    let directory = &record.directory;
    let refused = |what: &str, error: std::io::Error| {
        let directory = directory.display();
        format!(
            "cannot {what} {directory}, where disks are to be recorded: {error}; name another directory with --disk-record"
        )
    };
    fs::create_dir_all(directory).map_err(|error| refused("make", error))?;
    access(directory.join("."), Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|errno| refused("write in", errno.into()))?;
    let entries = fs::read_dir(directory).map_err(|error| refused("look into", error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut records = paths.filter(|path| path.extension().is_some_and(|of| of == ENDING));
    match records.next().filter(|_| begins) {
        Some(record) => Err(format!(
            "there is a record already: {}; empty that directory, or name another with \
             --disk-record",
            record.display()
        )),
        None => Ok(()),
    }
}

/// What records a disk of a cell: its figures always, and every request where that is asked for.
pub(crate) fn recorder(
    record: Option<&DiskRecord>,
    cell: Cell,
    disk: usize,
) -> Result<Recorder, String> {
    let Some(record) = record else {
        return Ok(Recorder::figures());
    };
    let path = file(&record.directory, cell, disk);
    // Of a cell that was interrupted there may be one already.
    let writer = File::create(&path).and_then(Writer::new);
    let writer = writer.map_err(|error| format!("cannot record to {}: {error}", path.display()))?;
    let payloads = if record.payloads {
        Payloads::Kept
    } else {
        Payloads::Hashes
    };
    Ok(Recorder::to(Box::new(writer), payloads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_two_runs_are_not_mixed_up_and_a_place_that_is_none_is_named() {
        let home = tempfile::tempdir().unwrap();
        let record = DiskRecord {
            directory: home.path().join("a/b"),
            payloads: false,
        };
        let cell = Cell {
            index: 3,
            block: 0,
            contender: 0,
            workload: 0,
        };
        record_place(&record, true).unwrap();
        drop(recorder(Some(&record), cell, 1).unwrap());
        let error = record_place(&record, true).unwrap_err();
        assert!(error.contains("cell-3-disk-1.record"), "{error}");
        // One that is gone on with finds its own.
        record_place(&record, false).unwrap();
        drop(recorder(Some(&record), cell, 1).unwrap());
        let nowhere = DiskRecord {
            directory: home.path().join("a/b/cell-3-disk-1.record"),
            payloads: true,
        };
        let error = record_place(&nowhere, true).unwrap_err();
        assert!(error.contains("--disk-record"), "{error}");
        assert!(recorder(Some(&nowhere), cell, 0).is_err());
    }
}
