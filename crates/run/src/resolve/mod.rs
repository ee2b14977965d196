//! From what was asked to a plan in which nothing is left open.
//!
//! Three layers speak: the arguments ([`Request`]), a plan file, and a suite ([`suite`]), which is
//! a plan file that came with the program. Arguments override the plan file, which overrides the
//! suite. Everything a plan names is known and sound when [`resolve`] returns it, and every path
//! in it is absolute. Nothing is probed here: whether a device exists is the host's to say.

mod catalogue;
mod config_error;
mod contenders;
mod counting;
mod disks;
mod elsewhere;
mod entry;
mod error;
mod labs;
mod length;
mod parameters;
mod phases;
mod place;
mod planfile;
mod request;
mod states;
pub mod suite;
mod work;
mod workers;

pub use catalogue::{Catalogue, DatasetEntry, DatasetForm, KindEntry};
pub use config_error::ConfigError;
pub use contenders::Judge;
pub use counting::Counting;
pub use error::{PlanFileError, ResolveError};
pub use parameters::{engine_of, parameters_of};
pub use planfile::PlanFile;
pub use request::{Request, resolve};
pub use suite::Suite;
