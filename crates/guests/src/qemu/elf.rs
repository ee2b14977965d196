//! The parts of an ELF file (elf(5)), as far as guests are made from them.

/// A segment to load into memory.
pub const LOAD: u64 = 1;

/// The name of the program that loads the libraries.
pub const INTERPRETER: u64 = 3;

/// Program headers of notes, which a loader reads.
pub const NOTES: u64 = 4;

/// A part of an ELF file.
#[derive(Debug)]
pub struct Segment {
    /// What it is.
    pub kind: u64,
    /// Its offset in the file.
    pub offset: usize,
    /// Its length there.
    pub length: usize,
}

/// The program headers of a 64-bit little-endian ELF file; nothing of any other.
pub fn segments(file: &[u8]) -> Option<Vec<Segment>> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| {
        let bytes = file.get(at..at.checked_add(length)?)?;
        let add = |sum, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(bytes.iter().rev().fold(0, add))
    };
    let size = |at, length| usize::try_from(number(at, length)?).ok();
    let (table, each, count) = (size(0x20, 8)?, size(0x36, 2)?, size(0x38, 2)?);
    let headers = (0..count).map(|n| table.checked_add(n.checked_mul(each)?));
    headers
        .map(|at| {
            let at = at?;
            Some(Segment {
                kind: number(at, 4)?,
                offset: size(at.checked_add(8)?, 8)?,
                length: size(at.checked_add(0x20)?, 8)?,
            })
        })
        .collect()
}
