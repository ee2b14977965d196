//! The workers of a phase, as threads or as processes (`forked`). Each has its own share of the
//! files, buffer, histogram and calls. They start together and share nothing while they work.

use super::data::{self, Wheel};
use super::pace::Pace;
use super::{Parameters, Phase, files, forked};
use crate::clock::{self, Deadline};
use crate::engines::null::Facts;
use crate::engines::{Calls, Engine};
use crate::error::LoadError;
use crate::phases::barrier::{Start, run_threads};
use crate::phases::buffer::Buffer;
use crate::phases::timeline::{TimelineRecorder, TimelineSummary};
use crate::phases::{Job, own_descriptors};
use fsdyno_model::sample::{Better, Figure, Tally};
use fsdyno_model::units::{Bytes, Nanos};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ffi::CString;
use std::ops::Range;

/// A phase with its buffers, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct Op {
    phase: Phase,
    parameters: Parameters,
    rooms: Vec<Room>,
}

/// The buffers of one worker.
#[derive(Debug)]
pub(super) struct Room {
    pub number: usize,
    /// Its directory, and its large file.
    pub home: CString,
    pub large: CString,
    pub buffer: Buffer,
    pub timeline: TimelineRecorder,
    pub pace: Pace,
    pub wheel: Wheel,
}

/// The input of a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    pub phase: Phase,
    pub parameters: &'a Parameters,
    pub job: &'a Job<'a>,
    pub limits: Limits<'a>,
    /// Whether this process has no other worker.
    pub alone: bool,
}

/// The limits of the work of each worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// The most files or blocks.
    pub most: u64,
    /// Ends the work early.
    pub deadline: Option<&'a Deadline>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            most: u64::MAX,
            deadline: None,
        }
    }
}

impl Limits<'_> {
    /// Whether the deadline is over.
    #[inline]
    pub fn reached(self) -> bool {
        self.deadline.is_some_and(Deadline::passed)
    }
}

/// A completed phase.
#[derive(Debug)]
pub(crate) struct Done {
    /// The time from the first start to the last end.
    pub returned: Nanos,
    pub tally: Tally,
    /// User and system time of worker processes.
    pub used_by_processes: [Nanos; 2],
    pub figures: Vec<Figure>,
    pub timeline: TimelineSummary,
}

/// The result of a worker.
pub(super) struct Shift {
    pub ended: u64,
    pub tally: Tally,
}

/// The directory of a worker.
pub(super) fn home(parameters: &Parameters, worker: usize) -> String {
    let number = if parameters.shared { 0 } else { worker };
    format!("w{number:03}")
}

/// The large file of a worker.
pub(super) fn large(parameters: &Parameters, worker: usize) -> String {
    let number = if parameters.shared { 0 } else { worker };
    format!("large{number:03}")
}

impl Room {
    fn new<E: Engine>(phase: Phase, parameters: &Parameters, number: usize) -> Self {
        let buffer = if phase.on_data() {
            parameters.block * E::transfer_blocks(parameters.depth)
        } else {
            parameters.bytes.max(1)
        };
        let wheel = if phase.is_random() {
            Wheel::drawn(parameters.blocks(), parameters.reads, number)
        } else {
            Wheel::default()
        };
        Self {
            number,
            // Neither contains a zero byte.
            home: CString::new(home(parameters, number)).unwrap_or_default(),
            large: CString::new(large(parameters, number)).unwrap_or_default(),
            buffer: data::noise(buffer),
            timeline: TimelineRecorder::new(),
            pace: Pace::new(parameters.rate, parameters.workers),
            wheel,
        }
    }
}

impl Op {
    /// Allocates the buffers of a phase on one engine.
    pub fn new<E: Engine>(phase: Phase, parameters: Parameters) -> Self {
        Self::of_share::<E>(phase, parameters, 0..parameters.workers)
    }

    /// Allocates the buffers of those workers that run in this process.
    pub fn of_share<E: Engine>(
        phase: Phase,
        parameters: Parameters,
        workers: Range<usize>,
    ) -> Self {
        let rooms = workers.map(|number| Room::new::<E>(phase, &parameters, number));
        Self {
            phase,
            rooms: rooms.collect(),
            parameters,
        }
    }

    /// The buffers of each worker.
    pub(super) fn into_rooms(self) -> Vec<Room> {
        self.rooms
    }

