//! The measured loop: allocates memory, starts the clock, runs the phase on its engine, and reads
//! the clock. If the phase writes, the clock is read again after `syncfs`.
//!
//! `phases` defines the phases. This module does not handle caches, devices or statistics.

mod bonnie;
mod mongo;
mod op;
mod program;
mod replay;
mod tree;
mod weight;
mod work;

pub use crate::clock::Deadline;
pub use crate::error::LoadError;
pub use crate::phases::op::{bytes_read, operations};
pub use crate::phases::timeline::{Merged, Recording};
pub use crate::tool_run::{Confined, ToolCommand, User};
pub use op::{Share, check_share, prepare_share};
pub use program::RunningService;
pub use tree::touch;
pub use weight::{
    ClockFacts, Contention, EngineCost, clock_facts, clock_is_quick, contention, empty_phase_cost,
    engine_cost,
};

use crate::clock::{Stopwatch, Used};
use crate::descriptor::Descriptor;
use crate::engines::{self, Calls, Engine, ForEngine, on_engine};
use crate::hardware::HardwareCounters;
use crate::job::Job;
use crate::kinds::{self, PhaseKind};
use crate::phases;
use crate::phases::timeline::{TimelineRecorder, TimelineSummary};
use crate::stack;
use crate::user_work::UserWork;
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::cell::Effective;
use fsdyno_model::disk_use::Point;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::{CopyMethod, PhasePlan};
use fsdyno_model::sample::{Better, Figure, Tally};
use fsdyno_model::timeline::{LatencyDistribution, Progress};
use fsdyno_model::units::Nanos;
use fsdyno_model::warning::Warning;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

pub struct Request<'a> {
    pub phase: &'a PhasePlan,
    pub engine: &'a str,
    pub copy_method: CopyMethod,
    pub work_dir: &'a mut WorkDir,
    /// Files, directories and bytes of the newest tree or archive, if known. The engine `null`
    /// builds its synthetic tree from them, and the engine `tools` cannot count.
    pub facts: Option<(u64, u64, u64)>,
    /// Whether the time to durable is measured, in addition to the time to return.
    pub durable: bool,
    /// A deliberate slowdown by busy waiting in the engine `sync`, in thousandths; 0 for real
    /// measurements.
    pub handicap_permille: u32,
    /// Whether the clock is read for every file in phases where this is optional. It is off if a
    /// reading adds to the measured time. Phases that time every operation always read the clock.
    pub each_file: bool,
    /// Charges the work of this program itself, if a model processor does.
    pub user_work: Option<&'a UserWork<'a>>,
    /// What confines a phase that is a program to the contender, if anything does.
    pub confined: Option<&'a Confined>,
    pub stop: &'a CancelToken,
    /// The part of an `op` phase that this process runs; all of it if none.
    pub share: Option<Share<'a>>,
    /// Called next to the clock: when the phase begins, and when its work has returned. Its time is
    /// part of the time to durable.
    pub mark: &'a mut dyn FnMut(Point),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Wall time until the work returned.
    pub return_ns: Nanos,
    /// Wall time until `syncfs` also returned, if the phase writes.
    pub durable_ns: Option<Nanos>,
    /// User time until return.
    pub user_ns: Nanos,
    /// System time until return.
    pub system_ns: Nanos,
    /// The number of passes: a short phase is repeated. The figures are those of one pass.
    pub passes: u64,
    /// The time of all passes, with the time to durable where a pass waits for it.
    pub elapsed_ns: Nanos,
    /// The work done.
    pub tally: Tally,
    pub method: String,
    /// The engine that did the work: `tools` if a program did it.
    pub engine: &'static str,
    /// Figures that a program measured itself, and counts of the processors.
    pub figures: Vec<Figure>,
    /// Latencies of single operations, by kind; empty if unknown.
    pub latencies: Vec<LatencyDistribution>,
    /// Progress over time; none if unknown.
    pub progress: Option<Progress>,
    /// The timeline with all its classes, for a merge with those of other processes.
    pub recording: Option<Recording>,
    pub commands: Vec<ToolCommand>,
    /// Records of the work, each with its source.
    pub notes: Vec<Effective>,
    pub warnings: Vec<Warning>,
}

