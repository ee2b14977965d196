//! The binary `fsdyno`.
fn main() {}
