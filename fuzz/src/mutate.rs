//! Mutations for the plain driver: small changes, and pieces of other inputs. Reproducible from a
//! seed.

/// A generator of numbers (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014: SplitMix64).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.draw() % (end.max(1) as u64)).unwrap_or_default()
    }
}

/// Numbers at which sums and sizes go wrong.
const EDGES: [u64; 8] = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX];

/// An input made of `from` by one to eight changes, with pieces of `other`.
pub fn mutated(random: &mut Random, from: &[u8], other: &[u8], longest: usize) -> Vec<u8> {
    let mut input = from.to_vec();
    for _ in 0..=random.below(8) {
        change(random, &mut input, other);
    }
    input.truncate(longest);
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(input.len() + 1);
    let end = at + random.below((input.len() - at).min(64) + 1);
    match random.below(8) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.draw().to_le_bytes()[0],
        2 => drop(input.drain(at..end)),
        3 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        4 => input.truncate(at),
        5 => {
            let from = random.below(other.len() + 1);
            let piece = &other[from..from + random.below((other.len() - from).min(64) + 1)];
            input.splice(at..end, piece.iter().copied());
        }
        6 => {
            let number = EDGES[random.below(EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            for (to, byte) in input.iter_mut().skip(at).zip(&number[..width]) {
                *to = *byte;
            }
        }
        _ => {
            let number = EDGES[random.below(EDGES.len())].to_string();
            input.splice(at..end.min(at + 20), number.bytes());
        }
    }
}
