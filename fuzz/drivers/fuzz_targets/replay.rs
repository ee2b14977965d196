//! Runs the target `replay` under libFuzzer; `src/targets/replay.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::REPLAY, input));
