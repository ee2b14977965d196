//! Writes of a crash test, and the check of the files after the power cut.
//!
//! The script of a seed is a sequence of operations. [`write()`] performs it, and reports each
//! operation when it is acknowledged: all its fsync calls have returned. After the power cut,
//! [`judge`] simulates the script and compares the result with the files. Acknowledged operations
//! must be complete. Operations in flight may have happened or not; a rename is atomic. Nothing
//! else is guaranteed, and nothing else is judged.
//!
//! A program of the crash explorer is performed by [`perform()`], and [`dump()`] reads the files that
//! a recovery left; the crate `fsdyno-crash` judges them. [`execute`] runs an application of the user
//! instead, and [`check`] its check. [`random_program`] and [`recorded_program`] make long programs:
//! of the script, and of a recording.

mod dump;
mod judge;
mod perform;
mod random;
mod recorded;
mod script;
mod write;

pub use crate::command::application::{Executed, check, execute};
pub use dump::{dump, make_file, try_use};
pub use judge::judge;
pub use perform::{FailedOperation, Performed, Point, perform, perform_from, perform_timed};
pub use random::{MAX_STEPS, random_program};
pub use recorded::{MAX_OPERATIONS, RecordedProgram, recorded_program};
pub use write::write;

const DIRECTORIES: u32 = 4;

/// The directory of files that are written without fsync.
const UNSYNCED: &str = "unsynced";

/// The number of these files, which are overwritten in turn.
const UNSYNCED_FILES: u64 = 16;

/// The maximum number of operations after the last received acknowledgement: the one in flight, and
/// one whose acknowledgement was lost.
const IN_FLIGHT: usize = 2;

fn directory(number: u32) -> String {
    format!("d{number}")
}

fn path(directory_number: u32, file: u32) -> String {
    format!("{}/f{file}", directory(directory_number))
}

/// The file without fsync that an operation overwrites.
fn unsynced(number: u64) -> String {
    format!("{UNSYNCED}/{}", number % UNSYNCED_FILES)
}
