//! ext3: ext2 with a journal. Current kernels mount it with the ext4 driver, without extents and
//! delayed allocation.

use super::Facts;
use super::ext_family::{
    Ext, JOURNAL, PROMISES, SHARED, SMALLEST_WITH_JOURNAL, STALE_DATA, TEMPLATE, joined,
};
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// Mount options of the family and of the journal.
static OPTIONS: [&str; SHARED.len() + JOURNAL.len()] = joined(&[SHARED, JOURNAL]);

/// ext3 with the defaults of mkfs.ext3.
pub static EXT3: Ext = Ext(Facts {
    name: "ext3",
    title: "ext2 with a journal; by the ext4 driver on most kernels",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        // With blocks of 4 KiB (the kernel's filesystems/ext4).
        largest_file: Some(Bytes(2 << 40)),
        ..Capabilities::ALL
    },
    mkfs: &["mkfs.ext3"],
    options: &OPTIONS,
    smallest: SMALLEST_WITH_JOURNAL,
    promises: PROMISES,
    stale_data: STALE_DATA,
    ..TEMPLATE
});
