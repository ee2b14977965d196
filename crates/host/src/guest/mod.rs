//! Guests: kernels that run as a program beside this one. Starting and ending them
//! ([`uml`]), and what the first process inside has to do ([`inside`]).
//!
//! What is said between host and guest is the business of the lab, as is what runs in one.

mod console;
pub mod inside;
pub mod uml;

pub use uml::{Guest, GuestError, Uml};

/// What tells a guest in its environment where the modules of its kernel lie.
pub(crate) const MODULES: &str = "FSDYNO_MODULES";

/// Where the guest keeps what is its own: a file system in memory.
pub const PLACE: &str = "/run/fsdyno";
