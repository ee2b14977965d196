//! Runs the target `atlas` under libFuzzer; `src/targets/atlas.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::ATLAS, input));
