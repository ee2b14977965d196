//! Flash disk: channels with units, a write buffer, an SLC cache and garbage collection.
//!
//! done = max(now, unit free) + firmware + flash + link: the scheme of `NVMeVirt` (S.-H. Kim and
//! others, USENIX FAST 2023). A unit does one operation at a time. A channel and each direction of
//! the link transfer one piece at a time. The model times every command on arrival. The buffer
//! acknowledges writes. Their pages fill program units, which go to the units in turn. A flush
//! waits for the busiest unit.

mod map;
mod spec;

pub use spec::{FlashSpec, PAGE};

use super::{Command, Model, ModelEvent, Work};
use crate::arithmetic::{bytes_to_ns, ms_to_ns, us_to_ns};
use crate::request::{Causes, Kind, SECTOR};
use map::{Collected, Map};
use std::collections::{BTreeMap, HashMap, VecDeque};

const SECTORS_OF_PAGE: u64 = PAGE / SECTOR;

#[derive(Debug)]
pub struct Flash {
    spec: FlashSpec,
    map: Map,
    /// Times at which each unit, channel and link direction becomes free.
    units: Vec<u64>,
    channels: Vec<u64>,
    link: [u64; 2],
    /// Pages and writes in the program unit that is being filled.
    filling: Vec<(u32, u64)>,
    /// Its target unit, after the first page.
    program: u32,
    /// Arrival time of its last page.
    filled_at: u64,
    /// Program units in flight: completion time and pages.
    programming: VecDeque<(u64, Vec<u32>)>,
    /// Bytes in the buffer.
    buffered: u64,
    /// Time until which a page can be read from the buffer. Unlimited for pages in the open program
    /// unit.
    in_buffer: HashMap<u32, u64>,
    /// Writes with pages that are not programmed: their number, and the completion time of the
    /// others.
    volatile_writes: BTreeMap<u64, (u64, u64)>,
    /// Free bytes of the SLC cache.
    fast_left: u64,
    /// Arrival time of the last command.
    busy_at: u64,
    /// Future events by time.
    events: BTreeMap<(u64, u64), ModelEvent>,
    next_event: u64,
    work: Work,
}

impl Flash {
    /// Creates a disk with this many sectors.
    pub fn new(spec: &FlashSpec, sectors: u64) -> Self {
        let pages = sectors.div_ceil(SECTORS_OF_PAGE);
        let block = u64::from(spec.units()) * u64::from(spec.block_programs) * spec.program_pages();
        Self {
            map: Map::new(pages, spec.spare, block, spec.program_pages()),
            units: vec![0; spec.units() as usize],
            channels: vec![0; spec.channels as usize],
            link: [0; 2],
            filling: Vec::new(),
            program: 0,
            filled_at: 0,
            programming: VecDeque::new(),
            buffered: 0,
            in_buffer: HashMap::new(),
            volatile_writes: BTreeMap::new(),
            fast_left: spec.fast_cache.0,
            busy_at: 0,
            events: BTreeMap::new(),
            next_event: 0,
            work: Work::default(),
            spec: spec.clone(),
        }
    }

    fn expect(&mut self, at: u64, event: ModelEvent) {
        self.events.insert((at, self.next_event), event);
        self.next_event += 1;
    }

    fn done(&mut self, command: &Command, at: u64, mut named: Causes) {
        // Overlapping parts count only the time that the command waited for them.
        let excess = named.total().saturating_sub(at - command.submitted);
        named.transfer -= excess.min(named.transfer);
        let causes = command.causes(at, named);
        let order = command.order;
        self.expect(at, ModelEvent::Done { order, at, causes });
    }

    /// Unit and channel of a program unit.
    fn unit(&self, program: u32) -> (usize, usize) {
        let unit = program % self.spec.units();
        (unit as usize, (unit % self.spec.channels) as usize)
    }

    fn pages(command: &Command) -> std::ops::Range<u32> {
        let fits = |page: u64| u32::try_from(page).unwrap_or(u32::MAX);
        let first = command.sector / SECTORS_OF_PAGE;
        fits(first)..fits(command.end().div_ceil(SECTORS_OF_PAGE))
    }

