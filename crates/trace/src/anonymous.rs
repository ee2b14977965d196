//! Names as hashes with a key that is not stored: equal names have equal hashes in one recording.

use sha2::{Digest as _, Sha256};

/// The shortest hashed name: 80 bits, so that two of a million names hardly become equal.
const SHORTEST: usize = 16;

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Hashes names. Names of more than 16 bytes keep their length, because it costs a file system space
/// in its directories.
#[derive(Debug)]
pub(crate) struct NameHasher {
    key: [u8; 32],
}

impl NameHasher {
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    pub fn name(&self, name: &[u8]) -> Vec<u8> {
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update(name);
        let digest = digest.finalize();
        let letters = digest.iter().map(|byte| LETTERS[usize::from(byte & 31)]);
        letters
            .cycle()
            .take(name.len().clamp(SHORTEST, 255))
            .collect()
    }

    /// The text of a symbolic link, name by name.
    pub fn link(&self, text: &[u8]) -> Vec<u8> {
        let parts = text.split(|byte| *byte == b'/').map(|part| match part {
            b"" | b"." | b".." => part.to_vec(),
            name => self.name(name),
        });
        parts.collect::<Vec<_>>().join(&b'/')
    }

    /// The name of an extended attribute. Its name space stays, because it decides who may set it.
    pub fn xattr(&self, name: &str) -> String {
        let (space, rest) = name.split_once('.').unwrap_or(("user", name));
        if matches!(space, "security" | "system") {
            return name.to_owned();
        }
        let hashed = self.name(rest.as_bytes());
        let mut text = format!("{space}.{}", String::from_utf8_lossy(&hashed));
        text.truncate(255);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hidden_and_keep_their_identity() {
        let hasher = NameHasher::new([7; 32]);
        let long = b"a-name-of-more-than-sixteen-bytes.txt";
        assert_eq!(hasher.name(long).len(), long.len());
        assert_eq!(hasher.name(b"x").len(), 16);
        assert_ne!(hasher.name(b"x"), hasher.name(b"y"));
        assert_ne!(hasher.name(b"x"), NameHasher::new([8; 32]).name(b"x"));
        let link = hasher.link(b"../x/./y");
        let expected = [
            b"..".to_vec(),
            hasher.name(b"x"),
            b".".to_vec(),
            hasher.name(b"y"),
        ];
        assert_eq!(link, expected.join(&b'/'));
        assert_eq!(hasher.xattr("security.selinux"), "security.selinux");
        assert!(hasher.xattr("user.secret").starts_with("user."));
        assert!(!hasher.xattr("user.secret").contains("secret"));
    }
}
