//! Filled with large files in sequence: the free space is contiguous, as far as the file system
//! permits.

use super::error::StateError;
use super::files::Files;
use super::{Method, Work};

/// Large files in sequence.
pub static PLAIN: Method = Method {
    name: "plain",
    typed: "--fill 90%",
    title: "large files written in sequence",
    applies: |state| state.fill_permille.is_some(),
    run: |work| {
        let size = large(work)?;
        let missing = work.files.space()?.missing(work.permille);
        work.files.expect(missing);
        let outcome = fill_to(&mut work.files, work.permille, size, &mut |_, _| {})?;
        check_utilisation(work, outcome)?;
        Ok("filled with large files".to_owned())
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// The requested utilisation was reached.
    Reached,
    /// The file system accepted no more data.
    Full,
}

/// The size of large files: 16 MiB, and on small file systems a hundredth of them.
pub(super) fn large(work: &Work<'_>) -> Result<u64, StateError> {
    Ok(large_on(work.files.space()?.capacity()))
}

/// The size of large files on a file system of this capacity.
pub(super) fn large_on(capacity: u64) -> u64 {
    let hundredth = capacity / 100;
    hundredth.next_multiple_of(4096).clamp(64 << 10, 16 << 20)
}

/// Writes files of `size`, the last one smaller, until the utilisation is reached; `made` receives
/// the number and the size of each.
///
/// Each round writes slightly less than what is missing and then reads the utilisation again,
/// because metadata takes additional space.
pub(super) fn fill_to(
    files: &mut Files<'_>,
    permille: u32,
    size: u64,
    made: &mut dyn FnMut(u32, u64),
) -> Result<Filled, StateError> {
    const ROUNDS: u32 = 24;
    for _ in 0..ROUNDS {
        let space = files.space()?;
        let missing = space.missing(permille);
        if missing <= space.tolerance() {
            break;
        }
        let mut left = missing - missing / 16;
        while left > 0 {
            let (number, bytes) = (files.next_number(), size.min(left));
            match files.create(number, bytes) {
                Ok(()) => made(number, bytes),
                Err(error) if error.is_full() => return Ok(Filled::Full),
                Err(error) => return Err(error),
            }
            left -= bytes;
        }
    }
    Ok(Filled::Reached)
}

/// An error if a full file system is more than one percent below the requested utilisation.
pub(super) fn check_utilisation(work: &Work<'_>, outcome: Filled) -> Result<(), StateError> {
    let space = work.files.space()?;
    let short = space.percent() + 1.0 < f64::from(work.permille) / 10.0;
    if outcome == Filled::Full && short {
        return Err(work.files.not_reached(work.permille, &space));
    }
    Ok(())
}
