//! Bringing about a state of the caches, and proving it.
//!
//! Cold, where the file system is ours: write back, unmount, mount, and count the pages of the
//! dataset that are in memory. Counting opens files and so warms inodes and directories; therefore
//! it is followed by a second unmount, `drop_caches` and mount. Nothing reads data in between, so
//! what was proven still holds.

use super::doing::Doing;
use crate::job::Job;
use crate::procedure::Halt;
use fsdyno_host::cache::{self, Residency};
use fsdyno_load::measure;
use fsdyno_load::workloads::Needs;
use fsdyno_model::{CacheEvidence, CacheState, FilesystemKind, Step, Warning, WarningKind};
use std::path::PathBuf;
use std::time::Duration;

/// How long counters must stand still before a phase, and how long that is waited for.
const STILL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(20));

pub(super) fn bring_about(
    hands: &mut Doing<'_, '_>,
    job: &Job<'_>,
    asked: CacheState,
    needs: Needs,
) -> Result<CacheEvidence, Halt> {
    let mut evidence = CacheEvidence {
        asked,
        ..CacheEvidence::default()
    };
    if !job.touches_files() {
        "none: this engine touches no file".clone_into(&mut evidence.method);
        return Ok(evidence);
    }
    match asked {
        CacheState::AsLeft => {
            let left = if hands.counted {
                "none: as the phase before, and the count of fragments after it, left them"
            } else {
                "none: as the phase before left them"
            };
            left.clone_into(&mut evidence.method);
        }
        CacheState::Warm => warm(hands, needs, &mut evidence)?,
        CacheState::Cold => match job.recipe.kind() {
            FilesystemKind::Block => cold_by_remount(hands, needs, &mut evidence)?,
            FilesystemKind::Directory => cold_by_eviction(hands, needs, &mut evidence)?,
            FilesystemKind::Memory => {
                "none".clone_into(&mut evidence.method);
                evidence.doubt = Some("its files live in memory: nothing can be cold".to_owned());
            }
        },
    }
    if asked == CacheState::Cold && !evidence.proven {
        let doubt = evidence.doubt.clone().unwrap_or_default();
        hands.notes.warn(Warning::new(
            WarningKind::CacheUnproven,
            format!("a cold start could not be proven: {doubt}"),
            "do not read these figures as cold",
        ));
    }
    Ok(evidence)
}

/// What the next phase reads: the archive, the newest tree, or what a program finds.
fn subject(hands: &Doing<'_, '_>, needs: Needs) -> Option<PathBuf> {
    match needs {
        Needs::Archive => hands.ground.archive.clone(),
        Needs::Tree => hands.ground.newest().cloned(),
        // A program may read whatever lies there.
        Needs::Nothing => Some(hands.ground.root.clone()),
    }
}

fn warm(hands: &mut Doing<'_, '_>, needs: Needs, evidence: &mut CacheEvidence) -> Result<(), Halt> {
    "a full pass over all metadata and data".clone_into(&mut evidence.method);
    hands.sync()?;
    let Some(subject) = subject(hands, needs) else {
        return Ok(());
    };
    measure::touch(&subject, hands.stop).map_err(|error| hands.load_failed(&error))?;
    hands.settle(STILL.0, STILL.1)?;
    let residency = residency(hands, &subject)?;
    let wanted = residency.bytes / rustix::param::page_size() as u64;
    note(evidence, &residency);
    // Partly filled pages make more pages than bytes by pages, never fewer.
    evidence.proven = residency.resident_pages >= wanted;
    if !evidence.proven {
        evidence.doubt = Some(format!(
            "after the pass only {} of at least {wanted} pages were in memory",
            residency.resident_pages
        ));
    }
    Ok(())
}

