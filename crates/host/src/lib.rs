//! Privileged operations of this machine: commands, image files, loop devices, mounts, arrays,
//! pools, the device guard, caches, requirement probes and the clean-up journal.
//!
//! Only this crate mounts, formats, or opens a device for writing. Every resource it creates is a
//! guard that is released on drop, and is declared in the [`journal`] before it exists.

pub mod arrays;
pub mod busy;
pub mod cache;
pub mod clean_up;
pub mod command;
pub mod confinement;
pub mod daemons;
pub mod destination;
pub mod direct_io;
pub mod disk_server;
pub mod entropy;
pub mod foreground;
pub mod forget;
pub mod formatting;
pub mod freezing;
#[doc(hidden)]
pub mod fuzz;
pub mod guard;
pub mod guest_processes;
pub mod image;
pub mod journal;
mod kernel_config;
pub mod kernel_log;
pub mod last_lines;
pub mod loops;
pub mod measurement_lock;
pub mod mounts;
pub mod place;
pub mod pools;
pub mod probe;
pub mod processes;
pub mod quota;
pub mod removal;
pub mod signals;
pub mod space;
pub mod ssh;
pub mod sysfs;