    fn read(&mut self, now: u64, command: &Command) {
        let firmware = us_to_ns(self.spec.read_firmware_us);
        let ready = now + firmware;
        let read_ns = us_to_ns(self.spec.read_us);
        // Groups of pages that one unit reads at once. Pages in the buffer need no read.
        let mut runs: Vec<(Option<u32>, u64)> = Vec::new();
        for page in Self::pages(command) {
            let buffered = self.in_buffer.get(&page).is_some_and(|until| *until > now);
            let program = (!buffered).then(|| self.map.program(self.map.place(page)));
            match runs.last_mut() {
                Some((last, pages)) if *last == program => *pages += 1,
                _ => runs.push((program, 1)),
            }
        }
        let mut named = Causes {
            overhead: firmware,
            ..Causes::default()
        };
        let mut done = ready;
        let pages: u64 = runs.iter().map(|(_, pages)| pages).sum();
        let mut left = command.bytes();
        for (program, run) in runs {
            // Of a partially read page, only the requested part crosses the link.
            let bytes = left.min((command.bytes() * run).div_ceil(pages));
            left -= bytes;
            let mut there = ready;
            named.transfer = 0;
            if let Some(program) = program {
                let (unit, channel) = self.unit(program);
                let sensed = ready.max(self.units[unit]) + read_ns;
                self.units[unit] = sensed;
                let moving = bytes_to_ns(run * PAGE, self.spec.channel_mb_s);
                there = sensed.max(self.channels[channel]) + moving;
                self.channels[channel] = there;
                named.transfer = read_ns + moving;
                self.work.medium_read += run * PAGE;
                self.work.transfer_ns += read_ns;
            } else {
                self.work.cache_hits += 1;
            }
            let linked = bytes_to_ns(bytes, self.spec.link_mb_s[0]);
            self.link[0] = self.link[0].max(there) + linked;
            named.transfer += linked;
            done = done.max(self.link[0]);
        }
        self.done(command, done, named);
    }

    fn write(&mut self, now: u64, command: &Command) {
        let firmware = us_to_ns(self.spec.write_firmware_us);
        let linked = match command.kind {
            Kind::Write => bytes_to_ns(command.bytes(), self.spec.link_mb_s[1]),
            _ => 0,
        };
        let mut at = (now + firmware).max(self.link[1]) + linked;
        self.link[1] = at;
        let mut named = Causes {
            overhead: firmware,
            transfer: linked,
            ..Causes::default()
        };
        let pages = Self::pages(command);
        let count = u64::from(pages.end - pages.start);
        self.volatile_writes.insert(command.order, (count, 0));
        let arrived = at;
        for page in pages {
            at = at.max(self.room(at));
            self.fill(at, page, command.order);
        }
        named.cache = at - arrived;
        // The next write starts after this one.
        self.link[1] = at;
        if command.fua {
            let before = at;
            at = self.program_rest(at);
            named.flush = at - before;
        }
        self.done(command, at, named);
    }

    /// Time, not before `now`, at which the buffer has space for a page.
    fn room(&mut self, now: u64) -> u64 {
        let mut at = now;
        self.programmed(at);
        while self.buffered + PAGE > self.spec.buffer.0
            && let Some((ends, _)) = self.programming.front()
        {
            at = at.max(*ends);
            self.programmed(at);
        }
        at
    }

    /// Removes pages from the buffer that were programmed by `now`.
    fn programmed(&mut self, now: u64) {
        while self
            .programming
            .front()
            .is_some_and(|(ends, _)| *ends <= now)
            && let Some((_, pages)) = self.programming.pop_front()
        {
            self.buffered -= pages.len() as u64 * PAGE;
            for page in pages {
                if self.in_buffer.get(&page).is_some_and(|until| *until <= now) {
                    self.in_buffer.remove(&page);
                }
            }
        }
    }

    /// Adds a page of a write to the open program unit.
    fn fill(&mut self, now: u64, page: u32, order: u64) {
        let mut collected = Collected::default();
        let place = self.map.write(page, &mut collected);
        self.collect(now, collected);
        self.program = self.map.program(place);
        self.filling.push((page, order));
        self.filled_at = now;
        self.buffered += PAGE;
        self.in_buffer.insert(page, u64::MAX);
        if (place + 1).is_multiple_of(u32::try_from(self.spec.program_pages()).unwrap_or(1)) {
            self.program_filled(now);
        }
    }

    /// Adds the time of garbage collection to all units.
    fn collect(&mut self, now: u64, collected: Collected) {
        if collected.blocks == 0 {
            return;
        }
        let units = u64::from(self.spec.units());
        let programs = collected.moved.div_ceil(self.spec.program_pages());
        let each = us_to_ns(self.spec.read_us) + us_to_ns(self.spec.program_us);
        let erase = us_to_ns(self.spec.erase_us) * collected.blocks;
        let busy = programs.div_ceil(units) * each + erase;
        for unit in &mut self.units {
            *unit = (*unit).max(now) + busy;
        }
        self.work.erases += units * collected.blocks;
        self.work.medium_read += collected.moved * PAGE;
        self.work.medium_written += collected.moved * PAGE;
    }

