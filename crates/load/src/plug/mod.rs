//! Writing that is cut off, and what must have survived: for pulling the plug.
//!
//! A script of a seed lists what is done, one operation after the other; [`write()`] does it, and
//! reports of each operation once it is acknowledged: every fsync it takes has returned. After the
//! cut, [`judge`] does the script again on paper and looks at what is there. What was acknowledged
//! must be there, whole; the operations that may have been in flight may have happened or not,
//! a rename wholly or not at all. Nothing else was promised, and nothing else is judged.

mod judge;
mod script;
mod write;

pub use judge::judge;
pub use write::write;

use std::path::{Path, PathBuf};

/// How many directories there are.
const DIRECTORIES: u32 = 4;

/// How many operations may have been done beyond the last that was heard to be acknowledged: the
/// one in flight, and the one whose word was lost on its way.
const IN_FLIGHT: usize = 2;

fn directory(root: &Path, number: u32) -> PathBuf {
    root.join(format!("d{number}"))
}

fn path(root: &Path, directory_number: u32, file: u32) -> PathBuf {
    directory(root, directory_number).join(format!("f{file}"))
}
