//! Brings a file system into the initial state of its contender.

use super::executor::{HostExecutor, SETTLE_AFTER_MAKE};
use super::script;
use crate::job::Job;
use crate::procedure::CellEnd;
use fsdyno_datasets::states::{self, Space, StateError};
use fsdyno_model::{Bytes, Effective};
use rustix::fs::{CWD, Mode, OFlags};

/// Fills and ages as requested, records the result, and waits until deferred work has ended.
pub(super) fn set_up(executor: &mut HostExecutor<'_, '_>, job: &Job<'_>) -> Result<(), CellEnd> {
    let state = &job.contender.state;
    let root = executor.target.clone();
    if state.fill_permille.is_none() || !job.touches_files() {
        return Ok(());
    }
    if executor.prints(|| script::state_line(job, &root)) {
        return Ok(());
    }
    has_room(executor, job)?;
    let notes = &mut *executor.notes;
    let reached = states::set_up(&root, state, job.state_seed(), executor.stop, &mut |now| {
        notes.state_progress(now.done, now.of);
    })
    .map_err(|error| match error {
        StateError::Stopped => CellEnd::Stopped,
        other => executor.notes.halt(other.to_string(), other.errno()),
    })?;
    if let Some(reached) = reached {
        executor
            .notes
            .effective(Effective::STATE, reached.to_string());
    }
    executor.settle(SETTLE_AFTER_MAKE)
}

/// An error if a fill leaves the workload no room, once the size of the file system is known.
fn has_room(executor: &mut HostExecutor<'_, '_>, job: &Job<'_>) -> Result<(), CellEnd> {
    let root = executor.target.clone();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let space = rustix::fs::openat(CWD, &root, flags, Mode::empty())
        .and_then(Space::now)
        .map_err(|errno| {
            let message = format!("cannot examine {}: {errno}", root.display());
            executor.notes.halt(message, Some(errno.raw_os_error()))
        })?;
    let permille = job.contender.state.fill_permille.unwrap_or(0);
    let left = space.free.saturating_sub(space.missing(permille));
    let need = job.prepared.peak;
    if need.0 <= left {
        return Ok(());
    }
    let message = format!(
        "{} would have {} left for {}, which takes up to {need}: {}, less --fill, or a larger \
         device",
        job.contender.label,
        Bytes(left),
        job.workload.name,
        job.workload.dataset.smaller(),
    );
    Err(executor.notes.halt(message, None))
}
