//! Workers that are processes: what they do is that of threads, and what came of it is told through a
//! pipe.

use super::workers::{Room, Shift, Work, shift};
use crate::engines::{Engine, LoadError};
use crate::measure::watch::Watch;
use crate::workloads::apart::{InCommon, apart};
use crate::workloads::course::{self, Course};
use crate::workloads::side_by_side::Start;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Nanos;

/// A shift as it is told: its end, what was done, processor time, and its course; or why it failed,
/// and the error number.
type Told = Result<(u64, Tally, [Nanos; 2], course::Parts), (String, Option<i32>)>;

/// The shifts of all workers, each in a process of its own; and when the first of them began.
pub(super) fn shifts<E: Engine>(
    engine: &mut E,
    work: Work<'_>,
    rooms: &mut [Room],
) -> Result<(u64, Vec<Result<Shift, LoadError>>), LoadError> {
    let start = InCommon::new(Start::new(rooms.len()))?;
    let mut workers: Vec<(E, &mut Room)> = rooms
        .iter_mut()
        .map(|room| (engine.another(), room))
        .collect();
    let said = apart(&mut workers, work.job.stop, |(engine, room)| {
        let watch = Watch::start();
        let done = shift(engine, work, room, &start);
        let used = watch.read();
        let told: Told = match done {
            Ok(done) => {
                let course = room.course.to_parts();
                Ok((done.ended, done.tally, [used.user, used.system], course))
            }
            Err(error) => Err((error.to_string(), error.errno())),
        };
        // Numbers and texts alone are never refused.
        serde_json::to_vec(&told).unwrap_or_default()
    })?;
    let shifts = said.iter().zip(rooms).map(|(said, room)| {
        let told: Told = serde_json::from_slice(said)
            .map_err(|error| worker(format!("a worker was cut short: {error}"), None))?;
        let (ended, tally, used_apart, course) = told.map_err(|(reason, errno)| {
            // It heard the wish to stop as well.
            if work.job.stop.requested() {
                LoadError::Stopped
            } else {
                worker(reason, errno)
            }
        })?;
        room.course = Course::of_parts(course);
        Ok(Shift {
            ended,
            tally,
            used_apart,
        })
    });
    let shifts = shifts.collect();
    Ok((start.began(), shifts))
}

fn worker(reason: String, errno: Option<i32>) -> LoadError {
    LoadError::Worker { reason, errno }
}
