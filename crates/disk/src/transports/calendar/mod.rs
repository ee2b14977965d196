//! Virtual time: the time-travel calendar of a User-mode Linux guest and its disks, in one thread.
//!
//! The calendar advances the guest's clock to the earlier of two events: the guest's requested time
//! or the next disk completion. At equal times, disks precede the guest, in their order. So a
//! request takes exactly the modelled time, computation takes no virtual time, and waits take no
//! real time. Real clocks only serve to detect a guest that hangs.
//!
//! Sources of the protocol: the kernel's `include/uapi/linux/um_timetravel.h` and
//! `arch/um/kernel/time.c`.

mod message;
mod page;
mod patience;

use crate::disk::Disk;
use crate::request::Completion;
use crate::store::StoreError;
use crate::transports::stream::{self, StreamError};
use crate::transports::vhost_user::{Connection, ConnectionError, Offer, Served};
use fsdyno_model::names::hexadecimal;
use fsdyno_model::{CancelToken, Nanos};
use message::{Message, MessageError, Operation};
use page::{KERNEL, Page};
pub use patience::Patience;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{MemfdFlags, memfd_create};
use sha2::{Digest, Sha256};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Interval between checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum time that a guest advances without a message. An idle guest whose calendar has exited
/// would otherwise run forever.
const BY_ITSELF: u64 = 10 * 1_000_000_000;

/// Time that a guest requests to sleep forever.
const NEVER: u64 = i64::MAX as u64;

/// An error that ended virtual time before the guest exited.
#[derive(Debug, thiserror::Error)]
pub enum CalendarError {
    /// A socket or the shared page cannot be created.
    #[error("cannot {act} for virtual time: {source}")]
    Host {
        act: &'static str,
        source: io::Error,
    },
    /// The guest sent a malformed message, or stopped within a message.
    #[error("the guest's line to the calendar: {0}")]
    Line(#[from] MessageError),
    /// The connection of a disk failed.
    #[error("the guest's connection to disk {disk}: {source}")]
    Disk {
        disk: String,
        source: ConnectionError,
    },
    #[error("no guest has come to the calendar for {} s", .0.as_secs())]
    NotConnected(Duration),
    /// The guest runs without disk requests or sleeps: it hangs.
    #[error(
        "the guest has computed or slept for {} s without asking its disks or the calendar for \
         anything, at {now} of virtual time",
        timeout.as_secs()
    )]
    Hangs { timeout: Duration, now: Nanos },
    /// The guest sleeps, and no event is pending.
    #[error(
        "the guest sleeps for ever at {now} of virtual time: nothing is due that would wake it"
    )]
    Sleeps { now: Nanos },
    #[error("stopped on request")]
    Stopped,
}

impl CalendarError {
    fn host(act: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Host { act, source }
    }
}

impl From<StreamError> for CalendarError {
    fn from(error: StreamError) -> Self {
        Self::Line(error.into())
    }
}

/// A disk in virtual time, with its own arm and its own socket.
pub struct CalendarDisk {
    pub name: String,
    pub disk: Disk,
    /// Listening socket for the guest.
    pub listener: UnixListener,
    /// Whether the disk supports discard.
    pub discards: bool,
    /// Disk time at the start of the guest.
    began: u64,
    generation: u32,
}

impl CalendarDisk {
    /// Creates a disk with its name and its listening socket.
    pub fn new(name: String, disk: Disk, listener: UnixListener, discards: bool) -> Self {
        Self {
            name,
            disk,
            listener,
            discards,
            began: 0,
            generation: 0,
        }
    }
}

/// Settings of virtual time.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Time of day at the start of every guest, nanoseconds since 1970.
    pub time_of_day: u64,
    /// Timeout in real time for the guest's connection.
    pub start: Duration,
    /// Timeout for a guest that sends no message: real time, except that in which it waits for a
    /// processor or the storage of this machine.
    pub timeout: Duration,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            // The morning of 1 July 2004.
            time_of_day: 1_088_676_000_000_000_000,
            start: Duration::from_secs(120),
            timeout: Duration::from_secs(300),
        }
    }
}

