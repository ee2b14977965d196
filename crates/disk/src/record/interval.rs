//! Counters between two marks of the workload: requests and bytes by kind, seek distances, latency
//! breakdown, and device counters.
//!
//! Requests count at completion, seeks at submission. After [`MAX_MARKS`] marks the last interval
//! continues, so that memory is bounded.

use crate::models::Work;
use crate::request::{Completion, Kind, Request, SECTOR};
use fsdyno_model::disk_use::Tallied;
use fsdyno_model::{DiskUse, Nanos, Waits};

/// Maximum number of separate intervals.
pub const MAX_MARKS: usize = 16_384;

/// The interval from one mark to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interval {
    /// The mark at its start. Empty for the interval before the first mark.
    pub label: String,
    pub from: Nanos,
    pub until: Nanos,
    /// Counters of the disk.
    pub did: DiskUse,
}

fn of_mut(did: &mut DiskUse, kind: Kind) -> &mut Tallied {
    match kind {
        Kind::Read => &mut did.reads,
        Kind::Write | Kind::WriteZeroes => &mut did.writes,
        Kind::Discard => &mut did.discards,
        Kind::Flush => &mut did.flushes,
    }
}

fn waited_mut(waits: &mut Waits, kind: Kind) -> &mut Nanos {
    match kind {
        Kind::Read => &mut waits.reads,
        Kind::Write | Kind::WriteZeroes => &mut waits.writes,
        Kind::Discard => &mut waits.discards,
        Kind::Flush => &mut waits.flushes,
    }
}

/// All intervals so far.
#[derive(Debug)]
pub(super) struct Intervals {
    all: Vec<Interval>,
    uncounted: u64,
    /// End of the previous request's extent.
    ended_at: Option<u64>,
    /// Device counters at the start of the last interval.
    work: Option<Work>,
    /// Requests in flight, and the time until which they are counted.
    in_flight: u64,
    counted_until: Nanos,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            all: vec![Interval::default()],
            uncounted: 0,
            ended_at: None,
            work: None,
            in_flight: 0,
            counted_until: Nanos(0),
        }
    }
}

impl Intervals {
    pub fn all(&self) -> &[Interval] {
        &self.all
    }

    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    fn last(&mut self) -> &mut Interval {
        if self.all.is_empty() {
            self.all.push(Interval::default());
        }
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Starts the recording. Earlier device work counts in no interval.
    pub fn begun(&mut self, at: Nanos, work: Work) {
        self.work.get_or_insert(work);
        let last = self.last();
        if last.until == Nanos(0) {
            (last.from, last.until) = (at, at);
        }
    }

    pub fn submitted(&mut self, at: Nanos, request: &Request) {
        self.passed(at);
        self.in_flight += 1;
        if !request.kind.moves() {
            return;
        }
        let before = self.ended_at.replace(request.sector + request.sectors);
        if let Some(before) = before.filter(|before| *before != request.sector) {
            let did = &mut self.last().did;
            did.seeks += 1;
            did.seek_distance.0 += before.abs_diff(request.sector) * SECTOR;
        }
    }

    pub fn completed(&mut self, completion: &Completion, work: Work) {
        self.worked(completion.completed, work);
        self.passed(completion.completed);
        // The submission of this request preceded the recording.
        self.in_flight = self.in_flight.saturating_sub(1);
        let did = &mut self.last().did;
        let tallied = of_mut(did, completion.request.kind);
        tallied.requests += 1;
        tallied.bytes += completion.request.bytes();
        tallied.failed += u64::from(completion.result.is_err());
        did.causes += completion.causes;
        let mut waits = did.waits.unwrap_or_default();
        waited_mut(&mut waits, completion.request.kind).0 += completion.latency().0;
        did.waits = Some(waits);
        did.slowest = did.slowest.max(completion.latency());
    }

    /// Adds device counters to the current interval.
    fn worked(&mut self, at: Nanos, work: Work) {
        let before = *self.work.get_or_insert(work);
        let last = self.last();
        last.until = last.until.max(at);
        last.did.work = work.since(&before);
    }

    pub fn marked(&mut self, at: Nanos, text: &str, work: Work) {
        self.worked(at, work);
        self.passed(at);
        if self.all.len() >= MAX_MARKS {
            self.uncounted += 1;
            return;
        }
        self.work = Some(work);
        self.all.push(Interval {
            label: text.to_owned(),
            from: at,
            until: at,
            ..Interval::default()
        });
    }

    pub fn ended(&mut self, at: Nanos, work: Work) {
        self.worked(at, work);
        self.passed(at);
    }

    /// Power cut: no request is in flight.
    pub fn power_cut(&mut self, at: Nanos) {
        self.passed(at);
        self.in_flight = 0;
    }

    /// Adds elapsed time at the current queue depth.
    fn passed(&mut self, at: Nanos) {
        let passed = at.0.saturating_sub(self.counted_until.0);
        self.counted_until = self.counted_until.max(at);
        let busy = if self.in_flight > 0 { passed } else { 0 };
        let did = &mut self.last().did;
        did.busy = Some(Nanos(did.busy.unwrap_or_default().0 + busy));
    }
}