    /// The synthetic tree for the engine that accesses no file.
    pub fn facts(&self) -> Facts {
        let (files, bytes) = if self.phase.on_data() {
            (1, self.parameters.size)
        } else {
            let files = self.parameters.files;
            (files, files * self.parameters.bytes as u64)
        };
        Facts {
            files,
            directories: 1,
            bytes,
        }
    }

    /// Runs the phase.
    pub fn run<E: Engine>(
        &mut self,
        calls: &mut E::Calls,
        job: &Job<'_>,
    ) -> Result<Done, LoadError> {
        self.run_within::<E>(calls, job, Limits::default())
    }

    /// Runs the phase, which ends early at its limits.
    pub fn run_within<E: Engine>(
        &mut self,
        calls: &mut E::Calls,
        job: &Job<'_>,
        limits: Limits<'_>,
    ) -> Result<Done, LoadError> {
        let work = Work {
            phase: self.phase,
            parameters: &self.parameters,
            job,
            limits,
            alone: self.rooms.len() == 1,
        };
        let (began, shifts, used_by_processes) = if self.parameters.processes {
            let forked = forked::shifts::<E>(calls, work, &mut self.rooms)?;
            (forked.began, forked.all, forked.used)
        } else {
            let start = Start::new(self.rooms.len());
            let shifts = if let [room] = &mut self.rooms[..] {
                vec![shift::<E>(calls, work, room, &start)]
            } else {
                let rooms = self.rooms.iter_mut();
                let mut workers: Vec<(E::Calls, &mut Room)> =
                    rooms.map(|room| (calls.another(), room)).collect();
                run_threads(&mut workers, |(calls, room)| {
                    shift::<E>(calls, work, room, &start)
                })
            };
            (start.began(), shifts, [Nanos(0); 2])
        };
        let mut ended = 0;
        let mut tally = Tally::default();
        for shift in shifts {
            let shift = shift?;
            ended = ended.max(shift.ended);
            tally.add(&shift.tally);
        }
        let returned = Nanos(ended.saturating_sub(began));
        let timeline = TimelineRecorder::joined(self.rooms.iter().map(|room| &room.timeline));
        Ok(Done {
            figures: self.figures(&timeline, returned, tally.bytes),
            timeline: timeline.summary(self.phase.operation(), returned),
            returned,
            tally,
            used_by_processes,
        })
    }

    fn figures(&self, timeline: &TimelineRecorder, returned: Nanos, bytes: Bytes) -> Vec<Figure> {
        let latencies = &timeline.latencies;
        let seconds = returned.0.max(1) as f64 / 1e9;
        let rate = latencies.count() as f64 / seconds;
        let mut figures = vec![Figure::new("rate", rate, "1/s", Better::Higher)];
        if self.phase.on_data() {
            let rate = bytes.0 as f64 / 1024.0 / seconds;
            figures.push(Figure::new("bytes", rate, "KiB/s", Better::Higher));
        }
        figures.extend(latencies.figures());
        figures
    }
}

/// The work of one worker, after all are ready.
pub(super) fn shift<E: Engine>(
    calls: &mut E::Calls,
    work: Work<'_>,
    room: &mut Room,
    start: &Start,
) -> Result<Shift, LoadError> {
    let parameters = work.parameters;
    let ready = if work.alone {
        Ok(())
    } else {
        own_descriptors()
    };
    let ready = match ready {
        Ok(()) if parameters.pin => pin_to(room.number),
        ready => ready,
    };
    // The other workers wait at the barrier for this one, even if it cannot begin.
    start.wait();
    ready?;
    room.timeline.begin_at(start.begin());
    let tally = if work.phase.on_data() {
        data::run::<E>(calls, work, room)?
    } else {
        files::run(calls, work, room)?
    };
    Ok(Shift {
        ended: clock::now(),
        tally,
    })
}

/// Pins this thread to one of the processors it may use: the `n`th, modulo their number.
fn pin_to(n: usize) -> Result<(), LoadError> {
    let refused =
        |call| move |errno: rustix::io::Errno| LoadError::io(call, "(a worker)", errno.into());
    let allowed = sched_getaffinity(None).map_err(refused("sched_getaffinity"))?;
    let mut those = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let count = those.clone().count().max(1);
    let mut one = CpuSet::new();
    one.set(those.nth(n % count).unwrap_or(0));
    sched_setaffinity(None, &one).map_err(refused("sched_setaffinity"))
}
