//! Hard disk: one arm, one controller, a read cache and a write cache.
//!
//! T = command overhead + max(seek, head switch) + write settle + rotational latency + transfer (C.
//! Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994).
//! The controller processes commands one at a time. The arm serves those that need the medium in
//! order, or by shortest positioning time if the disk queues several. A flush is not queued (ATA):
//! the controller waits until the write cache is clean.

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

use super::{Command, Model, ModelEvent, Work};
use crate::arithmetic::{bytes_to_ns, ms_to_ns};
use crate::request::{Causes, Kind, SECTOR};
use ahead::Ahead;
use dirty::{Cached, Dirty};
use std::collections::{BTreeMap, VecDeque};

/// A command that has waited this long is served before nearer ones.
const MAX_PASSED_OVER_NS: u64 = 500_000_000;

/// A command with its time breakdown so far.
#[derive(Debug, Clone, Copy)]
struct Job {
    command: Command,
    named: Causes,
    since: u64,
    /// For a write to the cache: number of its sectors there.
    taken: u64,
}

#[derive(Debug)]
enum Controller {
    Idle,
    /// Processes a command and transfers its data into the cache.
    Working(Job, u64),
    /// Transfers cached data to the host.
    Sending(Job, u64),
    /// Waits for cache space for a write.
    NoRoom(Job),
    /// Waits for the medium.
    Flushing(Job),
}

#[derive(Debug, Clone, Copy)]
enum ArmWork {
    Read(Job),
    /// A write that the cache did not acknowledge.
    Write(Job),
    /// A write that the cache acknowledged.
    Destage(Cached),
}

#[derive(Debug)]
pub struct Hdd {
    mechanics: Mechanics,
    overhead_ns: u64,
    bus_mb_s: f64,
    /// Maximum sectors of cached writes.
    room: u64,
    write_cache: bool,
    destage: Destage,
    destage_after_ns: u64,
    incoming: VecDeque<Command>,
    controller: Controller,
    jobs: Vec<Job>,
    arm: Position,
    /// The sector after the last transferred one. A transfer that continues there needs no
    /// settling.
    passed: u64,
    running: Option<(ArmWork, u64)>,
    /// End of the last sweep over cached writes.
    swept: u64,
    dirty: Dirty,
    /// For writes in pieces: number of sectors that are not on the medium.
    pieces: BTreeMap<u64, u64>,
    ahead: Ahead,
    /// Time of the last command.
    rest_since: u64,
    /// Events during the submission of a command.
    happened: Vec<ModelEvent>,
    work: Work,
}

impl Hdd {
    /// Creates a disk with this many sectors.
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

