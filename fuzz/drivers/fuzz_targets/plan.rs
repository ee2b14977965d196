//! Runs the target `plan` under libFuzzer; `src/targets/plan.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::PLAN, input));
