//! The load: what phases do, how an operation reaches the kernel, and how all of it is timed.
//!
//! From bottom to top: `clock`, `job`, `phase_kind` and `tool_run`; [`engines`]; [`phases`]; the
//! external [`programs`]; all [`kinds`] by name; and [`measure`], the measured loop. Nothing here
//! mounts, formats or needs root: a load works in the directory it is given.

mod clock;
mod command;
pub mod engines;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod job;
pub mod kinds;
pub mod made;
pub mod measure;
mod phase_kind;
pub mod phases;
pub mod plug;
pub mod programs;
mod tool_run;
