//! Runs the target `program_output` under libFuzzer; what it checks is in `src/targets/program_output.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("program_output", input));
