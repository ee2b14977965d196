//! Seeds and random numbers. Every entry of a dataset has its own seed, so that files have
//! different contents and any entry can be generated separately.
//!
//! All machines give the same numbers.

use fsdyno_model::random::{self, GOLDEN, mix};

/// The seed of a dataset, of a part of it, or of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// The seed a user chose.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN)))
    }

    #[must_use]
    pub fn part(self, name: &str) -> Self {
        // FNV-1a, then mixed: names differ only in a few letters.
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self(mix(self.0 ^ mix(hash)))
    }

    /// The seed of entry `index`; different for each index.
    #[must_use]
    pub fn at(self, index: u64) -> Self {
        Self(mix(self
            .0
            .wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN))))
    }

    pub fn value(self) -> u64 {
        self.0
    }

    /// A number below `limit`.
    pub fn below(self, limit: u64) -> u64 {
        random::below(self.0, limit)
    }
}

/// Numbers between 0 and 1 that fill the interval evenly (an additive recurrence with the golden
/// ratio). Sizes that are generated with them keep their mean at any scale; independent samples of
/// a heavy-tailed distribution do not.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    next: u64,
}

impl Spread {
    pub fn new(seed: Seed) -> Self {
        Self { next: seed.value() }
    }

    /// The sequence after so many numbers.
    #[must_use]
    pub fn at(seed: Seed, drawn: u64) -> Self {
        Self {
            next: seed.value().wrapping_add(drawn.wrapping_mul(GOLDEN)),
        }
    }

    /// The next number.
    pub fn draw(&mut self) -> f64 {
        random::unit(self.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.next = self.next.wrapping_add(GOLDEN);
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_entries_differ() {
        let seed = Seed::new(1);
        let mut all = vec![seed, Seed::new(2), seed.part("a"), seed.part("b")];
        all.extend((0..1000).map(|index| seed.at(index)));
        all.extend((0..1000).map(|index| seed.part("a").at(index)));
        let count = all.len();
        all.sort_by_key(|seed| seed.value());
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn seeds_are_the_same_everywhere() {
        assert_eq!(
            Seed::new(7).part("portage").at(3).value(),
            7_491_933_127_835_399_995
        );
    }

    #[test]
    fn a_spread_fills_the_interval_evenly() {
        let mut spread = Spread::new(Seed::new(5));
        let mut tenths = [0; 10];
        for _ in 0..1000 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0..10"
            )]
            let tenth = (spread.draw() * 10.0) as usize;
            tenths[tenth] += 1;
        }
        assert!(
            tenths.iter().all(|count| (97..=103).contains(count)),
            "{tenths:?}"
        );
    }
}
