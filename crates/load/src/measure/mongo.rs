//! Runs a phase of mongo: its trees are generated before the clock starts, and each worker is
//! timed.

use super::{LoadError, Measured, Request, Timing};
use crate::engines::Engine;
use crate::job::Job;
use crate::kinds::PhaseKind;
use crate::phases;
use crate::phases::mongo::{Mongo, Parameters, Phase};
use fsdyno_model::sample::{Better, Figure};

pub(super) fn run<E: Engine>(
    phase: Phase,
    kind: &PhaseKind,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let mut mongo = Mongo::new(Parameters::read(&request.phase.parameters));
    let root = request.work_dir.root.clone();
    let job = Job {
        each_file: request.each_file,
        ..Job::bare(&root, request.stop)
    };
    let mut calls = E::calls(mongo.facts());
    let timed =
        Timing::of(kind, request).time::<E, _>(|| phase.run(&mut calls, &job, &mut mongo))?;
    let timeline = mongo.timeline().summary(phases::FILE, timed.used.wall);
    let measured = timed.measured::<E>();
    Ok(Measured {
        tally: timed.done,
        method: phase.method().to_owned(),
        figures: [of_workers(&mongo), timed.counts].concat(),
        ..measured.with_timeline(timeline)
    })
}

/// The time of each worker, if there are several.
fn of_workers(mongo: &Mongo) -> Vec<Figure> {
    let count = mongo.elapsed().count();
    let workers = (1..).zip(mongo.elapsed()).filter(|_| count > 1);
    workers
        .map(|(number, elapsed)| {
            let name = format!("worker {number} of {count}");
            Figure::new(name, elapsed as f64, "ns", Better::Lower)
        })
        .collect()
}
