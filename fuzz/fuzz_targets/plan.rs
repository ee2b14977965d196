//! Runs the target `plan` under libFuzzer; what it checks is in `src/targets/plan.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("plan", input));