impl Measured {
    fn with_timeline(self, timeline: TimelineSummary) -> Self {
        Self {
            latencies: timeline.latencies,
            progress: timeline.progress,
            recording: timeline.recording,
            ..self
        }
    }
}

/// Prepares a phase, untimed, before the cache state is set: creates the files of a phase that has
/// its own, or runs the preparing commands of a program, confined to the contender if requested.
pub fn prepare(
    phase: &PhasePlan,
    work_dir: &WorkDir,
    confined: Option<&Confined>,
    stop: &CancelToken,
) -> Result<Vec<ToolCommand>, LoadError> {
    let job = Job {
        stores: work_dir.stores,
        ..Job::bare(&work_dir.root, stop)
    };
    if let Some(found) = phases::bonnie::Phase::find(&phase.kind) {
        raise_descriptor_limit();
        phases::bonnie::prepare(found, &phase.parameters, &job)?;
    } else if let Some((found, parameters)) = phases::op::planned(phase) {
        phases::op::prepare(found, &parameters, &job)?;
    } else if let Some(planned) = phases::work::planned(phase, work_dir.seed, job.stores.names)? {
        phases::work::prepare(&planned, &job)?;
    } else if let Some(planned) = program::planned(phase, work_dir)? {
        return program::prepare(planned, &work_dir.root, confined, stop);
    }
    Ok(Vec::new())
}

/// Whether a phase can be measured in slices: it leaves nothing behind, runs on one thread of this
/// process, and reads a tree, or from memory. On a device that seeks, a cold slice would begin with a
/// seek: the caller knows the device.
pub fn works_in_slices(phase: &PhasePlan, engine: &str) -> bool {
    if engine != engines::sync::NAME || phase.cache == CacheState::AsIs {
        return false;
    }
    if let Some((op, parameters)) = phases::op::planned(phase) {
        return phase.cache == CacheState::Warm && !op.writes() && parameters.is_one_loop();
    }
    let reads = [
        &phases::read::KIND,
        &phases::grep::KIND,
        &phases::stat_walk::KIND,
    ];
    let workers = phase.parameters.get("workers");
    reads.iter().any(|kind| kind.name == phase.kind) && workers.is_none_or(|count| count == "1")
}

/// Runs one phase and measures it. Updates the list of trees in the work directory; after an error
/// a tree may be incomplete below its root.
pub fn run(request: Request<'_>) -> Result<Measured, LoadError> {
    let name = &request.phase.kind;
    let kind = kinds::find(name).ok_or_else(|| LoadError::UnknownKind(name.clone()))?;
    on_engine(request.engine, Run { kind, request })?
}

/// A request that runs on its engine.
struct Run<'a> {
    kind: &'static PhaseKind,
    request: Request<'a>,
}

impl ForEngine for Run<'_> {
    type Output = Result<Measured, LoadError>;

    fn on<E: Engine>(self) -> Self::Output {
        let (kind, mut request) = (self.kind, self.request);
        if let Some(planned) = program::planned(request.phase, request.work_dir)? {
            if !E::INFO.touches_files {
                return Err(LoadError::NoEngine);
            }
            return program::run::<E>(planned, &mut request);
        }
        if let Some(phase) = phases::bonnie::Phase::find(kind.name) {
            return bonnie::run::<E>(phase, kind, &mut request);
        }
        if let Some(phase) = phases::mongo::Phase::find(kind.name) {
            return mongo::run::<E>(phase, kind, &mut request);
        }
        if let Some(phase) = phases::op::Phase::find(kind.name) {
            return op::run::<E>(phase, kind, &mut request);
        }
        let (seed, names) = (request.work_dir.seed, request.work_dir.stores.names);
        if let Some(planned) = phases::work::planned(request.phase, seed, names)? {
            return work::run::<E>(&planned, kind, &mut request);
        }
        if phases::replay::is_one(kind.name) {
            return replay::run::<E>(kind, &mut request);
        }
        tree::run::<E>(kind, request)
    }
}

