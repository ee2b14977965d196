//! Guests: kernels that run as a program beside this one, by themselves ([`uml`]) or on a machine
//! that is made for them ([`qemu`]). Starting and ending them, those in virtual time ([`time_travel`]), what makes
//! them the same each time ([`determinism`]), the kernels there are and how one is built ([`kernels`]), and what the first process
//! inside has to do ([`inside`]).
//!
//! What is said between host and guest is the business of the lab, as is what runs in one.

pub(crate) mod console;
pub mod determinism;
pub mod inside;
pub mod kernels;
mod machine;
mod one_processor;
pub mod qemu;
pub(crate) mod running;
pub mod time_travel;
pub mod uml;

pub use machine::{MOST_DISKS, Machine, disk};
pub use one_processor::OneProcessor;
pub use running::{Guest, ended, on_terminal};
pub use uml::{GuestError, Setting};

pub(crate) use machine::MACHINE;

/// What tells a guest in its environment where the modules of its kernel lie.
pub(crate) const MODULES: &str = "FSDYNO_MODULES";

/// Where the guest keeps what is its own: a file system in memory.
pub const PLACE: &str = "/run/fsdyno";

/// What the line to the host is called among the ports of a guest of QEMU.
pub(crate) const LINE_NAME: &str = "fsdyno";
