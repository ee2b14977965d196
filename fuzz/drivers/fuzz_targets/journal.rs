//! Runs the target `journal` under libFuzzer; `src/targets/journal.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::JOURNAL, input));
