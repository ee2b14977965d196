//! Names that are counted up in place: a letter and a number of fixed width. None is formatted, and
//! none is kept.

use std::ffi::CStr;

/// A name, its number counted in decimal digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<const LENGTH: usize> {
    /// Ends with a zero.
    bytes: [u8; LENGTH],
}

/// A directory of a worker's: `d0000000`.
pub(super) type Directory = Name<9>;
/// A file: `f0000000000`.
pub(super) type File = Name<12>;

impl<const LENGTH: usize> Name<LENGTH> {
    /// The name with this number.
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

    /// As a call takes it.
    #[inline]
    pub fn as_c(&self) -> &CStr {
        // SAFETY: the last byte is the only zero: it is never written, and the others are a letter
        // and digits.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes) }
    }

    /// Counts on by one.
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
    fn counting_on_is_the_same_as_the_name_of_the_next_number() {
        for number in [0, 9, 99, 1234, 999_999] {
            let mut name = File::new(b'f', number);
            name.next();
            assert_eq!(name.as_c(), File::new(b'f', number + 1).as_c());
        }
        assert_eq!(File::new(b'f', 42).as_c(), c"f0000000042");
        assert_eq!(Directory::new(b'd', 7).as_c(), c"d0000007");
    }
}
