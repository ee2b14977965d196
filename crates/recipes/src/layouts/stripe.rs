//! Striped devices: by the file system itself, or below it.

use super::Layout;
use crate::fs::STRIPE as NAME;

/// The data are divided over the devices. A file system with striping of its own uses it (as in a
/// pool); below the others is an md array.
pub static STRIPE: Layout = Layout {
    name: NAME,
    title: "striped over the devices, by the file system if it can, else below it (md)",
    devices: 2..=16,
    redundant: false,
    array: Some("raid0"),
};
