//! The load: the phases, the engines that execute their operations, and the timing.
//!
//! From bottom to top: `clock`, [`slices`], [`hardware`], `job`, `phase_kind`, `tool_run`, `user_work` and [`work`];
//! [`engines`]; [`phases`]; the
//! external [`programs`]; all [`kinds`] by name; and [`measure`], the measured loop. This crate
//! neither mounts nor formats, and does not need root. A load works in a directory of the caller.

pub mod allocator;
mod buffer;
mod clock;
mod command;
pub mod crash;
mod descriptor;
pub mod engines;
mod error;
pub mod full;
#[doc(hidden)]
pub mod fuzz;
pub mod hardware;
mod job;
pub mod kinds;
pub mod made;
pub mod measure;
pub mod own_tables;
mod phase_kind;
pub mod phases;
pub mod programs;
#[cfg(test)]
mod recording_script;
pub mod slices;
pub mod stack;
mod tool_run;
mod user_work;
pub mod work;

pub use command::StrayProcesses;
pub use user_work::UserWork;
