//! The content of files: every unit of 16 bytes names the operation that wrote it and its offset, so
//! that what is read after a power cut can be attributed. A unit that an operation writes in part has
//! bytes that depend on both, and names nothing.

use crate::operation::{Operation, Program};
use crate::tree::{Run, Source};
use std::ops::Range;

/// Bytes of a unit.
pub const UNIT: usize = 16;

/// The first bytes of a unit of content.
const WRITTEN: [u8; 4] = *b"fsdW";

/// The first bytes of a unit of free space that nothing has written.
const FREE: [u8; 4] = *b"fsdC";

/// The largest number of units of a file whose bytes are kept as [`Source::Bytes`]. A program of at
/// most some thousand operations writes fewer units in part.
const MAX_PARTS: usize = 8192;

/// File systems move whole blocks, within a file of a program.
const MOVED_BY: i64 = 4096;
const MOST_MOVED: u64 = 64 << 20;

/// Fills `into` with the content that the operation of this number writes from `offset` on.
pub fn fill(operation: u32, offset: u64, into: &mut [u8]) {
    let end = offset.saturating_add(into.len() as u64);
    for_each_part(offset, into, |at, part| {
        if part.len() == UNIT {
            part.copy_from_slice(&unit(WRITTEN, operation, at));
        } else {
            for (at, byte) in (at..).zip(part) {
                *byte = self::byte(operation, at, &(offset..end));
            }
        }
    });
}

/// Fills `into` with the content of a disk that was never written, from byte `at` on. A file system
/// that shows it has given out space that it did not clear.
pub fn fill_free(at: u64, into: &mut [u8]) {
    for_each_part(at, into, |at, part| {
        let within = within(at);
        let unit = unit(FREE, 0, at - within as u64);
        part.copy_from_slice(&unit[within..within + part.len()]);
    });
}

/// The byte at `at` that an operation writes which writes this range.
pub fn byte(operation: u32, at: u64, range: &Range<u64>) -> u8 {
    let within = within(at);
    let first = at - within as u64;
    if range.start <= first && first + UNIT as u64 <= range.end {
        return unit(WRITTEN, operation, first)[within];
    }
    // SplitMix64 (Steele et al., OOPSLA 2014), and never zero, which is a hole.
    let mut mixed = at ^ (u64::from(operation) << 40);
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        mixed = (mixed.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ (mixed >> shift)).wrapping_mul(factor);
    }
    let least = u8::try_from((mixed >> 32) % 255).unwrap_or_default();
    least + 1
}

fn within(at: u64) -> usize {
    usize::try_from(at % UNIT as u64).unwrap_or_default()
}

/// Divides bytes from this offset on at the ends of units.
fn for_each_part(offset: u64, bytes: &mut [u8], mut of: impl FnMut(u64, &mut [u8])) {
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let count = rest.len().min(UNIT - within(at));
        let (now, later) = rest.split_at_mut(count);
        of(at, now);
        rest = later;
        at += count as u64;
    }
}

fn unit(magic: [u8; 4], number: u32, offset: u64) -> [u8; UNIT] {
    let mut unit = [0; UNIT];
    unit[..4].copy_from_slice(&magic);
    unit[4..8].copy_from_slice(&number.to_le_bytes());
    unit[8..].copy_from_slice(&offset.to_le_bytes());
    unit
}

/// Whether bytes are content that an operation wrote, up to zeros after the end of its file.
pub fn is_written(bytes: &[u8]) -> bool {
    let Some([w0, w1, w2, w3, n0, n1, n2, n3, offset @ ..]) = bytes.first_chunk::<UNIT>() else {
        return false;
    };
    let offset = u64::from_le_bytes(*offset);
    if [*w0, *w1, *w2, *w3] != WRITTEN || offset > u64::MAX / 2 {
        return false;
    }
    let number = u32::from_le_bytes([*n0, *n1, *n2, *n3]);
    let mut expected = vec![0; bytes.len()];
    fill(number, offset, &mut expected);
    let units = bytes.chunks(UNIT).zip(expected.chunks(UNIT));
    let written = units.take_while(|(unit, expected)| unit == expected);
    let after = written.count() * UNIT;
    after > 0 && bytes.iter().skip(after).all(|byte| *byte == 0)
}

/// The source of each part of `bytes`, which begin at `offset` of a file. Neighbouring parts with
/// one source are one run. With `exact`, bytes of which no whole unit is left at its place are
/// [`Source::Moved`] or [`Source::Bytes`].
pub fn runs(offset: u64, bytes: &[u8], exact: bool) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    let mut parts = 0;
    while at < bytes.len() {
        let here = offset + at as u64;
        let count = (UNIT - within(here)).min(bytes.len() - at);
        let part = &bytes[at..at + count];
        let source = if exact && parts < MAX_PARTS {
            exact_source(here, part)
        } else {
            source(here, part)
        };
        let in_bytes = matches!(source, Source::Bytes(_));
        parts += usize::from(in_bytes);
        let length = count as u64;
        match runs.last_mut() {
            Some(last) if last.source == source && !in_bytes => last.length += length,
            _ => runs.push(Run {
                offset: here,
                length,
                source,
            }),
        }
        at += count;
    }
    runs
}

/// Whether the files of a program can have parts of units, or units at other places than they were
/// written.
pub fn divides_units(program: &Program) -> bool {
    let mut all = program.setup.iter().chain(&program.operations);
    all.any(|operation| {
        let (offset, length) = match operation {
            Operation::Collapse { .. } | Operation::Insert { .. } => return true,
            Operation::Write { offset, length, .. } => (offset.unwrap_or(0), *length),
            Operation::Allocate { offset, length, .. }
            | Operation::Punch { offset, length, .. }
            | Operation::Zero { offset, length, .. }
            | Operation::Copy { offset, length, .. } => (*offset, *length),
            Operation::Truncate { length, .. } | Operation::SetXattr { length, .. } => (0, *length),
            _ => return false,
        };
        let unit = UNIT as u64;
        !offset.is_multiple_of(unit) || !length.is_multiple_of(unit)
    })
}

