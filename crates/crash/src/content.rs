//! The content of files: every unit of 16 bytes names the operation that wrote it and its offset, so
//! that what is read after a power cut can be attributed.

use crate::tree::{Run, Source};

/// Bytes of a unit.
pub const UNIT: usize = 16;

/// The first bytes of a unit of content.
const WRITTEN: [u8; 4] = *b"fsdW";

/// The first bytes of a unit of free space that nothing has written.
const FREE: [u8; 4] = *b"fsdC";

/// Fills `into` with the content that the operation of this number writes from `offset` on.
pub fn fill(operation: u32, offset: u64, into: &mut [u8]) {
    fill_with(WRITTEN, operation, offset, into);
}

/// Fills `into` with the content of a disk that was never written, from byte `at` on. A file system
/// that shows it has given out space that it did not clear.
pub fn fill_free(at: u64, into: &mut [u8]) {
    fill_with(FREE, 0, at, into);
}

fn fill_with(magic: [u8; 4], number: u32, offset: u64, into: &mut [u8]) {
    let mut at = offset;
    let mut rest = into;
    while !rest.is_empty() {
        let within = usize::try_from(at % UNIT as u64).unwrap_or_default();
        let unit = unit(magic, number, at - within as u64);
        let count = rest.len().min(UNIT - within);
        let (now, later) = rest.split_at_mut(count);
        now.copy_from_slice(&unit[within..within + count]);
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
/// one source are one run.
pub fn runs(offset: u64, bytes: &[u8]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let here = offset + at as u64;
        let within = usize::try_from(here % UNIT as u64).unwrap_or_default();
        let count = (UNIT - within).min(bytes.len() - at);
        let source = source(here - within as u64, within, &bytes[at..at + count]);
        let length = count as u64;
        match runs.last_mut() {
            Some(last) if last.source == source => last.length += length,
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

/// The source of a part of a unit that begins at `offset`.
fn source(offset: u64, within: usize, part: &[u8]) -> Source {
    if part.iter().all(|byte| *byte == 0) {
        return Source::Zeros;
    }
    let range = within..within + part.len();
    // A part without the number names nothing: only whole units are written by programs.
    let number = if within == 0 && part.len() >= 8 {
        u32::from_le_bytes([part[4], part[5], part[6], part[7]])
    } else {
        return Source::Other;
    };
    if part == &unit(WRITTEN, number, offset)[range] {
        return Source::Operation(number);
    }
    if part.starts_with(&FREE) {
        return Source::Free;
    }
    Source::Other
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
            runs(4096, &bytes),
            [
                run(4096, 48, Source::Operation(7)),
                run(4144, 16, Source::Zeros),
                run(4160, 16, Source::Free),
                run(4176, 16, Source::Other),
            ]
        );
        // The same bytes at another offset were not written there.
        assert_eq!(runs(8192, &bytes[..16])[0].source, Source::Other);
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
