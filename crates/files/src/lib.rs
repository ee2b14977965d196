//! Files and directories that are opened and replaced without trusting their path: directories
//! whose owner and mode are checked, files that come into place by a rename, input files, and
//! the programs that fsdyno runs.
//!
//! Calls that a signal interrupts are repeated here too, for all crates. It decides nothing about
//! what the files hold.

pub mod errno;
pub mod input;
pub mod kept;
pub mod named;
mod output;
pub mod places;
mod process_stat;
pub mod programs;
mod random;
mod read_full;
mod replace;
mod temporary;
mod trusted;
mod waiting;
mod walk;

pub use output::Output;
pub use process_stat::ProcessStat;
pub use random::random;
pub use read_full::read_full;
pub use replace::{Existing, replace};
pub use temporary::TemporaryDir;
pub use trusted::{Access, TrustedDir, Untrusted, create_output_dir, open_own};
pub use trusted::{refuse_foreign_dir, refuse_foreign_links};
pub use waiting::{CallError, flock, poll, uninterrupted};
pub use walk::open_parent;
