//! Runs the target `program_json` under libFuzzer; `src/targets/program_json.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::PROGRAM_JSON, input));
