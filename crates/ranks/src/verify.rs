//! Comparison of the files that a phase left with those that were written, by another rank than the
//! writer.

use crate::phase::{RankError, clients};
use crate::stonewall::Left;
use fsdyno_load::measure;
use fsdyno_model::{CancelToken, PhasePlan, Warning, WarningKind};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a change of another client may stay invisible. The attribute cache of NFS keeps entries
/// for up to 60 s (nfs(5), `acdirmax`).
const VISIBLE_WITHIN: Duration = Duration::from_secs(65);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Checks what another rank left; a warning if it was visible only later.
pub fn check(
    phase: &PhasePlan,
    cell: &Path,
    rank: usize,
    shift: usize,
    left: &Left,
    stop: &CancelToken,
) -> Result<Option<Warning>, RankError> {
    let clients = clients(phase);
    if rank >= clients {
        return Ok(None);
    }
    let writer = (rank + shift) % clients;
    let began = Instant::now();
    let mut tries = 0;
    loop {
        let error = match measure::check_share(phase, cell, writer, left.of(phase, writer)) {
            Ok(_) if tries == 0 => return Ok(None),
            Ok(_) => return Ok(Some(late(phase, rank, writer, began.elapsed()))),
            Err(error) => error,
        };
        tries += 1;
        if stop.requested() || began.elapsed() > VISIBLE_WITHIN {
            let error = RankError::from(error);
            return Err(RankError {
                message: format!(
                    "files of rank {writer} after {}: {}",
                    phase.label, error.message
                ),
                interrupted: stop.requested(),
                ..error
            });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn late(phase: &PhasePlan, rank: usize, writer: usize, after: Duration) -> Warning {
    Warning::new(
        WarningKind::NotQuiet,
        format!(
            "{}: rank {rank} saw all changes of rank {writer} only {:.1} s after its first look",
            phase.label,
            after.as_secs_f64()
        ),
        "a client cached names or attributes: shorten its attribute cache (NFS: actimeo, noac), or \
         wait between phases",
    )
}
