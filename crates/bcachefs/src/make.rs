//! Writes an empty file system.

use crate::geometry::{FIRST_SUPERBLOCK, Geometry, SECTOR, SUPERBLOCK_SECTORS};
use crate::options::MakeOptions;
use crate::superblock::{Ids, layout, superblock};
use std::io::{self, Seek, SeekFrom, Write};

/// The sector of the places of the superblocks (`BCH_SB_LAYOUT_SECTOR`).
const LAYOUT_SECTOR: u64 = FIRST_SUPERBLOCK - 1;

/// A write that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {what} of device {number}: {source}")]
pub struct MakeError {
    pub what: &'static str,
    /// Counted from 1.
    pub number: usize,
    pub source: io::Error,
}

/// Writes an empty file system. The old contents are lost, and zeroed where probes search for
/// signatures. The caller makes it durable before it is mounted, because the kernel reads the
/// devices past the page cache.
///
/// `id` returns another random number for each call: file systems and devices with equal numbers
/// are one to the kernel.
pub fn make<D: Write + Seek>(
    devices: &mut [D],
    geometry: &Geometry,
    options: &MakeOptions,
    mut id: impl FnMut() -> [u8; 16],
) -> Result<(), MakeError> {
    let ids = Ids {
        internal: id(),
        user: id(),
        members: devices.iter().map(|_| id()).collect(),
    };
    for (index, device) in devices.iter_mut().enumerate() {
        let mut put = |sector: u64, bytes: &[u8], what| {
            let sought = device.seek(SeekFrom::Start(sector * SECTOR));
            let written = sought.and_then(|_| device.write_all(bytes));
            written.map_err(|source| MakeError {
                what,
                number: index + 1,
                source,
            })
        };
        let head = (FIRST_SUPERBLOCK + 2 * SUPERBLOCK_SECTORS) * SECTOR;
        let zeros = vec![0; usize::try_from(head).unwrap_or_default()];
        put(0, &zeros, "the head")?;
        // The first one is last, so that an interrupted run leaves no valid file system.
        for sector in geometry.superblocks(index).into_iter().rev() {
            let block = superblock(geometry, options, &ids, index, sector);
            put(sector, &block, "a superblock")?;
        }
        put(LAYOUT_SECTOR, &layout(geometry, index), "the layout")?;
        device.flush().map_err(|source| MakeError {
            what: "what was left to write",
            number: index + 1,
            source,
        })?;
    }
    Ok(())
}
