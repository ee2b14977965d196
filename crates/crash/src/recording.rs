//! A trace, indexed by sector: what each change writes, and the durable image of each window.

use crate::content;
use crate::overlay::{Block, ImageKey, content_key};
use crate::trace::{Data, SECTOR, Trace};
use crate::windows::{Change, Flush, TraceError, Window, Windows};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The crash states of a trace.
#[derive(Debug)]
pub struct CrashStates {
    pub(crate) all: Windows,
    /// The changes of each sector, in the order of submission.
    pub(crate) sectors: BTreeMap<u64, Vec<Version>>,
    /// Pairs of changes that hold a common sector and were in flight at the same time; the first
    /// was submitted first.
    pub(crate) concurrent: Vec<(u32, u32)>,
    /// The name of the durable image of each window.
    pub(crate) keys: Vec<ImageKey>,
    /// The durable image of the window that was used last.
    durable: Mutex<(u32, Arc<BTreeMap<u64, Block>>)>,
}

/// Reads a sector of the base.
type ReadBase<'a> = &'a mut dyn FnMut(u64, &mut [u8]);

/// What a change does to a sector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    pub change: u32,
    /// The name of its content; for a discard that of zeros.
    pub key: u128,
    /// The name of the garbage of a discard.
    pub garbage: u128,
}

static ZEROS: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from(vec![0; SECTOR]));

impl CrashStates {
    /// The states of a trace whose base is not known. A write of what the base holds then counts as
    /// a difference.
    pub fn new(trace: &Trace) -> Result<Self, TraceError> {
        Self::build(trace, None)
    }

    /// The states of a trace; `base` reads a sector of its base. A sector that gets the content of
    /// the base does not differ from it.
    pub fn with_base(
        trace: &Trace,
        mut base: impl FnMut(u64, &mut [u8]),
    ) -> Result<Self, TraceError> {
        Self::build(trace, Some(&mut base))
    }

    fn build(trace: &Trace, mut base: Option<ReadBase<'_>>) -> Result<Self, TraceError> {
        let all = Windows::new(trace)?;
        let mut sectors: BTreeMap<u64, Vec<Version>> = BTreeMap::new();
        let mut concurrent = Vec::new();
        let mut in_flight: Vec<u32> = Vec::new();
        for (place, change) in (0..).zip(&all.changes) {
            in_flight.retain(|other| !all.changes[*other as usize].precedes(change));
            for other in &in_flight {
                if all.changes[*other as usize].overlaps(change) {
                    concurrent.push((*other, place));
                }
            }
            in_flight.push(place);
            for sector in change.sector..change.sector + change.sectors {
                let version = version(place, change, sector);
                sectors.entry(sector).or_default().push(version);
            }
        }
        if let Some(base) = &mut base {
            let mut bytes = [0; SECTOR];
            for (sector, versions) in &mut sectors {
                base(*sector, &mut bytes);
                let there = content_key(*sector, &bytes);
                for key in versions
                    .iter_mut()
                    .flat_map(|v| [&mut v.key, &mut v.garbage])
                {
                    *key = if *key == there { 0 } else { *key };
                }
            }
        }
        let keys = durable_keys(&all, &sectors);
        Ok(Self {
            all,
            sectors,
            concurrent,
            keys,
            durable: Mutex::default(),
        })
    }

    /// The windows, in order of time.
    pub fn windows(&self) -> &[Window] {
        &self.all.windows
    }

    /// The requests that change contents, in the order of submission.
    pub fn changes(&self) -> &[Change] {
        &self.all.changes
    }

    /// The flushes, in the order of submission.
    pub fn flushes(&self) -> &[Flush] {
        &self.all.flushes
    }

    /// The sectors in which states of this trace differ: all that it changes.
    pub fn varying(&self) -> BTreeSet<u64> {
        self.sectors.keys().copied().collect()
    }

    pub(crate) fn change(&self, place: u32) -> &Change {
        &self.all.changes[place as usize]
    }

    /// The durable image of a window. From one window to a later one it costs what became durable
    /// in between.
    pub(crate) fn durable(&self, window: &Window) -> Arc<BTreeMap<u64, Block>> {
        // A panic elsewhere leaves no half-made image: it is replaced when complete.
        let mut cache = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, mut image) = std::mem::take(&mut *cache);
        let mut next = number as usize + 1;
        if number > window.number {
            (next, image) = (1, Arc::default());
        }
        let passed = next..=window.number as usize;
        if !passed.is_empty() {
            let image = Arc::make_mut(&mut image);
            for place in passed.flat_map(|at| &self.all.windows[at].newly_durable) {
                let change = self.change(*place);
                for sector in change.sector..change.sector + change.sectors {
                    let newer = |held: &Block| held.change() > *place;
                    if !image.get(&sector).is_some_and(newer) {
                        image.extend(self.block(sector, *place, false).map(|b| (sector, b)));
                    }
                }
            }
        }
        *cache = (window.number, Arc::clone(&image));
        image
    }

    /// What a change writes to a sector.
    pub(crate) fn block(&self, sector: u64, place: u32, garbage: bool) -> Option<Block> {
        let versions = self.sectors.get(&sector)?;
        let at = versions.binary_search_by_key(&place, |version| version.change);
        let version = versions[at.ok()?];
        let change = self.change(place);
        Some(match &change.data {
            Data::Bytes(bytes) => {
                let at = usize::try_from(sector - change.sector).ok()? * SECTOR;
                Block::new(Arc::clone(bytes), at, version.key, place)
            }
            Data::Discarded { .. } if garbage => {
                Block::new(Arc::from(garbage_of(sector)), 0, version.garbage, place)
            }
            Data::Zeros { .. } | Data::Discarded { .. } => {
                Block::new(Arc::clone(&ZEROS), 0, version.key, place)
            }
        })
    }
}

/// The garbage that a discarded sector can hold: that of a sector that was never written.
fn garbage_of(sector: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    content::fill_free(sector * SECTOR as u64, &mut bytes);
    bytes
}

fn version(place: u32, change: &Change, sector: u64) -> Version {
    let key = match &change.data {
        Data::Bytes(bytes) => {
            let at = usize::try_from(sector - change.sector).unwrap_or_default() * SECTOR;
            content_key(sector, &bytes[at..at + SECTOR])
        }
        Data::Zeros { .. } | Data::Discarded { .. } => content_key(sector, &ZEROS),
    };
    let garbage = if change.is_discard() {
        content_key(sector, &garbage_of(sector))
    } else {
        key
    };
    Version {
        change: place,
        key,
        garbage,
    }
}

/// The name of the durable image of each window: each costs what became durable at its start.
fn durable_keys(all: &Windows, sectors: &BTreeMap<u64, Vec<Version>>) -> Vec<ImageKey> {
    let mut newest: BTreeMap<u64, Version> = BTreeMap::new();
    let mut key = ImageKey::default();
    let mut keys = Vec::new();
    for window in &all.windows {
        for place in &window.newly_durable {
            let change = &all.changes[*place as usize];
            for sector in change.sector..change.sector + change.sectors {
                let versions = &sectors[&sector];
                let Ok(at) = versions.binary_search_by_key(place, |version| version.change) else {
                    continue;
                };
                let before = newest.get(&sector);
                if before.is_none_or(|before| before.change < *place) {
                    key = key.replaced(before.map_or(0, |before| before.key), versions[at].key);
                    newest.insert(sector, versions[at]);
                }
            }
        }
        keys.push(key);
    }
    keys
}
