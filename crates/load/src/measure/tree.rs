//! Runs a phase on a tree or an archive, by the calls of its engine or by a program of the system.

use super::{LoadError, Measured, Request, Timing, raise_descriptor_limit};
use crate::command;
use crate::engines::null::{self, Facts};
use crate::engines::sync::SystemCalls;
use crate::engines::{Calls, Engine, tools};
use crate::job::Job;
use crate::kinds::{Needs, PhaseKind};
use crate::phases::{self, Scratch, TreePhase};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) fn run<E: Engine>(
    kind: &'static PhaseKind,
    request: Request<'_>,
) -> Result<Measured, LoadError> {
    let work_dir = request.work_dir;
    let made = kind.makes_tree.then(|| work_dir.next_tree(kind.name));
    let job = Job {
        method: request.copy_method,
        pattern: request.phase.pattern.as_deref(),
        workers: workers::<E>(kind, request.phase)?,
        each_file: request.each_file,
        stores: work_dir.stores,
        user_work: request.user_work,
        ..job::<E>(kind, work_dir, made.as_ref(), request.stop)?
    };
    let phase = find::<E::Calls>(kind)?;
    let facts = request.facts.map(|(files, directories, bytes)| Facts {
        files,
        directories,
        bytes,
    });
    let timing = Timing {
        kind,
        root: job.root,
        durable: request.durable,
        handicap_permille: request.handicap_permille,
        mark: request.mark,
    };
    let measured = if E::INFO.programs().next().is_some() {
        run_program::<E>(&phase, &job, facts, timing)?
    } else {
        run_calls::<E>(&phase, &job, facts.unwrap_or(Facts::SMALL), timing)?
    };
    if kind.removes_tree {
        work_dir.trees.pop();
    }
    work_dir.trees.extend(made);
    Ok(measured)
}

fn find<C: Calls + Send>(kind: &PhaseKind) -> Result<TreePhase<C>, LoadError> {
    let mut all = phases::on_trees::<C>().into_iter();
    all.find(|phase| phase.kind.name == kind.name)
        .ok_or_else(|| LoadError::UnknownKind(kind.name.to_owned()))
}

/// The inputs and outputs of a phase.
fn job<'a, E: Engine>(
    kind: &PhaseKind,
    work_dir: &'a WorkDir,
    made: Option<&PathBuf>,
    stop: &'a CancelToken,
) -> Result<Job<'a>, LoadError> {
    let mut job = Job::bare(&work_dir.root, stop);
    // An engine that accesses no file needs no existing tree.
    let imagined = !E::INFO.touches_files;
    match (kind.needs, work_dir.newest(), &work_dir.archive) {
        (Needs::Tree, Some(tree), _) => job.source = name_of(tree)?,
        (Needs::Tree, None, _) if imagined => c"tree".clone_into(&mut job.source),
        (Needs::Tree, None, _) => return Err(LoadError::NoTree(kind.name.to_owned())),
        (Needs::Archive, _, Some(archive)) => job.archive = archive,
        (Needs::Archive, _, None) if !imagined => {
            return Err(LoadError::NoArchive(kind.name.to_owned()));
        }
        _ => {}
    }
    if let Some(made) = made {
        job.target = name_of(made)?;
    }
    Ok(job)
}

/// The number of workers that walk a tree in parallel.
fn workers<E: Engine>(kind: &PhaseKind, phase: &PhasePlan) -> Result<usize, LoadError> {
    let given = phase.parameters.get("workers");
    let workers = given.and_then(|text| text.parse().ok()).unwrap_or(1);
    if workers > 1 && E::INFO.programs().next().is_some() {
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

/// Reads the metadata and data of a whole tree, untimed, to fill the page cache.
pub fn touch(tree: &Path, stop: &CancelToken) -> Result<Tally, LoadError> {
    raise_descriptor_limit();
    let job = Job {
        source: name_of(tree)?,
        ..Job::bare(tree.parent().unwrap_or(Path::new("/")), stop)
    };
    let mut scratch = Scratch::for_job(&phases::read::KIND, &job)?;
    let mut pass = |kind| (find(kind)?.run)(&mut SystemCalls::default(), &job, &mut scratch);
    pass(&phases::stat_walk::KIND)?;
    pass(&phases::read::KIND)
}

/// The name of a tree in its work directory.
fn name_of(tree: &Path) -> Result<CString, LoadError> {
    tree.file_name()
        .and_then(|name| CString::new(name.as_bytes()).ok())
        .ok_or_else(|| {
            let source = std::io::Error::from_raw_os_error(libc::EINVAL);
            LoadError::io("openat", tree, source)
        })
}

fn run_calls<E: Engine>(
    phase: &TreePhase<E::Calls>,
    job: &Job<'_>,
    facts: Facts,
    timing: Timing<'_>,
) -> Result<Measured, LoadError> {
    let mut scratch = Scratch::for_job(phase.kind, job)?;
    let mut calls = E::calls(facts);
    let timed = timing.time::<E, _>(|| {
        Scratch::begin(&mut scratch, job);
        let tally = (phase.run)(&mut calls, job, &mut scratch)?;
        if let Some(work) = job.user_work {
            work.finish()?;
        }
        Ok(tally)
    })?;
    let timeline = Scratch::timeline(&scratch).summary(phases::FILE, timed.used.wall);
    let imagined = !E::INFO.touches_files;
    let measured = timed.measured::<E>();
    Ok(Measured {
        tally: timed.done,
        method: match ((phase.method)(job), job.workers) {
            _ if imagined => null::METHOD.to_owned(),
            (method, 1) => method,
            (method, workers) => format!("{method}; {workers} workers"),
        },
        figures: timed.counts,
        warnings: if imagined {
            Vec::new()
        } else {
            Scratch::warnings(&scratch)
        },
        ..measured.with_timeline(timeline)
    })
}

fn run_program<E: Engine>(
    phase: &TreePhase<E::Calls>,
    job: &Job<'_>,
    facts: Option<Facts>,
    timing: Timing<'_>,
) -> Result<Measured, LoadError> {
    let mut tool = (phase.tool)(job)?;
    tool.package = tool.argv[0].to_str().and_then(tools::package_of);
    if let Some(directory) = &tool.makes {
        std::fs::create_dir(directory)
            .map_err(|source| LoadError::io("mkdir", directory, source))?;
    }
    let timed = timing.time::<E, _>(|| command::run(&tool, job.stop))?;
    let measured = timed.measured::<E>();
    let ended = timed.done;
    // A program reports no counts: the known counts of the tree are used.
    let known = facts.unwrap_or(Facts {
        files: 0,
        directories: 0,
        bytes: 0,
    });
    Ok(Measured {
        user_ns: ended.user,
        system_ns: ended.system,
        tally: Tally {
            files: known.files.saturating_sub(tool.left_out.count()),
            directories: known.directories,
            bytes: Bytes(known.bytes),
            calls: 0,
            matches: ended.lines,
        },
        method: tool.method.to_owned(),
        engine: E::INFO.name,
        figures: timed.counts,
        commands: vec![ended.command],
        warnings: tool.left_out.warning().into_iter().collect(),
        ..measured
    })
}
