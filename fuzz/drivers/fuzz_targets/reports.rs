//! Runs the target `reports` under libFuzzer; `src/targets/reports.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::REPORTS, input));
