//! Runs the target `fuse_requests` under libFuzzer; `src/targets/fuse_requests.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::FUSE_REQUESTS, input));
