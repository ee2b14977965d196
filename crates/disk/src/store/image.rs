//! Contents in memory that are replaced between two uses: a shared base, and the changes since.
//!
//! A thread replaces the contents while another serves the disk, between two requests. A copy of the
//! base shares its pages.

use super::{SectorSet, Store, pieces};
use crate::request::{Kind, SECTOR};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PAGE: usize = 4096;

/// Sectors of a page.
const SECTORS: u64 = PAGE as u64 / SECTOR;

/// Bytes of a sector in memory.
const BYTES: usize = PAGE / 8;

/// Fills a buffer with the content of unwritten bytes, from this byte on.
pub type Fill = fn(u64, &mut [u8]);

/// A page; none if it was discarded and reads as unwritten.
type Page = Option<Arc<[u8; PAGE]>>;

/// Contents that do not change. Clones share them.
#[derive(Clone)]
pub struct Base {
    pages: Arc<HashMap<u64, Arc<[u8; PAGE]>>>,
    bytes: u64,
    fill: Fill,
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut about = f.debug_struct("Base");
        about.field("bytes", &self.bytes);
        about
            .field("pages", &self.pages.len())
            .finish_non_exhaustive()
    }
}

impl Base {
    /// A disk of this size that was never written.
    pub fn unwritten(bytes: u64, fill: Fill) -> Self {
        Self {
            pages: Arc::default(),
            bytes,
            fill,
        }
    }

    /// The size, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fills `into` with the bytes from `at` on.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        for (page, within, range) in pieces(PAGE, at, into.len()) {
            self.read_page(page, within, &mut into[range]);
        }
    }

    /// The same contents with these changes.
    #[must_use]
    pub fn with(&self, changes: &Delta) -> Self {
        let mut pages = (*self.pages).clone();
        for (page, content) in &changes.pages {
            match content {
                Some(content) => drop(pages.insert(*page, Arc::clone(content))),
                None => drop(pages.remove(page)),
            }
        }
        Self {
            pages: Arc::new(pages),
            ..*self
        }
    }

    /// The written pages in order: their offsets, bytes, and contents. Everything else is unwritten.
    pub fn written(&self) -> impl Iterator<Item = (u64, &[u8; PAGE])> {
        let mut pages: Vec<_> = self.pages.iter().collect();
        pages.sort_unstable_by_key(|(page, _)| **page);
        pages
            .into_iter()
            .map(|(page, content)| (page * PAGE as u64, &**content))
    }

    /// Bytes of a page.
    pub const PAGE: usize = PAGE;

    /// The offsets of the pages that differ from those of another disk of this size, in order.
    pub fn differing(&self, other: &Self) -> Vec<u64> {
        let same = |page: &u64| match (self.pages.get(page), other.pages.get(page)) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two) || one == two,
            _ => false,
        };
        let pages = self.pages.keys().chain(other.pages.keys());
        let mut offsets: Vec<u64> = pages
            .filter(|page| !same(page))
            .map(|page| page * PAGE as u64)
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    fn read_page(&self, page: u64, within: usize, into: &mut [u8]) {
        match self.pages.get(&page) {
            Some(content) => into.copy_from_slice(&content[within..within + into.len()]),
            None => (self.fill)(page * PAGE as u64 + within as u64, into),
        }
    }

    fn page(&self, page: u64) -> Arc<[u8; PAGE]> {
        let held = self.pages.get(&page).map(Arc::clone);
        held.unwrap_or_else(|| self.unwritten_page(page))
    }

    fn unwritten_page(&self, page: u64) -> Arc<[u8; PAGE]> {
        let mut content = [0; PAGE];
        (self.fill)(page * PAGE as u64, &mut content);
        Arc::new(content)
    }
}

/// Changes of contents, in pages.
#[derive(Clone, Default)]
pub struct Delta {
    pages: HashMap<u64, Page>,
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut about = f.debug_struct("Delta");
        about.field("pages", &self.pages.len()).finish()
    }
}

impl Delta {
    /// The pages that differ from the base: their offsets, bytes. In no order.
    pub fn offsets(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().map(|page| page * PAGE as u64)
    }
}

/// Contents: a base, the changes since, and what was read and written.
#[derive(Debug, Clone)]
pub struct Contents {
    base: Base,
    delta: Delta,
    unreadable: SectorSet,
    /// Sectors whose next read fails.
    failing_once: SectorSet,
    /// How many requests are served before all fail; none if that never happens.
    lives: Option<u64>,
    /// How many requests are served before everything takes so many times as long; none if that never
    /// happens.
    slows: Option<(u64, u64)>,
    requests: u64,
    read_requests: u64,
    /// The sectors whose reads are logged; none if all.
    logged: Option<Arc<SectorSet>>,
    read: SectorSet,
    reads: Vec<u64>,
    written: SectorSet,
}

