//! Fuzz targets: each takes bytes and feeds them to one reader of fsdyno. A test runs the inputs of
//! the corpus. Two kinds of programs in `drivers/` run new inputs: libFuzzer (`fuzz_targets/`), guided
//! by coverage, and `plain.rs`, which needs only Rust.
//!
//! A target checks more than the absence of panics, as far as its reader allows: that a printed
//! value is read back, that answers match requests, that memory is bounded by the input.

pub mod bytes;
pub mod memory;
pub mod mutate;
pub mod targets;

use std::fs;
use std::path::{Path, PathBuf};

/// A target: its name, and its check of an input.
pub struct Target {
    /// The name of its file in `drivers/fuzz_targets/`, and of its folder in `corpus/`.
    pub name: &'static str,
    /// The check. It panics where something is wrong.
    pub check: fn(&[u8]),
    /// Bytes that the reader may hold at once, plus [`PER_BYTE`] for each byte of the input.
    pub memory: usize,
}

/// Bytes of memory that a byte of the input may cost.
pub const PER_BYTE: usize = 512;

pub fn find(name: &str) -> Option<&'static Target> {
    targets::ALL.iter().find(|target| target.name == name)
}

/// The inputs kept for a target, in the order of their names.
pub fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let inputs = paths.iter().map(fs::read);
    inputs.filter_map(Result::ok).collect()
}

/// Runs one input through a target, and checks how much memory that took.
pub fn run(target: &Target, input: &[u8]) {
    let before = memory::begin();
    (target.check)(input);
    let most = memory::peak_since(before);
    let allowed = target.memory + PER_BYTE * input.len();
    assert!(
        most <= allowed,
        "an input of {} bytes took {most} bytes of memory, and {allowed} are allowed",
        input.len()
    );
}
