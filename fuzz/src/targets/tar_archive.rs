//! Archives of the user's: read whole or refused, plain and packed, and counted as a plain walk
//! over its headers counts.

use fsdyno_model::{Bytes, CancelToken, DatasetChoice};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;

/// The room that there is to unpack an archive.
const ROOM: Bytes = Bytes(64 << 20);

pub fn check(input: &[u8]) {
    let mut file = File::from(memfd_create("archive", MemfdFlags::CLOEXEC).expect("a memfd"));
    file.write_all(input).expect("memory");
    let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
    let Ok(dataset) = fsdyno_datasets::open(
        &DatasetChoice::Tar(path),
        0,
        1.0,
        Some(ROOM),
        &CancelToken::new(),
    ) else {
        return;
    };
    let facts = dataset.facts();
    assert_eq!(
        facts.archive_bytes.map(|bytes| bytes.0),
        Some(input.len() as u64)
    );
    assert!(facts.largest <= facts.bytes);
    let packed = [&[0x1F, 0x8B][..], &[0xFD, b'7'], &[0x28, 0xB5]];
    if packed.iter().any(|magic| input.starts_with(magic)) {
        return;
    }
    // Every member that counts has a header of 512 bytes.
    assert!(facts.files <= input.len() as u64 / 512);
    let mut archive = tar::Archive::new(input);
    let mut files = 0;
    for entry in archive.entries().expect("it was read before") {
        let kind = entry.expect("it was read before").header().entry_type();
        files += u64::from(!kind.is_dir() && !kind.is_pax_global_extensions());
    }
    assert_eq!(facts.files, files);
}
