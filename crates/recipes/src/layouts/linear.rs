//! Concatenated devices below any file system.

use super::Layout;

/// An md array with the driver's defaults.
pub static LINEAR: Layout = Layout {
    name: "linear",
    title: "several devices concatenated below the file system (md)",
    devices: 2..=16,
    redundant: false,
    array: Some("linear"),
};
