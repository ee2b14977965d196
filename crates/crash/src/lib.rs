//! The states that a power cut can leave on a disk, and what a file system must recover from each.
//!
//! A [`Program`] is a short list of operations. A guest performs it on a model disk, which records
//! the [`Trace`]: every request with its data, and when each operation began and returned. Nothing
//! here performs, mounts or measures: the crate computes from values, and a test can check it
//! against brute force.

#![warn(missing_docs)]

pub mod attributes;
pub mod content;
mod context;
mod count;
pub mod equivalence;
mod flush_log;
pub mod generate;
pub mod interrupted;
pub mod minimise;
pub mod operation;
pub mod oracle;
pub mod overlay;
pub mod recording;
pub mod script;
pub mod select;
pub mod signature;
pub mod simulation;
pub mod state_id;
pub mod states;
pub mod text;
pub mod trace;
pub mod tree;
pub mod undone;
pub mod windows;

pub use equivalence::{Equivalence, NotDeterministic};
pub use generate::{Bounds, Generated};
pub use interrupted::{Interruption, InterruptionLimits, interruptions};
pub use minimise::minimise;
pub use operation::{DEVICE, Operation, Program, SpecialKind, Target, TimedProgram, WriteKind};
pub use oracle::{Broken, Oracle, Progress, Promises, judge, promise};
pub use overlay::{Block, ImageKey, Overlay};
pub use recording::CrashStates;
pub use select::{Role, RoleOf, sample_windows};
pub use simulation::ProgramError;
pub use state_id::{Bits, SectorSet, Selection, StateId, StateIdError};
pub use states::{IllegalState, WindowStates};
pub use text::{TextError, parse_programs, render_programs};
pub use trace::{Data, Trace, TraceEvent};
pub use tree::{Entry, EntryKind, Run, Source, Tree};
pub use windows::{Change, Flush, Marks, TraceError, Window, Windows};
