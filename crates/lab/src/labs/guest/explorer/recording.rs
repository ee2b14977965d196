//! Records the requests of the disk under test, and the marks of the guest, in one order.

use fsdyno_crash::{Data, Trace, TraceEvent};
use fsdyno_disk::record::{Record, Sink};
use fsdyno_disk::{Kind, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The recording of a disk. Clones are the same recording.
#[derive(Debug, Clone)]
pub(super) struct Recording(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Whether a completed write survives a power cut without a flush.
    keeps_writes: bool,
    /// Requests in flight, by their place in the order of submissions.
    in_flight: BTreeSet<u64>,
    /// None while nothing is recorded.
    events: Option<Events>,
}

#[derive(Debug, Default)]
struct Events {
    trace: Trace,
    /// The number in the trace of each request in flight.
    numbers: BTreeMap<u64, u64>,
    next: u64,
    /// The write whose payload comes next.
    write: Option<Request>,
}

impl Recording {
    /// `keeps_writes`: on this disk, a completed write survives a power cut without a flush.
    pub fn new(keeps_writes: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            keeps_writes,
            ..State::default()
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records from now on. Requests have numbers from 0.
    pub fn start(&self) {
        self.state().events = Some(Events::default());
    }

    /// Ends the recording; an empty trace if there was none.
    pub fn stop(&self) -> Trace {
        let events = self.state().events.take();
        events.map(|events| events.trace).unwrap_or_default()
    }

    pub fn mark(&self, mark: TraceEvent) {
        if let Some(events) = &mut self.state().events {
            events.trace.events.push(mark);
        }
    }

    /// How many requests are in flight.
    pub fn in_flight(&self) -> usize {
        self.state().in_flight.len()
    }
}

impl Events {
    fn submitted(&mut self, order: u64, request: Request) {
        let number = self.next;
        let event = match request.kind {
            Kind::Read => return,
            Kind::Write => {
                self.write = Some(request);
                None
            }
            Kind::WriteZeroes => Some(Data::Zeros {
                sectors: request.sectors,
            }),
            Kind::Discard => Some(Data::Discarded {
                sectors: request.sectors,
            }),
            Kind::Flush => {
                self.trace.events.push(TraceEvent::Flush { order: number });
                None
            }
        };
        self.numbers.insert(order, number);
        self.next += 1;
        if let Some(data) = event {
            self.write(number, request, data);
        }
    }

    fn write(&mut self, order: u64, request: Request, data: Data) {
        self.trace.events.push(TraceEvent::Write {
            order,
            sector: request.sector,
            data,
            fua: request.fua,
        });
    }
}

impl Sink for Recording {
    fn note(&mut self, record: &Record) -> io::Result<()> {
        let state = &mut *self.state();
        match record {
            Record::Submitted { order, request, .. } => {
                state.in_flight.insert(*order);
                if let Some(events) = &mut state.events {
                    let fua = request.fua || state.keeps_writes;
                    events.submitted(*order, Request { fua, ..*request });
                }
            }
            Record::Payload { order, bytes } => {
                if let Some(events) = &mut state.events
                    && let Some(request) = events.write.take()
                    && let Some(number) = events.numbers.get(order)
                {
                    let data = Data::Bytes(Arc::from(&**bytes));
                    events.write(*number, request, data);
                }
            }
            Record::Completed { order, result, .. } => {
                state.in_flight.remove(order);
                // A request that failed has not completed: its content may be there or not. A
                // request from before the recording has no number.
                if let Some(events) = &mut state.events
                    && let Some(order) = events.numbers.remove(order)
                    && result.is_ok()
                {
                    events.trace.events.push(TraceEvent::Completed { order });
                }
            }
            Record::Mark { .. } | Record::PowerCut { .. } => {}
        }
        Ok(())
    }

    fn takes_payloads(&self) -> bool {
        self.state().events.is_some()
    }
}

#[cfg(test)]
mod order;

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_disk::{Disk, Faults, Memory, Payloads, Profile, Recorder};
    use fsdyno_model::{Bytes, Nanos};
    use std::path::Path;

    #[test]
    fn a_recording_has_requests_and_marks_in_their_order() {
        let profile = Profile::named(Path::new("null")).unwrap();
        let memory = Box::new(Memory::new());
        let mut disk = Disk::new(&profile, Some(Bytes(1 << 20)), memory, Faults::none());
        let [recording, keeping] = [false, true].map(Recording::new);
        let sink = Box::new(recording.clone());
        disk.record(Recorder::to(sink, Payloads::Kept));
        let mut submit = |request, byte: u8| {
            disk.submit(Nanos(0), request, |into| into.fill(byte))
                .unwrap();
            while disk.complete(Nanos(0)).unwrap().is_some() {}
        };
        submit(Request::new(0, Kind::Write, 8, 1), 1);
        recording.start();
        submit(Request::new(0, Kind::Read, 8, 1), 0);
        recording.mark(TraceEvent::Began { operation: 4 });
        submit(Request::new(0, Kind::Write, 9, 1).with_fua(), 2);
        submit(Request::flush(0), 0);
        recording.mark(TraceEvent::Returned { operation: 4 });
        submit(Request::new(0, Kind::Discard, 0, 8), 0);
        assert_eq!(recording.in_flight(), 0);
        let write = |order, sector, data, fua| TraceEvent::Write {
            order,
            sector,
            data,
            fua,
        };
        assert_eq!(
            recording.stop().events,
            [
                TraceEvent::Began { operation: 4 },
                write(0, 9, Data::Bytes(Arc::from([2; 512])), true),
                TraceEvent::Completed { order: 0 },
                TraceEvent::Flush { order: 1 },
                TraceEvent::Completed { order: 1 },
                TraceEvent::Returned { operation: 4 },
                write(2, 0, Data::Discarded { sectors: 8 }, false),
                TraceEvent::Completed { order: 2 },
            ]
        );
        assert_eq!(recording.stop(), Trace::default());
        // Writes to a disk that loses none are durable when they complete.
        disk.record(Recorder::to(Box::new(keeping.clone()), Payloads::Kept));
        keeping.start();
        disk.submit(Nanos(0), Request::new(0, Kind::Write, 9, 1), |into| {
            into.fill(3);
        })
        .unwrap();
        let kept = keeping.stop().events;
        assert_eq!(kept, [write(0, 9, Data::Bytes(Arc::from([3; 512])), true)]);
    }
}
