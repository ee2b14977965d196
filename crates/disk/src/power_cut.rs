//! Power cuts: a seed determines which volatile writes are on the medium afterwards.
//!
//! The outcome of a write depends only on the seed and its place in the order. A sector keeps its old
//! contents or gets those of one volatile write. If several writes reach a sector, the last
//! submitted one wins.

use crate::pending::{Pending, VolatileWrite};
use crate::store::{Store, StoreError};
use fsdyno_model::random::Random;
use serde::{Deserialize, Serialize};

/// Selects the volatile writes that may survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remains {
    /// Only the first sectors of the write in progress survive. A disk that matches its model loses
    /// the rest.
    #[default]
    Destaged,
    /// Any subset of the sectors of each write may survive. This covers every destage order of a
    /// real disk. Writes without a completed flush may be lost or kept.
    Any,
}

/// Effect of a power cut on volatile writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PowerCutReport {
    /// Acknowledged writes that are lost completely.
    pub lost: u64,
    /// Acknowledged writes that are on the medium in part.
    pub torn: u64,
    /// Acknowledged writes that are on the medium completely.
    pub landed: u64,
    /// Writes in flight, not acknowledged, with any outcome.
    pub in_flight: u64,
    /// Sectors of acknowledged writes that are not on the medium.
    pub sectors_lost: u64,
}

#[derive(Debug)]
pub(crate) struct PowerCut<'a> {
    pub seed: u64,
    pub remains: Remains,
    pub cache_survives: bool,
    /// Writes that the device is transferring to the medium.
    pub landing: &'a [u64],
}

enum WriteOutcome {
    Lost,
    Landed,
    /// Only the first sectors are on the medium.
    First(u64),
    /// Each sector is on the medium or not, at random.
    Scattered(Random),
}

impl PowerCut<'_> {
    /// Applies the power cut. Nothing is pending afterwards.
    pub fn make(
        &self,
        pending: &mut Pending,
        store: &mut dyn Store,
    ) -> Result<PowerCutReport, StoreError> {
        let mut report = PowerCutReport::default();
        for write in pending.volatile_writes() {
            let mut there = 0;
            match self.outcome(&write) {
                WriteOutcome::Lost => pending.forget(write.order),
                WriteOutcome::Landed => {
                    there = write.sectors;
                    pending.land(write.order, store)?;
                }
                WriteOutcome::First(sectors) => {
                    there = sectors;
                    pending.land_where(write.order, store, |at| at < sectors)?;
                }
                WriteOutcome::Scattered(mut random) => {
                    let kept: Vec<bool> = (0..write.sectors)
                        .map(|_| random.next_u64() & 1 == 1)
                        .collect();
                    there = kept.iter().filter(|kept| **kept).count() as u64;
                    let keep = |at: u64| usize::try_from(at).is_ok_and(|at| kept[at]);
                    pending.land_where(write.order, store, keep)?;
                }
            }
            report.count(&write, there);
        }
        Ok(report)
    }

    fn outcome(&self, write: &VolatileWrite) -> WriteOutcome {
        if self.cache_survives && write.acknowledged {
            return WriteOutcome::Landed;
        }
        let mut random = Random::new(self.seed ^ write.order.wrapping_mul(0xA24B_AED4_963E_E407));
        let outcome = match self.remains {
            Remains::Destaged if self.landing.contains(&write.order) => {
                WriteOutcome::First(random.below(write.sectors + 1))
            }
            Remains::Destaged => WriteOutcome::Lost,
            Remains::Any => match random.below(3) {
                0 => WriteOutcome::Lost,
                1 => WriteOutcome::Landed,
                _ => WriteOutcome::Scattered(random),
            },
        };
        match outcome {
            WriteOutcome::First(_) | WriteOutcome::Scattered(_) if write.whole => {
                WriteOutcome::Lost
            }
            outcome => outcome,
        }
    }
}

impl PowerCutReport {
    fn count(&mut self, write: &VolatileWrite, there: u64) {
        if !write.acknowledged {
            self.in_flight += 1;
            return;
        }
        self.sectors_lost += write.sectors - there;
        if there == write.sectors {
            self.landed += 1;
        } else if there == 0 {
            self.lost += 1;
        } else {
            self.torn += 1;
        }
    }
}