impl Contents {
    pub fn of(base: Base) -> Self {
        Self {
            base,
            delta: Delta::default(),
            unreadable: SectorSet::new(),
            failing_once: SectorSet::new(),
            lives: None,
            slows: None,
            requests: 0,
            read_requests: 0,
            logged: None,
            read: SectorSet::new(),
            reads: Vec::new(),
            written: SectorSet::new(),
        }
    }

    /// Changes sectors from this one on, before anything is read. Bytes beyond the last whole
    /// sector are ignored.
    pub fn put(&mut self, sector: u64, bytes: &[u8]) {
        let whole = bytes.len() / BYTES * BYTES;
        self.change(sector * SECTOR, &bytes[..whole]);
    }

    /// Makes sectors unreadable until they are written.
    pub fn lose(&mut self, sectors: impl IntoIterator<Item = u64>) {
        for sector in sectors {
            self.unreadable.insert(sector);
        }
    }

    /// Lets the next read of a sector fail.
    pub fn fail_once(&mut self, sector: u64) {
        self.failing_once.insert(sector);
    }

    /// Lets all requests fail after this number.
    pub fn die_after(&mut self, requests: u64) {
        self.lives = Some(requests);
    }

    /// Lets the disk take so many times as long for everything after this number of requests.
    pub fn slow_after(&mut self, requests: u64, times: u64) {
        self.slows = Some((requests, times));
    }

    /// Logs only reads of these sectors.
    pub fn log_only(&mut self, sectors: Arc<SectorSet>) {
        self.logged = Some(sectors);
    }

    /// The logged sectors in the order in which they were first read, without those that had been
    /// written before. A failed read is logged too.
    pub fn reads(&self) -> &[u64] {
        &self.reads
    }

    /// The written and discarded sectors.
    pub fn written(&self) -> &SectorSet {
        &self.written
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// How many of them were reads.
    pub fn read_requests(&self) -> u64 {
        self.read_requests
    }

    pub fn delta(&self) -> &Delta {
        &self.delta
    }

    /// The contents as they are now.
    pub fn snapshot(&self) -> Base {
        self.base.with(&self.delta)
    }

    fn change(&mut self, at: u64, bytes: &[u8]) {
        for (page, within, range) in pieces(PAGE, at, bytes.len()) {
            let part = range.len();
            let base = &self.base;
            let held = self.delta.pages.entry(page);
            let held = held.or_insert_with(|| (part < PAGE).then(|| base.page(page)));
            // Discarded, or about to be overwritten as a whole.
            let held = held.get_or_insert_with(|| base.unwritten_page(page));
            Arc::make_mut(held)[within..within + part].copy_from_slice(&bytes[range]);
        }
    }

    /// Replaces a range with zeros or with unwritten content.
    fn erase(&mut self, at: u64, length: u64, unwritten: bool) {
        let page_bytes = PAGE as u64;
        let mut from = at;
        let mut zeros: Option<Arc<[u8; PAGE]>> = None;
        while from < at + length {
            let page = from / page_bytes;
            let to = (at + length).min((page + 1) * page_bytes);
            if to - from == page_bytes {
                let content = (!unwritten).then(|| {
                    let zeros = zeros.get_or_insert_with(|| Arc::new([0; PAGE]));
                    Arc::clone(zeros)
                });
                self.delta.pages.insert(page, content);
            } else {
                let mut part = [0; PAGE];
                let part = &mut part[..usize::try_from(to - from).unwrap_or_default()];
                if unwritten {
                    (self.base.fill)(from, part);
                }
                self.change(from, part);
            }
            from = to;
        }
    }

    fn note_read(&mut self, at: u64, length: usize) {
        for (page, bits) in masks(at, length as u64) {
            let logged = self.logged.as_ref().map_or(u8::MAX, |set| set.page(page));
            let wanted = bits & logged;
            if wanted == 0 {
                continue;
            }
            let new = wanted & !self.read.page(page) & !self.written.page(page);
            if new == 0 {
                continue;
            }
            self.read.insert_page(page, new);
            let sectors = page * SECTORS..(page + 1) * SECTORS;
            let sectors = sectors.enumerate().filter(|(n, _)| new & 1 << n != 0);
            self.reads.extend(sectors.map(|(_, sector)| sector));
        }
    }

    fn note_write(&mut self, at: u64, length: u64) {
        for (page, bits) in masks(at, length) {
            self.written.insert_page(page, bits);
        }
        if !self.unreadable.is_empty() {
            (at / SECTOR..(at + length).div_ceil(SECTOR))
                .for_each(|sector| self.unreadable.remove(sector));
        }
    }

    fn read(&mut self, at: u64, into: &mut [u8]) {
        self.note_read(at, into.len());
        for (page, within, range) in pieces(PAGE, at, into.len()) {
            let part = range.len();
            match self.delta.pages.get(&page) {
                Some(Some(content)) => {
                    into[range].copy_from_slice(&content[within..within + part]);
                }
                Some(None) => {
                    (self.base.fill)(page * PAGE as u64 + within as u64, &mut into[range]);
                }
                None => self.base.read_page(page, within, &mut into[range]),
            }
        }
    }
}

/// A store whose contents another thread replaces. Clones are the same store.
#[derive(Debug, Clone)]
pub struct Image(Arc<Mutex<Contents>>);

impl Image {
    /// A store with the contents of a base.
    pub fn new(base: Base) -> Self {
        Self(Arc::new(Mutex::new(Contents::of(base))))
    }

