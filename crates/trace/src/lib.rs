//! A recording: the tree that programs started from, and their file operations on it.
//!
//! [`Reader`] and [`Writer`] stream it. Recorders and replayers are elsewhere. A path is a number
//! in a table of names ([`Paths`]), so that no path can be absolute or contain `..`. A descriptor is
//! the number of an open file description ([`Handle`]): recorders resolve `dup`, inheritance and
//! close-on-exec.
//!
//! # Format
//!
//! Numbers in frames are little-endian. The file begins with `fsdynoW` and a line feed, and 4 bytes
//! for the version (now 4; a reader refuses a newer one). Blocks follow: length, stored length, and
//! CRC-32 of the stored bytes (4 bytes each), then the stored bytes.
//!
//! The stored bytes are zstd frames (RFC 8878). A block expands to at most 1 MiB and to at most 16
//! times its stored length (the writer pads with a skippable frame), and contains whole items in
//! the [wire format of postcard](https://postcard.jamesmunns.com/wire-format), with fields in the
//! order of the types in this crate:
//!
//! | item | content |
//! |---|---|
//! | 0 about | JSON, first: recorder, versions, file system, command |
//! | 1 path | number of the directory, name. Numbered from 1; 0 is the tree |
//! | 2 entry | path, mode, type, sizes of extended attributes |
//! | 3 thread | number, process, parent, start |
//! | 4 operation | thread, origin, start since the previous one, duration, kind, return value |
//! | 5 end | JSON, last: duration, operations, lost events, overhead |
//! | 6 last entry | from version 2: an entry at the end, without holes, extents and attributes |
//!
//! Operations of access lists and of `/proc/self/fd` are from version 3, those of flags from version 4.
//!
//! - Entries precede threads and operations, and a directory what is in it. A regular file has its
//!   size, its holes (at most 1,024), its extents, and its compressibility. Other names of a file
//!   are hard links to the first.
//! - The directories of a path are no symbolic links. A symbolic link has relative text that stays
//!   in the tree, or a path in the tree, or only the length of its text.
//! - No number of a descriptor or a mapping occurs twice.
//! - Operations are in the order of their returns. Return values are those of the kernel. Times are
//!   in nanoseconds.
//!
//! The reader stops with one error at the first item that is not valid. A file without an end is
//! truncated. A program that replays a recording must resolve paths with `RESOLVE_BENEATH`, because
//! a renamed directory can change where a link leads.

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

pub use about::{About, Ending, Explained, Overhead, Recorder};
pub use blocks::MARK;
pub use check::Invalid;
pub use error::TraceError;
pub use manifest::{Entry, EntryKind, Hole, LinkTarget, XattrSize};
pub use operation::{Action, Handle, Mapping, Object, Operation, Thread, ThreadId, Via};
pub use paths::{PathId, Paths, stays_inside};
pub use reader::{Item, Reader};
pub use writer::Writer;

/// Version of the format that [`Writer`] writes. [`Reader`] reads all versions up to it.
pub const VERSION: u32 = 4;

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

/// The largest access list: the largest value of an attribute has room for so many entries.
pub const MAX_ACL: u32 = 8191;

/// The maximum number of holes of a file that are listed.
pub const MAX_HOLES: usize = 1024;
