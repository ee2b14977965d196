//! The phases of engines: one file for each phase, generic over all engines.
//!
//! `engines` implements the system calls, and `measure` the measured loop.

mod attributes;
mod barrier;
pub mod bonnie;
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
pub mod replay;
mod required;
pub mod stat_walk;
mod table;
pub(crate) mod timeline;
pub mod untar;
mod walk;
pub mod work;
mod worker_process;

pub use required::required;

use crate::buffer::Buffer;
use crate::clock;
use crate::engines::Calls;
use crate::error::LoadError;
use crate::job::Job;
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use attributes::AttributeWriter;
use fsdyno_model::Needs;
use fsdyno_model::Parameter;
use fsdyno_model::capability::LeftOut;
use fsdyno_model::sample::Tally;
use fsdyno_model::warning::Warning;
use parallel_walk::{Shared, Walker, walk_in_parallel};
use timeline::TimelineRecorder;
use walk::WalkState;

/// The name of an operation that is the work on one file.
pub(crate) const FILE: &str = "file";

/// A phase on a tree, by the calls of one engine.
pub(crate) struct TreePhase<C> {
    pub kind: &'static PhaseKind,
    /// The work, with memory for each worker.
    pub run: fn(&mut C, &Job<'_>, &mut [Scratch]) -> Result<Tally, LoadError>,
    /// The program of the system with the same effect.
    pub tool: fn(&Job<'_>) -> Result<ToolRun, LoadError>,
    /// The system calls of the work, for reports.
    pub method: fn(&Job<'_>) -> String,
}

/// All phases on a tree or an archive, by the calls of one engine.
pub(crate) fn on_trees<C: Calls + Send>() -> [TreePhase<C>; 6] {
    [
        copy::phase(),
        delete::phase(),
        untar::phase(),
        read::phase(),
        stat_walk::phase(),
        grep::phase(),
    ]
}

/// The parameters of phases on trees that support several workers.
const PARAMETERS: &[Parameter] = &[Parameter::number(
    "workers",
    "concurrent workers on one tree (engine sync)",
    1..=256,
)];

/// The buffers of one worker of a phase, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub data: Buffer,
    pub symlink: Box<[u8]>,
    pub search: Option<grep::Search>,
    pub walk: WalkState,
    pub attribute_writer: AttributeWriter,
    pub left_out: LeftOut,
}

impl Scratch {
    /// Allocates the buffers of a job, for each of its workers.
    pub fn for_job(kind: &PhaseKind, job: &Job<'_>) -> Result<Vec<Self>, LoadError> {
        (0..job.workers.max(1))
            .map(|_| Self::for_worker(kind, job))
            .collect()
    }

    fn for_worker(kind: &PhaseKind, job: &Job<'_>) -> Result<Self, LoadError> {
        // Lines of text: a search on the null engine reads them, because that engine fills no
        // buffer.
        let line = b"the quick brown fox jumps over the lazy dog 0123\n";
        let lines = || {
            let mut data = Buffer::filled(0, data::BUFFER);
            for part in data.chunks_mut(line.len()) {
                part.copy_from_slice(&line[..part.len()]);
            }
            data
        };
        let search = if kind.searches {
            Some(grep::Search::new(job.pattern, lines())?)
        } else {
            None
        };
        Ok(Self {
            data: lines(),
            search,
            symlink: vec![1; libc::PATH_MAX as usize + 1].into_boxed_slice(),
            walk: WalkState::default(),
            attribute_writer: AttributeWriter::on(&job.stores),
            left_out: LeftOut::default(),
        })
    }

    /// Begins the timelines of the files after the clock has started, if they are recorded.
    pub fn begin(all: &mut [Self], job: &Job<'_>) {
        if job.each_file {
            let now = clock::now();
            for one in all {
                one.walk.timeline.begin_at(now);
            }
        }
    }

    /// The combined timeline of all workers.
    pub fn timeline(all: &[Self]) -> TimelineRecorder {
        TimelineRecorder::joined(all.iter().map(|one| &one.walk.timeline))
    }

    /// Warnings of all workers during the phase.
    pub fn warnings(all: &[Self]) -> Vec<Warning> {
        let mut warnings =
            AttributeWriter::warnings(all.iter().map(|scratch| &scratch.attribute_writer));
        warnings.extend(all.iter().filter_map(|scratch| scratch.left_out.warning()));
        warnings
    }
}

/// Walks the tree of a job with one worker for each of `workers`; returns the sum of their tallies.
/// `visitor` makes the visitor of a worker from its buffer and its search.
fn visit_source<'a, E, V>(
    engine: &mut E,
    job: &Job<'_>,
    workers: &'a mut [Scratch],
    visitor: impl Fn(&'a mut [u8], &'a mut Option<grep::Search>) -> Option<V>,
) -> Result<Tally, LoadError>
where
    E: Calls + Send,
    V: Shared<E> + Send,
{
    let walkers = workers.iter_mut().filter_map(|worker| {
        Some(Walker {
            visitor: visitor(&mut worker.data, &mut worker.search)?,
            state: &mut worker.walk,
        })
    });
    let mut walkers: Vec<_> = walkers.collect();
    let base = engine.open_work_dir(job.root)?;
    let calls = walk_in_parallel(engine, &base, &job.source, job.stop, &mut walkers)?;
    engine.close_dir(base);
    let tallies = walkers.iter().map(|walker| *walker.visitor.tally());
    Ok(summed(calls + 1, tallies))
}

fn tally<E: Calls>(engine: &E, tally: Tally) -> Tally {
    Tally {
        calls: engine.calls(),
        ..tally
    }
}

/// The sum of all workers' work, with the calls of all their engines.
fn summed(calls: u64, tallies: impl Iterator<Item = Tally>) -> Tally {
    let mut sum = Tally::default();
    tallies.for_each(|tally| sum.add(&tally));
    Tally { calls, ..sum }
}

/// Gives this thread a separate descriptor table: threads that share one contend for its lock,
/// which the processes of the original did not.
fn own_descriptors() -> Result<(), LoadError> {
    // SAFETY: the table is copied; this closes no descriptor of another thread.
    if unsafe { libc::unshare(libc::CLONE_FILES) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(LoadError::io("unshare", "(descriptors)", error));
    }
    Ok(())
}
