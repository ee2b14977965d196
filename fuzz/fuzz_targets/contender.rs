//! Runs the target `contender` under libFuzzer; what it checks is in `src/targets/contender.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("contender", input));
