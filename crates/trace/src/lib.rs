//! A recording: the tree that programs started from, and their file operations on it.
//!
//! [`Reader`] and [`Writer`] stream it. Recorders and replayers are elsewhere. The file format is
//! documented in `docs/recordings.md`.
//!
//! A recording has these parts, in this order: [`About`]; the entries of the tree ([`Entry`],
//! parents first); threads and operations, in the order in which operations returned; [`Ending`],
//! with what was lost. Before the end are the entries of the tree as it was then. A path is a number
//! in a table of names ([`Paths`]), so that no path can be absolute or contain `..`. A descriptor is
//! the number of an open file description ([`Handle`]): recorders resolve `dup`, inheritance and
//! close-on-exec.

mod about;
mod anonymous;
mod blocks;
mod check;
mod error;
pub mod fuzz;
mod manifest;
mod operation;
mod paths;
mod reader;
pub mod summary;
#[cfg(test)]
mod tests;
mod writer;

pub use about::{About, Ending, Overhead, Recorder};
pub use blocks::MARK;
pub use check::Invalid;
pub use error::TraceError;
pub use manifest::{Entry, EntryKind, Hole, LinkTarget, XattrSize};
pub use operation::{Action, Handle, Mapping, Object, Operation, Thread, ThreadId, Via};
pub use paths::{PathId, Paths, stays_inside};
pub use reader::{Item, Reader};
pub use writer::Writer;

/// Version of the format that [`Writer`] writes. [`Reader`] reads all versions up to it.
pub const VERSION: u32 = 2;

/// The largest size, offset and time: that of `off_t`.
pub const MAX_NUMBER: u64 = i64::MAX as u64;

/// The longest read or write that Linux performs in one call: `MAX_RW_COUNT`.
pub const MAX_TRANSFER: u64 = 0x7fff_f000;

/// The maximum number of paths in a recording.
pub const MAX_PATHS: u32 = 1 << 24;

/// The maximum number of threads in a recording.
pub const MAX_THREADS: u32 = 1 << 22;

/// The maximum number of descriptors and mappings that are open at a time.
pub const MAX_OPEN: usize = 1 << 20;

/// The maximum number of holes of a file that are listed.
pub const MAX_HOLES: usize = 1024;
