//! Hard disk: one arm, one controller, memory for readers and for writes.
//!
//! T = command overhead + max(seek, head switch) + write settle + rotational wait + transfer
//! (C. Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3),
//! 1994). The controller takes commands one at a time; the arm serves those that need the medium:
//! in their order, or, where the disk holds several, the one reached soonest. A flush is not
//! queued (ATA): the controller waits until everything is on the medium.

mod ahead;
mod dirty;
mod geometry;
mod mechanics;
mod seek;
mod spec;

pub use geometry::Geometry;
pub use mechanics::{Access, Mechanics, Position};
pub use seek::{SeekCurve, SeekSpec, ThreePoint, TwoPiece};
pub use spec::{Destage, HddSpec};

use super::{Command, Happening, Model, Work};
use crate::arithmetic::{bytes_to_ns, ms_to_ns};
use crate::request::{Causes, Kind, SECTOR};
use ahead::Ahead;
use dirty::{Cached, Dirty};
use std::collections::{BTreeMap, VecDeque};

/// A command that waits longer than this for the arm is served before those reached sooner.
const LONGEST_PASSED_OVER_NS: u64 = 500_000_000;

/// A command with the causes of its time so far.
#[derive(Debug, Clone, Copy)]
struct Job {
    command: Command,
    named: Causes,
    since: u64,
    /// Of a write into memory: how many of its sectors are there.
    taken: u64,
}

/// What the controller does.
#[derive(Debug)]
enum Controller {
    Idle,
    /// Works on a command, and takes in what it writes.
    Working(Job, u64),
    /// Hands over what was in memory.
    Sending(Job, u64),
    /// Waits for room for a write.
    NoRoom(Job),
    /// Waits for the medium.
    Flushing(Job),
}

/// What the arm does.
#[derive(Debug, Clone, Copy)]
enum Errand {
    Read(Job),
    /// A write that was not acknowledged from memory.
    Write(Job),
    /// One that was.
    Destage(Cached),
}

/// A hard disk.
#[derive(Debug)]
pub struct Hdd {
    mechanics: Mechanics,
    overhead_ns: u64,
    bus_mb_s: f64,
    /// Sectors that cached writes may take.
    room: u64,
    write_cache: bool,
    destage: Destage,
    destage_after_ns: u64,
    incoming: VecDeque<Command>,
    controller: Controller,
    jobs: Vec<Job>,
    arm: Position,
    /// The sector behind the last one it passed: what goes on there needs no settling, as within
    /// a run.
    passed: u64,
    running: Option<(Errand, u64)>,
    /// Where the last sweep of cached writes ended.
    swept: u64,
    dirty: Dirty,
    /// Of writes that came in pieces: how many sectors are not on the medium.
    pieces: BTreeMap<u64, u64>,
    ahead: Ahead,
    /// Since when nobody has asked for anything.
    rest_since: u64,
    /// What happened while a command was taken in.
    happened: Vec<Happening>,
    work: Work,
}

impl Hdd {
    /// A disk of so many sectors.
    pub fn new(spec: &HddSpec, sectors: u64) -> Self {
        let room = if spec.write_cache {
            spec.write_room()
        } else {
            0
        };
        let for_readers = (spec.cache.0 - room) / SECTOR;
        let segment = (for_readers / u64::from(spec.segments)).max(1);
        Self {
            mechanics: Mechanics::new(spec, sectors),
            overhead_ns: ms_to_ns(spec.command_overhead_ms),
            bus_mb_s: spec.bus_mb_s,
            room: room / SECTOR,
            write_cache: spec.write_cache,
            destage: spec.destage,
            destage_after_ns: ms_to_ns(spec.destage_after_ms),
            incoming: VecDeque::new(),
            controller: Controller::Idle,
            jobs: Vec::new(),
            arm: Position::default(),
            passed: u64::MAX,
            running: None,
            swept: 0,
            dirty: Dirty::default(),
            pieces: BTreeMap::new(),
            ahead: Ahead::new(spec.segments as usize, segment, sectors),
            rest_since: 0,
            happened: Vec::new(),
            work: Work::default(),
        }
    }

    fn bus_ns(&self, kind: Kind, sectors: u64) -> u64 {
        match kind {
            Kind::Read | Kind::Write => bytes_to_ns(sectors * SECTOR, self.bus_mb_s),
            Kind::WriteZeroes | Kind::Discard | Kind::Flush => 0,
        }
    }

