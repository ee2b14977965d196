//! Power cuts: which writes that had not landed are on the medium afterwards, by a seed.
//!
//! A write's fate depends on the seed and on its own place in the order alone. A sector ends with
//! what it held on the medium, or with one of the writes that had not landed; where several do
//! land, the one submitted last wins.

use crate::pending::{Pending, Unlanded};
use crate::random::Random;
use crate::store::{Store, StoreError};
use serde::{Deserialize, Serialize};

/// What may be on the medium of that which had not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remains {
    /// Nothing but the first sectors of what was just being written: what a disk loses that does
    /// what its model says.
    #[default]
    Destaged,
    /// Of each write nothing, all, or any of its sectors: whatever order another disk might have
    /// destaged in. What no flush covered may be lost, and need not be.
    Any,
}

/// What a cut made of the writes that had not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CutReport {
    /// Acknowledged, and lost as a whole.
    pub lost: u64,
    /// Acknowledged, and on the medium in part.
    pub torn: u64,
    /// Acknowledged, and on the medium all the same.
    pub landed: u64,
    /// Not acknowledged yet; whatever became of them.
    pub under_way: u64,
    /// Sectors of acknowledged writes that are not on the medium.
    pub sectors_lost: u64,
}

/// A cut about to be made.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    pub seed: u64,
    pub remains: Remains,
    pub cache_survives: bool,
    /// The writes that are just going to the medium.
    pub landing: &'a [u64],
}

/// What becomes of one write.
enum Fate {
    Lost,
    Landed,
    /// The first sectors are there.
    First(u64),
    /// Each sector is there or not.
    Scattered(Random),
}

impl Cut<'_> {
    /// Makes it: nothing is pending afterwards.
    pub fn make(
        &self,
        pending: &mut Pending,
        store: &mut dyn Store,
    ) -> Result<CutReport, StoreError> {
        let mut report = CutReport::default();
        for write in pending.unlanded() {
            let mut there = 0;
            match self.fate(&write) {
                Fate::Lost => pending.forget(write.order),
                Fate::Landed => {
                    there = write.sectors;
                    pending.land(write.order, store)?;
                }
                Fate::First(sectors) => {
                    there = sectors;
                    pending.land_where(write.order, store, |at| at < sectors)?;
                }
                Fate::Scattered(mut random) => {
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

    fn fate(&self, write: &Unlanded) -> Fate {
        if self.cache_survives && write.acknowledged {
            return Fate::Landed;
        }
        let mut random = Random::new(self.seed ^ write.order.wrapping_mul(0xA24B_AED4_963E_E407));
        let fate = match self.remains {
            Remains::Destaged if self.landing.contains(&write.order) => {
                Fate::First(random.below(write.sectors + 1))
            }
            Remains::Destaged => Fate::Lost,
            Remains::Any => match random.below(3) {
                0 => Fate::Lost,
                1 => Fate::Landed,
                _ => Fate::Scattered(random),
            },
        };
        match fate {
            Fate::First(_) | Fate::Scattered(_) if write.whole => Fate::Lost,
            fate => fate,
        }
    }
}

impl CutReport {
    fn count(&mut self, write: &Unlanded, there: u64) {
        if !write.acknowledged {
            self.under_way += 1;
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
