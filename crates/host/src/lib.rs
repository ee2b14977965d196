//! Every privileged act, and nothing else: commands, image files, loop devices, mounts, the device
//! guard, caches and the proof of their state, counters of devices and processors, probes for
//! requirements, provenance, and the clean-up journal.
//!
//! Only this crate mounts, formats, or opens a device for writing. Everything it makes is a guard
//! that is undone on drop, and stands in the [`journal`] before it exists.

pub mod arrays;
pub mod cache;
pub mod command;
pub mod counters;
pub mod daemons;
pub mod disk_server;
pub mod errno;
pub mod formatting;
#[doc(hidden)]
pub mod fuzz;
pub mod guard;
pub mod guest;
pub mod image;
pub mod journal;
mod kernel_config;
pub mod loops;
pub mod measurement_lock;
pub mod mounts;
pub mod pools;
pub mod probe;
mod processes;
pub mod provenance;
pub mod quiesce;
pub mod signals;
pub mod ssh;
pub mod tracing;
