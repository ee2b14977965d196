//! Runs the target `program_json` under libFuzzer; what it checks is in `src/targets/program_json.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("program_json", input));
