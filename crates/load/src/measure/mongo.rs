//! A phase of mongo: its trees are drawn before the clock, and each of its workers is timed.

use super::{Measured, Request, Watch, durable, open_ground, raise_descriptor_limit};
use crate::engines::LoadError;
use crate::engines::null::{self, Null};
use crate::engines::sync::{self, Sync};
use crate::workloads::mongo::{Mongo, Parameters, Phase};
use crate::workloads::{self, Job, PhaseKind};
use fsdyno_model::disk_use::Point;
use fsdyno_model::sample::{Better, Figure};

/// Runs a phase, by system calls of our own whatever the engine but `null`.
pub(super) fn run(
    phase: Phase,
    kind: &PhaseKind,
    engine: &str,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let mut mongo = Mongo::new(Parameters::read(&request.phase.parameters));
    let job = Job {
        each_file: request.each_file,
        ..Job::bare(&request.work_dir.root, request.stop)
    };
    let imagined = engine == null::NAME;
    let handle = if imagined {
        None
    } else {
        raise_descriptor_limit();
        open_ground(kind, job.root, request.durable)?
    };
    (request.mark)(Point::Begins);
    let watch = Watch::start();
    let tally = if imagined {
        phase.run(&mut Null::new(mongo.facts()), &job, &mut mongo)?
    } else {
        phase.run(&mut Sync::default(), &job, &mut mongo)?
    };
    let used = watch.read();
    (request.mark)(Point::Returned);
    let durable_ns = if imagined {
        kind.writes.then_some(used.wall)
    } else {
        durable(handle.as_ref(), job.root, watch)?
    };
    let timeline = mongo.timeline().told(workloads::FILE, used.wall);
    Ok(Measured {
        return_ns: used.wall,
        durable_ns,
        user_ns: used.user,
        system_ns: used.system,
        tally,
        method: phase.method().to_owned(),
        engine: if imagined { null::NAME } else { sync::NAME },
        figures: of_workers(&mongo),
        latencies: timeline.latencies,
        progress: timeline.progress,
        commands: Vec::new(),
        warnings: Vec::new(),
    })
}

/// What each worker took, where there are several.
fn of_workers(mongo: &Mongo) -> Vec<Figure> {
    let count = mongo.took().count();
    let workers = (1..).zip(mongo.took()).filter(|_| count > 1);
    workers
        .map(|(number, took)| {
            let name = format!("worker {number} of {count}");
            Figure::new(name, took as f64, "ns", Better::Lower)
        })
        .collect()
}