    /// Replaces the contents; returns the former ones. The caller ensures that the disk serves no
    /// request, and that no kernel has the former contents in memory.
    pub fn replace(&self, contents: Contents) -> Contents {
        std::mem::replace(&mut *self.contents(), contents)
    }

    /// The contents. The disk waits while they are in use.
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Image {
    fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.contents().read(at, into);
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut contents = self.contents();
        contents.note_write(at, bytes.len() as u64);
        contents.change(at, bytes);
        Ok(())
    }

    fn clear(&mut self, at: u64, length: u64) -> io::Result<()> {
        let mut contents = self.contents();
        contents.note_write(at, length);
        contents.erase(at, length, false);
        Ok(())
    }

    /// A discarded range reads as unwritten.
    fn discard(&mut self, at: u64, length: u64) -> io::Result<()> {
        let mut contents = self.contents();
        contents.note_write(at, length);
        contents.erase(at, length, true);
        Ok(())
    }

    fn failing(&self, kind: Kind, sectors: Range<u64>) -> Option<u64> {
        let mut contents = self.contents();
        contents.requests += 1;
        contents.read_requests += u64::from(kind == Kind::Read);
        if contents
            .lives
            .is_some_and(|lives| contents.requests > lives)
        {
            return Some(sectors.start);
        }
        if kind != Kind::Read {
            return None;
        }
        if contents.unreadable.is_empty() && contents.failing_once.is_empty() {
            return None;
        }
        let length = usize::try_from((sectors.end - sectors.start) * SECTOR).unwrap_or(usize::MAX);
        let fails = |sector: &u64| {
            contents.unreadable.contains(*sector) || contents.failing_once.contains(*sector)
        };
        let lost = sectors.clone().find(fails)?;
        contents.failing_once.remove(lost);
        contents.note_read(sectors.start * SECTOR, length);
        Some(lost)
    }

