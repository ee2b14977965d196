//! Measurements by the ranks of a parallel program, each a client of one file system.
//!
//! All ranks run the same function, [`conduct::run`], over a [`Group`]: the program `fsdyno-mpi`
//! implements it by MPI, and tests by threads. The phases are those of `load`. `clocks` compares
//! the clocks of the ranks, `merge` makes one sample of the reports of all ranks, and [`monitor`]
//! finds ranks that died or hang, and writes the store. This crate calls no MPI function.

mod caches;
mod clocks;
pub mod conduct;
mod consent;
pub mod group;
mod member;
mod merge;
pub mod monitor;
pub mod options;
mod phase;
mod plan;
mod stonewall;
mod verify;

pub use group::{Alarm, Group, Halt, Wait};
pub use member::host_name;
pub use options::Options;
