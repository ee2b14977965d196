//! The hash that identifies a plan.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The first 16 hexadecimal digits of the SHA-256 of `text`: names a plan in reports.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest[..8]
        .iter()
        .fold(String::with_capacity(16), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
