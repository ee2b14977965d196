//! Paths of files, built in place: texts and numbers of fixed width. Nothing is allocated.

use std::ffi::CStr;

/// The maximum length of a path, with the zero byte.
const MAX_PATH_BYTES: usize = 120;
/// The digits of a number.
const DIGITS: u32 = 7;

#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Text(&'static str),
    Number(usize),
}

/// Space for one path.
#[derive(Debug)]
pub(super) struct PathBuffer {
    bytes: [u8; MAX_PATH_BYTES],
}

impl PathBuffer {
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_PATH_BYTES],
        }
    }

    /// The path of these parts. Parts that do not fit are cut off; no path is that long.
    pub fn path(&mut self, parts: &[Part]) -> &CStr {
        let mut at = 0;
        for part in parts {
            match part {
                Part::Text(text) => text.bytes().for_each(|byte| self.push(&mut at, byte)),
                Part::Number(number) => {
                    let mut divisor = 10_usize.pow(DIGITS - 1);
                    while divisor > 0 {
                        #[expect(clippy::cast_possible_truncation, reason = "a digit")]
                        let digit = (number / divisor % 10) as u8;
                        self.push(&mut at, b'0' + digit);
                        divisor /= 10;
                    }
                }
            }
        }
        self.bytes[at] = 0;
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    fn push(&mut self, at: &mut usize, byte: u8) {
        if *at < MAX_PATH_BYTES - 1 {
            self.bytes[*at] = byte;
            *at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Part::{Number, Text};
    use super::*;

    #[test]
    fn parts_become_a_path() {
        let mut buffer = PathBuffer::new();
        let path = buffer.path(&[Text("b"), Number(42), Text("/new/m"), Number(9_999_999)]);
        assert_eq!(path, c"b0000042/new/m9999999");
        assert_eq!(buffer.path(&[Text("x")]), c"x");
    }
}
