//! An input as a sequence of choices: numbers and parts, taken from the front. Where the input has
//! ended, numbers are 0 and parts are empty.

/// What is left of an input.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next bytes, fewer where the input ends.
    pub fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// The next byte.
    pub fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    /// The next two bytes as a number.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    /// The next eight bytes as a number.
    pub fn u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        let taken = self.take(8);
        bytes[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(bytes)
    }

    /// A part whose length is in the next two bytes.
    pub fn part(&mut self) -> &'a [u8] {
        let length = usize::from(self.u16());
        self.take(length)
    }
}