    /// Begins whatever can begin at `now`.
    fn begin(&mut self, now: u64) {
        if matches!(self.controller, Controller::Idle)
            && let Some(command) = self.incoming.pop_front()
        {
            let mut named = Causes {
                overhead: self.overhead_ns,
                ..Causes::default()
            };
            let first = if self.is_cached(&command) {
                command.sectors.min(self.piece())
            } else {
                command.sectors
            };
            if command.kind == Kind::Write {
                named.transfer = self.bus_ns(command.kind, first);
            }
            let until = now + named.total();
            let job = Job {
                command,
                named,
                since: now,
                taken: 0,
            };
            self.controller = Controller::Working(job, until);
        }
        if self.running.is_none() {
            self.begin_errand(now);
        }
    }

    /// The controller has worked on a command: it is done, or waits for something.
    fn worked(&mut self, now: u64, mut job: Job) {
        self.controller = Controller::Idle;
        job.since = now;
        let sectors = job.command.sector..job.command.end();
        match job.command.kind {
            Kind::Read => {
                let held =
                    self.dirty.covers(&sectors) || self.ahead.holds(&self.mechanics, now, &sectors);
                if held {
                    self.ahead.taken(&sectors);
                    self.work.cache_hits += 1;
                    let bus = self.bus_ns(Kind::Read, job.command.sectors);
                    job.named.transfer += bus;
                    self.controller = Controller::Sending(job, now + bus);
                } else {
                    self.jobs.push(job);
                }
            }
            Kind::Write | Kind::WriteZeroes => {
                self.ahead.overwritten(&self.mechanics, now, &sectors);
                if self.is_cached(&job.command) {
                    self.controller = Controller::NoRoom(job);
                    self.take_in(now);
                } else {
                    self.supersede(&sectors);
                    self.jobs.push(job);
                }
            }
            Kind::Discard => {
                self.ahead.overwritten(&self.mechanics, now, &sectors);
                self.supersede(&sectors);
                let order = job.command.order;
                self.happened.push(Happening::Landed { order });
                self.done(now, &job);
            }
            Kind::Flush if job.command.hollow => self.done(now, &job),
            Kind::Flush => {
                self.controller = Controller::Flushing(job);
                self.flushed(now);
            }
        }
    }

    fn supersede(&mut self, sectors: &std::ops::Range<u64>) {
        for write in self.dirty.take_within(sectors) {
            let order = write.order;
            self.settled(write, Happening::Superseded { order });
        }
    }

    /// A cached write, or a piece of one, is on the medium or never will be.
    fn settled(&mut self, write: Cached, alone: Happening) {
        let order = write.order;
        let Some(left) = self.pieces.get_mut(&order) else {
            return self.happened.push(alone);
        };
        *left -= write.sectors;
        if *left == 0 {
            self.pieces.remove(&order);
            self.happened.push(Happening::Landed { order });
        }
    }

    /// Whether a command is acknowledged from memory.
    fn is_cached(&self, command: &Command) -> bool {
        let writes = matches!(command.kind, Kind::Write | Kind::WriteZeroes);
        writes && self.write_cache && !command.fua
    }

    /// The most sectors that are taken into memory at once: a longer write goes to the medium
    /// while its rest is still coming.
    fn piece(&self) -> u64 {
        (self.room / 4).max(1)
    }

    /// Takes the write that waits for room into memory, where there is room.
    fn take_in(&mut self, now: u64) {
        let Controller::NoRoom(mut job) = self.controller else {
            return;
        };
        let destaging = match &self.running {
            Some((Errand::Destage(write), _)) => write.sectors,
            _ => 0,
        };
        let Command {
            kind,
            order,
            sector,
            sectors,
            ..
        } = job.command;
        let piece = (sectors - job.taken).min(self.piece());
        if self.dirty.sectors() + destaging + piece > self.room {
            return;
        }
        job.named.cache += now - job.since;
        if piece < sectors {
            self.pieces.entry(order).or_insert(sectors);
        }
        let write = Cached {
            sector: sector + job.taken,
            order,
            sectors: piece,
        };
        self.supersede(&(write.sector..write.sector + piece));
        self.dirty.insert(write);
        job.taken += piece;
        let left = sectors - job.taken;
        if left == 0 {
            self.controller = Controller::Idle;
            self.done(now, &job);
        } else {
            let bus = self.bus_ns(kind, left.min(self.piece()));
            job.named.transfer += bus;
            self.controller = Controller::Working(job, now + bus);
        }
    }

