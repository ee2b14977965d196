//! Runs the target `store_rows` under libFuzzer; `src/targets/store_rows.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::STORE_ROWS, input));
