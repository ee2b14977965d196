//! How devices make up one contender: one file a layout. Which words a layout puts on a mkfs
//! command line is the file system's to say, in its recipe.

mod pool;
mod single;

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
}

/// All layouts.
pub static ALL: &[&Layout] = &[&single::SINGLE, &pool::POOL];

/// The layout of that name.
pub fn find(name: &str) -> Option<&'static Layout> {
    ALL.iter().copied().find(|layout| layout.name == name)
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
