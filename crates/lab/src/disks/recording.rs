//! The block trace of a model disk (`--disk-trace`): a file for each cell and disk. It is written
//! as requests arrive, so a cell that fails also has one.

use fsdyno_disk::record::Writer;
use fsdyno_disk::{Payloads, Recorder};
use fsdyno_files::create_output_dir;
use fsdyno_model::{Cell, DiskRecord};
use rustix::fs::{Access, access};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The suffix of block traces.
const ENDING: &str = "trace";

/// The block trace of a disk in a cell.
pub(crate) fn file(directory: &Path, cell: u32, disk: usize) -> PathBuf {
    directory.join(format!("cell-{cell}-disk-{disk}.{ENDING}"))
}

/// Creates the directory of block traces. For a new run it must not contain any, to avoid a mixture
/// of runs.
pub fn record_place(record: &DiskRecord, begins: bool) -> Result<(), String> {
    let directory = &record.directory;
    let refused = |what: &str, error: &dyn std::fmt::Display| {
        let directory = directory.display();
        format!(
            "cannot {what} {directory}, where block traces are written: {error}; name another directory with --disk-trace"
        )
    };
    create_output_dir(directory).map_err(|error| refused("create", &error))?;
    access(directory.join("."), Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|errno| refused("write in", &errno))?;
    let entries = fs::read_dir(directory).map_err(|error| refused("list", &error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut records = paths.filter(|path| path.extension().is_some_and(|of| of == ENDING));
    match records.next().filter(|_| begins) {
        Some(record) => Err(format!(
            "{} is a block trace of another run; empty that directory, or name another with \
             --disk-trace",
            record.display()
        )),
        None => Ok(()),
    }
}

/// The recorder of a disk of a cell: always its figures, and a block trace where requested.
pub(crate) fn recorder(
    record: Option<&DiskRecord>,
    cell: Cell,
    disk: usize,
) -> Result<Recorder, String> {
    let Some(record) = record else {
        return Ok(Recorder::figures());
    };
    let path = file(&record.directory, cell.index, disk);
    let writer = create(&path).and_then(Writer::new);
    let writer = writer
        .map_err(|error| format!("cannot write the block trace {}: {error}", path.display()))?;
    let payloads = if record.payloads {
        Payloads::Kept
    } else {
        Payloads::Hashes
    };
    Ok(Recorder::to(Box::new(writer), payloads))
}

/// A new file that only this user can read: it may hold the contents of a file system. An
/// interrupted cell may have left one, and another user may have planted a link.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn traces_of_two_runs_are_separate_and_a_bad_directory_is_named() {
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
        let path = file(&record.directory, cell.index, 1);
        let target = home.path().join("target");
        fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        drop(recorder(Some(&record), cell, 1).unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        let about = fs::symlink_metadata(&path).unwrap();
        assert!(about.is_file());
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        let error = record_place(&record, true).unwrap_err();
        assert!(error.contains("cell-3-disk-1.trace"), "{error}");
        // A resumed run finds its own traces.
        record_place(&record, false).unwrap();
        drop(recorder(Some(&record), cell, 1).unwrap());
        let nowhere = DiskRecord {
            directory: home.path().join("a/b/cell-3-disk-1.trace"),
            payloads: true,
        };
        let error = record_place(&nowhere, true).unwrap_err();
        assert!(error.contains("--disk-trace"), "{error}");
        assert!(recorder(Some(&nowhere), cell, 0).is_err());
    }
}
