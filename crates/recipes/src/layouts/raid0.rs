//! Striped devices below any file system.

use super::Layout;

/// An md array with the driver's defaults.
pub static RAID0: Layout = Layout {
    name: "raid0",
    title: "several devices striped below the file system (md)",
    devices: 2..=16,
    redundant: false,
    array: Some("raid0"),
};
