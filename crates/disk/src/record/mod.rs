//! The recorder stores every submission, every completion and the workload's marks in one sequence.
//! It also counts the work between marks, which needs no stored sequence.
//!
//! The sequence goes to a sink immediately, so that memory is bounded. The analysis of the figures
//! is elsewhere.

mod codec;
mod difference;
mod hash;
mod interval;
mod stream;
mod text;

pub use difference::{Difference, first_difference, first_difference_of_files};
pub use hash::hash;
pub use interval::Interval;
pub use stream::{RecordError, Records, Writer};

use crate::models::Work;
use crate::request::{Causes, Completion, Failure, Kind, Request};
use fsdyno_model::Nanos;
use interval::Intervals;
use std::fmt;
use std::io;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Submitted {
        at: Nanos,
        /// Place in the order of submissions.
        order: u64,
        /// The request. Its `id` belongs to the transport and is recorded as 0.
        request: Request,
        /// Hash of the payload, if it has one.
        hash: Option<u64>,
    },
    /// Payload of the previous request, if payloads are recorded.
    Payload {
        /// Order of that request.
        order: u64,
        bytes: Box<[u8]>,
    },
    Completed {
        at: Nanos,
        /// Place in the order of submissions.
        order: u64,
        result: Result<(), Failure>,
        causes: Causes,
    },
    /// A mark of the workload: `fsync of a/b returned`, `phase copy begins`.
    Mark {
        at: Nanos,
        text: String,
    },
    PowerCut {
        at: Nanos,
        seed: u64,
    },
}

pub trait Sink: Send {
    /// Writes the next entry.
    fn note(&mut self, record: &Record) -> io::Result<()>;

    /// Whether it takes payloads and their hashes just now.
    fn takes_payloads(&self) -> bool {
        true
    }

    /// Flushes buffered entries.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Recorded part of the payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Payloads {
    No,
    #[default]
    Hashes,
    /// Payloads and hashes.
    Kept,
}

/// Records the activity of a disk.
pub struct Recorder {
    sink: Option<Box<dyn Sink>>,
    payloads: Payloads,
    intervals: Intervals,
    write_error: Option<io::Error>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("payloads", &self.payloads)
            .field("intervals", &self.intervals)
            .field("write_error", &self.write_error)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Creates a recorder that only counts between marks.
    pub fn figures() -> Self {
        Self {
            sink: None,
            payloads: Payloads::No,
            intervals: Intervals::default(),
            write_error: None,
        }
    }

    /// Adds a sink for every request.
    pub fn to(sink: Box<dyn Sink>, payloads: Payloads) -> Self {
        Self {
            sink: Some(sink),
            payloads,
            ..Self::figures()
        }
    }

    /// Counters between marks so far. The last interval is still open.
    pub fn intervals(&self) -> &[Interval] {
        self.intervals.all()
    }

    /// Number of marks without an interval of their own, because of the limit.
    pub fn uncounted_marks(&self) -> u64 {
        self.intervals.uncounted()
    }

    /// The sink's error, if it rejected an entry. The sequence ends before that entry.
    pub fn write_error(&self) -> Option<&io::Error> {
        self.write_error.as_ref()
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
        let Some(sink) = &self.sink else {
            return;
        };
        let payload = payload.filter(|_| sink.takes_payloads());
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
        if let Record::PowerCut { at, .. } = record {
            self.intervals.power_cut(*at);
        }
        if self.write_error.is_none()
            && let Some(sink) = &mut self.sink
            && let Err(error) = sink.note(record)
        {
            self.write_error = Some(error);
        }
    }

    pub(crate) fn ended(mut self, now: u64, work: Work) -> Self {
        self.intervals.ended(Nanos(now), work);
        if self.write_error.is_none()
            && let Some(sink) = &mut self.sink
            && let Err(error) = sink.finish()
        {
            self.write_error = Some(error);
        }
        self
    }
}

impl Kind {
    /// Whether the request transfers data of an extent of sectors.
    pub fn moves(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::WriteZeroes)
    }
}

#[cfg(test)]
mod tests;
