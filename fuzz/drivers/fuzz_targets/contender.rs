//! Runs the target `contender` under libFuzzer; `src/targets/contender.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::CONTENDER, input));
