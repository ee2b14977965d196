//! Workloads: what is done with the files, one file for each kind of phase, written once for all
//! engines. How a call reaches the kernel is the affair of `engines`; the clock, of `measure`.

mod attributes;
mod barrier;
pub mod bonnie;
mod buffer;
pub mod copy;
mod data;
pub mod delete;
pub mod grep;
mod latency;
pub mod mongo;
pub mod op;
mod parallel_walk;
pub mod read;
mod ready;
mod required;
pub mod stat_walk;
pub(crate) mod timeline;
pub mod untar;
mod walk;
mod worker_process;

pub use required::required;

use crate::engines::{Engine, LoadError, null::Null, sync::Sync};
use crate::measure::watch;
use crate::tools;
use attributes::Keeper;
pub use fsdyno_model::Needs;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::{CopyMethod, PhasePlan};
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;
use fsdyno_model::warning::Warning;
use fsdyno_model::{Form, Given, Parameter};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use timeline::TimelineRecorder;
use walk::Trail;

/// What one operation is called where it is the work on one file.
pub(crate) const FILE: &str = "file";

/// What phases on trees take that several workers can do.
const PARAMETERS: &[Parameter] = &[Parameter {
    name: "workers",
    about: "workers at the same time on the same tree (engine sync)",
    form: Form::Number(1, 256),
    given: Given::Absent,
}];

/// What a phase does, on one engine, with a room for each worker.
type Run<E> = fn(&mut E, &Job<'_>, &mut [Scratch]) -> Result<Tally, LoadError>;

/// A kind of phase.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a kind, each asked by somebody else"
)]
pub struct PhaseKind {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a line.
    pub title: &'static str,
    /// What it works on.
    pub needs: Needs,
    /// What it takes beside its name.
    pub parameters: &'static [Parameter],
    /// Whether it writes: then it has a time to durable.
    pub writes: bool,
    /// Whether a new tree stands after it.
    pub makes_tree: bool,
    /// Whether it reads every byte of the newest tree.
    pub reads_data: bool,
    /// Whether it searches for a pattern.
    pub searches: bool,
    /// Whether the newest tree is gone after it.
    pub removes_tree: bool,
    pub(crate) sync: Run<Sync>,
    pub(crate) null: Run<Null>,
    pub(crate) tools: fn(&Job<'_>) -> ToolRun,
    /// What the engine `sync` does, in words of system calls.
    pub(crate) method: fn(&Job<'_>) -> String,
}

/// All kinds of phases but those of programs, which stand in [`tools::ALL`].
pub fn all() -> impl Iterator<Item = &'static PhaseKind> + Clone {
    static ON_TREES: [&PhaseKind; 6] = [
        &copy::KIND,
        &delete::KIND,
        &untar::KIND,
        &read::KIND,
        &stat_walk::KIND,
        &grep::KIND,
    ];
    let on_trees = ON_TREES.into_iter();
    let others = bonnie::KINDS.iter().chain(&mongo::KINDS).chain(&op::KINDS);
    on_trees.chain(others)
}

/// The kind of that name, be it one of engines or of a program.
pub fn find(name: &str) -> Option<&'static PhaseKind> {
    all()
        .find(|kind| kind.name == name)
        .or_else(|| tools::find(name).map(|program| &program.kind))
}

/// Whether a phase of this kind works in an entry of this name, which it makes where it is missing.
pub fn works_in(kind: &str, name: &str) -> bool {
    let is = |home: &std::ffi::CStr| name.as_bytes() == home.to_bytes();
    bonnie::is_one(kind) && is(bonnie::HOME)
        || op::is_one(kind) && is(op::HOME)
        || mongo::Phase::find(kind).is_some() && mongo::is_tree(name)
}

/// Whether phases of some kind work in an entry of this name.
pub(crate) fn is_own_directory(name: &str) -> bool {
    all().any(|kind| works_in(kind.name, name))
}

/// The bytes on the device that a phase takes which makes what it works on; phases of one workload
/// share them. None where it works on a dataset, or is a program.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    bonnie::data_bytes(phase)
        .or_else(|| mongo::data_bytes(phase))
        .or_else(|| op::data_bytes(phase))
}

/// One phase, ready to run: names are resolved, nothing is opened yet.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The directory all trees lie in.
    pub root: &'a Path,
    /// The newest tree: a name in the root. Empty where the kind needs none.
    pub source: CString,
    /// The tree to be made: a name in the root. Empty where the kind makes none.
    pub target: CString,
    /// The archive; empty where the kind needs none.
    pub archive: &'a Path,
    pub method: CopyMethod,
    /// The regular expression of a search, where one was given.
    pub pattern: Option<&'a str>,
    /// How many walk a tree at the same time.
    pub workers: usize,
    /// Whether the clock is read for every file, by phases that need not.
    pub each_file: bool,
    pub stop: &'a CancelToken,
}

impl<'a> Job<'a> {
    /// A job on the ground alone: no tree, no archive, nothing to search for, no file timed.
    pub fn bare(root: &'a Path, stop: &'a CancelToken) -> Self {
        Self {
            root,
            source: CString::default(),
            target: CString::default(),
            archive: Path::new(""),
            method: CopyMethod::default(),
            pattern: None,
            workers: 1,
            each_file: false,
            stop,
        }
    }