struct Timed<T> {
    done: T,
    used: Used,
    /// The time to durable, if the phase writes and it was measured.
    durable_ns: Option<Nanos>,
    /// Instructions and cycles, if the machine counts them.
    counts: Vec<Figure>,
}

impl<T> Timed<T> {
    /// The times, as those of work in this process by the calls of an engine.
    fn measured<E: Engine>(&self) -> Measured {
        Measured {
            return_ns: self.used.wall,
            durable_ns: self.durable_ns,
            user_ns: self.used.user,
            system_ns: self.used.system,
            engine: E::Calls::ENGINE,
            ..Measured::default()
        }
    }

    /// Operations a second until the return, their latencies, and what the machine counted.
    fn figures(&mut self, recorder: &TimelineRecorder) -> Vec<Figure> {
        let seconds = self.used.wall.0.max(1) as f64 / 1e9;
        let rate = recorder.latencies.count() as f64 / seconds;
        let mut figures = vec![Figure::new("rate", rate, "1/s", Better::Higher)];
        figures.extend(recorder.latencies.figures());
        figures.append(&mut self.counts);
        figures
    }

    /// The time to durable of work that measured its own time to return.
    fn durable_after(&self, returned: Nanos) -> Option<Nanos> {
        let durable = self.durable_ns?;
        Some(Nanos(
            returned.0 + durable.0.saturating_sub(self.used.wall.0),
        ))
    }
}

struct Timing<'a> {
    kind: &'a PhaseKind,
    root: &'a Path,
    /// Whether the time to durable is measured.
    durable: bool,
    handicap_permille: u32,
    mark: &'a mut dyn FnMut(Point),
}

impl<'a> Timing<'a> {
    fn of(kind: &'a PhaseKind, request: &'a mut Request<'_>) -> Self {
        Self {
            kind,
            root: &request.work_dir.root,
            durable: request.durable,
            handicap_permille: 0,
            mark: request.mark,
        }
    }

    /// Runs some work, and waits until its writes are durable.
    fn time<E: Engine, T>(
        self,
        work: impl FnOnce() -> Result<T, LoadError>,
    ) -> Result<Timed<T>, LoadError> {
        let handle = if E::INFO.touches_files {
            raise_descriptor_limit();
            self.handle()?
        } else {
            None
        };
        let mut counters = HardwareCounters::open();
        stack::touch();
        (self.mark)(Point::Begins);
        if let Some(counters) = &mut counters {
            counters.begin();
        }
        let watch = Stopwatch::start();
        let done = work()?;
        watch.lengthen(Nanos(0), self.handicap_permille);
        let used = watch.read();
        if let (Some(counters), None) = (&mut counters, &handle) {
            counters.end();
        }
        (self.mark)(Point::Returned);
        let durable_ns = if let Some(handle) = handle {
            rustix::fs::syncfs(&handle)
                .map_err(|errno| LoadError::io("syncfs", self.root, errno.into()))?;
            drop(handle);
            watch.lengthen(used.wall, self.handicap_permille);
            Some(watch.wall())
        } else {
            (!E::INFO.touches_files && self.kind.writes).then_some(used.wall)
        };
        // After the last reading of the clock.
        let counts = counters.map_or_else(Vec::new, |mut counters| {
            counters.end();
            counters.figures()
        });
        Ok(Timed {
            done,
            used,
            durable_ns,
            counts,
        })
    }

    /// A descriptor on the file system under test, if the time to durable is measured.
    fn handle(&self) -> Result<Option<Descriptor>, LoadError> {
        if !self.kind.writes || !self.durable {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(self.root, flags, Mode::empty())
            .map(|fd| Some(fd.into()))
            .map_err(|errno| LoadError::io("open", self.root, errno.into()))
    }
}

/// Raises the descriptor limit: a walk uses one or two descriptors per level, and the usual soft
/// limit would end it at 500 levels.
fn raise_descriptor_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // If the limit cannot be raised, deep trees fail with EMFILE.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        );
    }
}
