//! Runs the target `recording` under libFuzzer; `src/targets/recording.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::RECORDING, input));
