//! The length of slices: the same number of files or blocks for all cells, so that each slice compares
//! the same work.

use fsdyno_load::slices::Slice;
use fsdyno_model::Nanos;

/// The first slice of a phase, before its speed is known.
const FIRST: u64 = 16;

/// By how much a slice is longer than the one before it, at most.
const GROWTH: u64 = 4;

/// The length of the slices of a phase.
#[derive(Debug)]
pub(crate) struct SliceLength {
    units: u64,
    /// The length that the slice in progress shows to be needed: the largest of its cells.
    wanted: Option<u64>,
}

impl Default for SliceLength {
    fn default() -> Self {
        Self {
            units: FIRST,
            wanted: None,
        }
    }
}

impl SliceLength {
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Notes a slice of one of the cells. `least` is the shortest that a slice of the fastest may be.
    pub fn note(&mut self, ended: Slice, least: Nanos) {
        let time = u128::from(ended.took.0.max(1));
        let needed = u128::from(least.0) * u128::from(ended.units) / time;
        let needed = u64::try_from(needed).unwrap_or(u64::MAX);
        self.wanted = self.wanted.max(Some(needed));
    }

    /// Sets the length of the next slice.
    pub fn choose(&mut self) {
        if let Some(wanted) = self.wanted.take() {
            self.units = wanted.clamp(1, self.units.saturating_mul(GROWTH));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_long_enough_for_the_fastest_cell() {
        let least = Nanos(10_000_000);
        let mut length = SliceLength::default();
        // 10 and 50 us for each unit.
        let mut slices = Vec::new();
        for _ in 0..6 {
            let units = length.units();
            slices.push(units);
            for each in [50_000, 10_000, 20_000] {
                let took = Nanos(units * each);
                length.note(Slice { units, took }, least);
            }
            length.choose();
        }
        assert_eq!(slices, [16, 64, 256, 1000, 1000, 1000]);
        // Files of 20 ms each.
        let slow = Slice {
            units: 1000,
            took: Nanos(20_000_000_000),
        };
        length.note(slow, least);
        length.choose();
        assert_eq!(length.units(), 1, "never none");
        length.choose();
        assert_eq!(length.units(), 1, "no new slice");
    }
}
