//! Hashes as text, and the one that identifies a plan.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The first 16 hexadecimal digits of the SHA-256 of `text`: names a plan in reports.
pub fn short_hash(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes())[..8])
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
