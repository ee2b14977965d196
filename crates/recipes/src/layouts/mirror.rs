//! Mirrored devices: by the file system itself, or below it.

use super::Layout;
use crate::fs::MIRROR as NAME;

/// A copy of everything on each device. A file system with copies of its own uses them; below the
/// others is an md array.
///
/// Btrfs and bcachefs keep four copies at most.
pub static MIRROR: Layout = Layout {
    name: NAME,
    title: "a copy on each device, by the file system if it can, else below it (md)",
    devices: 2..=4,
    redundant: true,
    array: Some("raid1"),
};
