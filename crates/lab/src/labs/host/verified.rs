//! Trees that a phase made, held against what they were made from; untimed.

use super::doing::Doing;
use crate::job::Job;
use crate::labs::notes::elapsed;
use crate::procedure::Halt;
use fsdyno_load::trees;
use fsdyno_load::workloads::Needs;
use std::time::Instant;

/// Compares the newest tree with what it was made from.
pub(super) fn compare(hands: &mut Doing<'_, '_>, job: &Job<'_>, needs: Needs) -> Result<(), Halt> {
    let start = Instant::now();
    let newest = hands.ground.newest().cloned().unwrap_or_default();
    let (original, result) = if needs == Needs::Archive {
        let archive = hands.ground.archive.clone().unwrap_or_default();
        let result = trees::compare_archive(&archive, &newest, hands.stop);
        (archive, result)
    } else {
        let count = hands.ground.trees.len();
        let original = hands.ground.trees[count.saturating_sub(2)].clone();
        let result = trees::compare(&original, &newest, hands.stop);
        (original, result)
    };
    let comparison = match result {
        Err(_) if hands.stop.requested() => return Err(Halt::Stopped),
        Err(error) => return Err(hands.notes.halt(error.to_string(), None)),
        Ok(comparison) => comparison,
    };
    if comparison.total > 0 {
        let message = format!(
            "{} is not what {} is: {} differences, the first: {}",
            newest.display(),
            original.display(),
            comparison.total,
            comparison
                .differences
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
        );
        return Err(hands.notes.halt(message, None));
    }
    let text = format!(
        "{} in {}: {} files, {} directories, {} equal, compared in {}",
        job.contender.label,
        newest.display(),
        comparison.files,
        comparison.directories,
        comparison.bytes,
        elapsed(start),
    );
    hands.notes.effective("tree comparison", text);
    Ok(())
}
