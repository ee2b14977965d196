//! Sets the cache state of a phase, and verifies it.
//!
//! Cold, for a file system that fsdyno mounts: write back, evict the data of each file and count its
//! pages in memory, unmount, `drop_caches` and mount. Inodes and directories are still in memory
//! while pages are counted, which is fast; the unmount evicts them. No step after the count reads
//! data, so the count remains valid. Pages that cannot be evicted are counted again after a remount,
//! which loads inodes and directories, so that a second unmount and mount follow.

use super::executor::HostExecutor;
use super::{sampling, script};
use crate::job::Job;
use crate::procedure::CellEnd;
use fsdyno_host::cache::{self, Residency};
use fsdyno_load::kinds::Needs;
use fsdyno_load::measure;
use fsdyno_model::{
    CacheEvidence, CacheState, FilesystemKind, PhasePlan, Step, Warning, WarningKind,
};
use std::path::Path;

/// The files of a dry run, which do not exist: as if nothing of them was in memory.
const NONE_RESIDENT: Residency = Residency {
    files: 0,
    bytes: 0,
    pages: 1,
    resident_pages: 0,
    unopened: 0,
    method: "",
};

/// The method of an untimed pass.
const PASS: &str = "a full pass over all metadata and data";

pub(super) fn set_up(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    phase: &PhasePlan,
    needs: Needs,
) -> Result<CacheEvidence, CellEnd> {
    let requested = phase.cache;
    let mut evidence = CacheEvidence {
        requested,
        ..CacheEvidence::default()
    };
    if !job.touches_files() {
        "none: this engine touches no file".clone_into(&mut evidence.method);
        return Ok(evidence);
    }
    match requested {
        CacheState::AsIs => {
            let left = if executor.counted {
                "none: as the phase before, and the count of extents after it, left them"
            } else {
                "none: as the phase before left them"
            };
            left.clone_into(&mut evidence.method);
        }
        CacheState::Warm => {
            let repeated = sampling::is_repeatable(executor, job, phase);
            warm(executor, needs, repeated, &mut evidence)?;
        }
        CacheState::Cold => match job.recipe.kind() {
            FilesystemKind::Block => cold_by_remount(executor, needs, &mut evidence)?,
            FilesystemKind::Directory => cold_by_eviction(executor, needs, &mut evidence)?,
            FilesystemKind::Memory => {
                "none".clone_into(&mut evidence.method);
                evidence.reason = Some("its files live in memory: nothing can be cold".to_owned());
            }
        },
    }
    if requested == CacheState::Cold && !evidence.proven {
        let warning = evidence.reason.clone().unwrap_or_default();
        executor.notes.warn(Warning::new(
            WarningKind::CacheUnproven,
            format!("a cold start could not be proven: {warning}"),
            "do not read these figures as cold",
        ));
    }
    Ok(evidence)
}

/// Loads everything into memory by an untimed pass. If the phase is repeated, its own first pass
/// does the same, and none is needed where all data are in memory already.
fn warm(
    executor: &mut HostExecutor<'_, '_>,
    needs: Needs,
    repeated: bool,
    evidence: &mut CacheEvidence,
) -> Result<(), CellEnd> {
    executor.sync()?;
    let Some(subject) = executor.work_dir.input(needs) else {
        PASS.clone_into(&mut evidence.method);
        return Ok(());
    };
    if repeated {
        "count pages: the phase before left all data in memory".clone_into(&mut evidence.method);
        let residency = count(executor, &subject)?;
        note(evidence, &residency);
        evidence.proven = residency.resident_pages >= residency.pages;
        if evidence.proven {
            return executor.settle_before_phase();
        }
    }
    PASS.clone_into(&mut evidence.method);
    let root = executor.work_dir.root.clone();
    if !executor.prints(|| script::pass_line(&root, needs)) {
        measure::touch(&subject, executor.stop).map_err(|error| executor.load_failed(&error))?;
    }
    executor.settle_before_phase()?;
    let residency = count(executor, &subject)?;
    note(evidence, &residency);
    evidence.proven = residency.resident_pages >= residency.pages;
    if !evidence.proven {
        evidence.reason = Some(match residency.resident_pages {
            0 => "after the pass no page was in memory: the file system may have its own cache"
                .into(),
            resident => format!(
                "after the pass only {resident} of {} pages were in memory",
                residency.pages
            ),
        });
    }
    Ok(())
}

