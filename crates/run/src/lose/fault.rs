//! A fault of a disk: the contents that it leaves, and whether they were repaired.

use super::medium::{Medium, Place, length};
use fsdyno_crash::Data;
use fsdyno_crash::trace::SECTOR;
use fsdyno_datasets::seed::Seed;
use fsdyno_lab::explorer::{AfterRecovery, Base, Contents};
use fsdyno_model::DiskFault;
use fsdyno_model::random::Random;
use std::collections::BTreeSet;

/// How many places are tried for each fault that is wanted. Some are drawn twice, or have no such
/// fault.
const ATTEMPTS: u32 = 4;

/// A disk slows down in the first so many parts of its requests.
const EARLY: u64 = 10;

/// A disk with a fault.
#[derive(Debug, Clone)]
pub(super) struct FaultyDisk {
    pub disk: usize,
    base: Base,
    /// The sectors that are wrong or fail.
    pub sectors: Vec<u64>,
    fails: Option<Fails>,
}

/// How a sector fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fails {
    Once,
    UntilWritten,
    /// All requests to the disk fail after this number.
    After(u64),
    /// The disk is slow after this number of requests.
    Slowly(u64),
}

/// Draws different faults in these places.
pub(super) fn draw(
    media: &[Medium],
    places: &[Place],
    fault: DiskFault,
    (seed, count): (Seed, u32),
) -> Vec<(Place, FaultyDisk)> {
    let mut drawn = Vec::new();
    let mut known = BTreeSet::new();
    for attempt in 0..count.saturating_mul(ATTEMPTS) {
        if drawn.len() >= count as usize {
            break;
        }
        let mut random = Random::new(seed.at(attempt.into()).value());
        let Some(place) = pick(places, &mut random) else {
            break;
        };
        let medium = &media[place.disk];
        let Some((key, faulty)) = inject(medium, places, (place, fault), &mut random) else {
            continue;
        };
        if known.insert(key) {
            drawn.push((place, faulty));
        }
    }
    drawn
}

fn pick(places: &[Place], random: &mut Random) -> Option<Place> {
    let at = usize::try_from(random.below(places.len() as u64)).unwrap_or_default();
    places.get(at).copied()
}

/// Draws different faults of whole disks, of which each served this number of requests: of each the
/// number of requests until it dies or slows down, or of the writes that it has.
pub(super) fn draw_disks(
    (media, requests): (&[Medium], &[u64]),
    fault: DiskFault,
    (seed, count): (Seed, u32),
) -> Vec<(u64, FaultyDisk)> {
    let mut drawn: Vec<(u64, FaultyDisk)> = Vec::new();
    for attempt in 0..count.saturating_mul(ATTEMPTS) {
        if drawn.len() >= count as usize {
            break;
        }
        let mut random = Random::new(seed.at(attempt.into()).value());
        let disk = usize::try_from(random.below(media.len() as u64)).unwrap_or_default();
        let medium = &media[disk];
        let served = requests.get(disk).copied().unwrap_or_default();
        let moment = match fault {
            // It fails the last request at the latest.
            DiskFault::DyingDisk | DiskFault::ReturnedDisk => {
                1 + random.below(served.saturating_sub(1).max(1))
            }
            DiskFault::OldDisk => random.below(medium.writes.len().max(1) as u64),
            // Early, so that its times are those of a slow disk.
            DiskFault::SlowDisk => random.below(served / EARLY + 1),
            _ => 0,
        };
        let (base, fails) = match fault {
            DiskFault::OldDisk => (
                medium.after(usize::try_from(moment).unwrap_or_default()),
                None,
            ),
            DiskFault::SlowDisk => (medium.healthy.clone(), Some(Fails::Slowly(moment))),
            _ => (medium.healthy.clone(), Some(Fails::After(moment))),
        };
        let sectors = medium.differing(&base);
        let is_known = |other: &(u64, FaultyDisk)| (other.0, other.1.disk) == (moment, disk);
        if (fails.is_none() && sectors.is_empty()) || drawn.iter().any(is_known) {
            continue;
        }
        let faulty = FaultyDisk {
            disk,
            base,
            sectors,
            fails,
        };
        drawn.push((moment, faulty));
    }
    drawn
}

/// The identity of a fault: the disk, and the bit, sector or write that it concerns.
type Key = (usize, u64, u64);

