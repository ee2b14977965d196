//! What a power cut can leave on a disk, and what a file system must recover from it.
//!
//! A [`Program`] is a short list of operations. A guest performs it on a model disk, which records
//! the [`Trace`]: every request with its data, and when each operation began and returned. Nothing
//! here performs, mounts or measures: the crate computes from values, and a test can check it
//! against brute force.

pub mod content;
pub mod operation;
pub mod text;
pub mod trace;
pub mod tree;

pub use operation::{Operation, Program, Target, WriteKind};
pub use text::{TextError, parse_programs, render_programs};
pub use trace::{Data, Trace, TraceEvent};
pub use tree::{Entry, EntryKind, Run, Source, Tree};