    /// Ends the flush that waits, where everything is on the medium.
    fn flushed(&mut self, now: u64) {
        let Controller::Flushing(mut job) = self.controller else {
            return;
        };
        let writing = matches!(
            self.running,
            Some((Errand::Destage(_) | Errand::Write(_), _))
        );
        let held = self.jobs.iter().any(|job| job.command.kind != Kind::Read);
        if writing || held || !self.dirty.is_empty() {
            return;
        }
        job.named.flush += now - job.since;
        self.controller = Controller::Idle;
        self.done(now, &job);
    }

    fn done(&mut self, now: u64, job: &Job) {
        self.rest_since = now;
        self.happened.push(Happening::Done {
            order: job.command.order,
            at: now,
            causes: job.command.causes(now, job.named),
        });
    }

    /// Whether cached writes are to go to the medium now, though nobody asked for it.
    fn wants_to_destage(&self, now: u64) -> bool {
        match self.controller {
            Controller::NoRoom(_) | Controller::Flushing(_) => true,
            _ if self.dirty.sectors() * 2 > self.room => true,
            Controller::Idle => now >= self.rest_since + self.destage_after_ns,
            Controller::Working(..) | Controller::Sending(..) => false,
        }
    }

    /// Sends the arm on its next errand.
    fn begin_errand(&mut self, now: u64) {
        if let Some(next) = self.next_job(now) {
            let job = self.jobs.remove(next);
            if job.command.kind == Kind::Read {
                self.begin_read(now, job);
            } else {
                self.begin_write(now, job);
            }
        } else if !self.dirty.is_empty() && self.wants_to_destage(now) {
            self.find_arm(now);
            let next = match self.destage {
                Destage::CLook => self.dirty.upwards(self.swept),
                Destage::ShortestPositioning => self.dirty.soonest(self.swept, |sector| {
                    self.mechanics
                        .access(now, self.arm, sector, 1, sector != self.passed)
                        .ends
                }),
            };
            if let Some(write) = next {
                self.dirty.take(write);
                self.swept = write.sector + write.sectors;
                let access = self.access(now, write.sector, write.sectors, true);
                self.running = Some((Errand::Destage(write), access.ends));
            }
        }
    }

    /// Which of the jobs is next.
    fn next_job(&self, now: u64) -> Option<usize> {
        let first = self.jobs.first()?;
        if self.jobs.len() == 1 || now - first.since > LONGEST_PASSED_OVER_NS {
            return Some(0);
        }
        let reached = |job: &Job| {
            let settles = job.command.kind != Kind::Read && job.command.sector != self.passed;
            let access = self
                .mechanics
                .access(now, self.arm, job.command.sector, 1, settles);
            (access.ends, job.command.order)
        };
        let by_time = |at: &usize| reached(&self.jobs[*at]);
        (0..self.jobs.len()).min_by_key(by_time)
    }

    /// Reading ahead ends: the arm is where that has brought it.
    fn find_arm(&mut self, now: u64) {
        if let Some(position) = self.ahead.interrupt(&self.mechanics, now) {
            self.arm = position;
            self.passed = u64::MAX;
        }
    }

    /// Sends the arm over a run, and counts what that takes.
    fn access(&mut self, now: u64, sector: u64, sectors: u64, write: bool) -> Access {
        let settles = write && sector != self.passed;
        let access = self
            .mechanics
            .access(now, self.arm, sector, sectors, settles);
        self.passed = sector + sectors;
        self.arm = access.position;
        self.work.seeks += u64::from(access.cylinders > 0);
        self.work.cylinders += u64::from(access.cylinders);
        self.work.seek_ns += access.seek_ns;
        self.work.rotation_ns += access.rotation_ns;
        self.work.transfer_ns += access.transfer_ns;
        let moved = if write {
            &mut self.work.medium_written
        } else {
            &mut self.work.medium_read
        };
        *moved += sectors * SECTOR;
        access
    }

