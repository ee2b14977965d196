//! Layouts of a contender's devices, one file each. The file system's recipe determines the
//! layout's words on the mkfs command line.

mod linear;
mod md;
mod pool;
mod raid0;
mod raid1;
mod single;

pub use md::Array;

use crate::fs::Filesystem;
use fsdyno_model::{FilesystemKind, LayoutChoice, Requirement};
use std::ops::RangeInclusive;

/// A layout of a contender's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The name after `@`.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// Permitted number of devices.
    pub devices: RangeInclusive<u32>,
    /// Whether an array below the file system combines the devices, so that the file system sees
    /// one device.
    pub below: bool,
}

/// All layouts.
pub static ALL: &[&Layout] = &[
    &single::SINGLE,
    &pool::POOL,
    &raid0::RAID0,
    &raid1::RAID1,
    &linear::LINEAR,
];

/// The layout with that name.
pub fn find(name: &str) -> Option<&'static Layout> {
    ALL.iter().copied().find(|layout| layout.name == name)
}

/// The layouts of a file system: its own, and for a file system on block devices also those below
/// it.
pub fn of(fs: &dyn Filesystem) -> impl Iterator<Item = &'static Layout> {
    let own = fs.layouts();
    let on_blocks = fs.kind() == FilesystemKind::Block;
    ALL.iter()
        .copied()
        .filter(move |layout| own.contains(&layout.name) || (layout.below && on_blocks))
}

impl Layout {
    /// Requirements in addition to those of the file system.
    pub fn requirements(&self) -> Vec<Requirement> {
        if self.below {
            md::requirements(self)
        } else {
            Vec::new()
        }
    }
}

/// The array below the file system, with a unique name. None if the file system uses the devices
/// directly.
pub fn joined(choice: &LayoutChoice, devices: &[String], name: &str) -> Option<Array> {
    let layout = find(&choice.name).filter(|layout| layout.below)?;
    Some(md::joined(layout, devices, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::LayoutChoice;

    #[test]
    fn the_default_choice_is_a_layout_of_one_device() {
        let choice = LayoutChoice::default();
        let layout = find(&choice.name).expect("the default layout is listed");
        assert!(layout.devices.contains(&choice.devices));
    }
}
