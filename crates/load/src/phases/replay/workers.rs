//! The workers of a replay: threads that share open files, and wait for each other as the recording
//! requires.

use super::divergence::Divergence;
use super::gate::Gate;
use super::pace::Pace;
use super::perform::{Outcome, PIECE, Stage};
use super::plan::Plan;
use crate::buffer::Buffer;
use crate::clock;
use crate::error::LoadError;
use crate::phases::barrier::{Start, run_threads};
use crate::phases::latency::Latencies;
use crate::phases::timeline::{TimelineRecorder, TimelineSummary};
use fsdyno_datasets::recorded::{Recording, written_content};
use fsdyno_model::CancelToken;
use fsdyno_model::sample::Tally;
use fsdyno_model::timeline::LatencyDistribution;
use fsdyno_model::units::{Bytes, Nanos};
use fsdyno_trace::{Action, Operation};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use std::path::Path;

/// The data from which writes take parts.
const CONTENT: usize = 8 << 20;

/// The memory of all read buffers, bytes.
const BUFFERS: usize = 1 << 30;

/// The minimum length of a read buffer: a list of entries, a page, or the value of an attribute.
const MIN_BUFFER: usize = 64 << 10;

/// Descriptors that are not for directories of the tree: libraries, and those of fsdyno.
const RESERVED: u64 = 256;

/// A replay with its buffers, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct Replay {
    recording: Recording,
    plan: Plan,
    pace: Pace,
    content: Buffer,
    rooms: Vec<Room>,
}

#[derive(Debug)]
struct Room {
    number: u32,
    buffer: Buffer,
    /// Its measurements, by its steps.
    records: Vec<Record>,
    divergence: Divergence,
    not_repeated: u64,
    ended: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    step: u32,
    ended: u64,
    latency: u64,
    bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Done {
    /// The time from the first start to the last end.
    pub returned: Nanos,
    pub tally: Tally,
    pub timeline: TimelineSummary,
    pub latencies: Latencies,
    pub divergence: Divergence,
    pub not_repeated: u64,
}

impl Replay {
    /// Allocates the memory of a replay.
    pub fn new(recording: Recording, plan: Plan, pace: Pace) -> Self {
        let most = BUFFERS / plan.workers.len().max(1) / 4096 * 4096;
        let operations = &recording.operations;
        let rooms = (0..).zip(&plan.workers).map(|(number, steps)| {
            let longest = |step: &u32| {
                let step = &plan.steps[*step as usize];
                buffer_of(&operations[step.operation as usize])
            };
            let longest = steps.iter().map(longest).max().unwrap_or(0);
            Room {
                number,
                buffer: Buffer::filled(0xa5, longest.min(most).max(MIN_BUFFER)),
                records: Vec::with_capacity(steps.len()),
                divergence: Divergence::default(),
                not_repeated: 0,
                ended: 0,
            }
        });
        let rooms = rooms.collect();
        let (content, seed) = written_content(&recording);
        Self {
            content: Buffer::generated(content, seed, CONTENT),
            rooms,
            recording,
            plan,
            pace,
        }
    }

