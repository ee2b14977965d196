//! Mirrored devices below any file system.

use super::Layout;

/// An md array with the driver's defaults.
pub static RAID1: Layout = Layout {
    name: "raid1",
    title: "several devices mirrored below the file system (md)",
    devices: 2..=16,
    redundant: true,
    array: Some("raid1"),
};
