//! Runs the target `fuse_requests` under libFuzzer; what it checks is in `src/targets/fuse_requests.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("fuse_requests", input));
