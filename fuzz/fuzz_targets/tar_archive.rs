//! Runs the target `tar_archive` under libFuzzer; what it checks is in `src/targets/tar_archive.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("tar_archive", input));
