//! Runs the target `workload` under libFuzzer; `src/targets/workload.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::WORKLOAD, input));
