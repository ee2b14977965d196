//! The program headers of an ELF file (elf(5)).

/// Type of a loadable segment (`PT_LOAD`).
pub const LOAD: u64 = 1;

/// Type of the segment with the path of the dynamic loader (`PT_INTERP`).
pub const INTERPRETER: u64 = 3;

/// Type of a segment of notes (`PT_NOTE`).
pub const NOTES: u64 = 4;

#[derive(Debug)]
pub struct Segment {
    pub kind: u64,
    /// Its offset in the file.
    pub offset: usize,
    /// Its length there.
    pub length: usize,
}

/// The segments of a 64-bit little-endian ELF file; none for other files.
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
