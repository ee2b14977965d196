//! Runs the target `disk_profile` under libFuzzer; what it checks is in `src/targets/disk_profile.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("disk_profile", input));
