//! Runs the target `guest_frames` under libFuzzer; what it checks is in `src/targets/guest_frames.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("guest_frames", input));
