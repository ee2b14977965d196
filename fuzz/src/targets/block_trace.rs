//! Block traces: as they are, and as blocks with correct checksums around the input. What is read
//! is written again and read back to the same.

use fsdyno_disk::record::{Record, Records, Sink, Writer};

const MAGIC: &[u8] = b"fsdynoR1";

pub fn check(input: &[u8]) {
    let mut entries = read(input);
    // Behind checksums, where mutations of bytes would not come otherwise.
    let mut framed = MAGIC.to_vec();
    let (first, second) = input.split_at(input.len() / 2);
    for block in [first, second] {
        framed.extend(u32::try_from(block.len()).unwrap_or(u32::MAX).to_le_bytes());
        framed.extend(crc32fast::hash(block).to_le_bytes());
        framed.extend(block);
    }
    entries.extend(read(&framed));
    let mut written = Vec::new();
    let mut writer = Writer::new(&mut written).expect("memory");
    for entry in &entries {
        writer.note(entry).expect("memory");
    }
    writer.finish().expect("memory");
    drop(writer);
    assert_eq!(read(&written), entries);
}

/// The entries before the first error, which hold no more bytes than the file.
fn read(file: &[u8]) -> Vec<Record> {
    let Ok(records) = Records::new(file) else {
        return Vec::new();
    };
    let entries: Vec<Record> = records.map_while(Result::ok).collect();
    let bytes = entries.iter().map(|entry| match entry {
        Record::Payload { bytes, .. } => bytes.len(),
        Record::Mark { text, .. } => text.len(),
        _ => 0,
    });
    assert!(bytes.sum::<usize>() <= file.len());
    entries
}
