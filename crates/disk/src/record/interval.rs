//! What went on between two marks of the workload: requests and bytes by kind, how far the next
//! request lay from the last, where their time went, and what the device did for it.
//!
//! Requests are counted where they complete, jumps where they are submitted. Bounded: beyond
//! [`MOST`] marks the last interval goes on.

use crate::models::Work;
use crate::request::{Causes, Completion, Kind, Request};
use fsdyno_model::Nanos;
use serde::{Deserialize, Serialize};

/// The most intervals that are told apart.
pub const MOST: usize = 16_384;

/// Requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tallied {
    /// How many completed.
    pub requests: u64,
    /// Bytes of their extents.
    pub bytes: u64,
    /// How many of them failed.
    pub failed: u64,
}

/// From one mark to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// The mark it begins with; empty for what came before the first.
    pub label: String,
    /// When it began.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// Reads.
    pub reads: Tallied,
    /// Writes, of zeros too.
    pub writes: Tallied,
    /// Discards.
    pub discards: Tallied,
    /// Flushes.
    pub flushes: Tallied,
    /// Reads and writes that did not begin where the one before ended.
    pub jumps: u64,
    /// How many sectors they lay away from there, together.
    pub jumped_sectors: u64,
    /// The time of all requests, by cause: what was waited for, added up over all that waited.
    pub causes: Causes,
    /// The longest that one took.
    pub slowest: Nanos,
    /// What the device did meanwhile, on its own account too.
    pub work: Work,
}

impl Interval {
    /// How many bytes the medium was written for each that was asked to be: of the host, or of
    /// the workload, whoever asked; none where nothing was asked.
    pub fn write_amplification(&self, asked: u64) -> Option<f64> {
        (asked > 0).then(|| self.work.medium_written as f64 / asked as f64)
    }

    /// The requests of a kind.
    pub fn of(&self, kind: Kind) -> &Tallied {
        match kind {
            Kind::Read => &self.reads,
            Kind::Write | Kind::WriteZeroes => &self.writes,
            Kind::Discard => &self.discards,
            Kind::Flush => &self.flushes,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Tallied {
        match kind {
            Kind::Read => &mut self.reads,
            Kind::Write | Kind::WriteZeroes => &mut self.writes,
            Kind::Discard => &mut self.discards,
            Kind::Flush => &mut self.flushes,
        }
    }
}

/// All intervals so far.
#[derive(Debug)]
pub(super) struct Intervals {
    all: Vec<Interval>,
    unheeded: u64,
    /// Where the request before ended.
    ended_at: Option<u64>,
    /// What the device had done when the last interval began.
    work: Option<Work>,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            all: vec![Interval::default()],
            unheeded: 0,
            ended_at: None,
            work: None,
        }
    }
}

impl Intervals {
    pub fn all(&self) -> &[Interval] {
        &self.all
    }

    pub fn unheeded(&self) -> u64 {
        self.unheeded
    }

    fn last(&mut self) -> &mut Interval {
        if self.all.is_empty() {
            self.all.push(Interval::default());
        }
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Recording begins: what the device did before is nobody's.
    pub fn begun(&mut self, at: Nanos, work: Work) {
        self.work.get_or_insert(work);
        let last = self.last();
        if last.until == Nanos(0) {
            (last.from, last.until) = (at, at);
        }
    }

    pub fn submitted(&mut self, request: &Request) {
        if !request.kind.moves() {
            return;
        }
        let before = self.ended_at.replace(request.sector + request.sectors);
        if let Some(before) = before.filter(|before| *before != request.sector) {
            let last = self.last();
            last.jumps += 1;
            last.jumped_sectors += before.abs_diff(request.sector);
        }
    }

    pub fn completed(&mut self, completion: &Completion, work: Work) {
        self.worked(completion.completed, work);
        let last = self.last();
        let tallied = last.of_mut(completion.request.kind);
        tallied.requests += 1;
        tallied.bytes += completion.request.bytes();
        tallied.failed += u64::from(completion.result.is_err());
        last.causes += completion.causes;
        last.slowest = last.slowest.max(completion.latency());
    }

    /// What the device has done belongs to the interval under way.
    fn worked(&mut self, at: Nanos, work: Work) {
        let before = *self.work.get_or_insert(work);
        let last = self.last();
        last.until = last.until.max(at);
        last.work = work.since(&before);
    }

    pub fn marked(&mut self, at: Nanos, text: &str, work: Work) {
        self.worked(at, work);
        if self.all.len() >= MOST {
            self.unheeded += 1;
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
    }
}
