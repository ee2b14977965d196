//! Runs the target `disk_faults` under libFuzzer; `src/targets/disk_faults.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::DISK_FAULTS, input));
