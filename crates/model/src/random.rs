//! Random numbers of a seed: a sequence, numbers below a limit, and shuffles.
//!
//! Only integer arithmetic and exactly rounded operations are used: all machines give the same
//! numbers.

/// 2^64 divided by the golden ratio: the increment of `SplitMix64` (G. L. Steele, D. Lea and C. H.
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of `SplitMix64`: a bijection that leaves no visible pattern.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number below `limit` from 64 random bits, by multiplication (D. Lemire, "Fast random integer
/// generation in an interval", 2019); 0 if the limit is 0. The bias is below 2^-32 for limits below
/// 2^32.
#[inline]
pub fn below(bits: u64, limit: u64) -> u64 {
    ((u128::from(bits) * u128::from(limit)) >> 64) as u64
}

/// A place in a list of this length from 64 random bits, as [`below`].
#[inline]
pub fn index(bits: u64, length: usize) -> usize {
    usize::try_from(below(bits, length as u64)).unwrap_or_default()
}

/// A number in the open interval from 0 to 1, of 53 random bits.
#[inline]
pub fn unit(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
}

/// Shuffles a list (Fisher and Yates). `bits` returns 64 random bits, once for each place from the
/// last to the second.
pub fn shuffle<T>(list: &mut [T], mut bits: impl FnMut() -> u64) {
    for last in (1..list.len()).rev() {
        list.swap(last, index(bits(), last + 1));
    }
}

/// A sequence of random numbers: `SplitMix64`.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `limit`.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        below(self.next_u64(), limit)
    }

    /// A place in a list of this length.
    #[inline]
    pub fn index(&mut self, length: usize) -> usize {
        index(self.next_u64(), length)
    }

    /// A number in the open interval from 0 to 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Shuffles a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        shuffle(list, || self.next_u64());
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

    #[test]
    fn a_shuffled_list_has_every_item_once_and_every_order_is_as_likely() {
        let mut random = Random::new(1);
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut list = [0, 1, 2];
            random.shuffle(&mut list);
            *orders.entry(list).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6);
        // Expected: 1000, standard deviation 29. The limits are five standard deviations away.
        assert!(
            orders.values().all(|n| (855..1145).contains(n)),
            "{orders:?}"
        );
        let mut none: [u8; 0] = [];
        random.shuffle(&mut none);
    }
}
