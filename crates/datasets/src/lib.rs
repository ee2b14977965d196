//! Datasets: the files on which a workload runs.
//!
//! A generated dataset is a [`Generator`]: one file in this directory and one line in [`ALL`]. It
//! emits entries in order, which are counted, created or packed; memory does not grow with their
//! number. The user's own datasets are a tree ([`tree`]), an archive ([`archive`]), one file
//! ([`mod@file`]), or the tree of a recording ([`recorded`]).
//!
//! `load` defines the phases on datasets.

pub mod all;
pub mod archive;
mod attributes;
pub mod content;
mod copying;
pub mod distribution;
pub mod entry;
mod error;
pub mod file;
pub mod fragmentation;
pub mod free_space;
pub mod generated;
pub mod identity;
mod kinds;
pub mod manifest;
pub mod member;
pub mod mixed;
pub mod music;
mod names;
pub mod none;
pub mod packed;
pub mod portage;
pub mod ports;
pub mod recorded;
pub mod scan;
pub mod seed;
pub mod single;
pub mod sizes;
pub mod states;
mod styles;
mod survey;
pub mod text;
pub mod tree;
pub mod trees;
mod unpack;
mod vocabulary;
pub mod work_dir;

pub(crate) use error::shown;
pub use error::{DatasetError, Refusal};
pub use generated::{Generator, Shape};

use crate::work_dir::WorkDir;
use fsdyno_model::{Bytes, CancelToken, DatasetChoice, Warning};

/// All generated datasets, in the order they are listed.
pub static ALL: &[&Generator] = &[
    &portage::PORTAGE,
    &portage::IN_USE,
    &ports::PORTS,
    &music::MUSIC,
    &single::ISO,
    &single::AVI,
    &single::AVI_693,
    &mixed::MIXED,
    &all::ALL,
    &none::NONE,
];

/// The maximum scale: a thousand times the published size.
const LARGEST_SCALE: f64 = 1000.0;

/// A dataset, ready to be created.
pub trait Dataset: Send + Sync {
    /// Its contents, known before anything is written.
    fn facts(&self) -> &Facts;

    /// Creates it below the root of the work directory, untimed: as a tree named `source`, which is
    /// added to the trees of the work directory, or as its archive.
    fn create(
        &self,
        work_dir: &mut WorkDir,
        form: Form,
        stop: &CancelToken,
    ) -> Result<Vec<Warning>, DatasetError>;
}

/// The form in which a dataset is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Tree,
    /// As an archive to unpack: only for datasets that have one.
    Archive,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Entries other than directories: files, links, special files.
    pub files: u64,
    /// Directories, without the one that contains the tree.
    pub directories: u64,
    /// Data in files. Holes count; a file with several names counts once.
    pub bytes: Bytes,
    /// The size of its archive: exact for the user's, an upper bound for a generated one; none for
    /// a tree.
    pub archive_bytes: Option<Bytes>,
    pub largest: Bytes,
    /// A description of one line.
    pub about: String,
    /// An upper bound of the space of one tree on a device: data rounded up to 4 KiB per file, and
    /// 1 KiB of metadata for each entry.
    pub footprint: Bytes,
}

impl Facts {
    fn add_file(&mut self, size: u64) {
        self.files += 1;
        // An archive may declare any size.
        self.bytes.0 = self.bytes.0.saturating_add(size);
        self.largest.0 = self.largest.0.max(size);
        let blocks = size.checked_next_multiple_of(4096).unwrap_or(u64::MAX);
        let taken = blocks.saturating_add(1024);
        self.footprint.0 = self.footprint.0.saturating_add(taken);
    }

    /// Counts a file that may have holes: `data` of its bytes are stored.
    fn add_sparse(&mut self, size: u64, data: u64) {
        let before = self.footprint.0;
        self.add_file(size);
        let blocks = data.checked_next_multiple_of(4096).unwrap_or(u64::MAX);
        self.footprint.0 = before.saturating_add(blocks).saturating_add(1024);
    }

    /// Counts an entry without data.
    fn add_name(&mut self) {
        self.files += 1;
        self.footprint.0 += 1024;
    }

    fn add_directory(&mut self) {
        self.directories += 1;
        self.footprint.0 += 4096 + 1024;
    }
}

/// Opens a dataset, and checks it before anything is created.
///
/// Only generated datasets use `seed` and `scale`. An archive that needs more than `room` is
/// refused as soon as this is known.
pub fn open(
    choice: &DatasetChoice,
    seed: u64,
    scale: f64,
    room: Option<Bytes>,
    stop: &CancelToken,
) -> Result<Box<dyn Dataset>, DatasetError> {
    Ok(match choice {
        DatasetChoice::Generated(name) => {
            let generator = find(name).ok_or_else(|| DatasetError::Unknown {
                name: name.clone(),
                known: ALL.iter().map(|g| g.name).collect::<Vec<_>>().join(", "),
            })?;
            if !(scale > 0.0 && scale <= LARGEST_SCALE) {
                return Err(DatasetError::Scale { scale });
            }
            Box::new(generated::Generated::new(generator, seed, scale)?)
        }
        DatasetChoice::Tree(path) => Box::new(tree::Tree::open(path, stop)?),
        DatasetChoice::Tar(path) => Box::new(archive::Archive::open(path, room, stop)?),
        DatasetChoice::File(path) => Box::new(file::SingleFile::open(path)?),
        DatasetChoice::Trace(path) => {
            Box::new(recorded::RecordedTree::open(path, seed, room, stop)?)
        }
    })
}

/// The generated dataset of that name.
pub fn find(name: &str) -> Option<&'static Generator> {
    ALL.iter().copied().find(|generator| generator.name == name)
}
