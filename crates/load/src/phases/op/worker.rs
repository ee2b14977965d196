//! One worker of a phase: its buffers, its input, its limits and its result.

use super::pace::Pace;
use super::random::{RandomOffsets, incompressible};
use super::{Parameters, Phase};
use crate::buffer::Buffer;
use crate::clock::Deadline;
use crate::engines::Engine;
use crate::phases::Job;
use crate::phases::timeline::TimelineRecorder;
use fsdyno_model::sample::Tally;
use std::ffi::CString;

#[derive(Debug)]
pub(super) struct WorkerState {
    pub number: usize,
    /// Its directory, and its large file.
    pub home: CString,
    pub large: CString,
    pub buffer: Buffer,
    pub timeline: TimelineRecorder,
    pub pace: Pace,
    pub offsets: RandomOffsets,
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
    /// The maximum number of files or blocks.
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

pub(super) struct WorkerResult {
    pub ended: u64,
    pub tally: Tally,
}

pub(super) fn home(parameters: &Parameters, worker: usize) -> String {
    let number = if parameters.shared { 0 } else { worker };
    format!("w{number:03}")
}

pub(super) fn large(parameters: &Parameters, worker: usize) -> String {
    let number = if parameters.shared { 0 } else { worker };
    format!("large{number:03}")
}

impl WorkerState {
    /// The buffers of the worker with this number.
    pub fn new<E: Engine>(phase: Phase, parameters: &Parameters, number: usize) -> Self {
        let buffer = if phase.on_data() {
            parameters.block * E::transfer_blocks(parameters.depth)
        } else {
            parameters.bytes.max(1)
        };
        let offsets = if phase.is_random() {
            RandomOffsets::new(parameters.blocks(), parameters.reads, number)
        } else {
            RandomOffsets::default()
        };
        Self {
            number,
            // Neither contains a zero byte.
            home: CString::new(home(parameters, number)).unwrap_or_default(),
            large: CString::new(large(parameters, number)).unwrap_or_default(),
            buffer: incompressible(buffer),
            timeline: TimelineRecorder::new(),
            pace: Pace::new(parameters.rate, parameters.workers),
            offsets,
        }
    }
}
