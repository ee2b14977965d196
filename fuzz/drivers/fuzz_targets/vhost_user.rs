//! Runs the target `vhost_user` under libFuzzer; `src/targets/vhost_user.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::VHOST_USER, input));
