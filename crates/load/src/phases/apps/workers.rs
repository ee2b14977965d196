//! The workers of a phase: threads with their own descriptors, buffers and timelines.

use super::inventory::Inventory;
use super::paths::PathBuffer;
use super::{Parameters, Phase};
use crate::clock;
use crate::engines::Calls;
use crate::engines::listing::Listing;
use crate::engines::null::Facts;
use crate::error::LoadError;
use crate::phases::barrier::run_threads;
use crate::phases::buffer::Buffer;
use crate::phases::timeline::TimelineRecorder;
use crate::phases::{Job, data, op, own_descriptors};
use fsdyno_model::sample::Tally;
use std::ops::Range;

/// A phase with its buffers, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct App {
    phase: Phase,
    parameters: Parameters,
    inventory: Inventory,
    buffers: Vec<WorkerBuffers>,
}

#[derive(Debug)]
pub(super) struct WorkerBuffers {
    /// Random bytes, from which files are filled.
    pub data: Buffer,
    /// The destination of reads.
    pub read: Buffer,
    pub listing: Listing,
    pub timeline: TimelineRecorder,
    /// Two paths: the old and the new name of a file.
    pub path: PathBuffer,
    pub other: PathBuffer,
}

pub(super) struct Worker<'a> {
    pub job: &'a Job<'a>,
    pub parameters: &'a Parameters,
    pub inventory: &'a Inventory,
    pub buffers: &'a mut WorkerBuffers,
    number: usize,
}

impl WorkerBuffers {
    fn new() -> Self {
        Self {
            data: op::incompressible(data::BUFFER),
            read: Buffer::filled(0xa5, data::BUFFER),
            listing: Listing::default(),
            timeline: TimelineRecorder::new(),
            path: PathBuffer::new(),
            other: PathBuffer::new(),
        }
    }
}

impl Worker<'_> {
    /// The share of this worker in a number of items.
    pub fn share(&self, all: usize) -> Range<usize> {
        let workers = self.parameters.workers;
        all * self.number / workers..all * (self.number + 1) / workers
    }

    /// Counts a file and its bytes after an operation, and checks for cancellation.
    #[inline]
    pub fn ended(&mut self, tally: &mut Tally, bytes: u64) -> Result<(), LoadError> {
        tally.files += 1;
        tally.bytes.0 += bytes;
        self.buffers.timeline.follow(tally);
        Ok(self.job.stop.check()?)
    }
}

impl App {
    /// Draws the files and allocates the buffers of a phase.
    pub fn new(phase: Phase, parameters: Parameters) -> Self {
        Self {
            phase,
            inventory: Inventory::of(phase.family(), &parameters),
            buffers: (0..parameters.workers)
                .map(|_| WorkerBuffers::new())
                .collect(),
            parameters,
        }
    }

    /// The synthetic tree for the engine that accesses no file.
    pub fn facts(&self) -> Facts {
        Facts {
            files: (self.inventory.items.len() as u64).max(1),
            directories: 1,
            bytes: self.inventory.bytes() + self.parameters.size,
        }
    }

    /// The combined timeline of all workers.
    pub fn timeline(&self) -> TimelineRecorder {
        TimelineRecorder::joined(self.buffers.iter().map(|buffers| &buffers.timeline))
    }

    pub fn run<C: Calls + Send>(
        &mut self,
        calls: &mut C,
        job: &Job<'_>,
    ) -> Result<Tally, LoadError> {
        let phase = self.phase;
        let began = clock::now();
        let mut workers: Vec<(C, Worker<'_>)> = (0..)
            .zip(&mut self.buffers)
            .map(|(number, buffers)| {
                buffers.timeline.begin_at(began);
                let worker = Worker {
                    job,
                    parameters: &self.parameters,
                    inventory: &self.inventory,
                    buffers,
                    number,
                };
                (calls.another(), worker)
            })
            .collect();
        if let [(calls, worker)] = &mut workers[..] {
            return phase.work(calls, worker);
        }
        let done = run_threads(&mut workers, |(calls, worker)| {
            own_descriptors()?;
            phase.work(calls, worker)
        });
        let mut sum = Tally::default();
        for tally in done {
            sum.add(&tally?);
        }
        Ok(sum)
    }
}
