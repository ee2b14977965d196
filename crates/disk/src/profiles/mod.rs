//! Profiles: disks as data. Those that come with the program lie in `data/`, each with its source
//! and with the keys that are estimates; a user's own is a file of the same form.

mod read;
mod sheet;

pub use read::{Impossible, ProfileError};
pub(crate) use read::{size, some_size};
pub use sheet::Sheet;

use crate::models::Model;
use crate::models::flash::{Flash, FlashSpec};
use crate::models::hdd::{Hdd, HddSpec};
use crate::models::null::Null;
use crate::models::volume::{Volume, VolumeSpec};
use fsdyno_model::Bytes;
use serde::Serialize;

/// A disk, ready to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name: that of its file.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// Where its figures come from.
    pub source: String,
    /// The keys whose values are estimates, not in the source.
    pub estimated: Vec<String>,
    /// How large it is.
    pub capacity: Bytes,
    /// How many requests it holds at once.
    pub queue_depth: u32,
    /// Whether acknowledged writes survive a power cut in any case.
    pub cache_survives: bool,
    /// What times it.
    pub timing: Timing,
    /// What the makers say, for the check.
    pub sheet: Sheet,
    /// The text it was read from.
    pub text: String,
}

/// What times a disk.
#[derive(Debug, Clone, PartialEq)]
pub enum Timing {
    /// A hard disk.
    Hdd(HddSpec),
    /// Flash.
    Flash(FlashSpec),
    /// A volume over a network.
    Volume(VolumeSpec),
    /// Nothing takes time.
    Null,
}

impl Timing {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hdd(_) => "hdd",
            Self::Flash(_) => "flash",
            Self::Volume(_) => "volume",
            Self::Null => "null",
        }
    }

    /// Whether it knows discards, and zeros that nobody sends: flash does, and what only models
    /// the way there.
    pub fn discards(&self) -> bool {
        matches!(self, Self::Flash(_) | Self::Null)
    }
}

/// A profile that comes with the program.
#[derive(Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    text: &'static str,
}

/// All of them, oldest disk first.
pub const ALL: [Shipped; 8] = [
    Shipped::new("ide-2gb-1997", include_str!("../../data/ide-2gb-1997.toml")),
    Shipped::new(
        "ata-40gb-2001",
        include_str!("../../data/ata-40gb-2001.toml"),
    ),
    Shipped::new(
        "laptop-4200-2004",
        include_str!("../../data/laptop-4200-2004.toml"),
    ),
    Shipped::new("sata-2008", include_str!("../../data/sata-2008.toml")),
    Shipped::new("sata-ssd", include_str!("../../data/sata-ssd.toml")),
    Shipped::new("nvme", include_str!("../../data/nvme.toml")),
    Shipped::new("gp3", include_str!("../../data/gp3.toml")),
    Shipped::new("null", include_str!("../../data/null.toml")),
];

impl Shipped {
    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text }
    }

    /// The profile.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        Profile::parse(self.name, self.text)
    }
}

impl Profile {
    /// All its keys, as its text has them, for whoever writes them in another form.
    pub fn document(&self) -> impl Serialize + use<> {
        // The text was read before.
        toml::from_str::<toml::Table>(&self.text).unwrap_or_default()
    }

    /// Whether it acknowledges writes that are not on the medium: whether flushing does anything.
    pub fn is_volatile(&self) -> bool {
        match &self.timing {
            Timing::Hdd(spec) => spec.write_cache,
            Timing::Flash(_) => true,
            Timing::Volume(_) | Timing::Null => false,
        }
    }

    /// The timing model of a disk of so many sectors.
    pub(crate) fn model(&self, sectors: u64) -> Box<dyn Model> {
        match &self.timing {
            Timing::Hdd(spec) => Box::new(Hdd::new(spec, sectors)),
            Timing::Flash(spec) => Box::new(Flash::new(spec, sectors)),
            Timing::Volume(spec) => Box::new(Volume::new(spec)),
            Timing::Null => Box::new(Null::default()),
        }
    }
}
