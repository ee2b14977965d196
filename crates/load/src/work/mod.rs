//! Workloads as data: file sets, workers and their steps, read from a file that a user writes.
//!
//! `file` reads the text, `step` one line of it. `compile` draws the operations of each worker from
//! a seed, before any clock starts; `phases::work` performs them, and an operation of
//! `fsdyno_crash` is their text.

mod compile;
mod error;
mod file;
pub mod filebench;
mod layout;
mod program;
mod state;
mod step;
mod summary;

pub(crate) use compile::{AT_POSITION, Compiled, Op, Stream};
pub use compile::{Settings, lines};
pub use error::WorkError;
pub(crate) use layout::Layout;
pub use program::program;
pub(crate) use step::{Access, Call, Place, Step};
pub use summary::{StepCount, Summary};

use fsdyno_datasets::distribution::Distribution;
use fsdyno_model::units::Nanos;

/// The maximum number of files of a set, and of workers of all groups.
const MOST_FILES: u64 = 100_000_000;
const MOST_WORKERS: u64 = 4096;

/// A workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What it is, in one line.
    pub title: Option<String>,
    /// The figure that contenders are judged by, if the file names one.
    pub judge: Option<String>,
    /// The files.
    pub(crate) sets: Vec<FileSet>,
    /// The workers.
    pub(crate) groups: Vec<Group>,
}

/// Files of one purpose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileSet {
    pub name: String,
    /// Files, of which `present` exist before the clock starts.
    pub count: u32,
    pub present: f64,
    pub size: Distribution,
    /// Files in a directory; none for one directory.
    pub width: Option<u32>,
    /// Levels of directories.
    pub depth: u32,
    /// Whether each worker has directories of its own.
    pub own_directories: bool,
    pub prefix: String,
    pub suffix: String,
    /// Whether a step creates, renames, truncates or removes its files. Then each worker works on its
    /// share, so that the operations do not depend on the order in which workers run.
    pub divided: bool,
}

/// Workers with the same steps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub workers: u32,
    /// Names of descriptors, by their numbers.
    pub descriptors: Vec<String>,
    /// All steps of `begin` and `list`.
    pub steps: Vec<Step>,
    /// What each worker does first.
    pub begin: Vec<Node>,
    /// What each worker repeats.
    pub list: Vec<Node>,
    pub end: End,
}

/// A step, or several in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The share of this node among its neighbours; 0 if all are done, in order.
    pub weight: u32,
    pub repeat: u32,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// The step of this number.
    Step(usize),
    Nodes(Vec<Node>),
}

/// When the workers of a group end: at the first of these, after a whole pass through their steps.
/// All but `loops` are totals of the group. A worker also ends if a step finds no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub operations: Option<u64>,
    pub bytes: Option<u64>,
    pub loops: Option<u64>,
    pub time: Option<Nanos>,
}

impl Work {
    /// Whether any workers end by time, which is known in real time only.
    pub fn ends_by_time(&self) -> bool {
        self.groups.iter().any(|group| group.end.time.is_some())
    }

    /// The workload with other numbers of files and operations.
    pub(crate) fn with(&self, settings: &Settings) -> Self {
        let scaled = |number: u64| (number.saturating_mul(settings.permille) / 1000).max(1);
        let mut work = self.clone();
        for set in work.sets.iter_mut().filter(|set| set.count > 1) {
            let count = scaled(set.count.into()).min(MOST_FILES);
            set.count = u32::try_from(count).unwrap_or(u32::MAX);
        }
        for Group { end, .. } in &mut work.groups {
            end.operations = end.operations.map(scaled);
            end.bytes = end.bytes.map(scaled);
            end.loops = end.loops.map(scaled);
            if let Some(operations) = settings.operations {
                *end = End {
                    operations: Some(operations),
                    ..End::default()
                };
            }
        }
        work
    }

    /// The names of its operations, each once.
    pub fn calls(&self) -> Vec<&'static str> {
        let steps = self.groups.iter().flat_map(|group| &group.steps);
        let mut calls: Vec<Call> = steps.map(|step| step.call).collect();
        calls.sort_unstable();
        calls.dedup();
        calls.into_iter().map(Call::name).collect()
    }

    /// Whether a step does this.
    pub(crate) fn does(&self, what: impl Fn(&Step) -> bool) -> bool {
        let mut steps = self.groups.iter().flat_map(|group| &group.steps);
        steps.any(what)
    }

    /// The size of the largest file at the start.
    pub(crate) fn largest_file(&self) -> u64 {
        let sizes = self.sets.iter().map(|set| set.size.most());
        sizes.max().unwrap_or(0)
    }

    /// The number of all workers.
    pub fn workers(&self) -> u32 {
        self.groups.iter().map(|group| group.workers).sum()
    }
}

#[cfg(test)]
mod tests;
