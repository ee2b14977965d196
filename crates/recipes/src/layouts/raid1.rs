//! Mirrors on several devices, below any file system.

use super::Layout;

/// Joined by the kernel's md driver, with its defaults.
pub static RAID1: Layout = Layout {
    name: "raid1",
    title: "several devices mirrored below the file system (md)",
    devices: 2..=16,
    below: true,
};
