//! The device core: it takes requests and returns completions with their times. It knows blocks and
//! nanoseconds. The transport supplies the clock and the guest's memory.
//!
//! Contents and times are separate. The core stores a write's payload at submission, and every
//! later read returns it. The timing model decides when the payload is on the medium and so
//! survives a power cut. The transport fetches a read's bytes at completion: they are the newest
//! bytes submitted so far.

use crate::faults::Faults;
use crate::models::paced::Paced;
use crate::models::{Command, Model, ModelEvent, Work};
use crate::pending::{Content, Pending};
use crate::power_cut::{self, PowerCutReport, Remains};
use crate::profiles::Profile;
use crate::record::{Record, Recorder};
use crate::request::{Causes, Completion, Failure, Kind, Request, SECTOR};
use crate::store::{Store, StoreError};
use fsdyno_model::{Bytes, Nanos};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The sectors of a MiB.
const MIB: u64 = (1 << 20) / SECTOR;

/// The number of MiB by which a disk can be moved.
const PLACES: u64 = 1024;

/// A model disk.
///
/// A transport calls [`Disk::submit`] when a request arrives, waits until
/// [`Disk::next_completion`], and then takes the results of [`Disk::complete`]. The transport
/// supplies the time. Time never runs backwards: an earlier time counts as the latest one seen.
pub struct Disk {
    sectors: u64,
    /// The sector of the whole device at which these sectors start.
    first: u64,
    /// The sectors of the whole device behind these.
    behind: u64,
    queue_depth: usize,
    volatile: bool,
    cache_survives: bool,
    model: Paced,
    immediate: bool,
    /// While it is set, requests take no time.
    instant: Option<Arc<AtomicBool>>,
    store: Box<dyn Store>,
    pending: Pending,
    faults: Faults,
    recorder: Option<Recorder>,
    now: u64,
    next_order: u64,
    /// Requests that were submitted and have not completed.
    open: BTreeMap<u64, Open>,
    /// Requests that a fault delays, by the end of the delay.
    held: BTreeMap<(u64, u64), Command>,
    /// Requests that wait for a slot in the device.
    waiting: VecDeque<Command>,
    /// Number of requests in the device.
    inside: usize,
    /// Completed requests by time and order, not yet taken.
    done: BTreeMap<(u64, u64), Completion>,
    happened: Vec<ModelEvent>,
}

#[derive(Debug)]
struct Open {
    request: Request,
    submitted: u64,
    /// The failure that a fault causes, and the time that it takes.
    failure: Option<Failure>,
    failing_ns: u64,
    /// Delay by a fault.
    held_ns: u64,
}

