//! Workloads as data: file sets, workers and their steps, read from a file that a user writes.
//!
//! `file` reads the text, `step` one line of it, `family` the parameters and phases of a file.
//! `compile` draws the operations of each worker from a seed, before any clock starts; `phases::work`
//! performs them, and an operation of `fsdyno_crash` is their text.

mod compile;
mod each;
mod error;
mod expression;
mod family;
mod file;
pub mod filebench;
pub mod fio;
mod layout;
mod names;
mod program;
mod relation;
mod state;
mod step;
mod summary;

pub(crate) use compile::{AT_POSITION, BEGIN, Compiled, Drawn, Op, Stream};
pub use compile::{Settings, lines};
pub use error::WorkError;
pub use expression::Values;
pub(crate) use family::Family;
pub(crate) use file::{ParameterTable, parse_toml};
pub use program::program;
pub(crate) use step::{Access, Call, Place, Step};
pub use summary::{StepCount, Summary};

use each::{Each, Only};
use fsdyno_datasets::distribution::Distribution;
use fsdyno_model::capability::NameRule;
use fsdyno_model::units::Nanos;
use names::{NamedPath, Template};
use relation::Relation;

/// How a translation names what has no meaning here, in comments.
const LEFT_OUT: &str = "# Left out: ";

/// What the translation of a foreign workload leaves out.
pub fn left_out(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix(LEFT_OUT))
}

/// The workloads of all phases of a file, with their names; of a file with only workers one without a
/// name.
pub fn phases(text: &str) -> Result<Vec<(Option<String>, Work)>, WorkError> {
    let family: Family = text.parse()?;
    let names = family.phases().map(|(name, _)| Some(name.to_owned()));
    let names: Vec<Option<String>> = names.collect();
    let names = if names.is_empty() { vec![None] } else { names };
    let values = family.values(1000);
    let works = names.into_iter().map(|name| {
        let work = family.work(name.as_deref(), &values)?;
        Ok((name, work))
    });
    works.collect()
}

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
    /// Directories that exist at the start, besides those of the sets.
    pub(crate) directories: Vec<Template>,
    /// The names of variables: sets, relations, and those of loops.
    pub(crate) variables: Vec<String>,
    /// The files.
    pub(crate) sets: Vec<FileSet>,
    /// The names of their files.
    pub(crate) names: Vec<NamedPath>,
    /// The workers.
    pub(crate) groups: Vec<Group>,
}

/// Files of one purpose.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties, two of which follow from the steps"
)]
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
    /// Whether loops select its files; else each step does.
    pub looped: bool,
    /// The variable with the number of a file.
    pub variable: usize,
    pub relations: Vec<Relation>,
    /// Whether the sizes fill their distribution evenly.
    pub spread: bool,
    /// The seed of its draws, if they are those of another name.
    pub seed: Option<String>,
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
    /// Whether they end after one pass: it goes through files, and nothing else ends it.
    pub once: bool,
    /// Whether transactions are counted; else each operation is.
    pub transactions: bool,
}

/// A step, or several in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The share of this node among its neighbours; 0 if all are done, in order.
    pub weight: u32,
    pub repeat: u32,
    /// The part of a loop that it is done for; none for all.
    pub only: Option<Only>,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// The step of this number.
    Step(usize),
    Nodes(Vec<Node>),
    /// Steps that are done for each of some files.
    Each(Each, Vec<Node>),
    /// Steps that count as one operation.
    Transaction(Vec<Node>),
    /// A step that looks for a file, and what follows if that is as it expects.
    Branch(usize, Vec<Node>),
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

    /// Whether it changes the file system.
    pub(crate) fn writes(&self) -> bool {
        self.does(|step| step.call.writes())
    }

    /// Whether transactions are counted instead of operations.
    pub(crate) fn has_transactions(&self) -> bool {
        self.groups.iter().any(|group| group.transactions)
    }

    /// The same files with only those operations of loops that add to files, for their space.
    pub(crate) fn growth(&self) -> Self {
        let mut work = self.clone();
        for group in work.groups.iter_mut().filter(|group| group.once) {
            group.list = group.growing(&group.list);
        }
        work
    }

    /// Replaces signs that names do not have.
    pub(crate) fn adapt(&mut self, rule: &NameRule) {
        for name in &mut self.names {
            name.path.adapt(rule);
            name.directory.adapt(rule);
        }
        for directory in &mut self.directories {
            directory.adapt(rule);
        }
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

impl Group {
    fn growing(&self, nodes: &[Node]) -> Vec<Node> {
        let lists = |nodes: &[Node]| Some(self.growing(nodes)).filter(|list| !list.is_empty());
        let growing = nodes.iter().filter_map(|node| {
            let what = match &node.what {
                What::Step(number) => match self.steps[*number].call {
                    Call::Create
                    | Call::Open
                    | Call::Close
                    | Call::Write
                    | Call::Append
                    | Call::Mkdir
                    | Call::Mknod => What::Step(*number),
                    _ => return None,
                },
                What::Each(each, nodes) => What::Each(each.clone(), lists(nodes)?),
                What::Nodes(nodes) | What::Transaction(nodes) | What::Branch(_, nodes) => {
                    What::Nodes(lists(nodes)?)
                }
            };
            Some(Node {
                what,
                ..node.clone()
            })
        });
        growing.collect()
    }
}

#[cfg(test)]
mod tests;
