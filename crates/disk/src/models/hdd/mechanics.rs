//! The mechanics: time to reach a sector and to transfer a run of sectors from a given arm position
//! at a given time. These functions have no state.

use super::geometry::{Geometry, Place};
use super::seek::SeekCurve;
use super::spec::HddSpec;
use crate::arithmetic::{ms_to_ns, to_ns};

/// Position of the arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    pub cylinder: u32,
    pub head: u32,
}

impl From<&Place> for Position {
    fn from(place: &Place) -> Self {
        Self {
            cylinder: place.cylinder,
            head: place.head,
        }
    }
}

/// Times of a seek to a run of sectors and of its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Seek distance in cylinders.
    pub cylinders: u32,
    /// Seek, head switch and settle time.
    pub seek_ns: u64,
    pub rotation_ns: u64,
    /// Transfer time including track switches.
    pub transfer_ns: u64,
    pub ends: u64,
    pub position: Position,
}

#[derive(Debug, Clone)]
pub struct Mechanics {
    geometry: Geometry,
    curve: SeekCurve,
    head_switch_ns: u64,
    write_settle_ns: u64,
}

impl Mechanics {
    /// Creates the mechanics of a disk with this many sectors.
    pub fn new(spec: &HddSpec, sectors: u64) -> Self {
        let turn_ns = to_ns(60e9 / spec.rpm);
        let [outer, inner] = spec.sectors_per_track;
        let geometry = Geometry::new(sectors, spec.zones, spec.heads, outer, inner, turn_ns);
        let curve = SeekCurve::new(spec.seek, geometry.cylinders());
        let head_switch_ns = ms_to_ns(spec.head_switch_ms);
        let track_skew = spec.track_skew_ms.map_or(head_switch_ns, ms_to_ns);
        let shortest = curve.ns(1).max(head_switch_ns);
        let cylinder_skew = spec.cylinder_skew_ms.map_or(shortest, ms_to_ns);
        Self {
            geometry: geometry.skewed(track_skew, cylinder_skew),
            curve,
            head_switch_ns,
            write_settle_ns: ms_to_ns(spec.write_settle_ms),
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Turns the platters at time zero, by this share of a revolution in units of 2^-32.
    pub fn turn(&mut self, share: u32) {
        self.geometry.turn(share);
    }

    /// Time between two positions: the longer of seek and head switch.
    pub fn moves(&self, from: Position, to: Position) -> u64 {
        let seek = self.curve.ns(from.cylinder.abs_diff(to.cylinder));
        let switch = if from.head == to.head {
            0
        } else {
            self.head_switch_ns
        };
        seek.max(switch)
    }

    /// Moves the arm at `now` to `sector` and transfers `sectors` of them. With `settles`, adds the
    /// write settle time after a move.
    pub fn access(
        &self,
        now: u64,
        from: Position,
        sector: u64,
        sectors: u64,
        settles: bool,
    ) -> Access {
        let place = self.geometry.place(sector);
        let to = Position::from(&place);
        let mut seek_ns = self.moves(from, to);
        if settles && seek_ns > 0 {
            seek_ns += self.write_settle_ns;
        }
        let begins = self.geometry.sector_passes_at(&place, now + seek_ns);
        let (ends, position) = self.pass(begins, sector, sectors);
        Access {
            cylinders: from.cylinder.abs_diff(to.cylinder),
            seek_ns,
            rotation_ns: begins - now - seek_ns,
            transfer_ns: ends - begins,
            ends,
            position,
        }
    }

    /// Transfers a run whose first sector starts at `begins`, across track boundaries.
    pub fn pass(&self, begins: u64, sector: u64, sectors: u64) -> (u64, Position) {
        let mut place = self.geometry.place(sector);
        let (mut at, mut here, mut left) = (begins, sector, sectors);
        loop {
            let run = left.min(place.of_track - place.sector);
            let angle = |sector| self.geometry.angle_within(place.of_track, sector);
            at += angle(place.sector + run) - angle(place.sector);
            (here, left) = (here + run, left - run);
            let position = Position::from(&place);
            if left == 0 {
                return (at, position);
            }
            place = self.geometry.place(here);
            let ready = at + self.moves(position, Position::from(&place));
            at = self.geometry.sector_passes_at(&place, ready);
        }
    }

    /// Counts sectors of a track from `sector` on, which started to pass at `begins`. Returns the
    /// number that have passed by `now`, and the number up to the end of the track.
    pub fn over_by(&self, begins: u64, sector: u64, now: u64) -> (u64, u64) {
        let place = self.geometry.place(sector);
        let rest = place.of_track - place.sector;
        let first = self.geometry.angle_within(place.of_track, place.sector);
        let gone = now.saturating_sub(begins);
        // Sector s has passed when angle(s + 1) - first <= gone. Angles round down.
        let over = |run: u64| {
            self.geometry
                .angle_within(place.of_track, place.sector + run)
                - first
                <= gone
        };
        let guess = gone * place.of_track / self.geometry.turn_ns();
        let mut run = guess.min(rest);
        while run < rest && over(run + 1) {
            run += 1;
        }
        while run > 0 && !over(run) {
            run -= 1;
        }
        (run, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::hdd::tests::spec;

    #[test]
    fn a_transfer_in_parts_takes_as_long_as_in_one() {
        let mechanics = Mechanics::new(&spec(), 1_000_000);
        let whole = mechanics.access(5_000_000, Position::default(), 100, 5000, false);
        let mut part = mechanics.access(5_000_000, Position::default(), 100, 1, false);
        for sector in 101..5100 {
            part = mechanics.access(part.ends, part.position, sector, 1, false);
        }
        assert_eq!(part.ends, whole.ends);
    }

    #[test]
    fn passed_sectors_match_the_transferred_ones() {
        let mechanics = Mechanics::new(&spec(), 1_000_000);
        let begins = mechanics
            .geometry()
            .sector_passes_at(&mechanics.geometry().place(3), 777);
        for run in 1..50 {
            let (ends, _) = mechanics.pass(begins, 3, run);
            assert_eq!(mechanics.over_by(begins, 3, ends).0, run);
            assert_eq!(mechanics.over_by(begins, 3, ends - 1).0, run - 1);
        }
    }
}
