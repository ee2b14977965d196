//! Runs the target `block_trace` under libFuzzer; `src/targets/block_trace.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::BLOCK_TRACE, input));
