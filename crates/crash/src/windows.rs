//! The requests of a trace, and its windows: the times between two moments at which data becomes
//! durable.
//!
//! A flush makes durable what had completed when it was submitted. A write with FUA, or
//! to a disk that loses no completed write, is durable when it completes. Within a window nothing becomes durable, so its end permits every state that its
//! earlier moments permit, and the most has been promised there.

use crate::trace::{Data, SECTOR, Trace, TraceEvent};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The maximum number of sectors that the requests of a trace may change, counted once for each
/// request.
pub const MAX_SECTORS: u64 = 1 << 23;

/// A write, a write of zeros or a discard of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its place in the order of submissions.
    pub order: u64,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Its content.
    pub data: Data,
    /// Whether it is durable when it completes.
    pub fua: bool,
    /// The number of events before its submission.
    pub submitted: usize,
    /// The number of events before its completion; none if it is in flight at the end.
    pub completed: Option<usize>,
    /// How many flushes were submitted before it.
    pub epoch: u32,
}

/// A flush of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush {
    /// Its place in the order of submissions.
    pub order: u64,
    /// The number of events before its submission.
    pub submitted: usize,
    /// The number of events before its completion; none if it is in flight at the end.
    pub completed: Option<usize>,
}

/// A time in which nothing becomes durable. The power is cut at its end: after `end` events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Its number, from 0.
    pub number: u32,
    /// The number of events before it.
    pub start: usize,
    /// The number of events before its end.
    pub end: usize,
    /// The request whose completion began it, by its order; none for the first window.
    pub begun_by: Option<u64>,
    /// The request whose completion ends it, by its order; none for the last window.
    pub ended_by: Option<u64>,
    /// What completed before this number of events is durable, because a flush that was submitted
    /// there has completed.
    pub(crate) flushed: usize,
    /// How many changes were submitted before the end.
    pub(crate) changes: usize,
    /// The changes that became durable when it began.
    pub(crate) newly_durable: Vec<u32>,
}

/// The operations that had begun and returned at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The operations that had begun.
    pub began: BTreeSet<u32>,
    /// The operations that had returned without an error.
    pub returned: BTreeSet<u32>,
}

/// A trace that no disk can have produced, or that is too large.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Two submissions have one place.
    #[error("event {event} of the trace: request {order} is submitted again")]
    Repeated {
        /// The event.
        event: usize,
        /// The request.
        order: u64,
    },
    /// The places of submissions do not increase.
    #[error("event {event} of the trace: request {order} is submitted after request {before}")]
    Disordered {
        /// The event.
        event: usize,
        /// The request.
        order: u64,
        /// The request before.
        before: u64,
    },
    /// A request completes that is not in flight.
    #[error("event {event} of the trace: request {order} completes, but is not in flight")]
    NotInFlight {
        /// The event.
        event: usize,
        /// The request.
        order: u64,
    },
    /// A write of no sectors, of a part of a sector, or beyond the last address.
    #[error("event {event} of the trace: request {order} has no extent of whole sectors")]
    Extent {
        /// The event.
        event: usize,
        /// The request.
        order: u64,
    },
    /// It changes too many sectors.
    #[error("the trace changes more than {MAX_SECTORS} sectors; explore a shorter program")]
    TooLarge,
}

/// The requests, windows and marks of a trace.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    /// Writes and discards in the order of submission.
    pub changes: Vec<Change>,
    /// Flushes in the order of submission.
    pub flushes: Vec<Flush>,
    /// The windows in order of time; there is at least one.
    pub windows: Vec<Window>,
    /// Number of events before each mark, whether an operation returned, and its number.
    marks: Vec<(usize, bool, u32)>,
}

impl Change {
    /// Whether it had completed before the other was submitted, so that it cannot overwrite it.
    pub fn precedes(&self, other: &Self) -> bool {
        self.completed_before(other.submitted)
    }

    /// Whether it had completed within the first `events` events.
    pub(crate) fn completed_before(&self, events: usize) -> bool {
        self.completed.is_some_and(|at| at < events)
    }

    /// Whether it is a discard. The content of a discarded sector is never certain, so no flush
    /// makes a discard durable.
    pub fn is_discard(&self) -> bool {
        matches!(self.data, Data::Discarded { .. })
    }

    /// Whether it is durable at a moment: `end` events have happened, and a completed flush covers
    /// what completed before `flushed` events.
    pub(crate) fn is_durable(&self, flushed: usize, end: usize) -> bool {
        !self.is_discard()
            && (self.completed_before(flushed) || self.fua && self.completed_before(end))
    }

    /// Whether it holds this sector.
    pub fn holds(&self, sector: u64) -> bool {
        sector
            .checked_sub(self.sector)
            .is_some_and(|at| at < self.sectors)
    }

    /// Whether both hold a sector.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.sector < other.sector + other.sectors && other.sector < self.sector + self.sectors
    }
}

/// A request in flight: an index in `changes` or in `flushes`.
enum InFlight {
    Change(usize),
    Flush(usize),
}

