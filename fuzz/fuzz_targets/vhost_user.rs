//! Runs the target `vhost_user` under libFuzzer; what it checks is in `src/targets/vhost_user.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fsdyno_fuzz::run("vhost_user", input));
