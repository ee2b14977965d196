//! The entries of a directory as `getdents64(2)` lays them in a buffer that is used again and
//! again. Who fills the buffer is the engine's affair.

use super::meta::Kind;
use std::ffi::CStr;

/// Room for some hundreds of entries; the C library takes as much.
const SPACE: usize = 32 * 1024;
/// The bytes before the name: `d_ino`, `d_off`, `d_reclen`, `d_type`.
const HEAD: usize = 19;

/// Part of a directory's entries, and how far they were taken.
#[derive(Debug)]
pub struct Listing {
    buffer: Box<[u8]>,
    /// Where the entry taken last begins.
    current: usize,
    next: usize,
    end: usize,
}

/// One entry of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// What it is, where the directory tells.
    pub kind: Option<Kind>,
}

impl Default for Listing {
    fn default() -> Self {
        Self {
            // Written, not merely reserved: a page fault is no part of a measured phase.
            buffer: vec![0xa5; SPACE].into_boxed_slice(),
            current: 0,
            next: 0,
            end: 0,
        }
    }
}

impl Listing {
    /// Forgets all entries: a new directory begins.
    pub fn clear(&mut self) {
        (self.current, self.next, self.end) = (0, 0, 0);
    }

    /// The buffer, to be filled with records in the kernel's form.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Says how many bytes of the buffer were filled.
    pub fn filled(&mut self, bytes: usize) {
        (self.current, self.next, self.end) = (0, 0, bytes.min(self.buffer.len()));
    }

    /// The next entry but `.` and `..`; none where the buffer must be filled anew.
    #[inline]
    pub fn take(&mut self) -> Option<Entry<'_>> {
        loop {
            let record = self.buffer[..self.end].get(self.next..)?;
            let length = usize::from(u16::from_ne_bytes([*record.get(16)?, *record.get(17)?]));
            if length <= HEAD || length > record.len() {
                return None;
            }
            self.current = self.next;
            self.next += length;
            let dots = record[HEAD] == b'.'
                && (record[HEAD + 1] == 0 || (record[HEAD + 1] == b'.' && record[HEAD + 2] == 0));
            if !dots {
                break;
            }
        }
        self.current()
    }

    /// The entry taken last, once more.
    #[inline]
    pub fn current(&self) -> Option<Entry<'_>> {
        let record = &self.buffer[self.current..self.next];
        Some(Entry {
            name: CStr::from_bytes_until_nul(record.get(HEAD..)?).ok()?,
            kind: Kind::of_dirent(record[18]),
        })
    }
}

/// Writes one record in the kernel's form; the bytes it took, or none where it does not fit.
pub fn put_record(space: &mut [u8], ino: u64, kind: Kind, name: &[u8]) -> Option<usize> {
    let length = (HEAD + name.len() + 1).next_multiple_of(8);
    let record = space.get_mut(..length)?;
    record[..8].copy_from_slice(&ino.to_ne_bytes());
    record[8..16].fill(0);
    record[16..18].copy_from_slice(&u16::try_from(length).ok()?.to_ne_bytes());
    record[18] = kind.dirent();
    record[HEAD..HEAD + name.len()].copy_from_slice(name);
    record[HEAD + name.len()..].fill(0);
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_passed_over_and_the_entry_taken_last_can_be_asked_again() {
        let mut listing = Listing::default();
        let mut end = 0;
        let names: [&[u8]; 5] = [b".", b"..", b"...", b".x", b"a\n\xff"];
        for name in names {
            end += put_record(&mut listing.space()[end..], 1, Kind::File, name).unwrap();
        }
        listing.filled(end);
        for name in &names[2..] {
            assert_eq!(listing.take().unwrap().name.to_bytes(), *name);
            assert_eq!(listing.current().unwrap().name.to_bytes(), *name);
        }
        assert!(listing.take().is_none());
    }
}