/// A request that the disk rejects, or an I/O error of its contents.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The extent ends beyond the end of the disk.
    #[error(
        "{kind} of {sectors} sectors at sector {sector}: the disk ends at sector {end}; a transport \
         answers this with an error"
    )]
    BeyondTheEnd {
        kind: Kind,
        sector: u64,
        sectors: u64,
        end: u64,
    },
    /// The extent is empty.
    #[error("{0} of no sectors; a transport answers this with an error")]
    Nothing(Kind),
    /// An I/O error of the contents.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Disk {
    /// Creates the disk of a profile with contents in `store` and with these faults.
    ///
    /// A capacity below the profile's gives the first part of that disk, like a first partition. On
    /// a hard disk these are the outer cylinders: short seeks, highest rate. A capacity above the
    /// profile's gives a larger disk.
    pub fn new(
        profile: &Profile,
        capacity: Option<Bytes>,
        store: Box<dyn Store>,
        faults: Faults,
    ) -> Self {
        let whole = profile.capacity.0 / SECTOR;
        let sectors = capacity.map_or(whole, |bytes| (bytes.0 / SECTOR).max(1));
        let model = profile.model(sectors.max(whole));
        Self {
            sectors,
            first: 0,
            behind: whole.saturating_sub(sectors),
            queue_depth: profile.queue_depth as usize,
            volatile: profile.is_volatile(),
            cache_survives: profile.cache_survives || faults.cache_survives(),
            immediate: model.is_immediate(),
            instant: None,
            model: Paced::new(model),
            store,
            pending: Pending::default(),
            faults,
            recorder: None,
            now: 0,
            next_order: 0,
            open: BTreeMap::new(),
            held: BTreeMap::new(),
            waiting: VecDeque::new(),
            inside: 0,
            done: BTreeMap::new(),
            happened: Vec::new(),
        }
    }

    /// Moves it to a random place, like another partition: it starts at a whole number of MiB, up to
    /// 1 GiB, as far as the whole device has sectors behind it; and platters start at another angle.
    /// The same number gives the same place.
    #[must_use]
    pub fn placed(mut self, random: u64) -> Self {
        let room = (self.behind / MIB).min(PLACES) + 1;
        self.first = MIB * (((random >> 32) * room) >> 32);
        let share = u32::try_from(random & u64::from(u32::MAX));
        self.model.turn(share.unwrap_or_default());
        self
    }

    /// Keeps the content of a write in the store from its submission on. A volatile cache then only
    /// takes time: a power cut loses nothing, and the caller decides from a recording what a disk
    /// could have lost.
    #[must_use]
    pub fn with_contents_at_submission(mut self) -> Self {
        self.immediate = true;
        self
    }

    /// Completes requests at their submission, in their order, while the flag is set.
    #[must_use]
    pub fn with_instant(mut self, flag: Arc<AtomicBool>) -> Self {
        self.instant = Some(flag);
        self
    }

    /// Records everything from now on. Returns the previous recorder.
    pub fn record(&mut self, mut recorder: Recorder) -> Option<Recorder> {
        recorder.begun(Nanos(self.now), self.model.work());
        self.recorder.replace(recorder)
    }

    pub fn take_recorder(&mut self) -> Option<Recorder> {
        let recorder = self.recorder.take()?;
        Some(recorder.ended(self.now, self.model.work()))
    }

    pub fn capacity(&self) -> Bytes {
        Bytes(self.sectors * SECTOR)
    }

    /// Capacity in sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Number of requests that the device holds at once. Others wait in order.
    pub fn queue_depth(&self) -> usize {
        self.queue_depth
    }

    /// Whether the device acknowledges writes that are not on the medium. If so, the transport
    /// reports a volatile cache.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Whether a completed write survives a power cut without a flush.
    pub fn keeps_writes(&self) -> bool {
        self.cache_survives || !self.volatile
    }

    /// The outcome of volatile writes at a power cut, as configured in the faults. It is the default
    /// when the caller gives none.
    pub fn remains(&self) -> Remains {
        self.faults.remains()
    }

    /// Counters of the device since its creation.
    pub fn work(&self) -> Work {
        self.model.work()
    }

    pub fn in_flight(&self) -> usize {
        self.open.len() + self.done.len()
    }

    /// Submits a request at `now`. For a write, `payload` fills a buffer of the extent's length.
    /// Other kinds do not call it. Returns the request's place in the order of submissions.
    pub fn submit(
        &mut self,
        now: Nanos,
        request: Request,
        payload: impl FnOnce(&mut [u8]),
    ) -> Result<u64, SubmitError> {
        self.check(&request)?;
        self.advance(now.0)?;
        let order = self.next_order;
        self.next_order += 1;
        let mut open = Open {
            request,
            submitted: self.now,
            failure: None,
            failing_ns: 0,
            held_ns: 0,
        };
        let held_until = self.faults.holds_until(self.now);
        open.held_ns = held_until - self.now;
        if let Some((failure, ns)) = self.faults.failure(&request, &self.pending) {
            open.failure = Some(failure);
            open.failing_ns = ns;
        } else if let Some(sector) = self.store.failing(request.kind, extent(&request)) {
            open.failure = Some(Failure::Medium { sector });
        }
        self.model.slow_down(self.now, self.store.slowness());
        let bytes = buffer(&request, payload);
        if let Some(recorder) = &mut self.recorder {
            recorder.submitted(Nanos(self.now), order, &request, bytes.as_deref());
        }
        if open.failure.is_none() {
            self.keep(order, &request, bytes)?;
        }
        let command = Command {
            order,
            kind: request.kind,
            fua: request.fua && !self.faults.ignores_flush(order),
            hollow: request.kind == Kind::Flush && self.faults.ignores_flush(order),
            sector: self.first + request.sector,
            sectors: request.sectors,
            submitted: held_until,
        };
        self.open.insert(order, open);
        if (self.instant.as_ref()).is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.finish(order, self.now, Causes::default());
            return Ok(order);
        }
        if held_until > self.now {
            self.held.insert((held_until, order), command);
        } else {
            self.waiting.push_back(command);
        }
        self.admit(self.now);
        self.advance(self.now)?;
        Ok(order)
    }

    /// Submits a request without a payload: read, flush or discard.
    pub fn ask(&mut self, now: Nanos, request: Request) -> Result<u64, SubmitError> {
        self.submit(now, request, |zeros| zeros.fill(0))
    }

    /// The time of the next [`Disk::complete`] call, or none if nothing is in flight. That call may
    /// return no completion; then query the next time again.
    pub fn next_completion(&self) -> Option<Nanos> {
        let done = self.done.first_key_value().map(|((at, _), _)| *at);
        let due = if self.open.is_empty() {
            None
        } else {
            self.next_event()
        };
        let next = match (done, due) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        Some(Nanos(next.max(self.now)))
    }

    /// The next request that has completed by `now`, in the order of completion times.
    pub fn complete(&mut self, now: Nanos) -> Result<Option<Completion>, StoreError> {
        self.advance(now.0)?;
        let due = self.done.first_entry();
        let Some(entry) = due.filter(|entry| entry.key().0 <= self.now) else {
            return Ok(None);
        };
        let completion = entry.remove();
        if completion.request.kind.changes() && !self.immediate {
            self.pending.acknowledge(completion.order);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.completed(&completion, self.model.work());
        }
        Ok(Some(completion))
    }

    /// Fills `into` with the newest bytes from byte `at` on, on the medium or not. A read that
    /// completes now returns these bytes.
    pub fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), StoreError> {
        let read = self.store.read_at(at, into);
        read.map_err(StoreError::of("read", at, into.len() as u64))?;
        self.pending.overlay(at, into);
        Ok(())
    }

    /// A mark of the workload, in one sequence with the requests.
    pub fn mark(&mut self, now: Nanos, text: &str) -> Result<(), StoreError> {
        self.advance(now.0)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.marked(Nanos(self.now), text, self.model.work());
        }
        Ok(())
    }

    /// Cuts the power at `now` and restores it. Requests in flight never complete. `remains` and
    /// `seed` determine which volatile writes are on the medium.
    pub fn power_cut(
        &mut self,
        now: Nanos,
        seed: u64,
        remains: Remains,
    ) -> Result<PowerCutReport, StoreError> {
        self.advance(now.0)?;
        let landing = self.model.landing();
        let power_cut = power_cut::PowerCut {
            seed,
            remains,
            cache_survives: self.cache_survives,
            landing: &landing,
        };
        let report = power_cut.make(&mut self.pending, self.store.as_mut())?;
        self.open.clear();
        self.held.clear();
        self.waiting.clear();
        self.inside = 0;
        self.done.clear();
        self.model.power_cycle(self.now);
        if let Some(recorder) = &mut self.recorder {
            recorder.note(&Record::PowerCut {
                at: Nanos(self.now),
                seed,
            });
        }
        Ok(report)
    }

    /// Runs the disk's background work until `now`, as between requests.
    pub fn advance_to(&mut self, now: Nanos) -> Result<(), StoreError> {
        self.advance(now.0)
    }

    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        let Request {
            kind,
            sector,
            sectors,
            ..
        } = *request;
        if kind == Kind::Flush {
            return Ok(());
        }
        if sectors == 0 {
            return Err(SubmitError::Nothing(kind));
        }
        match sector.checked_add(sectors) {
            Some(end) if end <= self.sectors => Ok(()),
            _ => Err(SubmitError::BeyondTheEnd {
                kind,
                sector,
                sectors,
                end: self.sectors,
            }),
        }
    }

    /// Applies a request's changes to the contents.
    fn keep(
        &mut self,
        order: u64,
        request: &Request,
        bytes: Option<Box<[u8]>>,
    ) -> Result<(), StoreError> {
        if !request.kind.changes() {
            return Ok(());
        }
        let content = bytes.map_or(Content::Zeroes, Content::Bytes);
        if self.immediate {
            let (at, length) = (request.sector * SECTOR, request.bytes());
            let kept = match &content {
                Content::Bytes(bytes) => self.store.write_at(at, bytes),
                Content::Zeroes if request.kind == Kind::Discard => self.store.discard(at, length),
                Content::Zeroes => self.store.clear(at, length),
            };
            self.faults.landed(request.sector, request.sectors);
            return kept.map_err(StoreError::of("write", at, length));
        }
        self.pending
            .insert(order, request.sector, request.sectors, content);
        Ok(())
    }

    /// Time of the next internal event.
    fn next_event(&self) -> Option<u64> {
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        match (held, self.model.next_event()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Processes all events that are due by `now`, in order of time.
    fn advance(&mut self, now: u64) -> Result<(), StoreError> {
        self.now = self.now.max(now);
        while let Some(at) = self.next_event().filter(|at| *at <= self.now) {
            let mut happened = std::mem::take(&mut self.happened);
            self.model.advance(at, &mut happened);
            for one in happened.drain(..) {
                self.apply_event(one)?;
            }
            self.happened = happened;
            while let Some(entry) = self.held.first_entry()
                && entry.key().0 <= at
            {
                self.waiting.push_back(entry.remove());
            }
            self.admit(at);
        }
        Ok(())
    }

    /// Moves waiting requests into the device while it has slots.
    fn admit(&mut self, now: u64) {
        while self.inside < self.queue_depth
            && let Some(command) = self.waiting.pop_front()
        {
            self.inside += 1;
            self.model.submit(now, command);
        }
    }

    fn apply_event(&mut self, event: ModelEvent) -> Result<(), StoreError> {
        match event {
            ModelEvent::Landed { order } => {
                if let Some((sector, sectors)) = self.pending.extent(order) {
                    self.faults.landed(sector, sectors);
                }
                self.pending.land(order, self.store.as_mut())
            }
            ModelEvent::Superseded { order } => {
                self.pending.forget(order);
                Ok(())
            }
            ModelEvent::Done { order, at, causes } => {
                self.inside -= 1;
                self.finish(order, at, causes);
                Ok(())
            }
        }
    }

    fn finish(&mut self, order: u64, at: u64, causes: Causes) {
        let Some(open) = self.open.remove(&order) else {
            return;
        };
        // What the causes do not have is due to the pace of the model.
        let slow_ns = (at - open.submitted).saturating_sub(open.held_ns + causes.total());
        let completed = at.saturating_add(open.failing_ns);
        let completion = Completion {
            request: open.request,
            order,
            submitted: Nanos(open.submitted),
            completed: Nanos(completed),
            result: open.failure.map_or(Ok(()), Err),
            causes: Causes {
                fault: causes.fault + open.failing_ns + open.held_ns + slow_ns,
                ..causes
            },
        };
        self.done.insert((completed, order), completion);
    }
}

fn extent(request: &Request) -> std::ops::Range<u64> {
    request.sector..request.sector + request.sectors
}

/// The bytes of a write, filled by its payload function.
fn buffer(request: &Request, payload: impl FnOnce(&mut [u8])) -> Option<Box<[u8]>> {
    if request.kind != Kind::Write {
        return None;
    }
    let length = usize::try_from(request.bytes()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length].into_boxed_slice();
    payload(&mut bytes);
    Some(bytes)
}