    fn slowness(&self) -> u64 {
        let contents = self.contents();
        match contents.slows {
            Some((requests, times)) if contents.requests > requests => times,
            _ => 1,
        }
    }
}

/// The pages of a range, with a bit for each of its sectors in them.
fn masks(at: u64, length: u64) -> impl Iterator<Item = (u64, u8)> {
    let (mut sector, end) = (at / SECTOR, (at + length).div_ceil(SECTOR));
    std::iter::from_fn(move || {
        if sector >= end {
            return None;
        }
        let (page, first) = (sector / SECTORS, sector % SECTORS);
        let last = (end - page * SECTORS).min(SECTORS);
        sector = (page + 1) * SECTORS;
        // At most 8 bits.
        let bits = (1_u16 << last) - (1 << first);
        Some((page, u8::try_from(bits).unwrap_or(u8::MAX)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::random::Random;

    fn fill(at: u64, into: &mut [u8]) {
        for (byte, at) in into.iter_mut().zip(at..) {
            *byte = u8::try_from(at / 512 % 251).unwrap();
        }
    }

    fn whole(base: &Base) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(base.bytes()).unwrap()];
        base.read(0, &mut all);
        all
    }

    #[test]
    fn random_changes_and_snapshots_agree_with_a_plain_array() {
        const SIZE: u64 = 64 << 10;
        let image = Image::new(Base::unwritten(SIZE, fill));
        let mut store = image.clone();
        let mut plain = whole(&Base::unwritten(SIZE, fill));
        let mut kept = Vec::new();
        let mut random = Random::new(11);
        for step in 0..600 {
            let sector = random.below(SIZE / 512);
            let sectors = 1 + random.below((SIZE / 512 - sector).min(20));
            let (at, length) = (sector * 512, sectors * 512);
            let range = usize::try_from(at).unwrap()..usize::try_from(at + length).unwrap();
            match step % 5 {
                0 => {
                    let byte = u8::try_from(random.below(256)).unwrap();
                    plain[range.clone()].fill(byte);
                    store.write_at(at, &vec![byte; range.len()]).unwrap();
                }
                1 => {
                    plain[range].fill(0);
                    store.clear(at, length).unwrap();
                }
                2 => {
                    fill(at, &mut plain[range]);
                    store.discard(at, length).unwrap();
                }
                3 => {
                    let mut read = vec![1; range.len()];
                    store.read_at(at, &mut read).unwrap();
                    assert!(read == plain[range], "step {step}");
                }
                _ => {
                    let snapshot = image.contents().snapshot();
                    kept.push((snapshot.clone(), plain.clone()));
                    // The next changes are those of another base.
                    if step % 50 == 4 {
                        image.replace(Contents::of(snapshot));
                    }
                }
            }
        }
        let mut former: Option<(Base, Vec<u8>)> = None;
        for (base, plain) in kept {
            assert!(whole(&base) == plain);
            if let Some((other, mut bytes)) = former {
                for at in other.differing(&base) {
                    let range = usize::try_from(at).unwrap();
                    base.read(at, &mut bytes[range..range + PAGE]);
                }
                assert!(bytes == plain);
            }
            former = Some((base, plain));
        }
    }

    #[test]
    fn a_state_is_its_base_with_the_sectors_that_were_put() {
        let base = Base::unwritten(16 << 10, fill);
        let mut contents = Contents::of(base.clone());
        contents.put(7, &[1; 1024]);
        contents.put(3, &[2; 700]);
        let mut plain = whole(&base);
        plain[7 * 512..9 * 512].fill(1);
        plain[3 * 512..4 * 512].fill(2);
        assert!(whole(&contents.snapshot()) == plain);
        assert!(contents.written().is_empty() && contents.reads().is_empty());
        assert!(whole(&base.with(contents.delta())) == plain);
        let offsets: Vec<u64> = contents.delta().offsets().collect();
        assert_eq!(offsets.len(), 2);
    }

    #[test]
    fn first_reads_of_logged_sectors_are_logged_until_they_are_written() {
        let mut contents = Contents::of(Base::unwritten(64 << 10, fill));
        contents.log_only(Arc::new([1, 2, 3, 9, 20].into_iter().collect()));
        let image = Image::new(Base::unwritten(64 << 10, fill));
        image.replace(contents);
        let mut store = image.clone();
        let mut read = |sector: u64, sectors: usize| {
            store
                .read_at(sector * 512, &mut vec![0; sectors * 512])
                .unwrap();
        };
        read(8, 4);
        read(2, 1);
        read(0, 10);
        image.clone().write_at(20 * 512, &[0; 512]).unwrap();
        read(16, 8);
        assert_eq!(image.contents().reads(), [9, 2, 1, 3]);
        let written: Vec<u64> = image.contents().written().iter().collect();
        assert_eq!(written, [20]);
    }

    #[test]
    fn an_unreadable_sector_is_reported_logged_and_healed_by_a_write() {
        let mut contents = Contents::of(Base::unwritten(64 << 10, fill));
        contents.lose([5]);
        let image = Image::new(Base::unwritten(64 << 10, fill));
        image.replace(contents);
        assert_eq!(image.failing(Kind::Read, 6..100), None);
        assert_eq!(image.failing(Kind::Write, 4..8), None);
        assert_eq!(image.failing(Kind::Read, 4..8), Some(5));
        assert_eq!(image.contents().reads(), [4, 5, 6, 7]);
        image.clone().write_at(5 * 512, &[0; 512]).unwrap();
        assert_eq!(image.failing(Kind::Read, 0..8), None);
    }

    #[test]
    fn a_sector_that_fails_once_is_readable_afterwards() {
        let mut contents = Contents::of(Base::unwritten(64 << 10, fill));
        contents.fail_once(5);
        let image = Image::new(Base::unwritten(64 << 10, fill));
        image.replace(contents);
        assert_eq!(image.failing(Kind::Read, 6..100), None);
        assert_eq!(image.failing(Kind::Read, 4..8), Some(5));
        assert_eq!(image.failing(Kind::Read, 4..8), None);
    }

    #[test]
    fn a_disk_that_dies_fails_all_requests_from_then_on() {
        let mut contents = Contents::of(Base::unwritten(64 << 10, fill));
        contents.die_after(2);
        let image = Image::new(Base::unwritten(64 << 10, fill));
        image.replace(contents);
        assert_eq!(image.failing(Kind::Read, 6..7), None);
        assert_eq!(image.failing(Kind::Write, 6..7), None);
        for kind in [Kind::Write, Kind::Flush, Kind::Discard, Kind::Read] {
            assert_eq!(image.failing(kind, 6..7), Some(6));
        }
        assert_eq!(image.contents().requests(), 6);
    }
}
