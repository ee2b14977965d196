//! Filled so that the free space is in small holes: filled almost completely, at the end with small
//! files, of which every second one is then deleted.

use super::error::StateError;
use super::files::Files;
use super::plain::{check_utilisation, fill_to, large};
use super::{Method, Work};

/// Small files, every second one deleted.
pub static FRAGMENTED: Method = Method {
    name: "fragmented",
    typed: "--fill 90%:fragmented",
    title: "small files, every second one deleted",
    applies: |state| state.fragmented && state.age == 0,
    run: fill,
};

/// The size of a small file, and so of a hole.
pub(super) const HOLE: u64 = 32 << 10;
/// The utilisation before files are deleted, in tenths of a percent. The remaining two-hundredth
/// is free space outside of the holes.
pub(super) const BRIM: u32 = 995;

/// The utilisation up to which large files are written: half of the space between it and the brim is
/// the space to be freed.
pub(super) fn bulk(permille: u32) -> u32 {
    (2 * permille).saturating_sub(BRIM)
}

fn fill(work: &mut Work<'_>) -> Result<String, StateError> {
    let size = large(work)?;
    let files = &mut work.files;
    let missing = files.space()?.missing(BRIM.max(work.permille));
    files.expect(missing);
    fill_to(files, bulk(work.permille), size, &mut |_, _| {})?;
    let before = files.space()?;
    let mut small: Vec<u32> = Vec::new();
    let brim = BRIM.max(work.permille);
    // A file system that accepts no more data is as full as possible.
    fill_to(files, brim, HOLE, &mut |number, bytes| {
        if bytes == HOLE {
            small.push(number);
        }
    })?;
    let space = files.space()?;
    let standing = small.len() as u64;
    let cost = (space.used.saturating_sub(before.used) / standing.max(1)).max(HOLE);
    delete_until(files, work.permille, cost, &mut small)?;
    let deleted = standing - small.len() as u64;
    let outcome = fill_to(files, work.permille, HOLE, &mut |_, _| {})?;
    check_utilisation(work, outcome)?;
    // If more are deleted than remain, holes are adjacent and merge.
    let hole = HOLE * deleted.div_ceil(small.len().max(1) as u64).max(1);
    Ok(format!(
        "filled, with {deleted} small files deleted between others, so that free space is in \
         holes of about {}",
        fsdyno_model::Bytes(hole)
    ))
}

/// Deletes small files, evenly spread over all of them, until the utilisation is reached.
fn delete_until(
    files: &mut Files<'_>,
    permille: u32,
    cost: u64,
    small: &mut Vec<u32>,
) -> Result<(), StateError> {
    const ROUNDS: u32 = 8;
    for _ in 0..ROUNDS {
        let space = files.space()?;
        let beyond = space.beyond(permille);
        if beyond <= space.tolerance() {
            break;
        }
        let many = usize::try_from(beyond.div_ceil(cost)).unwrap_or(usize::MAX);
        for number in take_evenly(small, many) {
            files.remove(number, HOLE)?;
        }
    }
    Ok(())
}

/// Takes `many` out of a list, evenly spread.
fn take_evenly(small: &mut Vec<u32>, many: usize) -> Vec<u32> {
    let all = small.len();
    let many = many.min(all);
    let mut taken = Vec::with_capacity(many);
    let mut place = 0;
    small.retain(|number| {
        // One is taken wherever place * many / all comes to a new whole number.
        let take = (place + 1) * many / all > place * many / all;
        place += 1;
        if take {
            taken.push(*number);
        }
        !take
    });
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_spread_evenly() {
        let mut small: Vec<u32> = (0..10).collect();
        assert_eq!(take_evenly(&mut small, 5), [1, 3, 5, 7, 9]);
        assert_eq!(small, [0, 2, 4, 6, 8]);
        assert_eq!(take_evenly(&mut small, 9), [0, 2, 4, 6, 8]);
        assert_eq!(take_evenly(&mut small, 1), Vec::<u32>::new());
        let mut small: Vec<u32> = (0..1000).collect();
        let taken = take_evenly(&mut small, 100);
        assert!(
            taken.windows(2).all(|two| two[1] - two[0] == 10),
            "{taken:?}"
        );
    }
}
