//! Combines the extents of a file map to contiguous runs on the device. This module only computes.
//!
//! The rule is that of `filefrag`, so that figures are comparable. An extent continues the run of
//! the previous one in two cases. It begins on the device directly after it (a hole between them is
//! ignored), or at the same distance as in the file (space is reserved for the hole). Flags are
//! ignored: preallocated, shared and compressed extents count by their location. The location of
//! compressed data is compared by its length in the file, the only known length. Data within the
//! inode count as one run, and so does each extent without a location.

use super::extents::Extent;
use fsdyno_model::Fragmentation;

/// `FIEMAP_EXTENT_UNKNOWN` and `FIEMAP_EXTENT_DELALLOC`: data without a known location.
const PLACELESS: u32 = 0x2 | 0x4;

/// `FIEMAP_EXTENT_UNWRITTEN`: preallocated, and read as zeros.
const UNWRITTEN: u32 = 0x800;

/// The runs of one file, added to the totals.
pub(super) struct Runs<'a> {
    found: &'a mut Fragmentation,
    size: u64,
    last: Option<Extent>,
    /// Length of the run so far.
    length: u64,
    /// Completed runs.
    ended: u64,
}

impl<'a> Runs<'a> {
    /// An empty state for a file of that size.
    pub fn new(found: &'a mut Fragmentation, size: u64) -> Self {
        Self {
            found,
            size,
            last: None,
            length: 0,
            ended: 0,
        }
    }

    /// The next extent of the file.
    pub fn add(&mut self, extent: &Extent) {
        // Preallocated extents, within the file or after its end, contain no data.
        if extent.flags & UNWRITTEN == 0 {
            let end = extent.logical.saturating_add(extent.length).min(self.size);
            self.found.bytes.0 += end.saturating_sub(extent.logical);
        }
        if !self.last.is_some_and(|last| continues(&last, extent)) {
            self.close();
        }
        self.length += extent.length;
        self.last = Some(*extent);
    }

    pub fn end(mut self) {
        self.close();
        self.found.files += 1;
        self.found.extents += self.ended;
        self.found.fragmented += u64::from(self.ended > 1);
    }

    fn close(&mut self) {
        if self.last.take().is_none() {
            return;
        }
        self.ended += 1;
        let class = std::mem::take(&mut self.length).max(1).ilog2() as usize;
        let classes = &mut self.found.extents_by_size;
        if classes.len() <= class {
            classes.resize(class + 1, 0);
        }
        classes[class] += 1;
    }
}

fn continues(last: &Extent, next: &Extent) -> bool {
    if (last.flags | next.flags) & PLACELESS != 0 {
        return false;
    }
    let packed = last.physical.wrapping_add(last.length);
    let in_step = last
        .physical
        .wrapping_add(next.logical.wrapping_sub(last.logical));
    next.physical == packed || next.physical == in_step
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Bytes;

    /// Counts one file of extents `(logical, physical, length, flags)`, in blocks of 4 KiB.
    fn count(blocks: u64, extents: &[(u64, u64, u64, u32)]) -> Fragmentation {
        let mut found = Fragmentation::default();
        let mut runs = Runs::new(&mut found, blocks * 4096);
        for &(logical, physical, length, flags) in extents {
            let extent = Extent::new(logical * 4096, physical * 4096, length * 4096, flags);
            runs.add(&extent);
        }
        runs.end();
        found
    }

    #[test]
    fn extents_that_are_one_run_on_the_device_are_one_fragment() {
        let extents_of = |extents: &[(u64, u64, u64, u32)]| count(100, extents).extents;
        assert_eq!(extents_of(&[]), 0);
        assert_eq!(extents_of(&[(0, 50, 8, 0)]), 1);
        assert_eq!(extents_of(&[(0, 50, 8, 0), (8, 58, 8, 0)]), 1);
        assert_eq!(extents_of(&[(0, 50, 8, 0), (8, 59, 8, 0)]), 2);
        assert_eq!(extents_of(&[(0, 50, 8, 0), (8, 42, 8, 0)]), 2);
        // A hole of four blocks: packed, in step, and neither.
        assert_eq!(extents_of(&[(0, 50, 8, 0), (12, 58, 8, 0)]), 1);
        assert_eq!(extents_of(&[(0, 50, 8, 0), (12, 62, 8, 0)]), 1);
        assert_eq!(extents_of(&[(0, 50, 8, 0), (12, 60, 8, 0)]), 2);
        // Preallocated behind written.
        assert_eq!(extents_of(&[(0, 50, 8, 0), (8, 58, 8, UNWRITTEN)]), 1);
        // Without a place: 0x2 | 0x4.
        assert_eq!(extents_of(&[(0, 0, 8, 6), (8, 8, 8, 6)]), 2);
        // Compressed: 32 blocks of the file in less room on the device.
        assert_eq!(extents_of(&[(0, 50, 32, 8), (32, 60, 32, 8)]), 2);
    }

    #[test]
    fn sizes_and_bytes_add_up() {
        let found = count(
            9,
            &[
                (0, 50, 6, 0),
                (6, 56, 2, UNWRITTEN),
                (8, 58, 8, 0),
                (40, 10, 1, 0),
            ],
        );
        assert_eq!((found.files, found.fragmented, found.extents), (1, 1, 2));
        assert_eq!(found.bytes, Bytes(7 * 4096));
        let sizes = &found.extents_by_size;
        assert_eq!((sizes[16], sizes[12], sizes.len()), (1, 1, 17));
    }
}
