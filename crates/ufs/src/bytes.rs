//! Little-endian numbers at an offset of a byte slice.

/// Writes the low 16 bits.
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes()[..2]);
}

/// Writes the low 32 bits.
pub(crate) fn put32(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()[..4]);
}

/// Writes all 64 bits.
pub(crate) fn put64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Reads 16 bits.
pub(crate) fn get16(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value[..2].copy_from_slice(&bytes[at..at + 2]);
    u64::from_le_bytes(value)
}

/// Reads 32 bits.
pub(crate) fn get32(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value[..4].copy_from_slice(&bytes[at..at + 4]);
    u64::from_le_bytes(value)
}

/// Reads 64 bits.
pub(crate) fn get64(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

/// Converts a count of objects in memory to `usize`.
pub(crate) fn index(number: u64) -> usize {
    usize::try_from(number).expect("objects in memory are counted by usize")
}

/// Whether bit `at` is set, counted from the least significant bit of the first byte.
pub(crate) fn bit(bits: &[u8], at: u64) -> bool {
    bits[index(at / 8)] & (1 << (at % 8)) != 0
}

pub(crate) fn set_bit(bits: &mut [u8], at: u64) {
    bits[index(at / 8)] |= 1 << (at % 8);
}
