//! Runs the target `guest_frames` under libFuzzer; `src/targets/guest_frames.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::GUEST_FRAMES, input));
