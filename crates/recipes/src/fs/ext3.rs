//! ext3: ext2 and a journal. Today's kernels serve it by the ext4 driver, without extents and delayed
//! allocation.

use super::ext_family::{Ext, JOURNAL, SHARED, SMALLEST_WITH_JOURNAL, joined};

/// What it shares, and the journal's.
static OPTIONS: [&str; SHARED.len() + JOURNAL.len()] = joined(&[SHARED, JOURNAL]);

/// ext3, as mkfs.ext3 makes it.
pub static EXT3: Ext = Ext {
    name: "ext3",
    title: "ext2 with a journal, served by the ext4 driver on most kernels",
    mkfs: "mkfs.ext3",
    options: &OPTIONS,
    smallest: SMALLEST_WITH_JOURNAL,
    journal: true,
    extents: false,
};
