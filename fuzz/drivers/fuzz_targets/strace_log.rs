//! Runs the target `strace_log` under libFuzzer; `src/targets/strace_log.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::STRACE_LOG, input));
