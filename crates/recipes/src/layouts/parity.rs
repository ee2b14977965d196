//! Devices with one parity: by the file system itself, or below it.

use super::Layout;
use crate::fs::PARITY as NAME;

/// The data are divided over the devices, with a parity that restores one of them. A file system with
/// parities of its own uses them; below the others is an md array.
pub static PARITY: Layout = Layout {
    name: NAME,
    title: "striped with one parity, by the file system if it can, else below it (md)",
    devices: 3..=16,
    redundant: true,
    array: Some("raid5"),
};
