//! The roles of blocks: how a device is read for them, and integers of on-disk structures.

use fsdyno_model::BlockRole;
use std::sync::Arc;

/// Reads a device at a byte offset. What cannot be read is zeros.
pub type ReadAt<'a> = &'a mut dyn FnMut(u64, &mut [u8]);

/// The role of a write, by its first sector and its bytes.
pub type Roles = Arc<dyn Fn(u64, &[u8]) -> BlockRole + Send + Sync>;

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// The bytes from `at` on; zeros beyond the end.
pub(crate) fn bytes<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    if let Some(part) = from.get(at..at + N) {
        found.copy_from_slice(part);
    }
    found
}

pub(crate) fn le16(from: &[u8], at: usize) -> u64 {
    u16::from_le_bytes(bytes(from, at)).into()
}

pub(crate) fn le32(from: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(bytes(from, at)).into()
}

pub(crate) fn le64(from: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes(from, at))
}

pub(crate) fn be32(from: &[u8], at: usize) -> u64 {
    u32::from_be_bytes(bytes(from, at)).into()
}

pub(crate) fn be64(from: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes(from, at))
}
