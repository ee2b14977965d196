//! Names that are incremented in place: a letter and a number of fixed width. They are neither
//! formatted nor stored.

use std::ffi::CStr;

/// A name with a decimal number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<const LENGTH: usize> {
    /// Ends with a zero byte.
    bytes: [u8; LENGTH],
}

/// A directory of a worker: `d0000000`.
pub(super) type Directory = Name<9>;
/// A file: `f0000000000`.
pub(super) type File = Name<12>;

impl<const LENGTH: usize> Name<LENGTH> {
    pub fn new(letter: u8, number: u64) -> Self {
        let mut bytes = [0; LENGTH];
        bytes[0] = letter;
        let mut left = number;
        for byte in bytes[1..LENGTH - 1].iter_mut().rev() {
            let digit = (left % 10) as u8;
            *byte = b'0' + digit;
            left /= 10;
        }
        Self { bytes }
    }

    /// Returns it as a C string.
    #[inline]
    pub fn as_c(&self) -> &CStr {
        // SAFETY: the last byte is the only zero. It is never written, and the others are a letter
        // and digits.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes) }
    }

    /// Increments the number.
    #[inline]
    pub fn next(&mut self) {
        for byte in self.bytes[1..LENGTH - 1].iter_mut().rev() {
            if *byte != b'9' {
                *byte += 1;
                return;
            }
            *byte = b'0';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incrementing_a_name_gives_the_next_number() {
        for number in [0, 9, 99, 1234, 999_999] {
            let mut name = File::new(b'f', number);
            name.next();
            assert_eq!(name.as_c(), File::new(b'f', number + 1).as_c());
        }
        assert_eq!(File::new(b'f', 42).as_c(), c"f0000000042");
        assert_eq!(Directory::new(b'd', 7).as_c(), c"d0000007");
    }
}