/// The fault in that place; none if it has none.
fn inject(
    medium: &Medium,
    places: &[Place],
    (place, fault): (Place, DiskFault),
    random: &mut Random,
) -> Option<(Key, FaultyDisk)> {
    let Place { disk, sector } = place;
    let fails = match fault {
        DiskFault::ReadError => Some(Fails::UntilWritten),
        DiskFault::TransientReadError => Some(Fails::Once),
        _ => None,
    };
    let (key, base) = match fault {
        DiskFault::ReadError | DiskFault::TransientReadError => {
            let faulty = FaultyDisk {
                disk,
                base: medium.healthy.clone(),
                sectors: vec![sector],
                fails,
            };
            return Some(((disk, sector, 0), faulty));
        }
        DiskFault::BitFlip => {
            let bit = random.below(SECTOR as u64 * 8);
            let mut bytes = medium.sector(sector);
            bytes[usize::try_from(bit / 8).unwrap_or_default()] ^= 1 << (bit % 8);
            let mut contents = medium.contents();
            contents.put(sector, &bytes);
            ((disk, sector, bit), contents.snapshot())
        }
        DiskFault::LostWrite => {
            let lost = medium.last_write(sector)?;
            ((disk, lost as u64, 0), medium.without(Some(lost)))
        }
        DiskFault::TornWrite => {
            let torn = medium.last_write(sector)?;
            // The sector is not written, and an earlier one is.
            let before = sector.checked_sub(medium.writes[torn].sector)?;
            if before == 0 {
                return None;
            }
            let kept = 1 + random.below(before);
            ((disk, torn as u64, kept), medium.torn(torn, kept))
        }
        DiskFault::MisdirectedWrite => {
            let lost = medium.last_write(sector)?;
            let other = pick(places, random).filter(|other| other.disk == disk)?;
            let target = medium.last_write(other.sector)?;
            let Data::Bytes(bytes) = &medium.writes[lost].data else {
                return None;
            };
            let at = medium.writes[target].sector;
            let room = (medium.healthy.bytes() / SECTOR as u64).checked_sub(at)?;
            let bytes = &bytes[..bytes.len().min(length(room))];
            if target == lost {
                return None;
            }
            let mut contents = Contents::of(medium.without(Some(lost)));
            contents.put(at, bytes);
            ((disk, lost as u64, at), contents.snapshot())
        }
        // Of no sector.
        DiskFault::DeadDisk
        | DiskFault::DyingDisk
        | DiskFault::OldDisk
        | DiskFault::ReturnedDisk
        | DiskFault::SlowDisk => return None,
    };
    let sectors = medium.differing(&base);
    // One request can write data and metadata. Its loss would be neither a fault of the one nor of
    // the other.
    let is_data = medium.is_data(sector);
    let is_other = |sector: &u64| {
        let zeros = medium.sector(*sector) == [0; SECTOR];
        !zeros && medium.is_data(*sector) != is_data
    };
    if sectors.iter().any(is_other) {
        return None;
    }
    let faulty = FaultyDisk {
        disk,
        base,
        sectors,
        fails,
    };
    (!faulty.sectors.is_empty()).then_some((key, faulty))
}

impl Medium {
    /// The sectors in which other contents differ.
    fn differing(&self, other: &Base) -> Vec<u64> {
        let pages = self.healthy.differing(other).into_iter();
        let sectors = pages.flat_map(|at| {
            let first = at / SECTOR as u64;
            first..first + (Base::PAGE / SECTOR) as u64
        });
        let differs = |sector: &u64| sector_of(other, *sector) != self.sector(*sector);
        sectors.filter(differs).collect()
    }
}

fn sector_of(base: &Base, sector: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    base.read(sector * SECTOR as u64, &mut bytes);
    bytes
}

impl FaultyDisk {
    /// The contents of the disk.
    pub fn contents(&self) -> Contents {
        let mut contents = Contents::of(self.base.clone());
        let sectors = self.sectors.iter().copied();
        match self.fails {
            Some(Fails::Once) => sectors.for_each(|sector| contents.fail_once(sector)),
            Some(Fails::UntilWritten) => contents.lose(sectors),
            Some(Fails::After(requests)) => contents.die_after(requests),
            Some(Fails::Slowly(requests)) => contents.slow_after(requests, DiskFault::SLOWNESS),
            None => {}
        }
        contents
    }

    /// Whether the disk is gone.
    pub fn is_gone(&self) -> bool {
        matches!(self.fails, Some(Fails::After(_)))
    }

    /// Whether another attempt succeeds.
    pub fn fails_once(&self) -> bool {
        self.fails == Some(Fails::Once)
    }

    /// Whether all sectors have the right contents again, or were written and have no wrong byte.
    pub fn is_healed(&self, healthy: &Base, after: &AfterRecovery) -> bool {
        if self.is_gone() {
            return false;
        }
        let now = self.base.with(&after.changes);
        self.sectors.iter().all(|sector| {
            let is_written = after.written.contains(*sector);
            if self.fails.is_some() {
                return is_written;
            }
            let [wrong, right, now] =
                [&self.base, healthy, &now].map(|base| sector_of(base, *sector));
            let is_wrong = |at: usize| wrong[at] != right[at] && now[at] == wrong[at];
            now == right || (is_written && !(0..SECTOR).any(is_wrong))
        })
    }
}
