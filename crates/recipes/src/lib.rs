//! The steps for each file system and layout. This crate executes nothing.
//!
//! A recipe ([`Filesystem`]) is a value with the requirements of a file system and the steps to
//! make, mount, describe and check it. The host executes these [`fsdyno_model::Step`]s, and a dry
//! run prints them. This crate has no I/O, no clock and no processes.
//!
//! A file system is one file in [`fs`] and one line in [`fs::ALL`]. A layout is one file in
//! [`layouts`] and one line in [`layouts::ALL`].

mod error;
pub mod fs;
mod gives_up;
pub mod installation;
pub mod layouts;
mod mkfs_options;
pub mod options;
mod promises;
mod protection;
mod roles;
mod unsafe_options;
mod validate;

pub use error::RecipeError;
pub use fs::{Check, Filesystem, Forget, find, in_lab, kind_of, names, on_blocks};
pub use gives_up::gives_up;
pub use layouts::Layout;
pub use mkfs_options::MkfsGrammar;
pub use promises::Documented;
pub use protection::Protection;
pub use roles::{ReadAt, Roles};
pub use unsafe_options::UnsafeOption;
pub use validate::{check_options, validate};
