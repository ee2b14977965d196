//! What to do for each file system and layout, as steps; executes nothing.
//!
//! A recipe ([`Filesystem`]) is a value that answers questions: what it needs, how it is made,
//! mounted, described and checked. Its answers are [`fsdyno_model::Step`]s, which the host executes
//! and a dry run prints. No I/O, no clock, no process is in this crate.
//!
//! A file system is one file in [`fs`] and one line in [`fs::ALL`]; a layout one file in
//! [`layouts`] and one line in [`layouts::ALL`].

mod error;
pub mod fs;
pub mod layouts;
mod mkfs_options;
pub mod options;
mod suggestion;
mod validate;

pub use error::RecipeError;
pub use fs::{Check, Filesystem, find, kind_of, names, on_blocks};
pub use layouts::Layout;
pub use mkfs_options::MkfsGrammar;
pub use suggestion::closest_name;
pub use validate::{check_options, validate};
