//! The entries of a directory as `getdents64(2)` writes them to a reused buffer. The engine fills
//! the buffer.

use super::meta::Kind;
use crate::buffer::Buffer;
use std::ffi::CStr;

/// Space for some hundreds of entries, as in the C library.
const SPACE: usize = 32 * 1024;
/// The bytes before the name: `d_ino`, `d_off`, `d_reclen`, `d_type`.
const HEAD: usize = 19;
/// The length of a record with the shortest name: records are padded to eight bytes.
const MIN_RECORD_BYTES: usize = 24;

/// Part of a directory's entries, and the position in them.
#[derive(Debug)]
pub struct Listing {
    /// Space for records, followed by a zero, so that every name ends in the buffer.
    buffer: Buffer,
    /// The offsets of the records, by inode number.
    order: Vec<(u64, u16)>,
    /// The number of entries that were returned.
    taken: usize,
    /// Whether entries are returned in the order of the directory.
    as_listed: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub name: &'a CStr,
    /// Its kind, if the directory entry has one.
    pub kind: Option<Kind>,
}

impl Default for Listing {
    fn default() -> Self {
        let mut buffer = Buffer::filled(0xa5, SPACE + 1);
        buffer[SPACE] = 0;
        Self {
            buffer,
            order: Vec::with_capacity(SPACE / MIN_RECORD_BYTES),
            taken: 0,
            as_listed: false,
        }
    }
}

impl Listing {
    /// Begins a new directory. Its entries are returned in its order or by inode number.
    pub fn begin(&mut self, as_listed: bool) {
        self.as_listed = as_listed;
        self.clear();
    }

    /// Removes all entries.
    fn clear(&mut self) {
        self.order.clear();
        self.taken = 0;
    }

    /// The buffer, to be filled with records in the kernel's form.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[..SPACE]
    }

    /// Sets how many bytes of the buffer were filled. Entries are returned by inode number, like in
    /// cp, which is roughly their order on disk. Some file systems list in the order of a hash, and
    /// following that order causes seeks.
    #[inline]
    pub fn filled(&mut self, bytes: usize) {
        self.clear();
        let (mut at, mut last) = (0, 0);
        let (mut rises, mut falls) = (true, true);
        // A record has at least one byte of name, its zero and padding.
        while let Some(record) = self.buffer[..bytes.min(SPACE)].get(at..at + MIN_RECORD_BYTES) {
            let length = usize::from(u16::from_ne_bytes([record[16], record[17]]));
            if length < MIN_RECORD_BYTES {
                break;
            }
            let dots = matches!(record[HEAD..], [b'.', 0, ..] | [b'.', b'.', 0, ..]);
            if !dots {
                let mut ino = [0; 8];
                ino.copy_from_slice(&record[..8]);
                let ino = u64::from_ne_bytes(ino);
                rises &= last <= ino;
                falls &= last > ino || self.order.is_empty();
                last = ino;
                // The buffer is shorter than 2^16 bytes.
                let place = u16::try_from(at).unwrap_or(u16::MAX);
                self.order.push((ino, place));
            }
            at += length;
        }
        // No sort if the file system lists the newest entry first.
        if rises || self.as_listed {
            return;
        }
        if falls {
            self.order.reverse();
        } else {
            self.order.sort_unstable();
        }
    }

    /// The next entry except `.` and `..`; none if the buffer must be refilled.
    #[inline]
    pub fn take(&mut self) -> Option<Entry<'_>> {
        if self.taken == self.order.len() {
            return None;
        }
        self.taken += 1;
        self.current()
    }

    /// The last returned entry again.
    #[inline]
    pub fn current(&self) -> Option<Entry<'_>> {
        let (_, at) = self.order.get(self.taken.checked_sub(1)?)?;
        let record = self.buffer.get(usize::from(*at)..)?.get(..=HEAD)?;
        // SAFETY: the name begins in the buffer, which is borrowed and ends with a zero that is
        // never overwritten.
        let name = unsafe { CStr::from_ptr(record[HEAD..].as_ptr().cast()) };
        Some(Entry {
            name,
            kind: Kind::of_dirent(record[18]),
        })
    }
}

/// Writes one record in the kernel's form; returns its length, or none if it does not fit.
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
    fn dots_are_skipped_and_the_last_entry_can_be_read_again() {
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

    #[test]
    fn entries_are_returned_by_inode_number() {
        for numbers in [[1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 1, 3], [2, 2, 1, 1]] {
            let taken = |as_listed| {
                let mut listing = Listing::default();
                listing.begin(as_listed);
                let mut end = 0;
                for ino in numbers {
                    let name = ino.to_string();
                    let space = &mut listing.space()[end..];
                    end += put_record(space, ino, Kind::File, name.as_bytes()).unwrap();
                }
                listing.filled(end);
                let mut taken: Vec<u64> = Vec::new();
                while let Some(entry) = listing.take() {
                    taken.push(entry.name.to_str().unwrap().parse().unwrap());
                }
                taken
            };
            let mut sorted = numbers.to_vec();
            sorted.sort_unstable();
            assert_eq!(taken(false), sorted);
            assert_eq!(taken(true), numbers);
        }
    }

    #[test]
    fn an_unterminated_name_ends_with_the_buffer() {
        let mut listing = Listing::default();
        let at = SPACE - MIN_RECORD_BYTES;
        listing.space()[..at].fill(b'x');
        listing.space()[16..18].copy_from_slice(&u16::try_from(at).unwrap().to_ne_bytes());
        listing.space()[at..].fill(b'y');
        listing.filled(SPACE);
        while let Some(entry) = listing.take() {
            assert!(entry.name.count_bytes() <= SPACE - HEAD);
        }
    }
}