fn cold_by_remount(
    hands: &mut Doing<'_, '_>,
    needs: Needs,
    evidence: &mut CacheEvidence,
) -> Result<(), Halt> {
    "syncfs, unmount, mount, count pages, unmount, drop_caches, mount"
        .clone_into(&mut evidence.method);
    hands.sync()?;
    hands.unmount_now()?;
    hands.mount_again()?;
    let subject = subject(hands, needs);
    if let Some(subject) = &subject {
        let residency = residency(hands, subject)?;
        note(evidence, &residency);
        evidence.proven = residency.resident_pages == 0 && residency.unopened == 0;
        evidence.doubt = match (residency.resident_pages, residency.unopened) {
            (0, 0) => None,
            (0, unopened) => Some(not_opened(unopened)),
            (pages, _) => Some(format!("{pages} pages stayed in memory over an unmount")),
        };
    }
    hands.unmount_now()?;
    hands
        .notes
        .by_call(&Step::DropCaches, cache::drop_caches)
        .map_err(|e| {
            hands
                .notes
                .halt(format!("drop_caches: {e}"), e.raw_os_error())
        })?;
    drive_out_below(hands, evidence)?;
    hands.mount_again()?;
    hands.settle(STILL.0, STILL.1)
}

/// Has what lies below the devices let go of their data, and holds it against the proof.
fn drive_out_below(hands: &mut Doing<'_, '_>, evidence: &mut CacheEvidence) -> Result<(), Halt> {
    let Some(below) = &mut hands.below else {
        return Ok(());
    };
    let stayed = below.drive_out();
    match stayed {
        Ok(0) => {}
        Ok(pages) => {
            evidence.proven = false;
            evidence.doubt = Some(format!(
                "{pages} pages of the disks stayed in {}",
                below.name()
            ));
        }
        Err(reason) => return Err(hands.notes.halt(reason, None)),
    }
    evidence.method.push_str(", disks driven out of ");
    evidence.method.push_str(below.name());
    Ok(())
}

fn cold_by_eviction(
    hands: &mut Doing<'_, '_>,
    needs: Needs,
    evidence: &mut CacheEvidence,
) -> Result<(), Halt> {
    "syncfs, fadvise(DONTNEED), count pages".clone_into(&mut evidence.method);
    hands.sync()?;
    let Some(subject) = subject(hands, needs) else {
        return Ok(());
    };
    cache::evict(&subject, hands.stop).map_err(|e| not_looked_at(hands, &e))?;
    let residency = residency(hands, &subject)?;
    note(evidence, &residency);
    let dropped = hands
        .notes
        .by_call(&Step::DropCaches, cache::drop_caches)
        .is_ok();
    if dropped {
        evidence.method.push_str(", drop_caches");
    }
    evidence.proven = residency.resident_pages == 0 && residency.unopened == 0 && dropped;
    evidence.doubt = match (residency.resident_pages, dropped) {
        (0, _) if residency.unopened > 0 => Some(not_opened(residency.unopened)),
        (0, true) => None,
        (0, false) => Some(
            "the data is not in memory, but inodes and directories may be: only root can drop them"
                .to_owned(),
        ),
        (pages, _) => Some(format!("{pages} pages could not be driven out of memory")),
    };
    hands.settle(STILL.0, STILL.1)
}

fn not_opened(unopened: u64) -> String {
    format!("{unopened} files or directories could not be opened to count their pages")
}

fn residency(hands: &Doing<'_, '_>, subject: &std::path::Path) -> Result<Residency, Halt> {
    cache::residency(subject, hands.stop).map_err(|e| not_looked_at(hands, &e))
}

/// Why pages could not be driven out or counted.
fn not_looked_at(hands: &Doing<'_, '_>, error: &dyn std::fmt::Display) -> Halt {
    if hands.stop.requested() {
        Halt::Stopped
    } else {
        hands.notes.halt(error.to_string(), None)
    }
}

fn note(evidence: &mut CacheEvidence, residency: &Residency) {
    residency.method.clone_into(&mut evidence.checked_by);
    evidence.files_checked = residency.files;
    evidence.bytes_checked = residency.bytes;
    evidence.resident_pages = Some(residency.resident_pages);
}
