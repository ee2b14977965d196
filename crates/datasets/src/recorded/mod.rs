//! `trace:FILE`: the tree at the start of a recording of `fsdyno record`.
//!
//! A recording has no contents: files are filled from the seed, with the compressibility that was
//! sampled. [`Model`] follows what the recorded operations do to the tree, without a file system:
//! how much space they need, which of them depend on each other, and which tree they leave.

mod apply;
mod attribute;
mod compare;
mod create;
mod explain;
mod model;

pub use apply::{Access, Place, Resolved, Resource};
pub use attribute::{acl, equivalent};
pub use compare::compare;
pub use create::link_text;
pub use explain::unexplained;
pub use model::{Model, NodeId};

use crate::content::Content;
use crate::seed::Seed;
use crate::work_dir::{SOURCE, WorkDir};
use crate::{Dataset, DatasetError, Facts, Form, shown};
use fsdyno_model::{Bytes, CancelToken, Warning};
use fsdyno_trace::{
    About, Ending, Entry, EntryKind, Item, Operation, Paths, Reader, Thread, TraceError,
};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of operations of a recording that is replayed: all are in memory.
pub const MAX_OPERATIONS: usize = 1 << 24;

/// The compressed size of data of which nothing is known, in thousandths.
const UNKNOWN_PERMILLE: u64 = 500;

#[derive(Debug)]
pub struct Recording {
    pub about: About,
    pub paths: Paths,
    /// The tree at its start, parents first.
    pub entries: Vec<Entry>,
    /// The threads, by their numbers.
    pub threads: Vec<Thread>,
    /// The operations, in the order in which they returned.
    pub operations: Vec<Operation>,
    /// The tree at its end, parents first. Empty in recordings of version 1.
    pub last_entries: Vec<Entry>,
    pub ending: Ending,
}

impl Recording {
    /// Reads and checks a file.
    pub fn open(path: &Path, stop: &CancelToken) -> Result<Self, DatasetError> {
        let failed = |source| DatasetError::Recording {
            path: path.to_owned(),
            source,
        };
        let reader = Reader::open(path).map_err(failed)?;
        let read = Self::read(reader, stop).map_err(failed)?;
        let recording = read.ok_or(DatasetError::Stopped)?;
        if recording.operations.len() > MAX_OPERATIONS {
            return Err(DatasetError::RecordingTooLong {
                path: path.to_owned(),
                most: MAX_OPERATIONS,
            });
        }
        Ok(recording)
    }

    /// Reads and checks a recording; none if the user cancelled. Of a recording that is too long,
    /// one operation more than [`MAX_OPERATIONS`] is read.
    pub fn read<R: Read>(
        mut reader: Reader<R>,
        stop: &CancelToken,
    ) -> Result<Option<Self>, TraceError> {
        let about = reader.about().clone();
        let (mut entries, mut threads, mut operations) = (Vec::new(), Vec::new(), Vec::new());
        let mut last_entries = Vec::new();
        let mut ending = Ending::default();
        while let Some(item) = reader.next_item()? {
            match item {
                Item::Entry(entry) => entries.push(entry),
                Item::Thread(thread) => threads.push(thread),
                Item::Operation(operation) => operations.push(operation),
                Item::LastEntry(entry) => last_entries.push(entry),
                Item::Ending(end) => ending = end,
            }
            if stop.requested() {
                return Ok(None);
            }
            if operations.len() > MAX_OPERATIONS {
                break;
            }
        }
        Ok(Some(Self {
            about,
            paths: reader.into_paths(),
            entries,
            threads,
            operations,
            last_entries,
            ending,
        }))
    }

    /// The compressed size of its data in percent of the size before, as far as it was sampled.
    pub fn percent(&self) -> u8 {
        let (mut sampled, mut compressed) = (0_u128, 0_u128);
        for entry in &self.entries {
            if let EntryKind::File {
                size,
                compressed_permille: Some(permille),
                ..
            } = &entry.kind
            {
                sampled += u128::from(*size);
                compressed += u128::from(*size) * u128::from(*permille);
            }
        }
        let permille = compressed
            .checked_div(sampled)
            .unwrap_or(UNKNOWN_PERMILLE.into());
        percent_of(u64::try_from(permille).unwrap_or(UNKNOWN_PERMILLE))
    }
}

/// Thousandths as a percentage of content.
fn percent_of(permille: u64) -> u8 {
    u8::try_from(permille.div_ceil(10).clamp(1, 100)).unwrap_or(100)
}

/// The content of data that the recording wrote, of which only the compressibility is known.
pub fn written_content(recording: &Recording) -> (Content, Seed) {
    let percent = recording.percent();
    (Content::Binary { percent }, Seed::new(0).part("written"))
}

pub struct RecordedTree {
    path: PathBuf,
    recording: Arc<Recording>,
    seed: Seed,
    facts: Facts,
}

impl std::fmt::Debug for RecordedTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("RecordedTree");
        shown.field("path", &self.path).field("facts", &self.facts);
        shown.finish_non_exhaustive()
    }
}

impl RecordedTree {
    /// Reads the recording, and finds the space that its tree takes, during the operations too.
    pub fn open(
        path: &Path,
        seed: u64,
        room: Option<Bytes>,
        stop: &CancelToken,
    ) -> Result<Self, DatasetError> {
        let recording = Recording::open(path, stop)?;
        let model = Model::after(&recording);
        let mut facts = facts(&recording);
        facts.footprint = facts.footprint.max(Bytes(model.peak()));
        facts.about = format!("the tree of the recording {}", shown(path));
        if let Some(room) = room.filter(|room| facts.footprint > *room) {
            return Err(DatasetError::RecordingTooLarge {
                path: path.to_owned(),
                need: facts.footprint,
                room,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            recording: Arc::new(recording),
            seed: Seed::new(seed).part("recorded"),
            facts,
        })
    }
}

fn facts(recording: &Recording) -> Facts {
    let mut facts = Facts::default();
    for entry in &recording.entries {
        match &entry.kind {
            EntryKind::Directory => facts.add_directory(),
            EntryKind::File { size, holes, .. } => {
                let empty: u64 = holes.iter().map(|hole| hole.length).sum();
                facts.add_sparse(*size, size.saturating_sub(empty));
            }
            _ => facts.add_name(),
        }
    }
    // The root is the tree itself.
    facts.directories = facts.directories.saturating_sub(1);
    facts
}

impl Dataset for RecordedTree {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn create(
        &self,
        work_dir: &mut WorkDir,
        form: Form,
        stop: &CancelToken,
    ) -> Result<Vec<Warning>, DatasetError> {
        if form == Form::Archive {
            return Err(DatasetError::NoArchive {
                name: format!("trace:{}", shown(&self.path)),
            });
        }
        let to = work_dir.root.join(SOURCE);
        let warnings = create::create(&self.recording, self.seed, &to, work_dir.stores, stop)?;
        work_dir.trees.push(to);
        Ok(warnings)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
