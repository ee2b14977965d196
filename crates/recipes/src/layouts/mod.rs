//! Layouts of a contender's devices, one file each. The file system's recipe determines the
//! layout's words on the mkfs command line.

mod linear;
mod md;
mod mirror;
mod parity;
mod pool;
mod raid0;
mod raid1;
mod single;
mod stripe;

pub use md::Array;

use crate::fs::{Filesystem, find as find_fs};
use fsdyno_model::{Contender, FilesystemKind, Requirement};
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
    /// The level of the array that combines the devices below a file system which has no such layout
    /// itself: the file system sees one device. None if no array has this layout.
    pub array: Option<&'static str>,
}

pub static ALL: &[&Layout] = &[
    &single::SINGLE,
    &pool::POOL,
    &raid0::RAID0,
    &raid1::RAID1,
    &mirror::MIRROR,
    &stripe::STRIPE,
    &parity::PARITY,
    &linear::LINEAR,
];

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
        .filter(move |layout| own.contains(&layout.name) || (layout.array.is_some() && on_blocks))
}

impl Layout {
    /// Requirements in addition to those of a file system that does not have the layout itself.
    pub fn requirements(&self) -> Vec<Requirement> {
        let level = self.array.into_iter();
        level
            .flat_map(|level| md::requirements(self, level))
            .collect()
    }
}

/// The layout of a contender if an array below its file system combines the devices.
pub fn below(contender: &Contender) -> Option<&'static Layout> {
    let layout = find(&contender.layout.name).filter(|layout| layout.array.is_some())?;
    let own = find_fs(&contender.filesystem).map_or(&[][..], |fs| fs.layouts());
    (!own.contains(&layout.name)).then_some(layout)
}

/// The requirements of a contender's layout in addition to those of its file system.
pub fn requirements(contender: &Contender) -> Vec<Requirement> {
    below(contender).map_or_else(Vec::new, Layout::requirements)
}

/// The array below the file system of a contender, with a unique name. None if the file system uses
/// the devices directly.
pub fn joined(contender: &Contender, devices: &[String], name: &str) -> Option<Array> {
    let level = below(contender)?.array?;
    Some(md::joined(level, devices, name))
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
