//! ext4: journal, extents, delayed allocation.

use super::ext_family::{
    Ext, JOURNAL, PROMISES, SHARED, SMALLEST_WITH_JOURNAL, STALE_DATA, TEMPLATE, joined,
};
use super::fs_facts::{Facts, Quota};
use crate::protection::Protection;
use fsdyno_model::{Bytes, Capabilities, Consistency};

/// Mount options of ext4 only.
const OWN: &[&str] = &[
    "delalloc",
    "nodelalloc",
    "journal_checksum",
    "nojournal_checksum",
    "journal_async_commit",
    "dioread_lock",
    "dioread_nolock",
    "nodioread_nolock",
    "dax",
];

static OPTIONS: [&str; SHARED.len() + JOURNAL.len() + OWN.len()] = joined(&[SHARED, JOURNAL, OWN]);

const PROTECTIONS: &[Protection] = &[
    Protection {
        name: "checksums of metadata",
        with: "",
        without: "[-O ^metadata_csum]",
        also: None,
        source: "ext4(5) of e2fsprogs 1.47.0, metadata_csum",
    },
    Protection {
        name: "the journal",
        with: "",
        without: "[-O ^has_journal]",
        also: None,
        source: "ext4(5) of e2fsprogs 1.47.0, has_journal",
    },
    Protection {
        name: "data in the journal",
        with: ":data=journal",
        without: "",
        also: None,
        source: "ext4(5) of e2fsprogs 1.47.0, data",
    },
];

/// ext4 with the defaults of mkfs.ext4.
pub static EXT4: Ext = Ext(Facts {
    name: "ext4",
    title: "journal, extents, delayed allocation: the default of Debian and others",
    capabilities: Capabilities {
        consistency: Consistency::Journal,
        // With blocks of 4 KiB (the kernel's filesystems/ext4).
        largest_file: Some(Bytes(16 << 40)),
        ..Capabilities::ALL
    },
    mkfs: &["mkfs.ext4"],
    options: &OPTIONS,
    protections: PROTECTIONS,
    smallest: SMALLEST_WITH_JOURNAL,
    defragmenter: Some("e4defrag"),
    promises: PROMISES,
    stale_data: STALE_DATA,
    // In inodes that the journal covers (ext4(5) of e2fsprogs 1.47.0: quota, usrquota).
    quota: Some(Quota {
        feature: Some("quota"),
        mount: "usrquota",
    }),
    ..TEMPLATE
});
