//! Layouts of a contender's devices, one file each. The file system's recipe determines the
//! layout's words on the mkfs command line.

mod linear;
mod md;
mod mirror;
mod parity;
mod pool;
mod raid0;
mod raid1;
mod raid10;
mod single;
mod stripe;

pub use md::Array;

use crate::fs::{Filesystem, find as find_fs};
use crate::roles::{Roles, SECTOR};
use fsdyno_model::profile::Content;
use fsdyno_model::{BlockRole, Contender, FilesystemKind, Requirement};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// A layout of a contender's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The name after `@`.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// Permitted number of devices.
    pub devices: RangeInclusive<u32>,
    /// Whether all data survive the loss of one device.
    pub redundant: bool,
    /// The level of the array that combines the devices below a file system which has no such layout
    /// itself: the file system sees one device. None if no array has this layout.
    pub array: Option<&'static str>,
}

pub static ALL: &[&Layout] = &[
    &single::SINGLE,
    &pool::POOL,
    &raid0::RAID0,
    &raid1::RAID1,
    &raid10::RAID10,
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

/// Whether all data of a contender survive the loss of one of its devices.
pub fn is_redundant(contender: &Contender) -> bool {
    find(&contender.layout.name).is_some_and(|layout| layout.redundant)
}

/// Whether a contender works without one of its devices, and fsdyno knows how to replace it.
pub fn may_degrade(contender: &Contender) -> bool {
    if !is_redundant(contender) {
        return false;
    }
    let own = || {
        let recipe = find_fs(&contender.filesystem)?;
        recipe.mount_degraded(contender, &[], Path::new(""))
    };
    below(contender).is_some() || own().is_some()
}

/// Whether fsdyno knows how to scrub a contender: the array below it if there is one, else the file
/// system.
pub fn may_scrub(contender: &Contender) -> bool {
    match below(contender) {
        Some(array) => array.redundant,
        None => find_fs(&contender.filesystem)
            .is_some_and(|recipe| recipe.scrub(Path::new("")).is_some()),
    }
}

/// The first byte of the file system on a device of a contender; none if an array divides it among
/// its devices.
fn start(contender: &Contender, read: &mut dyn FnMut(u64, &mut [u8])) -> Option<u64> {
    match below(contender) {
        Some(_) => md::copy_start(read),
        None => Some(0),
    }
}

/// The roles of the blocks of a device of a contender; none if its recipe knows none, or if an array divides
/// the file system among the devices.
pub fn roles(contender: &Contender, read: &mut dyn FnMut(u64, &mut [u8])) -> Option<Roles> {
    let start = start(contender, read)?;
    let recipe = find_fs(&contender.filesystem)?;
    let roles = recipe.roles(&mut |at, into: &mut [u8]| read(start + at, into))?;
    let first = start / SECTOR;
    Some(Arc::new(move |sector: u64, bytes: &[u8]| {
        // What is before it is of the array.
        sector
            .checked_sub(first)
            .map_or(BlockRole::Superblock, |sector| roles(sector, bytes))
    }))
}

/// What the request that begins with this block has, by the roles of its device.
pub fn content(contender: &Contender, roles: &Roles, sector: u64, block: &[u8]) -> Content {
    match roles(sector, block) {
        BlockRole::Journal | BlockRole::Commit => Content::Journal,
        BlockRole::Data => {
            let recipe = find_fs(&contender.filesystem);
            match recipe.filter(|recipe| recipe.is_metadata(block)) {
                Some(_) => Content::Metadata,
                None => Content::Data,
            }
        }
        _ => Content::Metadata,
    }
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
    fn arrays_without_copies_neither_degrade_nor_are_scrubbed() {
        let parse = |text: &str| Contender::parse(text, &crate::kind_of).unwrap();
        for (text, degrades, scrubs) in [
            ("ext4", false, false),
            ("ext4@stripe2", false, false),
            ("ext4@mirror2", true, true),
            ("xfs@parity3", true, true),
            ("btrfs@raid10x4", true, true),
            ("btrfs", false, true),
            ("btrfs@pool2", false, true),
            ("btrfs@mirror2", true, true),
            ("bcachefs@mirror2", false, false),
        ] {
            let one = parse(text);
            assert_eq!(may_degrade(&one), degrades, "{text}");
            assert_eq!(may_scrub(&one), scrubs, "{text}");
        }
    }

    #[test]
    fn the_default_choice_is_a_layout_of_one_device() {
        let choice = LayoutChoice::default();
        let layout = find(&choice.name).expect("the default layout is listed");
        assert!(layout.devices.contains(&choice.devices));
    }
}
