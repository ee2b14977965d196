//! Mutations for the plain driver: small changes, and pieces of other inputs. Reproducible from a
//! seed.

pub use fsdyno_model::random::Random;

/// Numbers at which sums and sizes go wrong.
const EDGES: [u64; 8] = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX];

/// An input made of `from` by one to eight changes, with pieces of `other`.
pub fn mutated(random: &mut Random, from: &[u8], other: &[u8], longest: usize) -> Vec<u8> {
    let mut input = from.to_vec();
    for _ in 0..=random.index(8) {
        change(random, &mut input, other);
    }
    input.truncate(longest);
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    let at = random.index(input.len() + 1);
    let end = at + random.index((input.len() - at).min(64) + 1);
    match random.index(8) {
        0 if at < input.len() => input[at] ^= 1 << random.index(8),
        1 if at < input.len() => input[at] = random.next_u64().to_le_bytes()[0],
        2 => drop(input.drain(at..end)),
        3 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        4 => input.truncate(at),
        5 => {
            let from = random.index(other.len() + 1);
            let piece = &other[from..from + random.index((other.len() - from).min(64) + 1)];
            input.splice(at..end, piece.iter().copied());
        }
        6 => {
            let number = EDGES[random.index(EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.index(4)];
            for (to, byte) in input.iter_mut().skip(at).zip(&number[..width]) {
                *to = *byte;
            }
        }
        _ => {
            let number = EDGES[random.index(EDGES.len())].to_string();
            input.splice(at..end.min(at + 20), number.bytes());
        }
    }
}
