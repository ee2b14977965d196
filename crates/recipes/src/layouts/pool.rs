//! Several devices joined by the file system itself.

use super::Layout;

/// The file system's own striping over several devices.
///
/// At most 16, so that a slip (`pool22`) does not make a machine full of images.
pub static POOL: Layout = Layout {
    name: "pool",
    title: "several devices under the file system's own striping",
    devices: 2..=16,
    below: false,
};
