//! Runs the target `disk_profile` under libFuzzer; `src/targets/disk_profile.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::DISK_PROFILE, input));