impl Run {
    /// Its byte at this offset of the file; none if that is unknown.
    pub fn byte(&self, at: u64) -> Option<u8> {
        let whole = 0..u64::MAX;
        match self.source {
            Source::Operation(operation) => Some(byte(operation, at, &whole)),
            Source::Moved { operation, by } => {
                Some(byte(operation, at.wrapping_add_signed(by), &whole))
            }
            Source::Bytes(bytes) => {
                let within = usize::try_from(at.checked_sub(self.offset)?).ok()?;
                bytes.get(within).copied()
            }
            Source::Zeros => Some(0),
            Source::Free | Source::Other => None,
        }
    }
}

/// The source of a part of a unit that begins at `at`.
fn source(at: u64, part: &[u8]) -> Source {
    if part.iter().all(|byte| *byte == 0) {
        return Source::Zeros;
    }
    let within = within(at);
    // A part without the number names nothing.
    let number = if within == 0 && part.len() >= 8 {
        u32::from_le_bytes([part[4], part[5], part[6], part[7]])
    } else {
        return Source::Other;
    };
    if part == &unit(WRITTEN, number, at)[..part.len()] {
        return Source::Operation(number);
    }
    if part.starts_with(&FREE) {
        return Source::Free;
    }
    Source::Other
}

fn exact_source(at: u64, part: &[u8]) -> Source {
    if let [_, _, _, _, n0, n1, n2, n3, offset @ ..] = part
        && let Ok(offset) = <[u8; 8]>::try_from(offset)
    {
        let number = u32::from_le_bytes([*n0, *n1, *n2, *n3]);
        let offset = u64::from_le_bytes(offset);
        let by = offset.cast_signed().wrapping_sub(at.cast_signed());
        let is_moved = by % MOVED_BY == 0 && by.unsigned_abs() <= MOST_MOVED;
        if part == unit(WRITTEN, number, offset) && is_moved {
            return match by {
                0 => Source::Operation(number),
                by => Source::Moved {
                    operation: number,
                    by,
                },
            };
        }
    }
    let known = source(at, part);
    if matches!(known, Source::Zeros | Source::Free) {
        return known;
    }
    let mut bytes = [0; UNIT];
    bytes[..part.len()].copy_from_slice(part);
    Source::Bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_names_its_operation_and_other_bytes_do_not() {
        let mut bytes = vec![0; 96];
        fill(7, 4096, &mut bytes[..48]);
        fill_free(1 << 20, &mut bytes[64..80]);
        bytes[80..].fill(9);
        let run = |offset, length, source| Run {
            offset,
            length,
            source,
        };
        assert_eq!(
            runs(4096, &bytes, false),
            [
                run(4096, 48, Source::Operation(7)),
                run(4144, 16, Source::Zeros),
                run(4160, 16, Source::Free),
                run(4176, 16, Source::Other),
            ]
        );
        // The same bytes at another offset were not written there.
        assert_eq!(runs(8192, &bytes[..16], false)[0].source, Source::Other);
    }

    #[test]
    fn parts_of_units_and_moved_units_are_known_exactly() {
        let mut bytes = vec![0; 64];
        fill(7, 4101, &mut bytes[5..43]);
        let found = runs(4096, &bytes, true);
        let sources: Vec<_> = found.iter().map(|run| (run.offset, run.source)).collect();
        let part = |from: usize| Source::Bytes(bytes[from..from + 16].try_into().unwrap());
        assert_eq!(
            sources,
            [
                (4096, part(0)),
                (4112, Source::Operation(7)),
                (4128, part(32)),
                (4144, Source::Zeros),
            ]
        );
        for (at, is) in (4096..).zip(&bytes[..43]).skip(5) {
            assert_eq!(byte(7, at, &(4101..4139)), *is);
            assert!(
                *is != 0 || (4112..4128).contains(&at),
                "a part shows no hole"
            );
        }
        // Another operation writes other bytes there.
        let mut rest = (4128..).zip(&bytes[32..43]);
        assert!(rest.any(|(at, is)| byte(8, at, &(4101..4139)) != *is));
        // A unit that was overwritten in its second half is of no operation.
        let mut mixed = [0; 16];
        fill(7, 4112, &mut mixed);
        fill(8, 4117, &mut mixed[5..]);
        assert_eq!(runs(4112, &mixed, true)[0].source, Source::Bytes(mixed));
        let moved = Source::Moved {
            operation: 7,
            by: -4096,
        };
        assert_eq!(runs(8208, &bytes[16..32], true)[0].source, moved);
    }

    #[test]
    fn a_sector_of_a_file_is_content_up_to_zeros_after_its_end() {
        let mut sector = [0; 512];
        fill(7, 4096, &mut sector[..160]);
        assert!(is_written(&sector));
        fill(7, 4096, &mut sector);
        assert!(is_written(&sector));
        // The last unit has another place, or bytes that no operation wrote.
        fill(7, 0, &mut sector[496..]);
        assert!(!is_written(&sector));
        sector[496..].fill(1);
        assert!(!is_written(&sector));
        assert!(!is_written(&[0; 512]));
        // An offset near the end of all numbers, and one inside a unit.
        for offset in [u64::MAX, 8] {
            sector[8..16].copy_from_slice(&offset.to_le_bytes());
            assert!(!is_written(&sector));
        }
    }
}
