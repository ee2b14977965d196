//! Counting fragments after a phase: its figures are taken, and no clock runs.
//!
//! Counting brings names, inodes and maps of extents into memory. A phase that begins cold or warm
//! has its state brought about afterwards; one that begins as left begins with these in memory as
//! well, which its evidence tells.

use super::doing::Doing;
use crate::job::Job;
use crate::procedure::Halt;
use fsdyno_load::fragments;
use fsdyno_model::{Bytes, Fragmentation, PhasePlan, Step};

/// Every file counts, however small.
const FLOOR: Bytes = Bytes(0);

/// How the files lie after that phase, where the plan asks for it.
pub(super) fn after(
    hands: &mut Doing<'_, '_>,
    job: &Job<'_>,
    phase: &PhasePlan,
) -> Result<Option<Fragmentation>, Halt> {
    hands.counted = job.counts_fragments(phase);
    if !hands.counted {
        return Ok(None);
    }
    let counting = step(&hands.ground.root);
    let (root, stop) = (&hands.ground.root, hands.stop);
    let counted = hands
        .notes
        .by_call(&counting, || fragments::count(root, FLOOR, stop));
    counted.map(Some).map_err(|error| hands.load_failed(&error))
}

/// The step that counts them.
pub(crate) fn step(root: &std::path::Path) -> Step {
    Step::CountFragments {
        path: root.to_owned(),
        floor: FLOOR,
    }
}
