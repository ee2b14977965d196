//! Creates, untimed, the files that a phase finds: those that exist at first, and those that the
//! phases before it leave. A record in the directory names the phase that last changed the files.

use super::{Planned, WorkPhase};
use crate::buffer::Buffer;
use crate::engines::Calls;
use crate::engines::sync::SystemCalls;
use crate::error::LoadError;
use crate::phases::data::{BUFFER, stamp};
use crate::phases::ready::{below, unless_absent, with_path};
use crate::phases::{Job, op};
use crate::work::{Compiled, Work};
use std::ffi::CString;
use std::fs;
use std::path::PathBuf;

/// The record of the files: the last phase that changed them, and its parameters.
const RECORD: &str = ".state";

fn record(planned: &Planned, job: &Job<'_>) -> PathBuf {
    below(job.root, planned.home).join(RECORD)
}

fn state(planned: &Planned, phase: &str) -> String {
    format!("{phase} {:?}", planned.values)
}

/// Records that a phase has changed the files.
pub(crate) fn record_state(planned: &Planned, job: &Job<'_>) -> Result<(), LoadError> {
    match &planned.phase {
        Some(phase) if planned.work()?.writes() => record_phase(planned, phase, job),
        _ => Ok(()),
    }
}

fn record_phase(planned: &Planned, phase: &str, job: &Job<'_>) -> Result<(), LoadError> {
    let path = record(planned, job);
    let state = state(planned, phase);
    // On pages of its own: the write touches each, and the kernel of a guest counts it.
    let mut pages = Buffer::filled(0, state.len());
    pages.copy_from_slice(state.as_bytes());
    with_path("write", &path, fs::write(&path, &pages[..]))
}

/// Creates the files that a phase finds. Files of other phases or parameters are removed.
pub(crate) fn prepare(planned: &Planned, job: &Job<'_>) -> Result<(), LoadError> {
    prepare_phase(planned, planned.phase.as_deref(), job)
}

fn prepare_phase(planned: &Planned, phase: Option<&str>, job: &Job<'_>) -> Result<(), LoadError> {
    let path = record(planned, job);
    let found = fs::read_to_string(&path).unwrap_or_default();
    let before: Vec<&str> = planned.family.before(phase).collect();
    let work = planned.work_of(phase)?;
    if !before.iter().any(|one| state(planned, one) == found) {
        match before.first() {
            None => create(planned, &work, job)?,
            Some(before) => {
                prepare_phase(planned, Some(before), job)?;
                let mut run = WorkPhase::new(&planned.work_of(Some(before))?, planned);
                run.run(&mut SystemCalls::default(), job)?;
                record_phase(planned, before, job)?;
            }
        }
    }
    if work.writes() {
        // An interrupted phase leaves files in no known state.
        with_path("unlink", &path, unless_absent(fs::remove_file(&path)))?;
    }
    Ok(())
}

/// Creates the directories and files that exist at first, in place of all that is there.
fn create(planned: &Planned, work: &Work, job: &Job<'_>) -> Result<(), LoadError> {
    let home = below(job.root, planned.home);
    with_path("unlink", &home, unless_absent(fs::remove_dir_all(&home)))?;
    let compiled = Compiled::new(work, &planned.settings);
    with_path("mkdir", &home, fs::create_dir_all(&home))?;
    for directory in compiled.directories() {
        let path = home.join(directory);
        with_path("mkdir", &path, fs::create_dir_all(&path))?;
    }
    let mut calls = SystemCalls::default();
    let mut buffer = op::incompressible(BUFFER);
    let home = calls.open_work_dir(&home)?;
    for set in 0..compiled.layouts.len() {
        for file in compiled.first_files(set) {
            job.stop.check()?;
            let path = CString::new(compiled.path(set, file)).unwrap_or_default();
            let mut open = calls.create(&home, &path, super::perform::MODE)?;
            let (mut left, mut at) = (compiled.size(set, file), 0);
            while left > 0 {
                let length = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
                stamp(&mut buffer[..length], file as usize, at);
                calls.write(&mut open, &buffer[..length])?;
                left -= length as u64;
                at += length as u64;
            }
            calls.close(open)?;
        }
    }
    calls.close_dir(home);
    Ok(())
}
