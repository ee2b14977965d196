//! A sparse disk in memory: only bytes other than zero occupy memory.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

const PAGE: usize = 4096;

#[derive(Clone, Default)]
pub struct Disk {
    pages: HashMap<u64, Vec<u8>>,
    pub bytes: u64,
    at: u64,
    /// Byte value of unwritten ranges.
    pub before: u8,
}

impl Disk {
    pub fn new(bytes: u64, before: u8) -> Self {
        Self {
            bytes,
            before,
            ..Self::default()
        }
    }

    /// Reads this many bytes from an offset.
    pub fn get(&mut self, at: u64, bytes: usize) -> Vec<u8> {
        let mut got = vec![0; bytes];
        self.at = at;
        self.read_exact(&mut got).unwrap();
        got
    }

    /// Reads a 4-byte number.
    pub fn get32(&mut self, at: u64) -> u64 {
        let bytes = self.get(at, 4);
        u64::from(u32::from_le_bytes(bytes.try_into().unwrap()))
    }
}

impl Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let in_page = usize::try_from(self.at % PAGE as u64).unwrap();
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap();
        let count = into.len().min(PAGE - in_page).min(left);
        match self.pages.get(&(self.at / PAGE as u64)) {
            Some(page) => into[..count].copy_from_slice(&page[in_page..in_page + count]),
            None => into[..count].fill(self.before),
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Disk {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let in_page = usize::try_from(self.at % PAGE as u64).unwrap();
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap();
        let count = from.len().min(PAGE - in_page).min(left);
        let (number, before) = (self.at / PAGE as u64, self.before);
        let zeros = before == 0 && from[..count].iter().all(|byte| *byte == 0);
        if !zeros || self.pages.contains_key(&number) {
            let page = self.pages.entry(number);
            let page = page.or_insert_with(|| vec![before; PAGE]);
            page[in_page..in_page + count].copy_from_slice(&from[..count]);
        }
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => self.bytes.saturating_add_signed(by),
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}
