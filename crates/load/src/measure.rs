//! The measured loop: memory is allocated, the clock starts, the phase runs on its engine, and the clock
//! is read; where the phase writes, it is read again after `syncfs`.
//!
//! What a phase does is in `phases`. Caches, devices and statistics are not handled here.

mod bonnie;
mod mongo;
mod op;
mod program;
mod tree;
mod weight;

pub use crate::error::LoadError;
pub use crate::tool_run::ToolCommand;
pub use program::prepare;
pub use tree::touch;
pub use weight::{
    ClockFacts, Contention, EngineCost, clock_facts, clock_is_quick, contention, empty_phase_cost,
    engine_cost,
};

use crate::clock::{Stopwatch, Used};
use crate::engines::{Engine, ForEngine, on_engine};
use crate::kinds::{self, PhaseKind};
use crate::phases;
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::disk_use::Point;
use fsdyno_model::plan::{CopyMethod, PhasePlan};
use fsdyno_model::sample::{Figure, Tally};
use fsdyno_model::timeline::{LatencyDistribution, Progress};
use fsdyno_model::units::Nanos;
use fsdyno_model::warning::Warning;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

/// A phase to be measured.
pub struct Request<'a> {
    /// Which, of which kind.
    pub phase: &'a PhasePlan,
    /// The engine that does the work.
    pub engine: &'a str,
    /// How a copy moves data.
    pub copy_method: CopyMethod,
    /// Where it works.
    pub work_dir: &'a mut WorkDir,
    /// Files, directories and bytes of the newest tree or archive, where they are known: the
    /// engine `null` invents a tree from them, and the engine `tools` cannot count.
    pub facts: Option<(u64, u64, u64)>,
    /// Whether the phase is followed until what it wrote is durable, rather than until it returns.
    pub durable: bool,
    /// By how many thousandths the phase is made longer on purpose, busily, by the engine `sync`; 0
    /// for any figure that is to be believed.
    pub handicap_permille: u32,
    /// Whether the clock is read for every file, by phases that need not: not where reading it takes
    /// of the time that is measured. Others read it for every operation, and always do.
    pub each_file: bool,
    /// The cancellation.
    pub stop: &'a CancelToken,
    /// Called next to the clock: when the phase begins and when its work has returned. What it
    /// takes is inside the time to durable.
    pub mark: &'a mut dyn FnMut(Point),
}

/// A phase, measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Wall time until the work had returned.
    pub return_ns: Nanos,
    /// Wall time until `syncfs` had returned as well, where the phase writes.
    pub durable_ns: Option<Nanos>,
    /// User time until return.
    pub user_ns: Nanos,
    /// System time until return.
    pub system_ns: Nanos,
    /// What was done.
    pub tally: Tally,
    /// How exactly.
    pub method: String,
    /// The engine that did the work: `tools` where a program did it.
    pub engine: &'static str,
    /// What a program measured itself.
    pub figures: Vec<Figure>,
    /// How long single operations took, by kind of operation; empty where that is not known.
    pub latencies: Vec<LatencyDistribution>,
    /// What was done when; none where that is not known.
    pub progress: Option<Progress>,
    /// Programs that were run.
    pub commands: Vec<ToolCommand>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// Runs one phase and measures it. The work directory records the trees it made and removed; after an
/// error a tree may be incomplete below its root.
pub fn run(request: Request<'_>) -> Result<Measured, LoadError> {
    let name = &request.phase.kind;
    let kind = kinds::find(name).ok_or_else(|| LoadError::UnknownKind(name.clone()))?;
    on_engine(request.engine, Run { kind, request })?
}

/// A request, to be run on the engine that it names.
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
        tree::run::<E>(kind, request)
    }
}

/// Work that was timed.
struct Timed<T> {
    done: T,
    /// Until it returned.
    used: Used,
    /// Until everything written was durable, where the phase writes and that was measured.
    durable_ns: Option<Nanos>,
}

impl<T> Timed<T> {
    /// The time to durable of work that measured its own time to return.
    fn durable_after(&self, returned: Nanos) -> Option<Nanos> {
        let durable = self.durable_ns?;
        Some(Nanos(
            returned.0 + durable.0.saturating_sub(self.used.wall.0),
        ))
    }
}

/// How a phase is timed.
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

    /// Does some work, and waits until what it wrote is durable.
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
        (self.mark)(Point::Begins);
        let watch = Stopwatch::start();
        let done = work()?;
        watch.lengthen(Nanos(0), self.handicap_permille);
        let used = watch.read();
        (self.mark)(Point::Returned);
        let durable_ns = if let Some(handle) = handle {
            let refused = |errno: rustix::io::Errno| errno.into();
            rustix::fs::syncfs(handle)
                .map_err(|errno| LoadError::io("syncfs", self.root, refused(errno)))?;
            watch.lengthen(used.wall, self.handicap_permille);
            Some(watch.wall())
        } else {
            (!E::INFO.touches_files && self.kind.writes).then_some(used.wall)
        };
        Ok(Timed {
            done,
            used,
            durable_ns,
        })
    }

    /// A descriptor on the file system under test, where the time to durable is measured.
    fn handle(&self) -> Result<Option<OwnedFd>, LoadError> {
        if !self.kind.writes || !self.durable {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(self.root, flags, Mode::empty())
            .map(Some)
            .map_err(|errno| LoadError::io("open", self.root, errno.into()))
    }
}

/// A walk holds one or two descriptors for each level: the usual soft limit would end it at 500 levels.
fn raise_descriptor_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Where it may not be raised, deep trees are refused with EMFILE.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        );
    }
}
