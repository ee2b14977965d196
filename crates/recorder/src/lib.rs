//! Records the file operations of programs on a tree.
//!
//! An observer ([`ebpf`], [`strace`]) reports system calls as [`Call`]s. The [`Tracker`] follows descriptors,
//! working directories, mappings and symbolic links of each process, keeps what concerns the tree,
//! and writes the recording. So every observer gives the same recording of the same calls.

pub mod attach;
mod calls;
pub mod ebpf;
pub mod observation;
pub mod session;
pub mod strace;
mod tracker;

pub use calls::{Call, Syscall, TABLE, find};
pub use tracker::{MappedFile, OpenFile, RequestId, Sharing, Tracker, Unrecorded};
