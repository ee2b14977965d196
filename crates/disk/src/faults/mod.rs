//! Fault injection: I/O errors on extents, sectors lost until they are rewritten, ignored flushes,
//! and slow periods. Faults depend on the plan and its seed only: equal requests at equal times
//! meet equal faults.

mod plan;

pub use plan::{ErrorPlan, FaultPlan, FaultsError, LatentPlan, PowerCutPlan, SlowPlan};

use crate::arithmetic::ms_to_ns;
use crate::pending::Pending;
use crate::power_cut::Remains;
use crate::request::{Failure, Kind, Request};
use fsdyno_model::random::Random;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct Faults {
    plan: FaultPlan,
    /// Unreadable sectors (until rewritten), with the time that the failed read takes.
    latent: BTreeMap<u64, u64>,
}

impl Faults {
    pub fn none() -> Self {
        Self::default()
    }

    pub fn new(plan: FaultPlan) -> Self {
        let mut random = Random::new(plan.seed);
        let mut latent = BTreeMap::new();
        for one in &plan.latent {
            let extent = one.sectors();
            let ns = ms_to_ns(one.takes_ms);
            match one.count {
                None => latent.extend(extent.map(|sector| (sector, ns))),
                Some(count) => {
                    let length = extent.end - extent.start;
                    // Count sectors of this entry only: another entry may include the whole extent.
                    let mut drawn = BTreeSet::new();
                    while (drawn.len() as u64) < count {
                        drawn.insert(extent.start + random.below(length));
                    }
                    latent.extend(drawn.into_iter().map(|sector| (sector, ns)));
                }
            }
        }
        Self { plan, latent }
    }

    /// The outcome of acknowledged writes at a power cut, as configured in the plan.
    pub fn remains(&self) -> Remains {
        self.plan.power_cut.remains
    }

    /// Whether the write cache has power-loss protection.
    pub(crate) fn cache_survives(&self) -> bool {
        self.plan.power_cut.cache_survives
    }

    /// Whether the disk acknowledges this flush or FUA write without doing it.
    pub(crate) fn ignores_flush(&self, order: u64) -> bool {
        let share = self.plan.flush.ignored;
        share > 0.0 && Random::new(self.plan.seed ^ order.rotate_left(32)).unit() < share
    }

    /// End of the delay of a request that arrives at `now`.
    pub(crate) fn holds_until(&self, now: u64) -> u64 {
        let adds = |slow: &&SlowPlan| slow.covers(now);
        let slow = self.plan.slow.iter().filter(adds);
        now + slow.map(|slow| ms_to_ns(slow.adds_ms)).sum::<u64>()
    }

    /// The failure of a request and its extra time, or none if the request succeeds.
    pub(crate) fn failure(&self, request: &Request, pending: &Pending) -> Option<(Failure, u64)> {
        let sectors = request.sector..request.sector + request.sectors;
        for error in &self.plan.error {
            let extent = error.sectors();
            let meets = extent.start < sectors.end && sectors.start < extent.end;
            if meets && error.on.contains(&request.kind.into()) {
                let sector = extent.start.max(sectors.start);
                return Some((Failure::Medium { sector }, ms_to_ns(error.takes_ms)));
            }
        }
        if request.kind != Kind::Read || self.latent.is_empty() {
            return None;
        }
        let lost = self.latent.range(sectors);
        let mut lost = lost.filter(|(sector, _)| !pending.covers(&(**sector..**sector + 1)));
        let (sector, ns) = lost.next()?;
        Some((Failure::Medium { sector: *sector }, *ns))
    }

    /// Removes rewritten sectors from the unreadable ones.
    pub(crate) fn landed(&mut self, sector: u64, sectors: u64) {
        if self.latent.is_empty() {
            return;
        }
        let healed: Vec<u64> = self
            .latent
            .range(sector..sector + sectors)
            .map(|(sector, _)| *sector)
            .collect();
        for sector in healed {
            self.latent.remove(&sector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_entries_may_lose_sectors_of_one_extent() {
        let all = "[[latent]]\nat = \"0\"\nlength = \"8K\"\n";
        let some = "[[latent]]\nat = \"0\"\nlength = \"8K\"\ncount = 4\ntakes_ms = 1\n";
        let plan = FaultPlan::parse(&format!("{all}{some}")).unwrap();
        let faults = Faults::new(plan);
        assert_eq!(faults.latent.len(), 16);
        assert_eq!(faults.latent.values().filter(|ns| **ns > 0).count(), 4);
    }
}