    /// Programs the full program unit.
    fn program_filled(&mut self, now: u64) {
        if self.filling.is_empty() {
            return;
        }
        let bytes = self.spec.program_unit.0;
        let fast = self.fast_left >= bytes;
        self.fast_left -= if fast { bytes } else { 0 };
        let program_ns = us_to_ns(if fast {
            self.spec.fast_program_us
        } else {
            self.spec.program_us
        });
        let (unit, channel) = self.unit(self.program);
        let moved = now.max(self.channels[channel]) + bytes_to_ns(bytes, self.spec.channel_mb_s);
        self.channels[channel] = moved;
        let ends = moved.max(self.units[unit]) + program_ns;
        self.units[unit] = ends;
        self.work.medium_written += bytes;
        self.work.transfer_ns += program_ns;
        let filled = std::mem::take(&mut self.filling);
        for (page, order) in &filled {
            self.in_buffer.insert(*page, ends);
            if let Some((left, latest)) = self.volatile_writes.get_mut(order) {
                *left -= 1;
                *latest = (*latest).max(ends);
                if *left == 0 {
                    let (at, order) = (*latest, *order);
                    self.volatile_writes.remove(&order);
                    self.expect(at, ModelEvent::Landed { order });
                }
            }
        }
        let pages = filled.into_iter().map(|(page, _)| page).collect();
        let before = self.programming.partition_point(|(at, _)| *at <= ends);
        self.programming.insert(before, (ends, pages));
    }

    /// Programs a partial program unit. Returns the completion time of the last unit.
    fn program_rest(&mut self, now: u64) -> u64 {
        if !self.filling.is_empty() {
            self.map.pad();
            self.program_filled(now);
        }
        self.programming
            .back()
            .map_or(now, |(ends, _)| now.max(*ends))
    }

    /// Updates the free space of the SLC cache after idle time.
    fn rested(&mut self, now: u64) {
        let rest = now - self.busy_at;
        let folding = rest.saturating_sub(ms_to_ns(self.spec.fold_after_ms));
        let folded = crate::arithmetic::to_ns((folding as f64 * self.spec.fold_mb_s / 1e3).floor());
        self.fast_left = (self.fast_left + folded).min(self.spec.fast_cache.0);
        self.busy_at = now;
    }

    /// Time at which a partial program unit is programmed.
    fn partial_due(&self) -> Option<u64> {
        let due = self.filled_at + ms_to_ns(self.spec.partial_after_ms);
        (!self.filling.is_empty()).then_some(due)
    }
}

impl Model for Flash {
    fn submit(&mut self, now: u64, command: Command) {
        self.rested(now);
        self.programmed(now);
        match command.kind {
            Kind::Read => self.read(now, &command),
            Kind::Write | Kind::WriteZeroes => self.write(now, &command),
            Kind::Discard => {
                // The disk keeps pages that are only partially discarded.
                let first = command.sector.div_ceil(SECTORS_OF_PAGE);
                let end = command.end() / SECTORS_OF_PAGE;
                let fits = |page: u64| u32::try_from(page).unwrap_or(u32::MAX);
                if first < end {
                    self.map.discard(fits(first)..fits(end));
                }
                let overhead = us_to_ns(self.spec.write_firmware_us);
                let named = Causes {
                    overhead,
                    ..Causes::default()
                };
                let order = command.order;
                self.expect(now + overhead, ModelEvent::Landed { order });
                self.done(&command, now + overhead, named);
            }
            Kind::Flush => {
                let overhead = us_to_ns(self.spec.flush_firmware_us);
                let waited = if command.hollow {
                    now
                } else {
                    self.program_rest(now)
                };
                let named = Causes {
                    overhead,
                    flush: waited - now,
                    ..Causes::default()
                };
                self.done(&command, waited + overhead, named);
            }
        }
    }

    fn next_event(&self) -> Option<u64> {
        let event = self.events.first_key_value().map(|((at, _), _)| *at);
        match (event, self.partial_due()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, now: u64, happened: &mut Vec<ModelEvent>) {
        if self.partial_due().is_some_and(|due| due <= now) {
            self.program_rest(now);
        }
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= now
        {
            happened.push(entry.remove());
        }
    }

    fn work(&self) -> Work {
        self.work
    }

    fn landing(&self) -> Vec<u64> {
        let landing = |event: &ModelEvent| match event {
            ModelEvent::Landed { order } => Some(*order),
            _ => None,
        };
        self.events.values().filter_map(landing).collect()
    }

    fn power_cycle(&mut self, now: u64) {
        for free in self.units.iter_mut().chain(&mut self.channels) {
            *free = (*free).min(now);
        }
        self.link = [now; 2];
        self.map.pad();
        self.filling.clear();
        self.programming.clear();
        self.buffered = 0;
        self.in_buffer.clear();
        self.volatile_writes.clear();
        self.events.clear();
        self.busy_at = now;
    }
}

#[cfg(test)]
mod tests;
