//! Pseudorandom numbers that depend only on the seed, with equal results on every machine:
//! `SplitMix64` (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A sequence of pseudorandom numbers.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// Creates the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which must not be 0. The bias is below 2^-32 for bounds below 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        // The high half of a product with a factor below 2^64 fits.
        u64::try_from(wide >> 64).unwrap_or(u64::MAX)
    }

    /// A number above 0 and below 1, of 53 bits.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_published_sequence() {
        // First numbers of the reference implementation for seed 1234567.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn numbers_stay_in_their_bounds_and_reach_both_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| random.below(7)).collect();
        assert!((0..7).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| *n < 7));
        assert!((0..1000).all(|_| (f64::MIN_POSITIVE..1.0).contains(&random.unit())));
    }
}
