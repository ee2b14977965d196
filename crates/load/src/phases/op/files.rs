//! Operations on many files: each in the directory of its number, each timed.

use super::names::{Directory, File};
use super::parameters::{Fsync, SyncCounter};
use super::worker::{Work, WorkerState};
use super::{HOME, Phase};
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use crate::phases::tally;
use crate::slices;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

/// The mode of files and directories.
const MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The first letter of file names.
pub(super) const FILE: u8 = b'f';
/// The first letter of hard links.
pub(super) const LINK: u8 = b'l';
/// The first letter of directories that a phase makes.
pub(super) const MADE: u8 = b'm';
/// The first letter of renamed files.
const RENAMED: u8 = b'r';
/// The first letter of the directories of the layout.
pub(super) const DIRECTORY: u8 = b'd';

/// Runs all operations of one worker.
pub(super) fn run<C: Calls>(
    calls: &mut C,
    work: Work<'_>,
    worker: &mut WorkerState,
) -> Result<Tally, LoadError> {
    let bytes = work.parameters.bytes;
    match work.phase {
        Phase::Create => over(calls, work, worker, FILE, |calls, dir, names, buffer| {
            let mut file = calls.create(dir, names.name(), MODE)?;
            if bytes > 0 {
                calls.write(&mut file, &buffer[..bytes])?;
            }
            if names.sync {
                calls.make_durable(&mut file)?;
            }
            calls.close(file)?;
            Ok(bytes)
        }),
        Phase::Open => over(calls, work, worker, FILE, |calls, dir, names, buffer| {
            let mut file = calls.open(dir, names.name())?;
            let read = calls.read(&mut file, buffer)?;
            calls.close(file)?;
            Ok(read)
        }),
        // The second operation on a file restores its first name.
        Phase::Rename => over(calls, work, worker, RENAMED, |calls, dir, names, _| {
            calls.rename(dir, names.name(), names.other())?;
            names.swap();
            names.sync(calls, dir)
        }),
        Phase::Link => over(calls, work, worker, LINK, |calls, dir, names, _| {
            calls.link((dir, names.name()), dir, names.other())?;
            names.sync(calls, dir)
        }),
        Phase::Unlink => over(calls, work, worker, FILE, |calls, dir, names, _| {
            calls.unlink(dir, names.name())?;
            names.sync(calls, dir)
        }),
        Phase::Mkdir => over(calls, work, worker, MADE, |calls, dir, names, _| {
            calls.make_dir(dir, names.other(), DIRECTORY_MODE)?;
            names.sync(calls, dir)
        }),
        Phase::Rmdir => over(calls, work, worker, MADE, |calls, dir, names, _| {
            calls.remove_dir(dir, names.other())?;
            names.sync(calls, dir)
        }),
        _ => over(calls, work, worker, FILE, |calls, dir, names, _| {
            calls.stat(&Target::Entry(dir, names.name()))?;
            Ok(0)
        }),
    }
}

/// Removes the other names of files, before a phase that must not find them.
pub(super) fn unlink_others<C: Calls>(
    calls: &mut C,
    work: Work<'_>,
    worker: &mut WorkerState,
    letter: u8,
) -> Result<Tally, LoadError> {
    over(calls, work, worker, letter, |calls, dir, names, _| {
        if letter == MADE {
            calls.remove_dir(dir, names.other())?;
        } else {
            calls.unlink(dir, names.other())?;
        }
        Ok(0)
    })
}

/// The two names of an operation.
struct Names {
    name: File,
    other: File,
    /// Whether this operation makes its change durable.
    sync: bool,
}

impl Names {
    /// Makes the entries of a directory durable, if that is due. Returns no transferred bytes.
    #[inline]
    fn sync<C: Calls>(&self, calls: &mut C, dir: &C::Dir) -> Result<usize, LoadError> {
        if self.sync {
            calls.make_dir_durable(dir)?;
        }
        Ok(0)
    }

    #[inline]
    fn swap(&mut self) {
        std::mem::swap(&mut self.name, &mut self.other);
    }

    #[inline]
    fn name(&self) -> &CStr {
        self.name.as_c()
    }

    #[inline]
    fn other(&self) -> &CStr {
        self.other.as_c()
    }
}

/// Performs an operation on each file of a worker, in numerical order; returns the transferred
/// bytes. A rename phase has two operations for each file. Opening a directory is not part of an
/// operation.
#[inline]
fn over<C: Calls>(
    calls: &mut C,
    work: Work<'_>,
    worker: &mut WorkerState,
    other: u8,
    operation: impl Fn(&mut C, &C::Dir, &mut Names, &mut [u8]) -> Result<usize, LoadError>,
) -> Result<Tally, LoadError> {
    let parameters = work.parameters;
    let share = parameters.share(parameters.files, worker.number);
    let last = share.end.min(share.start.saturating_add(work.limits.most));
    let work_dir = calls.open_work_dir(work.job.root)?;
    let top = calls.open_dir(&work_dir, HOME)?;
    let home = calls.open_dir(&top, &worker.home)?;
    let mut at = share.start;
    let mut names = Names {
        name: File::new(FILE, at),
        other: File::new(other, at),
        sync: false,
    };
    let mut sync = SyncCounter::new(parameters.fsync);
    let two = other != FILE;
    let each = if other == RENAMED { 2 } else { 1 };
    let mut ended = false;
    let mut directory = Directory::new(DIRECTORY, at / parameters.files_per_dir);
    let mut done = Tally::default();
    worker.pace.begin(&mut worker.timeline);
    while at < last && !ended {
        let dir = calls.open_dir(&home, directory.as_c())?;
        let end = last.min((at / parameters.files_per_dir + 1) * parameters.files_per_dir);
        worker.pace.resume(&mut worker.timeline);
        let first = at;
        while at < end && !ended {
            for _ in 0..each {
                names.sync = sync.is_due();
                let bytes = operation(calls, &dir, &mut names, &mut worker.buffer)?;
                done.bytes.0 += bytes as u64;
                worker.pace.next(&mut worker.timeline, bytes);
                slices::count();
            }
            names.name.next();
            if two {
                names.other.next();
            }
            at += 1;
            work.job.stop.check()?;
            ended = work.limits.reached();
        }
        done.files += at - first;
        calls.close_dir(dir);
        directory.next();
    }
    if parameters.fsync == Fsync::AtEnd {
        calls.make_all_durable(&home)?;
    }
    for dir in [home, top, work_dir] {
        calls.close_dir(dir);
    }
    Ok(tally(calls, done))
}
