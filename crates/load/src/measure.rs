//! The measured stretch: everything is made ready, the clock starts, the workload runs on its
//! engine, the clock is read, and where the phase writes it is read again after `syncfs`.
//!
//! What the workload does is the affair of `workloads`; caches, devices and statistics are not
//! looked at here.

mod bonnie;
mod mongo;
mod op;
mod program;
pub(crate) mod watch;
mod weight;

pub use crate::engines::LoadError;
pub use crate::engines::tools::ToolCommand;
pub use program::prepare;
pub use weight::{
    ClockFacts, Contention, EngineCost, clock_facts, clock_is_quick, contention, empty_phase_cost,
    engine_cost,
};

use crate::engines::null::{self, Facts, Null};
use crate::engines::{self, sync, sync::Sync, tools};
use crate::workloads::{self, Job, Needs, PhaseKind, Scratch};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::disk_use::Point;
use fsdyno_model::plan::{CopyMethod, PhasePlan};
use fsdyno_model::sample::{Figure, Tally};
use fsdyno_model::timeline::{LatencyDistribution, Progress};
use fsdyno_model::units::{Bytes, Nanos};
use fsdyno_model::warning::Warning;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use watch::Watch;

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
    /// engine `null` has nothing else to go by, and the engine `tools` cannot count.
    pub facts: Option<(u64, u64, u64)>,
    /// Whether the phase is followed until what it wrote is durable, rather than until it returns.
    pub durable: bool,
    /// By how many thousandths the phase is made longer on purpose, busily, by the engine `sync`; 0
    /// for any figure that is to be believed.
    pub handicap_permille: u32,
    /// Whether the clock is read for every file, by phases that need not: not where reading it takes
    /// of the time that is measured. Others read it for every operation, and always do.
    pub each_file: bool,
    /// The wish to stop.
    pub stop: &'a CancelToken,
    /// Is told, next to the clock, that the phase begins and that its work has returned. What it
    /// takes is inside the time to durable.
    pub mark: &'a mut dyn FnMut(Point),
}

/// A phase, measured.
#[derive(Debug, Clone, PartialEq)]
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
    /// Doubts.
    pub warnings: Vec<Warning>,
}

/// What the null engine works on where nothing is known: the shape of a small source tree.
const UNKNOWN: Facts = Facts {
    files: 10_000,
    directories: 1_000,
    bytes: 30_000_000,
};

/// Runs one phase and measures it. The ground follows what was done; after an error a tree may
/// stand half done below its root.
pub fn run(mut request: Request<'_>) -> Result<Measured, LoadError> {
    let name = &request.phase.kind;
    let kind = workloads::find(name).ok_or_else(|| LoadError::UnknownKind(name.clone()))?;
    let engine = engines::find(request.engine)
        .ok_or_else(|| LoadError::UnknownEngine(request.engine.to_owned()))?;
    if let Some(planned) = program::planned(request.phase, request.work_dir)? {
        if engine.name == null::NAME {
            return Err(LoadError::NoEngine);
        }
        return program::run(planned, &mut request);
    }
    if let Some(phase) = workloads::bonnie::Phase::find(name) {
        return bonnie::run(phase, kind, engine.name, &mut request);
    }
    if let Some(phase) = workloads::mongo::Phase::find(name) {
        return mongo::run(phase, kind, engine.name, &mut request);
    }
    if let Some(phase) = workloads::op::Phase::find(name) {
        return op::run(phase, kind, engine.name, &mut request);
    }
    let (work_dir, mark) = (request.work_dir, request.mark);
    let made = kind.makes_tree.then(|| work_dir.next_tree(kind.name));
    // What stands nowhere is never missing.
    let imagined = engine.name == null::NAME;
    let job = Job {
        root: &work_dir.root,
        source: match (kind.needs, work_dir.newest()) {
            (Needs::Archive | Needs::Nothing, _) => CString::default(),
            (Needs::Tree, Some(tree)) => name_of(tree)?,
            (Needs::Tree, None) if imagined => c"tree".to_owned(),
            (Needs::Tree, None) => return Err(LoadError::NoTree(kind.name.to_owned())),
        },
        target: made.as_deref().map_or(Ok(CString::default()), name_of)?,
        archive: match (kind.needs, &work_dir.archive) {
            (Needs::Archive, Some(archive)) => archive,
            (Needs::Archive, None) if !imagined => {
                return Err(LoadError::NoArchive(kind.name.to_owned()));
            }
            _ => Path::new(""),
        },
        method: request.copy_method,
        pattern: request.phase.pattern.as_deref(),
        workers: workers(kind, request.phase, engine.name)?,
        each_file: request.each_file,
        stop: request.stop,
    };
    let facts = request.facts.map(|(files, directories, bytes)| Facts {
        files,
        directories,
        bytes,
    });
    let measured = match engine.name {
        tools::NAME => run_tools(kind, &job, facts, (mark, request.durable))?,
        null::NAME => run_null(kind, &job, facts.unwrap_or(UNKNOWN), mark)?,
        _ => run_sync(
            kind,
            &job,
            request.handicap_permille,
            (mark, request.durable),
        )?,
    };
    if kind.removes_tree {
        work_dir.trees.pop();
    }
    work_dir.trees.extend(made);
    Ok(measured)
}