/// Returns the texts of the workload's new marks. The calendar calls it before it reads guest
/// messages and before it completes requests, so that a mark precedes the requests after it.
pub type Marks<'a> = &'a mut dyn FnMut() -> Vec<String>;

/// Result of a guest's virtual time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Virtual time since the guest's first message.
    pub time: Nanos,
    /// Whether the end time was reached while the guest still ran.
    pub power_cut: bool,
    /// Request counters of each disk.
    pub served: Vec<Served>,
    /// SHA-256 of all completions and their times, in order. Equal guest behaviour gives an equal
    /// digest.
    pub digest: String,
}

/// Returns the end of virtual time, if it is known. The calendar calls it at the current time while
/// the guest is stopped and all its messages are processed. An end in the past means now.
pub type End<'a> = &'a mut dyn FnMut(Nanos) -> Option<Nanos>;

/// Waits for a guest and runs its calendar until it exits.
pub fn serve(
    listener: &UnixListener,
    disks: &mut [CalendarDisk],
    setting: Setting,
    marks: Marks<'_>,
    stop: &CancelToken,
) -> Result<Passed, CalendarError> {
    serve_until(listener, disks, setting, (marks, &mut |_| None), stop)
}

/// Runs a calendar until an end time. Events that are due at that time do not happen.
pub fn serve_until(
    listener: &UnixListener,
    disks: &mut [CalendarDisk],
    setting: Setting,
    (marks, end): (Marks<'_>, End<'_>),
    stop: &CancelToken,
) -> Result<Passed, CalendarError> {
    let listen = CalendarError::host("listen");
    let nonblocking = || -> io::Result<()> {
        listener.set_nonblocking(true)?;
        disks
            .iter()
            .try_for_each(|calendar_disk| calendar_disk.listener.set_nonblocking(true))
    };
    nonblocking().map_err(listen)?;
    let line = first_guest(listener, setting.start, stop)?;
    let connections = disks.iter().map(|_| None).collect();
    let served = vec![Served::default(); disks.len()];
    let mut calendar = Calendar {
        line,
        page: Page::new().map_err(CalendarError::host("share a page"))?,
        disks,
        connections,
        served,
        setting,
        marks,
        stop,
        now: 0,
        request: None,
        waiting: false,
        runs: 0,
        digest: Sha256::new(),
        end,
        last: None,
    };
    let power_cut = calendar.keep()?;
    calendar.mark()?;
    Ok(calendar.passed(power_cut))
}

fn first_guest(
    listener: &UnixListener,
    timeout: Duration,
    stop: &CancelToken,
) -> Result<UnixStream, CalendarError> {
    let deadline = Instant::now() + timeout;
    let taken = CalendarError::host("take the guest's connection");
    loop {
        if stop.requested() {
            return Err(CalendarError::Stopped);
        }
        let mut lines = [PollFd::new(listener, PollFlags::IN)];
        stream::wait(
            &mut lines,
            Some(deadline.min(Instant::now() + POLL_INTERVAL)),
        )?;
        match listener.accept() {
            Ok((line, _)) => {
                line.set_nonblocking(true).map_err(taken)?;
                return Ok(line);
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(taken(error)),
            Err(_) if Instant::now() >= deadline => {
                return Err(CalendarError::NotConnected(timeout));
            }
            Err(_) => {}
        }
    }
}

/// Virtual time of one guest.
struct Calendar<'a> {
    line: UnixStream,
    page: Page,
    disks: &'a mut [CalendarDisk],
    connections: Vec<Option<Connection>>,
    /// Counters of connections that have ended.
    served: Vec<Served>,
    setting: Setting,
    marks: Marks<'a>,
    stop: &'a CancelToken,
    /// The guest's current time.
    now: u64,
    /// The guest's requested time, if it does not use the page.
    request: Option<u64>,
    waiting: bool,
    /// Sequence number of the last RUN message.
    runs: u32,
    digest: Sha256,
    end: End<'a>,
    /// End of virtual time, if known.
    last: Option<u64>,
}