    fn begin_read(&mut self, now: u64, mut job: Job) {
        let sectors = job.command.sector..job.command.end();
        let bus = self.bus_ns(Kind::Read, job.command.sectors);
        if let Some(passed) = self.ahead.follow(&self.mechanics, now, &sectors) {
            let ends = passed.max(now + bus);
            job.named.transfer += ends - now;
            self.work.transfer_ns += ends - now;
            self.work.medium_read += job.command.bytes();
            self.running = Some((Errand::Read(job), ends));
            return;
        }
        let missing = self.ahead.missing(&sectors);
        if missing.is_empty() {
            // Another reader has brought it into memory meanwhile.
            job.named.transfer += bus;
            self.work.cache_hits += 1;
            self.running = Some((Errand::Read(job), now + bus));
            return;
        }
        self.find_arm(now);
        let access = self.access(now, missing.start, missing.end - missing.start, false);
        self.ahead
            .begin(&self.mechanics, &missing, access.ends, access.position);
        // The bus moves what has been read while the rest is; it may be the slower of the two.
        let transfer = access.transfer_ns.max(bus);
        job.named.seek += access.seek_ns;
        job.named.rotation += access.rotation_ns;
        job.named.transfer += transfer;
        let ends = access.ends - access.transfer_ns + transfer;
        self.running = Some((Errand::Read(job), ends));
    }

    fn begin_write(&mut self, now: u64, mut job: Job) {
        self.find_arm(now);
        let access = self.access(now, job.command.sector, job.command.sectors, true);
        job.named.seek += access.seek_ns;
        job.named.rotation += access.rotation_ns;
        job.named.transfer += access.transfer_ns;
        self.running = Some((Errand::Write(job), access.ends));
    }

    /// The arm has come to the end of an errand.
    fn ran(&mut self, now: u64, errand: Errand) {
        match errand {
            Errand::Read(job) => self.done(now, &job),
            Errand::Write(job) => {
                let order = job.command.order;
                self.happened.push(Happening::Landed { order });
                self.done(now, &job);
            }
            Errand::Destage(write) => {
                let order = write.order;
                self.settled(write, Happening::Landed { order });
            }
        }
        self.take_in(now);
        self.flushed(now);
    }

    /// When the controller ends what it does, where that ends by itself.
    fn controller_ends(&self) -> Option<u64> {
        match self.controller {
            Controller::Working(_, until) | Controller::Sending(_, until) => Some(until),
            _ => None,
        }
    }
}

impl Model for Hdd {
    fn submit(&mut self, now: u64, command: Command) {
        self.rest_since = now;
        self.incoming.push_back(command);
        self.begin(now);
    }

    fn next_event(&self) -> Option<u64> {
        let arm = match &self.running {
            Some((_, ends)) => Some(*ends),
            None if self.dirty.is_empty() => None,
            None => match self.controller {
                Controller::Idle => Some(self.rest_since + self.destage_after_ns),
                _ => None,
            },
        };
        match (arm, self.controller_ends()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, now: u64, happened: &mut Vec<Happening>) {
        if self.controller_ends().is_some_and(|until| until <= now) {
            match std::mem::replace(&mut self.controller, Controller::Idle) {
                Controller::Working(job, _) => self.worked(now, job),
                Controller::Sending(job, _) => self.done(now, &job),
                Controller::Idle | Controller::NoRoom(_) | Controller::Flushing(_) => {}
            }
        }
        if let Some((errand, ends)) = self.running
            && ends <= now
        {
            self.running = None;
            self.ran(now, errand);
        }
        self.begin(now);
        happened.append(&mut self.happened);
    }

    fn work(&self) -> Work {
        self.work
    }

    fn landing(&self) -> Vec<u64> {
        match &self.running {
            Some((Errand::Destage(write), _)) => vec![write.order],
            Some((Errand::Write(job), _)) => vec![job.command.order],
            _ => Vec::new(),
        }
    }

    fn power_cycle(&mut self, now: u64) {
        self.find_arm(now);
        self.incoming.clear();
        self.controller = Controller::Idle;
        self.jobs.clear();
        self.running = None;
        self.dirty.clear();
        self.pieces.clear();
        self.ahead = self.ahead.emptied();
        self.rest_since = now;
        self.happened.clear();
    }
}

#[cfg(test)]
pub(in crate::models) mod tests;
