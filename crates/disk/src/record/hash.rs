//! Payload hash: XXH64 with seed 0. It is not a cryptographic hash.

use twox_hash::XxHash64;

pub fn hash(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_in_block_traces_are_those_of_earlier_versions() {
        assert_eq!(hash(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(hash(b"abc"), 0x44BC_2CF5_AD77_0999);
        let long = b"Call me Ishmael. Some years ago--never mind how long precisely-";
        assert_eq!(hash(long), 0x02A2_E854_70D6_FD96);
    }
}
