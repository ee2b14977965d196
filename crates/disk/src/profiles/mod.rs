//! Profiles describe disks as data. Built-in profiles are in `data/`, each with its source and a
//! list of estimated keys. Users' profiles have the same format.

mod errors;
mod read;
mod sheet;

pub use crate::values::Impossible;
pub use errors::Group;
pub use read::ProfileError;
pub use sheet::DataSheet;

use crate::models::Model;
use crate::models::flash::{Flash, FlashSpec};
use crate::models::hdd::{Hdd, HddSpec};
use crate::models::null::Null;
use crate::models::volume::{Volume, VolumeSpec};
use errors::Intervals;
use fsdyno_files::built_in;
use fsdyno_files::named::BuiltIn;
use fsdyno_model::Bytes;
use serde::Serialize;

/// A parsed profile of a disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Name of the profile: its file name.
    pub name: String,
    /// One-line description.
    pub title: String,
    /// Source of the figures.
    pub source: String,
    /// Keys whose values are estimates without a source.
    pub estimated: Vec<String>,
    pub capacity: Bytes,
    /// Number of requests that the device holds at once.
    pub queue_depth: u32,
    /// Whether acknowledged writes always survive a power cut.
    pub cache_survives: bool,
    pub timing: Timing,
    /// Manufacturer's figures for the check.
    pub sheet: DataSheet,
    stated_errors: Intervals,
    pub text: String,
}

/// Timing model of a disk, with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Timing {
    Hdd(HddSpec),
    Flash(FlashSpec),
    Volume(VolumeSpec),
    /// No delay.
    Null,
}

impl Timing {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hdd(_) => "hdd",
            Self::Flash(_) => "flash",
            Self::Volume(_) => "volume",
            Self::Null => "null",
        }
    }

    /// Whether the disk supports discard and write-zeroes. The flash and null models do.
    pub fn discards(&self) -> bool {
        matches!(self, Self::Flash(_) | Self::Null)
    }
}

/// All built-in profiles, oldest disk first.
pub const ALL: [BuiltIn; 8] = built_in![
    "ide-2gb-1997",
    "ata-40gb-2001",
    "laptop-4200-2004",
    "sata-2008",
    "sata-ssd",
    "nvme",
    "gp3",
    "null"
];

impl TryFrom<&BuiltIn> for Profile {
    type Error = ProfileError;

    fn try_from(one: &BuiltIn) -> Result<Self, ProfileError> {
        Self::parse(one.name, one.text)
    }
}

impl Profile {
    /// All keys of the profile's text, for conversion to another format.
    pub fn document(&self) -> impl Serialize + use<> {
        // `Profile::parse` accepted this text before.
        toml::from_str::<toml::Table>(&self.text).unwrap_or_default()
    }

    /// Whether the disk has a volatile write cache, so that a flush has an effect.
    pub fn is_volatile(&self) -> bool {
        match &self.timing {
            Timing::Hdd(spec) => spec.write_cache,
            Timing::Flash(_) => true,
            Timing::Volume(_) | Timing::Null => false,
        }
    }

    /// Creates the timing model of a disk with this many sectors.
    pub(crate) fn model(&self, sectors: u64) -> Box<dyn Model> {
        match &self.timing {
            Timing::Hdd(spec) => Box::new(Hdd::new(spec, sectors)),
            Timing::Flash(spec) => Box::new(Flash::new(spec, sectors)),
            Timing::Volume(spec) => Box::new(Volume::new(spec)),
            Timing::Null => Box::new(Null::default()),
        }
    }
}
