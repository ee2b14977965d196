//! Striped mirrors below any file system.

use super::Layout;

/// An md array with the driver's defaults: two copies of each block.
pub static RAID10: Layout = Layout {
    name: "raid10",
    title: "several devices with two copies of each block below the file system (md)",
    devices: 4..=16,
    redundant: true,
    array: Some("raid10"),
};
