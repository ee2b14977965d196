//! Runs the target `tar_archive` under libFuzzer; `src/targets/tar_archive.rs` holds its check.

#![no_main]

use fsdyno_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::TAR_ARCHIVE, input));