impl Calendar<'_> {
    /// Runs the calendar until the guest exits or time ends. Returns whether the end was reached.
    fn keep(&mut self) -> Result<bool, CalendarError> {
        loop {
            // A guest that computes needs no wait.
            if self.stop.requested() {
                return Err(CalendarError::Stopped);
            }
            if self.waiting {
                self.last = (self.end)(Nanos(self.now)).map(|end| end.0);
                if self.ends() {
                    return Ok(true);
                }
                if self.advance()? {
                    continue;
                }
            }
            if !self.receive()? {
                return Ok(false);
            }
        }
    }

    /// Records the workload's marks so far after the requests so far.
    fn mark(&mut self) -> Result<(), CalendarError> {
        for text in (self.marks)() {
            self.read_guest_time();
            for calendar_disk in self.disks.iter_mut() {
                let now = Nanos(calendar_disk.began + self.now);
                calendar_disk.disk.mark(now, &text).map_err(of_contents)?;
            }
        }
        Ok(())
    }

    /// Advances to the end of virtual time, if it is the next event.
    fn ends(&mut self) -> bool {
        let due = self.due().map(|(at, _)| at);
        let next = due.into_iter().chain(self.requested_time()).min();
        let last = self.last.map(|last| last.max(self.now));
        let Some(last) = last.filter(|last| next.is_none_or(|next| *last <= next)) else {
            return false;
        };
        self.reach(last);
        true
    }

    fn requested_time(&self) -> Option<u64> {
        let request = if self.page.is_shared() {
            self.page.request()
        } else {
            self.request
        };
        request.filter(|then| *then < NEVER)
    }

    /// Time of a disk's next event, in the guest's time.
    fn due_at(&self, number: usize) -> Option<u64> {
        let connection = self.connections[number].as_ref();
        if connection.is_some_and(Connection::has_answered) {
            return Some(self.now);
        }
        let next = self.disks[number].disk.next_completion()?;
        Some(next.0.saturating_sub(self.disks[number].began))
    }

    /// The first disk with a next event, and its time.
    fn due(&self) -> Option<(u64, usize)> {
        let of = |number| self.due_at(number).map(|at| (at, number));
        (0..self.disks.len()).filter_map(of).min()
    }

    /// Advances to the next event. Returns whether there was one.
    fn advance(&mut self) -> Result<bool, CalendarError> {
        self.mark()?;
        match (self.due(), self.requested_time()) {
            (Some((at, number)), then) if then.is_none_or(|then| at <= then) => {
                self.reach(at);
                self.complete(number)?;
                Ok(true)
            }
            (_, Some(then)) => {
                self.reach(then);
                self.run()?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Advances the time to a moment, never backwards.
    fn reach(&mut self, then: u64) {
        self.now = self.now.max(then);
        self.page.set_now(self.now);
    }

    /// Lets the guest run and advance its time until the next disk event.
    fn run(&mut self) -> Result<(), CalendarError> {
        self.waiting = false;
        self.request = None;
        self.set_free();
        self.runs = self.runs.wrapping_add(1);
        let run = Message {
            operation: Operation::Run,
            number: self.runs,
            time: self.now,
        };
        Ok(message::send(&self.line, run, &[])?)
    }

    /// Lets the guest advance its time up to just before the next disk event or the end of time.
    fn set_free(&self) {
        let due = self.due().map(|(at, _)| at);
        let until = due.into_iter().chain(self.last);
        let until = until.fold(self.now.saturating_add(BY_ITSELF), u64::min);
        self.page.set_free_until(until);
    }

    /// Completes a disk's due requests and notifies the guest.
    fn complete(&mut self, number: usize) -> Result<(), CalendarError> {
        let now = Nanos(self.disks[number].began + self.now);
        let Some(connection) = &mut self.connections[number] else {
            // The connection that sent the request has ended.
            let disk = &mut self.disks[number].disk;
            return disk.complete(now).map(drop).map_err(of_contents);
        };
        let completed = connection.complete(&mut self.disks[number].disk, now);
        let (completions, call) = completed.map_err(|source| self.of_disk(number, source))?;
        for completion in &completions {
            self.note(number, completion);
        }
        if call {
            self.call(number)?;
        }
        Ok(())
    }

    /// Adds a completion to the digest.
    fn note(&mut self, number: usize, completion: &Completion) {
        let request = &completion.request;
        for number in [
            self.now,
            number as u64,
            request.kind as u64,
            request.sector,
            request.sectors,
            u64::from(request.fua),
            u64::from(completion.result.is_ok()),
        ] {
            self.digest.update(number.to_le_bytes());
        }
    }

    /// Notifies the guest of completions and waits for its acknowledgement. Meanwhile it serves the
    /// guest's time requests.
    fn call(&mut self, number: usize) -> Result<(), CalendarError> {
        let Some(connection) = &self.connections[number] else {
            return Ok(());
        };
        let answers = connection.call_in_band();
        if !answers.map_err(|source| self.of_disk(number, source))? {
            let what = "interrupts without a channel for them".to_owned();
            return Err(self.of_disk(number, ConnectionError::NotOffered { what }));
        }
        let mut patience = Patience::with(&self.line, self.setting.timeout);
        loop {
            let Some(connection) = &self.connections[number] else {
                return Ok(());
            };
            let mut lines = vec![PollFd::new(&self.line, PollFlags::IN)];
            lines.extend(
                connection
                    .back()
                    .map(|back| PollFd::from_borrowed_fd(back, PollFlags::IN)),
            );
            stream::wait(&mut lines, Some(Instant::now() + POLL_INTERVAL))?;
            let (spoken, answered) = (is_ready(lines.first()), is_ready(lines.get(1)));
            if spoken {
                if !self.receive_calendar()? {
                    return Ok(());
                }
            } else if answered {
                return connection
                    .called()
                    .map_err(|source| self.of_disk(number, source));
            } else {
                self.check_patience(&mut patience)?;
            }
        }
    }

    fn check_patience(&self, patience: &mut Patience) -> Result<(), CalendarError> {
        if self.stop.requested() {
            return Err(CalendarError::Stopped);
        }
        if !patience.is_over() {
            return Ok(());
        }
        let now = Nanos(self.now);
        let timeout = self.setting.timeout;
        Err(if self.waiting {
            CalendarError::Sleeps { now }
        } else {
            CalendarError::Hangs { timeout, now }
        })
    }

    /// Waits for the guest's next message on any connection and processes it. Returns whether the
    /// guest is still connected.
    fn receive(&mut self) -> Result<bool, CalendarError> {
        let mut patience = Patience::with(&self.line, self.setting.timeout);
        loop {
            let mut lines = vec![PollFd::new(&self.line, PollFlags::IN)];
            for (calendar_disk, connection) in self.disks.iter().zip(&self.connections) {
                let line = connection
                    .as_ref()
                    .map_or(calendar_disk.listener.as_fd(), Connection::line);
                lines.push(PollFd::from_borrowed_fd(line, PollFlags::IN));
            }
            let next_poll = Instant::now() + POLL_INTERVAL;
            if !stream::wait(&mut lines, Some(next_poll))? {
                // A guest that computes may have sent messages too.
                self.mark()?;
                self.check_patience(&mut patience)?;
                continue;
            }
            let ready: Vec<bool> = lines.iter().map(|line| is_ready(Some(line))).collect();
            if ready[0] {
                return self.receive_calendar();
            }
            for number in (0..self.disks.len()).filter(|number| ready[number + 1]) {
                self.receive_disk(number)?;
            }
            return Ok(true);
        }
    }

    /// Processes a time-travel message. Returns whether the guest is still connected.
    fn receive_calendar(&mut self) -> Result<bool, CalendarError> {
        let Some(received) = message::receive(&self.line)? else {
            return Ok(false);
        };
        let mut reply = Message {
            operation: Operation::Ack,
            number: received.number,
            time: 0,
        };
        match received.operation {
            Operation::Ack => return Ok(true),
            Operation::Start => {
                reply.time = KERNEL.into();
                let log = memfd_create("fsdyno-calendar-log", MemfdFlags::CLOEXEC);
                let log = log.map_err(|e| CalendarError::host("make a log")(e.into()))?;
                let descriptors: [BorrowedFd<'_>; 2] = [self.page.descriptor(), log.as_fd()];
                message::send(&self.line, reply, &descriptors)?;
                return Ok(true);
            }
            Operation::Request => self.request = Some(received.time),
            Operation::Wait => {
                self.waiting = true;
                self.read_guest_time();
                if self.page.is_shared() {
                    // The guest does not wait for a reply in this case.
                    return Ok(true);
                }
            }
            Operation::Get => {
                self.read_guest_time();
                reply.time = self.now;
            }
            Operation::Update => self.reach(received.time),
            Operation::GetTimeOfDay => reply.time = self.setting.time_of_day + self.now,
            Operation::Run | Operation::Broadcast => {}
        }
        message::send(&self.line, reply, &[])?;
        Ok(true)
    }

    /// The time that the guest has advanced to.
    fn read_guest_time(&mut self) {
        if self.page.is_shared() {
            self.now = self.now.max(self.page.now());
        }
    }

    /// Accepts a connection to a disk, or processes a message for it.
    fn receive_disk(&mut self, number: usize) -> Result<(), CalendarError> {
        self.read_guest_time();
        // The guest sends this message at its current time and waits for the reply.
        self.mark()?;
        let received = match self.connections[number].take() {
            None => self.connect(number),
            Some(connection) => self.process_message(number, connection),
        };
        received.map_err(|source| self.of_disk(number, source))
    }

    fn connect(&mut self, number: usize) -> Result<(), ConnectionError> {
        let calendar_disk = &mut self.disks[number];
        let line = match calendar_disk.listener.accept() {
            Ok((line, _)) => line,
            // The connection closed again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(StreamError::Socket(error).into()),
        };
        line.set_nonblocking(true).map_err(StreamError::Socket)?;
        let offer = Offer {
            sectors: calendar_disk.disk.sectors(),
            cache: calendar_disk.disk.is_volatile(),
            discards: calendar_disk.discards,
            in_band: true,
        };
        calendar_disk.generation = calendar_disk.generation.wrapping_add(1);
        let connection =
            Connection::new(line, offer, &calendar_disk.name, calendar_disk.generation)?;
        self.connections[number] = Some(connection);
        Ok(())
    }

    /// Processes a guest's message to a disk. Submits new requests and updates the guest's time
    /// limit before the reply, because the guest resumes after it.
    fn process_message(
        &mut self,
        number: usize,
        mut connection: Connection,
    ) -> Result<(), ConnectionError> {
        let Some(message) = connection.receive()? else {
            self.served[number] += connection.served();
            return Ok(());
        };
        let calendar_disk = &mut self.disks[number];
        let now = Nanos(calendar_disk.began + self.now);
        let carried = connection.carry_out(message)?;
        let kicked = carried.kicked;
        if kicked {
            connection.take(&mut calendar_disk.disk, now)?;
        }
        self.connections[number] = Some(connection);
        if kicked {
            self.set_free();
        }
        match &mut self.connections[number] {
            Some(connection) => connection.reply(carried, &mut self.disks[number].disk),
            None => Ok(()),
        }
    }

    fn of_disk(&self, number: usize, source: ConnectionError) -> CalendarError {
        let disk = self.disks[number].name.clone();
        CalendarError::Disk { disk, source }
    }

    /// Ends a guest: returns the result and resets the disks for the next guest.
    fn passed(self, power_cut: bool) -> Passed {
        let mut served = self.served;
        for (served, connection) in served.iter_mut().zip(&self.connections) {
            *served += connection
                .as_ref()
                .map(Connection::served)
                .unwrap_or_default();
        }
        for calendar_disk in self.disks.iter_mut() {
            calendar_disk.began += self.now;
        }
        Passed {
            time: Nanos(self.now),
            power_cut,
            served,
            digest: hexadecimal(&self.digest.finalize()),
        }
    }
}

fn of_contents(error: StoreError) -> CalendarError {
    CalendarError::host("keep the contents of a disk")(io::Error::other(error))
}

fn is_ready(line: Option<&PollFd<'_>>) -> bool {
    line.is_some_and(|line| !line.revents().is_empty())
}
