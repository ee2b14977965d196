//! How devices make up one contender: one file a layout. Which words a layout puts on a mkfs
//! command line is the file system's to say, in its recipe.

mod linear;
mod md;
mod pool;
mod raid0;
mod raid1;
mod single;

pub use md::Joined;

use crate::fs::Filesystem;
use fsdyno_model::{FilesystemKind, LayoutChoice, Requirement};
use std::ops::RangeInclusive;

/// A way to make one contender of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The name, as typed after `@`.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// How many devices it can be made of.
    pub devices: RangeInclusive<u32>,
    /// Whether the devices are joined to one below the file system, which sees only that.
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

/// The layout of that name.
pub fn find(name: &str) -> Option<&'static Layout> {
    ALL.iter().copied().find(|layout| layout.name == name)
}

/// The layouts that a file system can have: its own, and where it lies on block devices, those
/// below any file system.
pub fn of(fs: &dyn Filesystem) -> impl Iterator<Item = &'static Layout> {
    let own = fs.layouts();
    let on_blocks = fs.kind() == FilesystemKind::Block;
    ALL.iter()
        .copied()
        .filter(move |layout| own.contains(&layout.name) || (layout.below && on_blocks))
}

impl Layout {
    /// What it needs beside what its file system does.
    pub fn requirements(&self) -> Vec<Requirement> {
        if self.below {
            md::requirements(self)
        } else {
            Vec::new()
        }
    }
}

/// How devices are joined below the file system, under a name that nothing else has; none where
/// the file system has them as they are.
pub fn joined(choice: &LayoutChoice, devices: &[String], name: &str) -> Option<Joined> {
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