    pub fn workers(&self) -> usize {
        self.rooms.len()
    }

    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Performs all operations below a directory.
    pub fn run(&mut self, tree: &Path, stop: &CancelToken) -> Result<Done, LoadError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, tree, flags, Mode::empty())
            .map_err(|errno| LoadError::io("open", tree, errno.into()))?;
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // The other half is for the files of the recording.
        let directories = usize::try_from(limit.saturating_sub(RESERVED) / 2).unwrap_or(usize::MAX);
        let stage = Stage::new(
            root.into(),
            &self.recording.paths,
            &self.plan,
            &self.content,
            directories,
        );
        let (plan, operations) = (&self.plan, &self.recording.operations);
        let gate = Gate::new(self.rooms.len());
        let start = Start::new(self.rooms.len());
        let shift = Shift {
            plan,
            operations,
            stage: &stage,
            gate: &gate,
            pace: &self.pace,
            start: &start,
            stop,
        };
        if let [room] = &mut self.rooms[..] {
            shift.run(room);
        } else {
            run_threads(&mut self.rooms, |room| shift.run(room));
        }
        stop.check()?;
        let ended = self.rooms.iter().map(|room| room.ended).max().unwrap_or(0);
        Ok(self.summary(start.began(), ended))
    }

    /// Everything that the workers measured.
    fn summary(&self, began: u64, ended: u64) -> Done {
        let returned = Nanos(ended.saturating_sub(began));
        let mut records: Vec<Record> = self
            .rooms
            .iter()
            .flat_map(|room| room.records.iter().copied())
            .collect();
        records.sort_unstable_by_key(|record| (record.ended, record.step));
        let mut whole = TimelineRecorder::new();
        whole.begin_at(began);
        let mut kinds: Vec<(&str, Latencies)> = Vec::new();
        let mut bytes = 0;
        for record in &records {
            whole.ended(record.ended, record.latency, record.bytes);
            bytes += record.bytes;
            let step = &self.plan.steps[record.step as usize];
            let kind = self.recording.operations[step.operation as usize]
                .action
                .kind();
            let place = kinds.iter().position(|(known, _)| *known == kind);
            let place = place.unwrap_or_else(|| {
                kinds.push((kind, Latencies::new()));
                kinds.len() - 1
            });
            kinds[place].1.add_one(record.latency);
        }
        kinds.sort_unstable_by_key(|(kind, _)| *kind);
        let distributions = kinds
            .iter()
            .filter_map(|(kind, latencies)| latencies.distribution(kind));
        let distributions: Vec<LatencyDistribution> = distributions.collect();
        let timeline = TimelineSummary {
            latencies: distributions,
            ..whole.summary("operation", returned)
        };
        let mut divergence = Divergence::default();
        self.rooms
            .iter()
            .for_each(|room| divergence.add(&room.divergence));
        Done {
            returned,
            tally: Tally {
                files: 0,
                directories: 0,
                bytes: Bytes(bytes),
                calls: records.len() as u64,
                matches: 0,
            },
            timeline,
            latencies: whole.latencies,
            divergence,
            not_repeated: self.rooms.iter().map(|room| room.not_repeated).sum(),
        }
    }
}

/// The read buffer that an operation needs, bytes.
fn buffer_of(operation: &Operation) -> usize {
    let length = match &operation.action {
        Action::Read { length, .. }
        | Action::SendFile { length, .. }
        | Action::SpliceFrom { length, .. }
        | Action::ReadDirectory { length, .. } => *length,
        _ => 0,
    };
    usize::try_from(length).unwrap_or(PIECE).min(PIECE)
}

/// The work of all workers.
struct Shift<'a> {
    plan: &'a Plan,
    operations: &'a [Operation],
    stage: &'a Stage<'a>,
    gate: &'a Gate,
    pace: &'a Pace,
    start: &'a Start,
    stop: &'a CancelToken,
}

impl Shift<'_> {
    fn run(&self, room: &mut Room) {
        self.pace.prepare_thread();
        self.start.wait();
        let began = self.start.begin();
        let steps = &self.plan.workers[room.number as usize];
        for (completed, at) in (1..).zip(steps) {
            let step = &self.plan.steps[*at as usize];
            let operation = &self.operations[step.operation as usize];
            let due = self
                .pace
                .due(began, step.start_ns.saturating_sub(self.plan.start_ns));
            for wait in step.waits(self.plan) {
                if !self.gate.wait(*wait) {
                    return;
                }
            }
            if let Some(due) = due {
                Pace::wait(due, self.stop);
            }
            if self.stop.requested() || self.gate.has_ended() {
                self.gate.end();
                return;
            }
            let before = due.unwrap_or_else(clock::now);
            let number = step.operation as usize;
            let outcome = self
                .stage
                .perform(number, operation, step, &mut room.buffer);
            let ended = clock::now();
            match outcome {
                Outcome::Returned(value) => {
                    room.records.push(Record {
                        step: *at,
                        ended,
                        latency: ended.saturating_sub(before),
                        bytes: bytes(&operation.action, value),
                    });
                    room.divergence.compare(operation, step, value);
                }
                // Waits, and files that were open before, are no operations of their own.
                Outcome::NotRepeated if is_counted(&operation.action) => room.not_repeated += 1,
                Outcome::NotRepeated => {}
            }
            room.ended = ended;
            self.gate.complete(room.number, completed);
        }
    }
}

fn is_counted(action: &Action) -> bool {
    !matches!(action, Action::Wait { .. } | Action::Inherit { .. })
}

/// The bytes that an operation transferred.
fn bytes(action: &Action, value: i64) -> u64 {
    match action {
        Action::Read { .. }
        | Action::Write { .. }
        | Action::Copy { .. }
        | Action::SendFile { .. }
        | Action::SpliceFrom { .. }
        | Action::SpliceTo { .. } => u64::try_from(value).unwrap_or(0),
        _ => 0,
    }
}
