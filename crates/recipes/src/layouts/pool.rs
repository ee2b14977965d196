//! Several devices, combined by the file system itself.

use super::Layout;

/// The file system's own striping over several devices.
///
/// The maximum is 16, so that a typing error (`pool22`) does not fill the machine with images.
pub static POOL: Layout = Layout {
    name: "pool",
    title: "several devices striped by the file system",
    devices: 2..=16,
    redundant: false,
    array: None,
};
