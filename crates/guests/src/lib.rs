//! Guests: kernels that run as a program ([`uml`]) or in a virtual machine ([`qemu`]).
//!
//! Holds their kernels and the build of one ([`kernels`]), how a guest is started and ended,
//! virtual time ([`time_travel`]), determinism ([`determinism`]), the frames between host and guest
//! ([`protocol`]), and the setup of a guest by its first process ([`inside`]). The crate `lab`
//! defines the messages in the frames and runs the cells.

mod console;
pub mod determinism;
pub mod inside;
pub mod kernels;
mod libraries;
mod machine;
mod one_processor;
mod own_programs;
mod process;
pub mod profile;
pub mod protocol;
pub mod qemu;
mod running;
mod start;
pub mod time_travel;
pub mod uml;
pub mod vm;

pub use machine::{GuestError, Machine};
pub use one_processor::OneProcessor;
pub use running::{Guest, on_terminal};
pub use start::{DiskKind, MAX_DISKS, Setting, disk, ended};

/// A directory of the guest for its own files, on a file system in memory.
pub const PLACE: &str = "/run/fsdyno";

/// The name of the virtio port that connects to the host.
pub(crate) const LINE_NAME: &str = "fsdyno";
