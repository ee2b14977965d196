//! Runs the target `block_trace` under libFuzzer; what it checks is in `src/targets/block_trace.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("block_trace", input));
