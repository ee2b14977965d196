//! Runs the target `journal` under libFuzzer; what it checks is in `src/targets/journal.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("journal", input));
