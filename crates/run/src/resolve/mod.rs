//! Resolves settings to a complete plan.
//!
//! There are three layers of settings: the command line, a plan file, and a suite ([`suite`]),
//! which is a built-in plan file. A setting has the value of the first layer that sets it, or its
//! default. [`resolve`] checks every name and makes every path absolute. It probes nothing: the
//! host checks whether a device exists.

mod apps;
mod catalogue;
mod config_error;
mod contenders;
mod counting;
mod disks;
mod entry;
mod error;
mod extension;
mod judging;
mod labs;
mod layers;
mod length;
mod names;
pub mod options;
mod parameters;
mod phases;
mod place;
mod planfile;
mod remote;
mod resolver;
mod settings;
mod states;
pub mod suite;
pub mod user_code;
pub mod variants;
mod varying;
mod work;
mod work_files;
mod workers;

pub use apps::{crash_test, missing_programs, recorded_commands};
pub use catalogue::{Catalogue, DatasetEntry, DatasetForm, KindEntry};
pub use config_error::ConfigError;
pub use contenders::ContenderParser;
pub use counting::Counting;
pub use entry::ContenderEntry;
pub use error::{PlanFileError, ResolveError};
pub use extension::{EXTENDING, RESUMING, extend};
use names::check_name;
pub use parameters::{engine_of, parameters_of};
pub use planfile::PlanFile;
pub use resolver::resolve;
pub use suite::Suite;
pub use varying::Varying;
pub use work_files::{read_work, store_work};
