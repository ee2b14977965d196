//! Stripes over several devices, below any file system.

use super::Layout;

/// Joined by the kernel's md driver, with its defaults.
pub static RAID0: Layout = Layout {
    name: "raid0",
    title: "several devices striped below the file system (md)",
    devices: 2..=16,
    below: true,
};
