//! The amount of data that a state writes, known before anything is written.

use super::aged::CLOSING;
use super::fragmented::{BRIM, HOLE, bulk};
use super::plain::large_on;
use super::space::Space;
use fsdyno_model::{Bytes, InitialState};

/// What a state writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The largest space that its files take at a time.
    pub space: Bytes,
    /// All bytes written, also over files that are deleted later.
    pub written: Bytes,
    /// The number of files that it creates first, about.
    pub files: u64,
}

/// What a state writes on a file system with this space; none for a fresh state.
pub fn expected(state: &InitialState, space: &Space) -> Option<Expected> {
    let permille = state.fill_permille?;
    let missing = space.missing(permille);
    let large = large_on(space.capacity());
    let (taken, files) = if state.age > 0 {
        (missing, missing / CLOSING)
    } else if state.fragmented {
        let taken = space.missing(BRIM.max(permille));
        let bulk = space.missing(bulk(permille));
        (taken, bulk / large + taken.saturating_sub(bulk) / HOLE)
    } else {
        (missing, missing.div_ceil(large))
    };
    Some(Expected {
        space: Bytes(taken),
        written: Bytes(taken.saturating_mul(u64::from(state.age) + 1)),
        files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Fill;

    #[test]
    fn the_expected_bytes_are_those_up_to_the_fullest_moment() {
        const GIB: u64 = 1 << 30;
        let space = Space {
            used: 10 * GIB,
            free: 90 * GIB,
            inodes_left: None,
        };
        let of = |fill: Option<&str>, age| {
            let fill = fill.map(|text| text.parse::<Fill>().unwrap());
            expected(&InitialState::of(fill, age).unwrap(), &space)
        };
        assert_eq!(of(None, 0), None);
        let plain = of(Some("50%"), 0).unwrap();
        assert_eq!((plain.space.0, plain.written.0), (40 * GIB, 40 * GIB));
        assert_eq!(plain.files, 40 * GIB / (16 << 20));
        let aged = of(Some("50%"), 2).unwrap();
        assert_eq!((aged.space.0, aged.written.0), (40 * GIB, 120 * GIB));
        // The small files take it almost full before every second one is deleted.
        let fragmented = of(Some("50%:fragmented"), 0).unwrap();
        assert!(fragmented.space.0 > 89 * GIB && fragmented.files > plain.files);
        assert_eq!(of(Some("5%"), 0).unwrap().written, Bytes(0));
    }
}