/// How many are to walk a tree at the same time.
fn workers(kind: &PhaseKind, phase: &PhasePlan, engine: &str) -> Result<usize, LoadError> {
    let said = phase.parameters.get("workers");
    let workers = said.and_then(|text| text.parse().ok()).unwrap_or(1);
    if workers > 1 && engine == tools::NAME {
        return Err(LoadError::Parameters {
            kind: kind.name,
            reason:
                "the programs of the system have one worker: leave out `workers`, or choose the \
                     engine sync"
                    .to_owned(),
        });
    }
    Ok(workers)
}

/// Passes over a whole tree, untimed: everything is looked at and read, to make it warm.
pub fn touch(tree: &Path, stop: &CancelToken) -> Result<Tally, LoadError> {
    raise_descriptor_limit();
    let job = Job {
        source: name_of(tree)?,
        ..Job::bare(tree.parent().unwrap_or(Path::new("/")), stop)
    };
    let mut scratch = Scratch::for_job(&workloads::read::KIND, &job)?;
    (workloads::stat_walk::KIND.sync)(&mut Sync::default(), &job, &mut scratch)?;
    (workloads::read::KIND.sync)(&mut Sync::default(), &job, &mut scratch)
}

/// The name of a tree in its ground.
fn name_of(tree: &Path) -> Result<CString, LoadError> {
    tree.file_name()
        .and_then(|name| CString::new(name.as_bytes()).ok())
        .ok_or_else(|| {
            let source = std::io::Error::from_raw_os_error(libc::EINVAL);
            LoadError::io("openat", tree, source)
        })
}

fn run_sync(
    kind: &PhaseKind,
    job: &Job<'_>,
    handicap: u32,
    (mark, durably): (&mut dyn FnMut(Point), bool),
) -> Result<Measured, LoadError> {
    raise_descriptor_limit();
    let mut scratch = Scratch::for_job(kind, job)?;
    let mut engine = Sync::default();
    let work_dir = open_ground(kind, job.root, durably)?;
    mark(Point::Begins);
    let watch = Watch::start();
    Scratch::begin(&mut scratch, job);
    let tally = (kind.sync)(&mut engine, job, &mut scratch)?;
    watch.lengthen(Nanos(0), handicap);
    let used = watch.read();
    mark(Point::Returned);
    let mut durable_ns = durable(work_dir.as_ref(), job.root, watch)?;
    if let Some(durable_ns) = &mut durable_ns
        && handicap > 0
    {
        watch.lengthen(used.wall, handicap);
        *durable_ns = watch.wall();
    }
    let timeline = Scratch::timeline(&scratch).told(workloads::FILE, used.wall);
    Ok(Measured {
        return_ns: used.wall,
        durable_ns,
        user_ns: used.user,
        system_ns: used.system,
        tally,
        method: match ((kind.method)(job), job.workers) {
            (method, 1) => method,
            (method, workers) => format!("{method}; {workers} workers"),
        },
        engine: sync::NAME,
        figures: Vec::new(),
        latencies: timeline.latencies,
        progress: timeline.progress,
        commands: Vec::new(),
        warnings: Scratch::warnings(&scratch),
    })
}