/// The state while the events of a trace are read.
#[derive(Default)]
struct Reader {
    all: Windows,
    in_flight: BTreeMap<u64, InFlight>,
    /// Completed changes that are not durable, in the order of completion.
    completed: VecDeque<u32>,
    last_order: Option<u64>,
    sectors: u64,
    /// Start of the current window.
    window: Window,
}

impl Windows {
    /// Reads the events of a trace.
    pub fn new(trace: &Trace) -> Result<Self, TraceError> {
        let mut reader = Reader::default();
        for (event, one) in trace.events.iter().enumerate() {
            match one {
                TraceEvent::Write {
                    order,
                    sector,
                    data,
                    fua,
                } => reader.write(event, *order, *sector, data, *fua)?,
                TraceEvent::Flush { order } => {
                    reader.submit(event, *order)?;
                    let place = reader.all.flushes.len();
                    reader.in_flight.insert(*order, InFlight::Flush(place));
                    reader.all.flushes.push(Flush {
                        order: *order,
                        submitted: event,
                        completed: None,
                    });
                }
                TraceEvent::Completed { order } => reader.complete(event, *order)?,
                TraceEvent::Began { operation } => {
                    reader.all.marks.push((event, false, *operation));
                }
                TraceEvent::Returned { operation } => {
                    reader.all.marks.push((event, true, *operation));
                }
            }
        }
        Ok(reader.end(trace.events.len()))
    }

    /// The operations that had begun and returned after this number of events.
    pub fn marks(&self, events: usize) -> Marks {
        let mut marks = Marks::default();
        for (_, returned, operation) in self.marks.iter().take_while(|mark| mark.0 < events) {
            if *returned {
                marks.returned.insert(*operation);
            } else {
                marks.began.insert(*operation);
            }
        }
        marks
    }
}

impl Reader {
    fn submit(&mut self, event: usize, order: u64) -> Result<(), TraceError> {
        match self.last_order.replace(order) {
            Some(before) if before == order => Err(TraceError::Repeated { event, order }),
            Some(before) if before > order => Err(TraceError::Disordered {
                event,
                order,
                before,
            }),
            _ => Ok(()),
        }
    }

    fn write(
        &mut self,
        event: usize,
        order: u64,
        sector: u64,
        data: &Data,
        fua: bool,
    ) -> Result<(), TraceError> {
        self.submit(event, order)?;
        let (sectors, whole) = match data {
            Data::Bytes(bytes) => ((bytes.len() / SECTOR) as u64, bytes.len() % SECTOR == 0),
            Data::Zeros { sectors } | Data::Discarded { sectors } => (*sectors, true),
        };
        let end = sector.checked_add(sectors);
        if sectors == 0 || !whole || end.is_none_or(|end| end > u64::MAX / SECTOR as u64) {
            return Err(TraceError::Extent { event, order });
        }
        self.sectors = self.sectors.saturating_add(sectors);
        if self.sectors > MAX_SECTORS {
            return Err(TraceError::TooLarge);
        }
        let place = self.all.changes.len();
        self.in_flight.insert(order, InFlight::Change(place));
        self.all.changes.push(Change {
            order,
            sector,
            sectors,
            data: data.clone(),
            fua,
            submitted: event,
            completed: None,
            epoch: u32::try_from(self.all.flushes.len()).unwrap_or(u32::MAX),
        });
        Ok(())
    }

    fn complete(&mut self, event: usize, order: u64) -> Result<(), TraceError> {
        let mut durable = Vec::new();
        let mut flushed = self.window.flushed;
        match self.in_flight.remove(&order) {
            None => return Err(TraceError::NotInFlight { event, order }),
            Some(InFlight::Change(place)) => {
                let change = &mut self.all.changes[place];
                change.completed = Some(event);
                // At most 2^23 sectors: the place fits.
                let place = u32::try_from(place).unwrap_or(u32::MAX);
                if !change.is_discard() {
                    if change.fua {
                        durable.push(place);
                    } else {
                        self.completed.push_back(place);
                    }
                }
            }
            Some(InFlight::Flush(place)) => {
                let flush = &mut self.all.flushes[place];
                flush.completed = Some(event);
                flushed = flushed.max(flush.submitted);
                while let Some(first) = self.completed.front()
                    && self.all.changes[*first as usize].completed_before(flush.submitted)
                {
                    durable.extend(self.completed.pop_front());
                }
            }
        }
        if !durable.is_empty() {
            let next = Window {
                number: self.window.number + 1,
                start: event + 1,
                begun_by: Some(order),
                flushed,
                newly_durable: durable,
                ..Window::default()
            };
            self.end_window(event, Some(order), next);
        }
        Ok(())
    }

    fn end_window(&mut self, end: usize, ended_by: Option<u64>, next: Window) {
        let window = std::mem::replace(&mut self.window, next);
        self.all.windows.push(Window {
            end,
            ended_by,
            changes: self.all.changes.len(),
            ..window
        });
    }

    fn end(mut self, events: usize) -> Windows {
        self.end_window(events, None, Window::default());
        self.all
    }
}
