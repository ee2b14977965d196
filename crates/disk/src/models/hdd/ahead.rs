//! Read cache: segments of earlier reads and read-ahead.
//!
//! After a read from the medium, the disk continues to read. It stops when a segment is full of
//! sectors that no read has requested, or when the arm has other work. A sequential read waits for
//! this stream and not for a revolution.

use super::mechanics::{Mechanics, Position};
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Debug, Clone)]
struct Stream {
    /// First sector in the cache.
    start: u64,
    next: u64,
    /// Time at which it starts to pass the head.
    begins: u64,
    /// Sector at which read-ahead stops.
    limit: u64,
}

/// Cached segments and the active read-ahead stream.
#[derive(Debug)]
pub struct Ahead {
    /// Segments of earlier reads, latest last.
    segments: VecDeque<Range<u64>>,
    stream: Option<Stream>,
    /// Number of segments and sectors per segment.
    most: usize,
    sectors: u64,
    end: u64,
}

impl Ahead {
    /// Creates a cache of segments for a disk that ends at `end`.
    pub fn new(most: usize, sectors: u64, end: u64) -> Self {
        Self {
            segments: VecDeque::new(),
            stream: None,
            most,
            sectors,
            end,
        }
    }

    /// Advances the stream to `now`.
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
                stream.begins = mechanics.geometry().sector_passes_at(&place, ready);
            } else if run < rest {
                break;
            }
        }
        stream.start = stream.start.max(stream.next.saturating_sub(self.sectors));
    }

    /// Whether the cache contains all of these sectors at `now`.
    pub fn holds(&mut self, mechanics: &Mechanics, now: u64, sectors: &Range<u64>) -> bool {
        self.run(mechanics, now);
        let within = |held: &Range<u64>| held.start <= sectors.start && sectors.end <= held.end;
        self.segments.iter().any(within) || self.streamed().is_some_and(|held| within(&held))
    }

    /// A read hit these sectors: extends the limit of the stream behind them.
    pub fn taken(&mut self, sectors: &Range<u64>) {
        let (most, end) = (self.sectors, self.end);
        if let Some(stream) = &mut self.stream
            && stream.next < stream.limit
            && (stream.start..=stream.next).contains(&sectors.end)
        {
            stream.limit = stream.limit.max((sectors.end + most).min(end));
        }
    }

    /// Time at which the active stream will have passed these sectors, or none if it ends before.
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

    /// Of these sectors, the ones that the stopped stream has not cached.
    pub fn missing(&self, sectors: &Range<u64>) -> Range<u64> {
        match self.streamed() {
            Some(held) if held.contains(&sectors.start) => held.end.min(sectors.end)..sectors.end,
            _ => sectors.clone(),
        }
    }

    /// A read from the medium ended at `ends`: the stream continues from there.
    pub fn begin(&mut self, mechanics: &Mechanics, sectors: &Range<u64>, ends: u64, at: Position) {
        self.stop();
        let limit = (sectors.end + self.sectors).min(self.end);
        let mut begins = ends;
        if sectors.end < self.end {
            let place = mechanics.geometry().place(sectors.end);
            let ready = ends + mechanics.moves(at, Position::from(&place));
            begins = mechanics.geometry().sector_passes_at(&place, ready);
        }
        self.stream = Some(Stream {
            start: sectors.start.max(sectors.end.saturating_sub(self.sectors)),
            next: sectors.end,
            begins,
            limit,
        });
    }

    /// Stops the stream at `now`. Returns the arm's position, if there was a stream. Its sectors
    /// stay in the cache.
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

    /// Invalidates cached sectors after a write.
    pub fn overwritten(&mut self, mechanics: &Mechanics, now: u64, sectors: &Range<u64>) {
        self.run(mechanics, now);
        let disjoint = |held: &Range<u64>| held.end <= sectors.start || held.start >= sectors.end;
        self.segments.retain(disjoint);
        if let Some(stream) = &mut self.stream {
            if !disjoint(&(stream.start..stream.next)) {
                // The part after the written sectors is too small for its own segment.
                stream.start = stream.next;
            }
            if sectors.start >= stream.next {
                stream.limit = stream.limit.min(sectors.start.max(stream.next));
            } else {
                stream.limit = stream.next;
            }
        }
    }

    /// An empty cache of the same size.
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
        // One segment is reserved for the next stream.
        while self.segments.len() >= self.most {
            self.segments.pop_front();
        }
    }
}
