//! Virtual time: the calendar of a guest of User-mode Linux that travels in time, and its disks,
//! in one thread.
//!
//! The guest's clock goes on only when the calendar lets it: to the moment for which the guest has
//! asked, or to that at which a disk completes a request, whichever is earlier; at the same
//! moment, disks come first, in their order. So a request takes exactly as long as the model says,
//! computing takes no time at all, and waiting costs none. Nothing here reads a clock but to
//! notice a guest that hangs.
//!
//! How kernel and calendar talk: the kernel's `include/uapi/linux/um_timetravel.h`, and
//! `arch/um/kernel/time.c`.

mod message;
mod page;

use crate::disk::Disk;
use crate::request::Completion;
use crate::store::StoreError;
use crate::transports::stream::{self, StreamError};
use crate::transports::vhost_user::{Connection, ConnectionError, Offer, Served};
use fsdyno_model::{CancelToken, Nanos};
use message::{Message, MessageError, Word};
use page::{KERNEL, Page};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{MemfdFlags, memfd_create};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// How far a guest may go on by itself at most. One that waits for nothing would go on for ever when
/// nobody keeps its time any more: so it comes and finds out.
const BY_ITSELF: u64 = 10 * 1_000_000_000;

/// A guest asks for this moment when it wants to sleep for ever.
const NEVER: u64 = i64::MAX as u64;

/// Why virtual time came to an end before its guest did.
#[derive(Debug, thiserror::Error)]
pub enum CalendarError {
    /// The sockets cannot be listened to, or a page cannot be shared.
    #[error("cannot {act} for virtual time: {source}")]
    Host {
        /// What was attempted.
        act: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The guest spoke rubbish, or fell silent in the midst of a message.
    #[error("the guest's line to the calendar: {0}")]
    Line(#[from] MessageError),
    /// The connection of a disk broke.
    #[error("the guest's connection to disk {disk}: {source}")]
    Disk {
        /// What the disk calls itself.
        disk: String,
        /// How.
        source: ConnectionError,
    },
    /// No guest came.
    #[error("no guest has come to the calendar for {} s", .0.as_secs())]
    Nobody(Duration),
    /// It runs, and neither asks its disks nor sleeps.
    #[error(
        "the guest has computed for {} s without asking its disks or the calendar for anything, \
         at {now} of virtual time",
        patience.as_secs()
    )]
    Hangs {
        /// For how long.
        patience: Duration,
        /// The virtual time.
        now: Nanos,
    },
    /// It sleeps, and there is nothing that would wake it.
    #[error(
        "the guest sleeps for ever at {now} of virtual time: nothing is due that would wake it"
    )]
    Sleeps {
        /// The virtual time.
        now: Nanos,
    },
    /// It was told to stop.
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

/// A disk in virtual time: an arm of its own, a socket of its own.
pub struct Seat {
    /// What it calls itself.
    pub name: String,
    /// The disk.
    pub disk: Disk,
    /// Where the guest connects to it.
    pub listener: UnixListener,
    /// Whether it knows discards.
    pub discards: bool,
    /// Its time when the guest's begins.
    began: u64,
    generation: u32,
}

impl Seat {
    /// A disk, what it calls itself, and where a guest connects to it.
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

/// How virtual time is kept.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The time of day at which every guest begins, nanoseconds since 1970.
    pub time_of_day: u64,
    /// How long in real time a guest may take to come.
    pub start: Duration,
    /// How long in real time it may compute without a word.
    pub patience: Duration,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            // The morning of 1 July 2004, when disks were slow.
            time_of_day: 1_088_676_000_000_000_000,
            start: Duration::from_secs(120),
            patience: Duration::from_secs(300),
        }
    }
}

/// What the workload in the guest has said since it was asked last: the texts of its marks. Asked
/// before anything is taken from the guest and before anything more is completed, so that a mark
/// said before a request was made stands before it.
pub type Marks<'a> = &'a mut dyn FnMut() -> Vec<String>;