fn cold_by_remount(
    executor: &mut HostExecutor<'_, '_>,
    needs: Needs,
    evidence: &mut CacheEvidence,
) -> Result<(), CellEnd> {
    "syncfs, fadvise(DONTNEED), count pages, unmount, drop_caches, mount"
        .clone_into(&mut evidence.method);
    executor.sync()?;
    if let Some(subject) = executor.work_dir.input(needs) {
        let mut residency = evict_and_count(executor, &subject)?;
        if residency.resident_pages > 0 {
            "syncfs, unmount, mount, count pages, unmount, drop_caches, mount"
                .clone_into(&mut evidence.method);
            executor.unmount_now()?;
            executor.mount_again()?;
            residency = count(executor, &subject)?;
        }
        note(evidence, &residency);
        evidence.proven = residency.resident_pages == 0 && residency.unopened == 0;
        evidence.reason = match (residency.resident_pages, residency.unopened) {
            (0, 0) => None,
            (0, unopened) => Some(not_opened(unopened)),
            (pages, _) => Some(format!("{pages} pages stayed in memory over an unmount")),
        };
    }
    executor.unmount_now()?;
    executor
        .by_call(&Step::DropCaches, |_| cache::drop_caches())
        .map_err(|e| {
            executor
                .notes
                .halt(format!("drop_caches: {e}"), e.raw_os_error())
        })?;
    evict_below(executor, evidence)?;
    executor.mount_again()?;
    executor.settle_before_phase()
}

/// Evicts the data of the devices from the layer below them, and adds the result to the evidence.
fn evict_below(
    executor: &mut HostExecutor<'_, '_>,
    evidence: &mut CacheEvidence,
) -> Result<(), CellEnd> {
    let Some(below) = &mut executor.below else {
        return Ok(());
    };
    let stayed = below.evict_devices();
    match stayed {
        Ok(0) => {}
        Ok(pages) => {
            evidence.proven = false;
            evidence.reason = Some(format!(
                "{pages} pages of the disks stayed in {}",
                below.name()
            ));
        }
        Err(reason) => return Err(executor.notes.halt(reason, None)),
    }
    evidence.method.push_str(", disks driven out of ");
    evidence.method.push_str(below.name());
    Ok(())
}

fn cold_by_eviction(
    executor: &mut HostExecutor<'_, '_>,
    needs: Needs,
    evidence: &mut CacheEvidence,
) -> Result<(), CellEnd> {
    "syncfs, fadvise(DONTNEED), count pages".clone_into(&mut evidence.method);
    executor.sync()?;
    let Some(subject) = executor.work_dir.input(needs) else {
        return Ok(());
    };
    let residency = evict_and_count(executor, &subject)?;
    note(evidence, &residency);
    let dropped = executor
        .by_call(&Step::DropCaches, |_| cache::drop_caches())
        .is_ok();
    if dropped {
        evidence.method.push_str(", drop_caches");
    }
    evidence.proven = residency.resident_pages == 0 && residency.unopened == 0 && dropped;
    evidence.reason = match (residency.resident_pages, dropped) {
        (0, _) if residency.unopened > 0 => Some(not_opened(residency.unopened)),
        (0, true) => None,
        (0, false) => Some(
            "the data is not in memory, but inodes and directories may be: only root can drop them"
                .to_owned(),
        ),
        (pages, _) => Some(format!("{pages} pages could not be driven out of memory")),
    };
    executor.settle_before_phase()
}

fn not_opened(unopened: u64) -> String {
    format!("{unopened} files or directories could not be opened to count their pages")
}

fn evict_and_count(
    executor: &mut HostExecutor<'_, '_>,
    subject: &Path,
) -> Result<Residency, CellEnd> {
    if executor.prints(|| script::EVICTED.to_owned()) {
        return Ok(NONE_RESIDENT);
    }
    cache::evict_and_count(subject, executor.stop).map_err(|e| not_counted(executor, &e))
}

fn count(executor: &HostExecutor<'_, '_>, subject: &Path) -> Result<Residency, CellEnd> {
    if executor.is_script() {
        return Ok(NONE_RESIDENT);
    }
    cache::residency(subject, executor.stop).map_err(|e| not_counted(executor, &e))
}

/// The failure that pages could not be evicted or counted.
pub(super) fn not_counted(
    executor: &HostExecutor<'_, '_>,
    error: &dyn std::fmt::Display,
) -> CellEnd {
    if executor.stop.requested() {
        CellEnd::Stopped
    } else {
        executor.notes.halt(error.to_string(), None)
    }
}

fn note(evidence: &mut CacheEvidence, residency: &Residency) {
    residency.method.clone_into(&mut evidence.checked_by);
    evidence.files_checked = residency.files;
    evidence.bytes_checked = residency.bytes;
    evidence.resident_pages = Some(residency.resident_pages);
}
