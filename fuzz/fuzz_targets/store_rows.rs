//! Runs the target `store_rows` under libFuzzer; what it checks is in `src/targets/store_rows.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("store_rows", input));
