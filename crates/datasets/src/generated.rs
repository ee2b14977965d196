//! Generated datasets: a generator emits entries, and a sink counts, creates or packs them.

mod archive_sink;
mod tree_sink;

use crate::content::Content;
use crate::seed::Seed;
use crate::work_dir::{SOURCE, WorkDir};
use crate::{Dataset, DatasetError, Facts, Form};
use archive_sink::ArchiveSink;
use fsdyno_model::{Bytes, CancelToken, Warning};
use tree_sink::TreeSink;

/// A dataset that is made from a seed.
#[derive(Debug)]
pub struct Generator {
    /// What is typed.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Where its numbers and sizes come from: what is published, and what is our own model.
    pub source: &'static str,
    /// What it comes as.
    pub shape: Shape,
    /// Emits all entries of a seed and a scale.
    pub(super) emit: Emit,
}

/// What a dataset comes as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Many files in directories.
    Tree,
    /// The same, created in so many rounds, each of which brings files to directories throughout the tree.
    Grown(u32),
    /// An archive of that name, which can be created as a tree too.
    Archive(&'static str),
    /// One file.
    File,
    /// Nothing at all.
    Nothing,
}

impl Generator {
    /// The name of the archive it comes as, where it comes as one.
    pub(super) fn archive(&self) -> Option<&'static str> {
        match self.shape {
            Shape::Archive(name) => Some(name),
            Shape::Tree | Shape::Grown(_) | Shape::File | Shape::Nothing => None,
        }
    }

    /// In how many rounds its tree is created.
    fn rounds(&self) -> u32 {
        match self.shape {
            Shape::Grown(rounds) => rounds,
            Shape::Tree | Shape::Archive(_) | Shape::File | Shape::Nothing => 1,
        }
    }
}

/// Emits the entries of a dataset, each directory with all that is in it.
pub(super) type Emit = fn(Seed, f64, &mut dyn Sink) -> Result<(), DatasetError>;

/// A file to be made.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its size in bytes.
    pub size: u64,
    /// What is in it.
    pub content: Content,
    /// The seed of its content.
    pub seed: Seed,
    /// When it was last changed: seconds since 1970.
    pub mtime: u64,
    /// Its permissions.
    pub mode: u32,
}

impl File {
    /// A file with the permissions and a date of its kind's era.
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

/// Whoever takes entries.
pub trait Sink {
    /// A directory begins: what follows is in it.
    fn enter(&mut self, name: &str, mtime: u64) -> Result<(), DatasetError>;
    /// A file.
    fn file(&mut self, name: &str, file: &File) -> Result<(), DatasetError>;
    /// The directory that began last is complete.
    fn leave(&mut self) -> Result<(), DatasetError>;
}

/// A date of the seven years up to October 2008, when the last of the published comparisons was
/// made; whole seconds, as the archives and file systems of that time kept.
pub fn date(seed: Seed) -> u64 {
    const OCTOBER_2008: u64 = 1_222_819_200;
    OCTOBER_2008 - seed.part("date").below(7 * 365 * 86_400)
}

/// A generated dataset of one seed and scale.
#[derive(Debug)]
pub struct Generated {
    generator: &'static Generator,
    seed: Seed,
    scale: f64,
    facts: Facts,
}

impl Generated {
    /// Counts what the generator emits; nothing is written.
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
                let mut sink = ArchiveSink::create(&path, stop)?;
                (self.generator.emit)(self.seed, self.scale, &mut sink)?;
                sink.finish()?;
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

/// Counts entries.
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
