//! Fuzz targets: each takes bytes and feeds them to one reader of fsdyno. Two drivers run them:
//! libFuzzer (`fuzz_targets/`), guided by coverage, and `plain.rs`, which needs Rust alone.
//!
//! A target checks more than the absence of panics, as far as its reader allows: that a printed
//! value is read back, that answers match requests, that memory is bounded by the input.

pub mod bytes;
pub mod memory;
pub mod mutate;
mod targets;

/// A target: what it is called, and what it does with an input.
pub struct Target {
    /// The name of its file in `fuzz_targets/`, and of its folder in `corpus/`.
    pub name: &'static str,
    /// The check. It panics where something is wrong.
    pub check: fn(&[u8]),
    /// Bytes that the reader may hold at once, beside [`PER_BYTE`] for each byte of the input.
    pub memory: usize,
}

/// How many bytes of memory a byte of the input may cost.
pub const PER_BYTE: usize = 512;

/// All targets.
pub static TARGETS: &[Target] = targets::ALL;

/// The target of that name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs one input through the target of that name.
pub fn run(name: &str, input: &[u8]) {
    let target = find(name).unwrap_or_else(|| panic!("no target is named {name}"));
    run_target(target, input);
}

/// Runs one input through a target, and checks how much memory that took.
pub fn run_target(target: &Target, input: &[u8]) {
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