    pub fn source_path(&self) -> PathBuf {
        self.root.join(as_os(&self.source))
    }

    pub fn target_path(&self) -> PathBuf {
        self.root.join(as_os(&self.target))
    }
}

fn as_os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

/// Everything one worker of a phase needs room for, laid out before its clock starts.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub data: Box<[u8]>,
    pub symlink: Box<[u8]>,
    pub search: Option<grep::Search>,
    pub trail: Trail,
    pub keeper: Keeper,
    pub timeline: TimelineRecorder,
}

impl Scratch {
    /// Lays out what a job of that kind needs, for each of its workers.
    pub fn for_job(kind: &PhaseKind, job: &Job<'_>) -> Result<Vec<Self>, LoadError> {
        (0..job.workers.max(1))
            .map(|_| Self::for_worker(kind, job))
            .collect()
    }

    fn for_worker(kind: &PhaseKind, job: &Job<'_>) -> Result<Self, LoadError> {
        // Lines of text: what a search finds on the null engine, where nothing fills the buffer.
        let line = b"the quick brown fox jumps over the lazy dog 0123\n";
        let mut data = line.repeat(data::BUFFER.div_ceil(line.len()));
        data.truncate(data::BUFFER);
        let data = data.into_boxed_slice();
        let search = if kind.searches {
            Some(grep::Search::new(job.pattern, data.clone())?)
        } else {
            None
        };
        Ok(Self {
            data,
            search,
            symlink: vec![1; libc::PATH_MAX as usize + 1].into_boxed_slice(),
            trail: Trail::default(),
            keeper: Keeper::default(),
            timeline: TimelineRecorder::new(),
        })
    }

    /// The clock of a job was started: its files are followed from now on, if any are.
    pub fn begin(all: &mut [Self], job: &Job<'_>) {
        if job.each_file {
            let now = watch::now();
            for one in all {
                one.timeline.begin_at(now);
            }
        }
    }

    /// The course of all workers together.
    pub fn timeline(all: &[Self]) -> TimelineRecorder {
        TimelineRecorder::joined(all.iter().map(|one| &one.timeline))
    }

    /// Doubts that came up during the phase, of all workers.
    pub fn warnings(all: &[Self]) -> Vec<Warning> {
        Keeper::warnings(all.iter().map(|scratch| &scratch.keeper))
    }
}

/// A tally with the calls of its engine.
fn tally<E: Engine>(engine: &E, tally: Tally) -> Tally {
    Tally {
        calls: engine.calls(),
        ..tally
    }
}

/// What all workers did together, with the calls of all their engines.
fn summed(calls: u64, tallies: impl Iterator<Item = Tally>) -> Tally {
    let mut sum = Tally::default();
    tallies.for_each(|tally| sum.add(&tally));
    Tally { calls, ..sum }
}

/// Gives this thread a table of descriptors of its own: threads that share one get into each
/// other's way, as the processes of the original did not.
fn own_descriptors() -> Result<(), LoadError> {
    // SAFETY: the table is copied; no descriptor that somebody else holds is closed by it.
    if unsafe { libc::unshare(libc::CLONE_FILES) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(LoadError::io("unshare", "(descriptors)", error));
    }
    Ok(())
}

/// A program of the system to be run for a phase.
#[derive(Debug)]
pub(crate) struct ToolRun {
    /// What is said of it in reports.
    pub method: &'static str,
    pub argv: Vec<OsString>,
    /// The lines it prints are counted as matches; else what it prints goes to `/dev/null`.
    pub counts_lines: bool,
    /// The highest exit status that is no failure.
    pub highest_status: i32,
    /// Whether whatever it says on its standard error is a failure, for its status tells none.
    pub fails_by_words: bool,
    /// A directory it needs to stand, made before the clock starts.
    pub makes: Option<PathBuf>,
    /// The directory it is started in; ours where none is named.
    pub current_dir: Option<PathBuf>,
    /// What it finds on its standard input: less than a pipe holds. Nothing where none.
    pub input: Option<Vec<u8>>,
    /// What is kept of the end of its standard output, bytes; not together with `counts_lines`.
    pub keeps: usize,
    /// Whether it finds the user's environment, rather than a path and the C locale.
    pub environment_of_ours: bool,
    /// A variable of its environment beside, by name and value.
    pub mark: Option<(&'static str, String)>,
}

impl ToolRun {
    pub fn new<const N: usize>(method: &'static str, argv: [&str; N]) -> Self {
        Self {
            method,
            argv: argv.into_iter().map(Into::into).collect(),
            counts_lines: false,
            highest_status: 0,
            fails_by_words: false,
            makes: None,
            current_dir: None,
            input: None,
            keeps: 0,
            environment_of_ours: false,
            mark: None,
        }
    }

    pub fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.argv.push(word.into());
        self
    }

    pub fn args<const N: usize>(mut self, words: [&str; N]) -> Self {
        self.argv.extend(words.into_iter().map(Into::into));
        self
    }
}