    /// Starts all work that can start at `now`.
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
            self.begin_work(now);
        }
    }

    /// The controller has processed a command: completes it, or starts its wait.
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
                self.happened.push(ModelEvent::Landed { order });
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
            self.settled(write, ModelEvent::Superseded { order });
        }
    }

    /// A cached write, or a piece of one, has reached the medium or was superseded.
    fn settled(&mut self, write: Cached, alone: ModelEvent) {
        let order = write.order;
        let Some(left) = self.pieces.get_mut(&order) else {
            return self.happened.push(alone);
        };
        *left -= write.sectors;
        if *left == 0 {
            self.pieces.remove(&order);
            self.happened.push(ModelEvent::Landed { order });
        }
    }

    /// Whether the cache acknowledges a command.
    fn is_cached(&self, command: &Command) -> bool {
        let writes = matches!(command.kind, Kind::Write | Kind::WriteZeroes);
        writes && self.write_cache && !command.fua
    }

    /// Maximum sectors of one transfer into the cache. A longer write goes to the medium while the
    /// bus transfers its rest.
    fn piece(&self) -> u64 {
        (self.room / 4).max(1)
    }

    /// Moves the waiting write into the cache, if there is space.
    fn take_in(&mut self, now: u64) {
        let Controller::NoRoom(mut job) = self.controller else {
            return;
        };
        let destaging = match &self.running {
            Some((ArmWork::Destage(write), _)) => write.sectors,
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

    /// Completes the waiting flush, if everything is on the medium.
    fn flushed(&mut self, now: u64) {
        let Controller::Flushing(mut job) = self.controller else {
            return;
        };
        let writing = matches!(
            self.running,
            Some((ArmWork::Destage(_) | ArmWork::Write(_), _))
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
        self.happened.push(ModelEvent::Done {
            order: job.command.order,
            at: now,
            causes: job.command.causes(now, job.named),
        });
    }

    /// Whether background destaging is due now.
    fn needs_destage(&self, now: u64) -> bool {
        match self.controller {
            Controller::NoRoom(_) | Controller::Flushing(_) => true,
            _ if self.dirty.sectors() * 2 > self.room => true,
            Controller::Idle => now >= self.rest_since + self.destage_after_ns,
            Controller::Working(..) | Controller::Sending(..) => false,
        }
    }

    /// Starts the arm's next job.
    fn begin_work(&mut self, now: u64) {
        if let Some(next) = self.next_job(now) {
            let job = self.jobs.remove(next);
            if job.command.kind == Kind::Read {
                self.begin_read(now, job);
            } else {
                self.begin_write(now, job);
            }
        } else if !self.dirty.is_empty() && self.needs_destage(now) {
            self.find_arm(now);
            let next = match self.destage {
                Destage::CLook => self.dirty.next_from(self.swept),
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
                self.running = Some((ArmWork::Destage(write), access.ends));
            }
        }
    }

    fn next_job(&self, now: u64) -> Option<usize> {
        let first = self.jobs.first()?;
        if self.jobs.len() == 1 || now - first.since > MAX_PASSED_OVER_NS {
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

    /// Stops read-ahead and updates the arm's position.
    fn find_arm(&mut self, now: u64) {
        if let Some(position) = self.ahead.interrupt(&self.mechanics, now) {
            self.arm = position;
            self.passed = u64::MAX;
        }
    }

    /// Moves the arm over a run and adds the times.
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
            self.running = Some((ArmWork::Read(job), ends));
            return;
        }
        let missing = self.ahead.missing(&sectors);
        if missing.is_empty() {
            // Another read has cached it in the meantime.
            job.named.transfer += bus;
            self.work.cache_hits += 1;
            self.running = Some((ArmWork::Read(job), now + bus));
            return;
        }
        self.find_arm(now);
        let access = self.access(now, missing.start, missing.end - missing.start, false);
        self.ahead
            .begin(&self.mechanics, &missing, access.ends, access.position);
        // The bus transfers while the medium does. The slower one determines the time.
        let transfer = access.transfer_ns.max(bus);
        job.named.seek += access.seek_ns;
        job.named.rotation += access.rotation_ns;
        job.named.transfer += transfer;
        let ends = access.ends - access.transfer_ns + transfer;
        self.running = Some((ArmWork::Read(job), ends));
    }

    fn begin_write(&mut self, now: u64, mut job: Job) {
        self.find_arm(now);
        let access = self.access(now, job.command.sector, job.command.sectors, true);
        job.named.seek += access.seek_ns;
        job.named.rotation += access.rotation_ns;
        job.named.transfer += access.transfer_ns;
        self.running = Some((ArmWork::Write(job), access.ends));
    }

    /// The arm has completed a job.
    fn ran(&mut self, now: u64, work: ArmWork) {
        match work {
            ArmWork::Read(job) => self.done(now, &job),
            ArmWork::Write(job) => {
                let order = job.command.order;
                self.happened.push(ModelEvent::Landed { order });
                self.done(now, &job);
            }
            ArmWork::Destage(write) => {
                let order = write.order;
                self.settled(write, ModelEvent::Landed { order });
            }
        }
        self.take_in(now);
        self.flushed(now);
    }

    /// End time of the controller's current work, if it ends without an event.
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

    fn advance(&mut self, now: u64, happened: &mut Vec<ModelEvent>) {
        if self.controller_ends().is_some_and(|until| until <= now) {
            match std::mem::replace(&mut self.controller, Controller::Idle) {
                Controller::Working(job, _) => self.worked(now, job),
                Controller::Sending(job, _) => self.done(now, &job),
                Controller::Idle | Controller::NoRoom(_) | Controller::Flushing(_) => {}
            }
        }
        if let Some((work, ends)) = self.running
            && ends <= now
        {
            self.running = None;
            self.ran(now, work);
        }
        self.begin(now);
        happened.append(&mut self.happened);
    }

    fn turn(&mut self, share: u32) {
        self.mechanics.turn(share);
    }

    fn work(&self) -> Work {
        self.work
    }

    fn landing(&self) -> Vec<u64> {
        match &self.running {
            Some((ArmWork::Destage(write), _)) => vec![write.order],
            Some((ArmWork::Write(job), _)) => vec![job.command.order],
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
