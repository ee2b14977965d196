//! Disk profiles: what is read makes a disk that completes every request.

use super::disk::exercise;
use crate::bytes::Input;
use fsdyno_disk::{Disk, Faults, Memory, Profile};
use fsdyno_model::Bytes;

pub fn check(input: &[u8]) {
    // The text, and behind a zero byte the requests.
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let text = parts.next().unwrap_or_default();
    let mut requests = Input(parts.next().unwrap_or_default());
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let Ok(profile) = Profile::parse("fuzzed", text) else {
        return;
    };
    let capacity = Some(Bytes(64 << 20));
    let mut disk = Disk::new(&profile, capacity, Box::new(Memory::new()), Faults::none());
    exercise(&mut disk, &mut requests);
}
