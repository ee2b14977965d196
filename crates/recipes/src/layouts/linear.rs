//! Devices one behind the other, below any file system.

use super::Layout;

/// Joined by the kernel's md driver, with its defaults.
pub static LINEAR: Layout = Layout {
    name: "linear",
    title: "several devices one behind the other below the file system (md)",
    devices: 2..=16,
    below: true,
};
