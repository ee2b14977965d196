//! Runs the target `disk_faults` under libFuzzer; what it checks is in `src/targets/disk_faults.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("disk_faults", input));