fn run_null(
    kind: &PhaseKind,
    job: &Job<'_>,
    facts: Facts,
    mark: &mut dyn FnMut(Point),
) -> Result<Measured, LoadError> {
    let mut scratch = Scratch::for_job(kind, job)?;
    let mut engine = Null::new(facts);
    mark(Point::Begins);
    let watch = Watch::start();
    Scratch::begin(&mut scratch, job);
    let tally = (kind.null)(&mut engine, job, &mut scratch)?;
    let used = watch.read();
    mark(Point::Returned);
    let timeline = Scratch::timeline(&scratch).told(workloads::FILE, used.wall);
    Ok(Measured {
        return_ns: used.wall,
        durable_ns: kind.writes.then_some(used.wall),
        user_ns: used.user,
        system_ns: used.system,
        tally,
        method: "no system calls".to_owned(),
        engine: null::NAME,
        figures: Vec::new(),
        latencies: timeline.latencies,
        progress: timeline.progress,
        commands: Vec::new(),
        warnings: Vec::new(),
    })
}

fn run_tools(
    kind: &PhaseKind,
    job: &Job<'_>,
    facts: Option<Facts>,
    (mark, durably): (&mut dyn FnMut(Point), bool),
) -> Result<Measured, LoadError> {
    let tool = (kind.tools)(job);
    if let Some(directory) = &tool.makes {
        std::fs::create_dir(directory)
            .map_err(|source| LoadError::io("mkdir", directory, source))?;
    }
    let work_dir = open_ground(kind, job.root, durably)?;
    mark(Point::Begins);
    let watch = Watch::start();
    let ended = tools::run(&tool, job.stop)?;
    let used = watch.read();
    mark(Point::Returned);
    let durable_ns = durable(work_dir.as_ref(), job.root, watch)?;
    // A program tells nobody what it handled: what the tree is known to hold, it handled.
    let known = facts.unwrap_or(Facts {
        files: 0,
        directories: 0,
        bytes: 0,
    });
    Ok(Measured {
        return_ns: used.wall,
        durable_ns,
        user_ns: ended.user,
        system_ns: ended.system,
        tally: Tally {
            files: known.files,
            directories: known.directories,
            bytes: Bytes(known.bytes),
            calls: 0,
            matches: ended.lines,
        },
        method: tool.method.to_owned(),
        engine: tools::NAME,
        figures: Vec::new(),
        latencies: Vec::new(),
        progress: None,
        commands: vec![ended.command],
        warnings: Vec::new(),
    })
}

/// A handle on the ground's file system, where the phase writes and is followed until that is durable.
fn open_ground(kind: &PhaseKind, root: &Path, durable: bool) -> Result<Option<OwnedFd>, LoadError> {
    if !kind.writes || !durable {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty())
        .map(Some)
        .map_err(|errno| LoadError::io("open", root, errno.into()))
}

/// Waits until everything written is durable; the time since the start.
fn durable(
    work_dir: Option<&OwnedFd>,
    root: &Path,
    watch: Watch,
) -> Result<Option<Nanos>, LoadError> {
    let Some(work_dir) = work_dir else {
        return Ok(None);
    };
    rustix::fs::syncfs(work_dir).map_err(|errno| LoadError::io("syncfs", root, errno.into()))?;
    Ok(Some(watch.wall()))
}

/// A walk holds one descriptor a level, or two: the usual soft limit would end it at 500 levels.
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
