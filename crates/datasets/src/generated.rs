//! Generated datasets: a generator emits entries, and a sink counts, creates or packs them.

mod archive_sink;
mod tree_sink;

use crate::content::Content;
use crate::seed::Seed;
use crate::work_dir::{SOURCE, WorkDir};
use crate::{Dataset, DatasetError, Facts, Form};
use archive_sink::{ArchiveSink, Packed};
use fsdyno_model::{Bytes, CancelToken, Warning};
use std::sync::OnceLock;
use tree_sink::TreeSink;

/// A dataset that is generated from a seed.
#[derive(Debug)]
pub struct Generator {
    /// Its name, as typed.
    pub name: &'static str,
    /// A description of one line.
    pub title: &'static str,
    /// The source of its numbers and sizes: the published figures, and the parts that we modelled.
    pub source: &'static str,
    pub shape: Shape,
    /// Emits all entries of a seed and a scale.
    pub(super) emit: Emit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Many files in directories.
    Tree,
    /// The same, created in this number of rounds, each of which adds files throughout the tree.
    Grown(u32),
    /// An archive with that name, which can also be created as a tree.
    Archive(&'static str),
    File,
    Nothing,
}

impl Generator {
    /// The name of its archive, if its form is an archive.
    pub(super) fn archive(&self) -> Option<&'static str> {
        match self.shape {
            Shape::Archive(name) => Some(name),
            Shape::Tree | Shape::Grown(_) | Shape::File | Shape::Nothing => None,
        }
    }

    /// The number of rounds in which its tree is created.
    fn rounds(&self) -> u32 {
        match self.shape {
            Shape::Grown(rounds) => rounds,
            Shape::Tree | Shape::Archive(_) | Shape::File | Shape::Nothing => 1,
        }
    }
}

/// Emits the entries of a dataset, each directory with its contents.
pub(super) type Emit = fn(Seed, f64, &mut dyn Sink) -> Result<(), DatasetError>;

#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its size in bytes.
    pub size: u64,
    pub content: Content,
    pub seed: Seed,
    /// Its modification time: seconds since 1970.
    pub mtime: u64,
    pub mode: u32,
}

impl File {
    /// A file with default permissions and a modification time of its era.
    pub fn new(size: u64, content: Content, seed: Seed) -> Self {
        Self {
            size,
            content,
            seed,
            mtime: date(seed),
            mode: 0o644,
        }
    }
}

pub trait Sink {
    /// A directory begins: the following entries are in it.
    fn enter(&mut self, name: &str, mtime: u64) -> Result<(), DatasetError>;
    fn file(&mut self, name: &str, file: &File) -> Result<(), DatasetError>;
    /// The last open directory is complete.
    fn leave(&mut self) -> Result<(), DatasetError>;
}

/// A time in the seven years until October 2008, the time of the last published comparison; whole
/// seconds, as in the archives and file systems of that time.
pub fn date(seed: Seed) -> u64 {
    const OCTOBER_2008: u64 = 1_222_819_200;
    OCTOBER_2008 - seed.part("date").below(7 * 365 * 86_400)
}

/// Up to this size, by estimate, an archive is kept in memory: it is packed once, not for each cell.
const KEPT: Bytes = Bytes(32 << 20);

/// A generated dataset of one seed and scale.
#[derive(Debug)]
pub struct Generated {
    generator: &'static Generator,
    seed: Seed,
    scale: f64,
    facts: Facts,
    /// Its archive, after it was packed.
    packed: OnceLock<Packed>,
}

impl Generated {
    /// Counts the generated entries; nothing is written.
    pub fn new(generator: &'static Generator, seed: u64, scale: f64) -> Result<Self, DatasetError> {
        let seed = Seed::new(seed).part(generator.name);
        let mut count = Count(Facts::default());
        (generator.emit)(seed, scale, &mut count)?;
        let mut facts = count.0;
        generator.title.clone_into(&mut facts.about);
        // Text is packed to below 0.36 of its size; a header of 512 bytes and its padding to 24.
        facts.archive_bytes = generator
            .archive()
            .map(|_| Bytes(facts.bytes.0 * 36 / 100 + (facts.files + facts.directories) * 64));
        Ok(Self {
            generator,
            seed,
            scale,
            facts,
            packed: OnceLock::new(),
        })
    }
}

impl Dataset for Generated {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn create(
        &self,
        work_dir: &mut WorkDir,
        form: Form,
        stop: &CancelToken,
    ) -> Result<Vec<Warning>, DatasetError> {
        match (form, self.generator.archive()) {
            (Form::Tree, _) => {
                let tree = work_dir.root.join(SOURCE);
                let mut sink = TreeSink::create(&tree, date(self.seed), stop)?;
                let rounds = self.generator.rounds();
                for round in 0..rounds {
                    sink.begin(round, rounds);
                    (self.generator.emit)(self.seed, self.scale, &mut sink)?;
                }
                sink.finish()?;
                work_dir.trees.push(tree);
            }
            (Form::Archive, Some(name)) => {
                let path = work_dir.root.join(name);
                if let Some(packed) = self.packed.get() {
                    packed.write_to(&path, stop)?;
                } else {
                    let keep = self.facts.archive_bytes.is_some_and(|size| size <= KEPT);
                    let mut sink = ArchiveSink::create(&path, keep, stop)?;
                    (self.generator.emit)(self.seed, self.scale, &mut sink)?;
                    if let Some(packed) = sink.finish()? {
                        // If another thread was faster, it packed the same archive.
                        let _ = self.packed.set(packed);
                    }
                }
                work_dir.archive = Some(path);
            }
            (Form::Archive, None) => {
                return Err(DatasetError::NoArchive {
                    name: self.generator.name.to_owned(),
                });
            }
        }
        Ok(Vec::new())
    }
}

struct Count(Facts);

impl Sink for Count {
    fn enter(&mut self, _: &str, _: u64) -> Result<(), DatasetError> {
        self.0.add_directory();
        Ok(())
    }

    fn file(&mut self, _: &str, file: &File) -> Result<(), DatasetError> {
        self.0.add_file(file.size);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), DatasetError> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "generated_tests.rs"]
mod tests;
