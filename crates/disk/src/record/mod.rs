//! The recorder: every request as it was submitted and as it completed, and the workload's own
//! marks, in one sequence; and, without keeping any of that, what went on between two marks.
//!
//! The sequence goes to a sink as it arises, so that memory stays bounded. What the figures mean
//! for a file system is told elsewhere.

mod codec;
mod hash;
mod interval;
mod stream;

pub use hash::hash;
pub use interval::Interval;
pub use stream::{RecordError, Records, Writer};

use crate::models::Work;
use crate::request::{Causes, Completion, Failure, Kind, Request};
use fsdyno_model::Nanos;
use interval::Intervals;
use std::fmt;
use std::io;

/// One entry of the sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A request was submitted.
    Submitted {
        /// When.
        at: Nanos,
        /// Its place in the order of submissions.
        order: u64,
        /// The request; its `id` is the front end's and not recorded: 0.
        request: Request,
        /// The hash of its payload, where it has one.
        hash: Option<u64>,
    },
    /// The payload of the request before, where they are kept.
    Payload {
        /// The order of that request.
        order: u64,
        /// Its bytes.
        bytes: Box<[u8]>,
    },
    /// A request completed.
    Completed {
        /// When.
        at: Nanos,
        /// Its place in the order of submissions.
        order: u64,
        /// Whether it was done.
        result: Result<(), Failure>,
        /// Where its time went.
        causes: Causes,
    },
    /// The workload's own mark: `fsync of a/b returned`, `phase copy begins`.
    Mark {
        /// When.
        at: Nanos,
        /// What it says.
        text: String,
    },
    /// The power went, and came back.
    Cut {
        /// When.
        at: Nanos,
        /// The seed of what remained.
        seed: u64,
    },
}

/// Where the sequence goes.
pub trait Sink: Send {
    /// Takes the next entry.
    fn note(&mut self, record: &Record) -> io::Result<()>;

    /// Lays down what it still holds.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What of the payloads is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Payloads {
    /// Nothing.
    No,
    /// Their hashes.
    #[default]
    Hashes,
    /// They themselves, and their hashes.
    Kept,
}

/// Records what a disk does.
pub struct Recorder {
    sink: Option<Box<dyn Sink>>,
    payloads: Payloads,
    intervals: Intervals,
    trouble: Option<io::Error>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("payloads", &self.payloads)
            .field("intervals", &self.intervals)
            .field("trouble", &self.trouble)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Only what went on between marks is told.
    pub fn figures() -> Self {
        Self {
            sink: None,
            payloads: Payloads::No,
            intervals: Intervals::default(),
            trouble: None,
        }
    }

    /// Every request goes to `sink` as well.
    pub fn to(sink: Box<dyn Sink>, payloads: Payloads) -> Self {
        Self {
            sink: Some(sink),
            payloads,
            ..Self::figures()
        }
    }

    /// What went on between marks, so far: the last interval is still under way.
    pub fn intervals(&self) -> &[Interval] {
        self.intervals.all()
    }

    /// How many marks began no interval of their own, because there were too many.
    pub fn marks_unheeded(&self) -> u64 {
        self.intervals.unheeded()
    }

    /// What kept the sink from taking an entry: the sequence ends before it.
    pub fn trouble(&self) -> Option<&io::Error> {
        self.trouble.as_ref()
    }

    pub(crate) fn begun(&mut self, at: Nanos, work: Work) {
        self.intervals.begun(at, work);
    }

    pub(crate) fn submitted(
        &mut self,
        at: Nanos,
        order: u64,
        request: &Request,
        payload: Option<&[u8]>,
    ) {
        self.intervals.submitted(at, request);
        if self.sink.is_none() {
            return;
        }
        let hashed = payload.filter(|_| self.payloads != Payloads::No);
        self.note(&Record::Submitted {
            at,
            order,
            request: Request { id: 0, ..*request },
            hash: hashed.map(hash),
        });
        if let Some(bytes) = payload.filter(|_| self.payloads == Payloads::Kept) {
            let bytes = bytes.into();
            self.note(&Record::Payload { order, bytes });
        }
    }

    pub(crate) fn completed(&mut self, completion: &Completion, work: Work) {
        self.intervals.completed(completion, work);
        if self.sink.is_some() {
            self.note(&Record::Completed {
                at: completion.completed,
                order: completion.order,
                result: completion.result,
                causes: completion.causes,
            });
        }
    }

    pub(crate) fn marked(&mut self, at: Nanos, text: &str, work: Work) {
        self.intervals.marked(at, text, work);
        if self.sink.is_some() {
            let text = text.to_owned();
            self.note(&Record::Mark { at, text });
        }
    }

    pub(crate) fn note(&mut self, record: &Record) {
        if let Record::Cut { at, .. } = record {
            self.intervals.cut(*at);
        }
        if self.trouble.is_none()
            && let Some(sink) = &mut self.sink
            && let Err(error) = sink.note(record)
        {
            self.trouble = Some(error);
        }
    }

    pub(crate) fn ended(mut self, now: u64, work: Work) -> Self {
        self.intervals.ended(Nanos(now), work);
        if self.trouble.is_none()
            && let Some(sink) = &mut self.sink
            && let Err(error) = sink.finish()
        {
            self.trouble = Some(error);
        }
        self
    }
}

impl Kind {
    /// Whether it asks for an extent of sectors that data move from or to.
    pub(crate) fn moves(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::WriteZeroes)
    }
}

#[cfg(test)]
mod tests;
