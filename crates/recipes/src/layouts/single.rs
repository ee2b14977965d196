//! One device.

use super::Layout;

/// One whole device.
pub static SINGLE: Layout = Layout {
    name: "single",
    title: "one device",
    devices: 1..=1,
    redundant: false,
    array: None,
};