/// What has passed when a guest has gone, or its time was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Virtual time, from the guest's first word on.
    pub time: Nanos,
    /// Whether its time was ended, and it is there yet.
    pub cut: bool,
    /// What each disk was asked for.
    pub served: Vec<Served>,
    /// The SHA-256 of all completions, with their moments, in order: two guests that did the same
    /// have the same.
    pub digest: String,
}

/// Says when time ends, if anybody knows: asked while the guest stands still, at this moment of its
/// time, with nothing of what it has said before left unsaid. The end may be known late: what is
/// past is now.
pub type End<'a> = &'a mut dyn FnMut(Nanos) -> Option<Nanos>;

/// Waits for a guest, and keeps its time until it goes.
pub fn serve(
    listener: &UnixListener,
    seats: &mut [Seat],
    setting: Setting,
    marks: Marks<'_>,
    stop: &CancelToken,
) -> Result<Passed, CalendarError> {
    serve_until(listener, seats, setting, (marks, &mut |_| None), stop)
}

/// The same, and no further than to a moment: there the guest stands still, and nothing that was
/// due then has happened.
pub fn serve_until(
    listener: &UnixListener,
    seats: &mut [Seat],
    setting: Setting,
    (marks, end): (Marks<'_>, End<'_>),
    stop: &CancelToken,
) -> Result<Passed, CalendarError> {
    let listen = CalendarError::host("listen");
    let nonblocking = || -> io::Result<()> {
        listener.set_nonblocking(true)?;
        seats
            .iter()
            .try_for_each(|seat| seat.listener.set_nonblocking(true))
    };
    nonblocking().map_err(listen)?;
    let line = first_guest(listener, setting.start, stop)?;
    let connections = seats.iter().map(|_| None).collect();
    let served = vec![Served::default(); seats.len()];
    let mut calendar = Calendar {
        line,
        page: Page::new().map_err(CalendarError::host("share a page"))?,
        seats,
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
    let cut = calendar.keep()?;
    calendar.mark()?;
    Ok(calendar.passed(cut))
}

fn first_guest(
    listener: &UnixListener,
    patience: Duration,
    stop: &CancelToken,
) -> Result<UnixStream, CalendarError> {
    let deadline = Instant::now() + patience;
    let taken = CalendarError::host("take the guest's connection");
    loop {
        if stop.requested() {
            return Err(CalendarError::Stopped);
        }
        let mut lines = [PollFd::new(listener, PollFlags::IN)];
        stream::wait(&mut lines, Some(deadline.min(Instant::now() + LOOK)))?;
        match listener.accept() {
            Ok((line, _)) => {
                line.set_nonblocking(true).map_err(taken)?;
                return Ok(line);
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(taken(error)),
            Err(_) if Instant::now() >= deadline => return Err(CalendarError::Nobody(patience)),
            Err(_) => {}
        }
    }
}

/// Virtual time of one guest.
struct Calendar<'a> {
    line: UnixStream,
    page: Page,
    seats: &'a mut [Seat],
    connections: Vec<Option<Connection>>,
    /// What was asked for over connections that have ended.
    served: Vec<Served>,
    setting: Setting,
    marks: Marks<'a>,
    stop: &'a CancelToken,
    /// The guest's time.
    now: u64,
    /// When the guest has asked to run, where it does not use the page.
    request: Option<u64>,
    waiting: bool,
    /// The number of the last permission to run.
    runs: u32,
    digest: Sha256,
    end: End<'a>,
    /// When time ends, where that is known.
    last: Option<u64>,
}

impl Calendar<'_> {
    /// Keeps the guest's time until it goes, or its time ends: whether it did.
    fn keep(&mut self) -> Result<bool, CalendarError> {
        loop {
            // A guest that is busy is never waited for.
            if self.stop.requested() {
                return Err(CalendarError::Stopped);
            }
            if self.waiting {
                self.last = (self.end)(Nanos(self.now)).map(|end| end.0);
                if self.ends() {
                    return Ok(true);
                }
                if self.go_on()? {
                    continue;
                }
            }
            if !self.hear()? {
                return Ok(false);
            }
        }
    }

    /// Lays what the workload has said by now behind what its disks have been asked by now.
    fn mark(&mut self) -> Result<(), CalendarError> {
        for text in (self.marks)() {
            self.catch_up();
            for seat in self.seats.iter_mut() {
                let now = Nanos(seat.began + self.now);
                seat.disk.mark(now, &text).map_err(of_contents)?;
            }
        }
        Ok(())
    }

    /// Goes on to the end of time, where that is next.
    fn ends(&mut self) -> bool {
        let due = self.due().map(|(at, _)| at);
        let next = due.into_iter().chain(self.wish()).min();
        let last = self.last.map(|last| last.max(self.now));
        let Some(last) = last.filter(|last| next.is_none_or(|next| *last <= next)) else {
            return false;
        };
        self.reach(last);
        true
    }

    /// When the guest wants to run.
    fn wish(&self) -> Option<u64> {
        let request = if self.page.is_shared() {
            self.page.request()
        } else {
            self.request
        };
        request.filter(|then| *then < NEVER)
    }

    /// When a disk has something to tell, in the guest's time.
    fn due_at(&self, seat: usize) -> Option<u64> {
        let connection = self.connections[seat].as_ref();
        if connection.is_some_and(Connection::has_answered) {
            return Some(self.now);
        }
        let next = self.seats[seat].disk.next_completion()?;
        Some(next.0.saturating_sub(self.seats[seat].began))
    }

    /// The first disk that has something to tell, and when.
    fn due(&self) -> Option<(u64, usize)> {
        let of = |seat| self.due_at(seat).map(|at| (at, seat));
        (0..self.seats.len()).filter_map(of).min()
    }

    /// Goes on to whatever comes first; whether there was anything.
    fn go_on(&mut self) -> Result<bool, CalendarError> {
        self.mark()?;
        match (self.due(), self.wish()) {
            (Some((at, seat)), then) if then.is_none_or(|then| at <= then) => {
                self.reach(at);
                self.complete(seat)?;
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

    /// Time goes on to a moment; never back.
    fn reach(&mut self, then: u64) {
        self.now = self.now.max(then);
        self.page.set_now(self.now);
    }

    /// Lets the guest run, and go on by itself until a disk has something to tell.
    fn run(&mut self) -> Result<(), CalendarError> {
        self.waiting = false;
        self.request = None;
        self.set_free();
        self.runs = self.runs.wrapping_add(1);
        let run = Message {
            word: Word::Run,
            number: self.runs,
            time: self.now,
        };
        Ok(message::send(&self.line, run, &[])?)
    }

    /// The guest may go on by itself to the moment before a disk has something to tell, or time
    /// ends.
    fn set_free(&self) {
        let due = self.due().map(|(at, _)| at);
        let until = due.into_iter().chain(self.last);
        let until = until.fold(self.now.saturating_add(BY_ITSELF), u64::min);
        self.page.set_free_until(until);
    }

    /// Has a disk complete what is due, and tells the guest.
    fn complete(&mut self, seat: usize) -> Result<(), CalendarError> {
        let now = Nanos(self.seats[seat].began + self.now);
        let Some(connection) = &mut self.connections[seat] else {
            // Whoever asked for it has gone.
            let disk = &mut self.seats[seat].disk;
            return disk.complete(now).map(drop).map_err(of_contents);
        };
        let completed = connection.complete(&mut self.seats[seat].disk, now);
        let (completions, call) = completed.map_err(|source| self.of_disk(seat, source))?;
        for completion in &completions {
            self.note(seat, completion);
        }
        if call {
            self.call(seat)?;
        }
        Ok(())
    }

    /// Takes a completion into the digest.
    fn note(&mut self, seat: usize, completion: &Completion) {
        let request = &completion.request;
        for number in [
            self.now,
            seat as u64,
            request.kind as u64,
            request.sector,
            request.sectors,
            u64::from(request.fua),
            u64::from(completion.result.is_ok()),
        ] {
            self.digest.update(number.to_le_bytes());
        }
    }

    /// Tells the guest that a disk has completed something, and waits until it has taken note:
    /// meanwhile it asks the calendar for the time.
    fn call(&mut self, seat: usize) -> Result<(), CalendarError> {
        let Some(connection) = &self.connections[seat] else {
            return Ok(());
        };
        let answers = connection.call_in_band();
        if !answers.map_err(|source| self.of_disk(seat, source))? {
            let what = "to be told without a channel for it".to_owned();
            return Err(self.of_disk(seat, ConnectionError::NotOffered { what }));
        }
        let deadline = Instant::now() + self.setting.patience;
        loop {
            let Some(connection) = &self.connections[seat] else {
                return Ok(());
            };
            let mut lines = vec![PollFd::new(&self.line, PollFlags::IN)];
            lines.extend(
                connection
                    .back()
                    .map(|back| PollFd::from_borrowed_fd(back, PollFlags::IN)),
            );
            stream::wait(&mut lines, Some(deadline.min(Instant::now() + LOOK)))?;
            let (spoken, answered) = (is_ready(lines.first()), is_ready(lines.get(1)));
            if spoken {
                if !self.hear_calendar()? {
                    return Ok(());
                }
            } else if answered {
                return connection
                    .called()
                    .map_err(|source| self.of_disk(seat, source));
            } else {
                self.be_patient(deadline)?;
            }
        }
    }

    fn be_patient(&self, deadline: Instant) -> Result<(), CalendarError> {
        if self.stop.requested() {
            return Err(CalendarError::Stopped);
        }
        if Instant::now() < deadline {
            return Ok(());
        }
        let now = Nanos(self.now);
        let patience = self.setting.patience;
        Err(if self.waiting {
            CalendarError::Sleeps { now }
        } else {
            CalendarError::Hangs { patience, now }
        })
    }

    /// Waits for the next word of the guest, to whomever, and does what it asks for; whether it is
    /// still there.
    fn hear(&mut self) -> Result<bool, CalendarError> {
        let deadline = Instant::now() + self.setting.patience;
        loop {
            let mut lines = vec![PollFd::new(&self.line, PollFlags::IN)];
            for (seat, connection) in self.seats.iter().zip(&self.connections) {
                let line = connection
                    .as_ref()
                    .map_or(seat.listener.as_fd(), Connection::line);
                lines.push(PollFd::from_borrowed_fd(line, PollFlags::IN));
            }
            let look = deadline.min(Instant::now() + LOOK);
            if !stream::wait(&mut lines, Some(look))? {
                // A guest that computes may have told something all the same.
                self.mark()?;
                self.be_patient(deadline)?;
                continue;
            }
            let ready: Vec<bool> = lines.iter().map(|line| is_ready(Some(line))).collect();
            if ready[0] {
                return self.hear_calendar();
            }
            for seat in (0..self.seats.len()).filter(|seat| ready[seat + 1]) {
                self.hear_disk(seat)?;
            }
            return Ok(true);
        }
    }

    /// A word of the guest to the calendar; whether the guest is still there.
    fn hear_calendar(&mut self) -> Result<bool, CalendarError> {
        let Some(heard) = message::receive(&self.line)? else {
            return Ok(false);
        };
        let mut told = Message {
            word: Word::Ack,
            number: heard.number,
            time: 0,
        };
        match heard.word {
            Word::Ack => return Ok(true),
            Word::Start => {
                told.time = KERNEL.into();
                let log = memfd_create("fsdyno-calendar-log", MemfdFlags::CLOEXEC);
                let log = log.map_err(|e| CalendarError::host("make a log")(e.into()))?;
                let descriptors: [BorrowedFd<'_>; 2] = [self.page.descriptor(), log.as_fd()];
                message::send(&self.line, told, &descriptors)?;
                return Ok(true);
            }
            Word::Request => self.request = Some(heard.time),
            Word::Wait => {
                self.waiting = true;
                self.catch_up();
                if self.page.is_shared() {
                    // Nobody waits for an answer to this then.
                    return Ok(true);
                }
            }
            Word::Get => {
                self.catch_up();
                told.time = self.now;
            }
            Word::Update => self.reach(heard.time),
            Word::GetTimeOfDay => told.time = self.setting.time_of_day + self.now,
            Word::Run | Word::Broadcast => {}
        }
        message::send(&self.line, told, &[])?;
        Ok(true)
    }

    /// The time that the guest has come to by itself.
    fn catch_up(&mut self) {
        if self.page.is_shared() {
            self.now = self.now.max(self.page.now());
        }
    }

    /// A guest comes to a disk, or says something to one.
    fn hear_disk(&mut self, seat: usize) -> Result<(), CalendarError> {
        self.catch_up();
        // What it says to a disk now, it says after that, and it waits for the answer.
        self.mark()?;
        let heard = match self.connections[seat].take() {
            None => self.connect(seat),
            Some(connection) => self.converse(seat, connection),
        };
        heard.map_err(|source| self.of_disk(seat, source))
    }

    fn connect(&mut self, number: usize) -> Result<(), ConnectionError> {
        let seat = &mut self.seats[number];
        let line = match seat.listener.accept() {
            Ok((line, _)) => line,
            // It has gone again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(StreamError::Socket(error).into()),
        };
        line.set_nonblocking(true).map_err(StreamError::Socket)?;
        let offer = Offer {
            sectors: seat.disk.sectors(),
            cache: seat.disk.is_volatile(),
            discards: seat.discards,
            in_band: true,
        };
        seat.generation = seat.generation.wrapping_add(1);
        let connection = Connection::new(line, offer, &seat.name, seat.generation)?;
        self.connections[number] = Some(connection);
        Ok(())
    }

    /// Carries out what the guest says to a disk. What it has laid into the ring is taken, and how
    /// far it may go on by itself is set anew, before it is answered and goes on.
    fn converse(
        &mut self,
        number: usize,
        mut connection: Connection,
    ) -> Result<(), ConnectionError> {
        let Some(message) = connection.receive()? else {
            self.served[number] += connection.served();
            return Ok(());
        };
        let seat = &mut self.seats[number];
        let now = Nanos(seat.began + self.now);
        let carried = connection.carry_out(message)?;
        let kicked = carried.kicked;
        if kicked {
            connection.take(&mut seat.disk, now)?;
        }
        self.connections[number] = Some(connection);
        if kicked {
            self.set_free();
        }
        match &mut self.connections[number] {
            Some(connection) => connection.reply(carried, &mut self.seats[number].disk),
            None => Ok(()),
        }
    }

    fn of_disk(&self, seat: usize, source: ConnectionError) -> CalendarError {
        let disk = self.seats[seat].name.clone();
        CalendarError::Disk { disk, source }
    }

    /// The guest has gone: what has passed, and the disks go on from here with the next one.
    fn passed(self, cut: bool) -> Passed {
        let mut served = self.served;
        for (served, connection) in served.iter_mut().zip(&self.connections) {
            *served += connection
                .as_ref()
                .map(Connection::served)
                .unwrap_or_default();
        }
        for seat in self.seats.iter_mut() {
            seat.began += self.now;
        }
        let mut digest = String::new();
        for byte in self.digest.finalize() {
            // A string takes everything.
            let _ = write!(digest, "{byte:02x}");
        }
        Passed {
            time: Nanos(self.now),
            cut,
            served,
            digest,
        }
    }
}

fn of_contents(error: StoreError) -> CalendarError {
    CalendarError::host("keep the contents of a disk")(io::Error::other(error))
}

fn is_ready(line: Option<&PollFd<'_>>) -> bool {
    line.is_some_and(|line| !line.revents().is_empty())
}
