//! A recording with any items, for the fuzz target: valid frames, lengths and checksums.

use crate::blocks::{BlockWriter, MAX_BLOCK};

/// The recording whose items, after its description, are these bytes.
///
/// # Panics
/// If memory cannot be allocated.
pub fn framed(items: &[u8]) -> Vec<u8> {
    let about = r#"{"fsdyno":"","recorder":"strace","kernel":"","filesystem":"","root":"",
        "recorded":[],"started_unix_s":0,"anonymous":false}"#;
    let about = crate::writer::WireItem::About(about.to_owned());
    let mut content = postcard::to_stdvec(&about).unwrap_or_default();
    let mut blocks = BlockWriter::new(Vec::new()).expect("memory");
    for part in items.chunks(MAX_BLOCK / 2) {
        content.extend_from_slice(part);
        blocks.write(&content).expect("memory");
        content.clear();
    }
    blocks.into_inner()
}
