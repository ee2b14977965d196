//! The disk's memory for readers: what was read before, and what passes under the head while
//! nobody asks for anything else (read-ahead).
//!
//! After a read from the medium the disk goes on reading from where that ended, until it holds a
//! segment that nobody has asked for, or the arm is needed elsewhere. A reader that comes for what
//! follows waits for the stream, and for no turn.

use super::mechanics::{Mechanics, Position};
use std::collections::VecDeque;
use std::ops::Range;

/// Reading ahead.
#[derive(Debug, Clone)]
struct Stream {
    /// The first sector held.
    start: u64,
    /// The next sector to be read.
    next: u64,
    /// When it begins to pass under the head.
    begins: u64,
    /// Where reading ahead ends.
    limit: u64,
}

/// What readers left in memory, and the stream under way.
#[derive(Debug)]
pub struct Ahead {
    /// Those of earlier readers, the latest last.
    segments: VecDeque<Range<u64>>,
    stream: Option<Stream>,
    /// How many segments there are in all, and sectors of each.
    most: usize,
    sectors: u64,
    /// Sectors of the disk.
    end: u64,
}

impl Ahead {
    /// Memory for so many segments of so many sectors, on a disk that ends at `end`.
    pub fn new(most: usize, sectors: u64, end: u64) -> Self {
        Self {
            segments: VecDeque::new(),
            stream: None,
            most,
            sectors,
            end,
        }
    }

    /// Lets the stream run until `now`.
    fn run(&mut self, mechanics: &Mechanics, now: u64) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        while stream.next < stream.limit && stream.begins < now {
            let (over, rest) = mechanics.over_by(stream.begins, stream.next, now);
            let run = over.min(stream.limit - stream.next);
            let (ends, position) = mechanics.pass(stream.begins, stream.next, run.max(1));
            if run == 0 {
                break;
            }
            stream.next += run;
            stream.begins = ends;
            if run == rest && stream.next < stream.limit {
                let place = mechanics.geometry().place(stream.next);
                let ready = ends + mechanics.moves(position, Position::from(&place));
                stream.begins = mechanics.geometry().comes_round(&place, ready);
            } else if run < rest {
                break;
            }
        }
        stream.start = stream.start.max(stream.next.saturating_sub(self.sectors));
    }

    /// Whether all of these sectors are in memory at `now`.
    pub fn holds(&mut self, mechanics: &Mechanics, now: u64, sectors: &Range<u64>) -> bool {
        self.run(mechanics, now);
        let within = |held: &Range<u64>| held.start <= sectors.start && sectors.end <= held.end;
        self.segments.iter().any(within) || self.streamed().is_some_and(|held| within(&held))
    }

    /// A reader took sectors from memory: the stream may go on as far behind them.
    pub fn taken(&mut self, sectors: &Range<u64>) {
        let (most, end) = (self.sectors, self.end);
        if let Some(stream) = &mut self.stream
            && stream.next < stream.limit
            && (stream.start..=stream.next).contains(&sectors.end)
        {
            stream.limit = stream.limit.max((sectors.end + most).min(end));
        }
    }

    /// When the stream, which is running at `now`, will have passed these sectors; none where it
    /// does not lead there.
    pub fn follow(&mut self, mechanics: &Mechanics, now: u64, sectors: &Range<u64>) -> Option<u64> {
        self.run(mechanics, now);
        let (most, end) = (self.sectors, self.end);
        let stream = self.stream.as_mut()?;
        let running = stream.next < stream.limit;
        if !running || sectors.start < stream.start || sectors.start > stream.limit {
            return None;
        }
        stream.limit = stream.limit.max((sectors.end + most).min(end));
        let left = sectors.end.saturating_sub(stream.next);
        if left == 0 {
            return Some(now);
        }
        Some(mechanics.pass(stream.begins, stream.next, left).0)
    }

    /// Of these sectors, those that the stream did not leave in memory before it stopped.
    pub fn missing(&self, sectors: &Range<u64>) -> Range<u64> {
        match self.streamed() {
            Some(held) if held.contains(&sectors.start) => held.end.min(sectors.end)..sectors.end,
            _ => sectors.clone(),
        }
    }

    /// Sectors were read from the medium until `ends`: the stream goes on from there.
    pub fn begin(&mut self, mechanics: &Mechanics, sectors: &Range<u64>, ends: u64, at: Position) {
        self.stop();
        let limit = (sectors.end + self.sectors).min(self.end);
        let mut begins = ends;
        if sectors.end < self.end {
            let place = mechanics.geometry().place(sectors.end);
            let ready = ends + mechanics.moves(at, Position::from(&place));
            begins = mechanics.geometry().comes_round(&place, ready);
        }
        self.stream = Some(Stream {
            start: sectors.start.max(sectors.end.saturating_sub(self.sectors)),
            next: sectors.end,
            begins,
            limit,
        });
    }

    /// The arm is needed at `now`: where the stream has brought it, if there is one; what it held
    /// stays in memory.
    pub fn interrupt(&mut self, mechanics: &Mechanics, now: u64) -> Option<Position> {
        self.run(mechanics, now);
        let stream = self.stream.as_ref()?;
        let at = if stream.next < stream.limit {
            stream.next
        } else {
            stream.next.saturating_sub(1)
        };
        let position = Position::from(&mechanics.geometry().place(at));
        self.stop();
        Some(position)
    }

    /// These sectors were written: what was read of them before is old.
    pub fn overwritten(&mut self, mechanics: &Mechanics, now: u64, sectors: &Range<u64>) {
        self.run(mechanics, now);
        let apart = |held: &Range<u64>| held.end <= sectors.start || held.start >= sectors.end;
        self.segments.retain(apart);
        if let Some(stream) = &mut self.stream {
            if !apart(&(stream.start..stream.next)) {
                // What lies behind the written sectors is not worth a segment of its own.
                stream.start = stream.next;
            }
            if sectors.start >= stream.next {
                stream.limit = stream.limit.min(sectors.start.max(stream.next));
            } else {
                stream.limit = stream.next;
            }
        }
    }

    /// The same memory with nothing in it.
    pub fn emptied(&self) -> Self {
        Self::new(self.most, self.sectors, self.end)
    }

    fn streamed(&self) -> Option<Range<u64>> {
        self.stream.as_ref().map(|stream| stream.start..stream.next)
    }

    fn stop(&mut self) {
        if let Some(held) = self.streamed().filter(|held| !held.is_empty()) {
            self.segments.push_back(held);
        }
        self.stream = None;
        // One segment belongs to the stream that comes.
        while self.segments.len() >= self.most {
            self.segments.pop_front();
        }
    }
}
