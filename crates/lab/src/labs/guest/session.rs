//! The session with one guest: its messages, their timeouts, and the last lines of its console.

use crate::messages::{GuestMessage, Task};
use crate::missing::Missing;
use fsdyno_disk::transports::calendar::Patience;
use fsdyno_guests::protocol::{FrameReader, FrameWriter};
use fsdyno_guests::{Guest, ended, kernels};
use fsdyno_host::cache;
use fsdyno_model::{Bytes, CancelToken, CellRecord, Event, Mark, Nanos, Recovery, Stage};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a guest may take to start: some seconds, or more on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest time without a message in which it could run; a heartbeat comes every two seconds.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(60);

/// After so long without a message in which it could run, its timer gets its alarm again.
const SILENCE: Duration = Duration::from_secs(6);

/// A guest that had lost an alarm sends its heartbeat within this time after the next one.
const REVIVAL: Duration = Duration::from_secs(1);

/// How long its processors and disks may be idle.
const IDLE_TIMEOUT: Nanos = Nanos(600 * 1_000_000_000);

/// How long the guest may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a session with a guest ended early.
#[derive(Debug)]
pub enum SessionError {
    Stopped,
    /// The guest refused the task, with its reason.
    Refused(String),
    /// The guest or its socket failed.
    Broken(io::Error),
    /// The guest sent nothing for too long.
    Unresponsive(Duration),
    /// The guest sends heartbeats, but is idle.
    Idle(Nanos),
    /// The guest had lost an alarm of its timer while something was measured.
    LostAlarm,
}

impl From<io::Error> for SessionError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

pub struct GuestSession<'a> {
    // The socket is closed before the guest is ended.
    writer: FrameWriter<UnixStream>,
    reader: FrameReader<UnixStream, GuestMessage>,
    guest: Guest,
    stop: &'a CancelToken,
    /// Whether it has started: from then on it sends heartbeats.
    has_started: bool,
    /// Whether it had lost an alarm of its timer since this was read.
    lost_alarm: bool,
}

impl<'a> GuestSession<'a> {
    pub fn new(guest: Guest, line: UnixStream, stop: &'a CancelToken) -> io::Result<Self> {
        line.set_read_timeout(Some(POLL_INTERVAL))?;
        Ok(Self {
            writer: FrameWriter(line.try_clone()?),
            reader: FrameReader::new(line),
            guest,
            stop,
            has_started: false,
            lost_alarm: false,
        })
    }

    pub fn send(&mut self, task: &Task) -> Result<(), SessionError> {
        Ok(self.writer.write(task)?)
    }

    /// The next message that is not a heartbeat.
    fn next(&mut self, timeout: Duration) -> Result<GuestMessage, SessionError> {
        let timeout = self.guest.timeout(timeout);
        let guest = self.guest.process();
        let patience = || Patience::of(Some(guest), timeout);
        let mut left = patience();
        let mut alarmed: Option<Instant> = None;
        let mut next_alarm = SILENCE;
        loop {
            if self.stop.requested() {
                return Err(SessionError::Stopped);
            }
            let word = self.reader.read()?;
            if word.is_some() {
                self.lost_alarm |= alarmed.take().is_some_and(|at| at.elapsed() < REVIVAL);
                (left, next_alarm) = (patience(), SILENCE);
            }
            match word {
                Some(GuestMessage::Beat { still }) if still > IDLE_TIMEOUT => {
                    return Err(SessionError::Idle(still));
                }
                Some(GuestMessage::Beat { .. }) => {}
                Some(GuestMessage::Refused { reason }) => {
                    return Err(SessionError::Refused(reason));
                }
                Some(word) => return Ok(word),
                None if self.guest.wait(Duration::ZERO)?.is_some() => {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                None => {
                    let waited = left.waited();
                    if waited >= timeout {
                        return Err(SessionError::Unresponsive(timeout));
                    }
                    if waited >= next_alarm && self.has_started {
                        self.guest.alarm();
                        (alarmed, next_alarm) = (Some(Instant::now()), waited + SILENCE);
                    }
                }
            }
        }
    }

    /// Waits until the guest has started; returns its description.
    pub fn ready(&mut self) -> Result<String, SessionError> {
        match self.next(START_TIMEOUT)? {
            GuestMessage::Ready {
                kernel,
                build,
                processors,
                memory,
            } => {
                self.has_started = true;
                Ok(format!(
                    "{kernel} ({}), {build}, {processors} processor{}, {} of memory",
                    self.guest.about(),
                    if processors == 1 { "" } else { "s" },
                    Bytes(memory)
                ))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The missing requirements it reports.
    pub fn missing(&mut self) -> Result<Missing, SessionError> {
        match self.next(HEARTBEAT_TIMEOUT)? {
            GuestMessage::Missing { missing } => Ok(missing),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads the messages of a cell to its end, and evicts its disks from the page cache on
    /// request.
    pub fn record(
        &mut self,
        disks: &[PathBuf],
        on_event: &mut dyn FnMut(Event),
        mark: &dyn Fn(Mark),
    ) -> Result<CellRecord, SessionError> {
        let mut measures = false;
        loop {
            let word = self.next(HEARTBEAT_TIMEOUT)?;
            if std::mem::take(&mut self.lost_alarm) && measures {
                return Err(SessionError::LostAlarm);
            }
            match word {
                GuestMessage::Happened { event } => {
                    if let Event::StageEntered { stage, .. } = &event {
                        measures = matches!(stage, Stage::Phase(_) | Stage::Scrub | Stage::Rebuild);
                    }
                    on_event(event);
                }
                GuestMessage::Marked { mark: at } => mark(at),
                GuestMessage::DriveOut => {
                    let stayed = evict_devices(disks, self.stop);
                    self.send(&Task::DrivenOut { stayed })?;
                }
                GuestMessage::KernelTime => {
                    let time = self.guest.kernel_time().map_err(|e| e.to_string());
                    self.send(&Task::KernelTime { time })?;
                }
                GuestMessage::Ended { record } => return Ok(*record),
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Waits for the first acknowledgement.
    pub fn acknowledged(&mut self) -> Result<u64, SessionError> {
        match self.next(START_TIMEOUT)? {
            GuestMessage::Acknowledged { operations } => Ok(operations),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads acknowledgements until that moment; returns the last.
    pub fn acknowledged_until(&mut self, then: Instant) -> Result<Option<u64>, SessionError> {
        let mut last = None;
        while Instant::now() < then {
            if self.stop.requested() {
                return Err(SessionError::Stopped);
            }
            match self.reader.read()? {
                Some(GuestMessage::Acknowledged { operations }) => last = Some(operations),
                Some(GuestMessage::Refused { reason }) => {
                    return Err(SessionError::Refused(reason));
                }
                Some(GuestMessage::Beat { .. }) | None => {}
                Some(other) => return Err(unexpected(&other)),
            }
        }
        Ok(last)
    }

    /// Kills the guest as a power cut would; returns the last acknowledgement in the socket.
    pub fn power_cut(self) -> Option<u64> {
        let Self {
            mut reader,
            writer,
            guest,
            ..
        } = self;
        guest.end(0);
        drop(writer);
        let mut last = None;
        // The stream ends with the guest, perhaps within a message.
        while let Ok(Some(word)) = reader.read() {
            if let GuestMessage::Acknowledged { operations } = word {
                last = Some(operations);
            }
        }
        last
    }

    /// The recovery of a file system.
    pub fn receive_recovery(&mut self) -> Result<Recovery, SessionError> {
        match self.next(HEARTBEAT_TIMEOUT)? {
            GuestMessage::Recovered { recovery, .. } => Ok(*recovery),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until the guest exits, and kills it after a timeout; returns the last lines of its
    /// console.
    pub fn leave(mut self, lines: usize) -> Vec<String> {
        // Its work is complete: a failure here loses nothing.
        let _ = self.send(&Task::Leave);
        let timeout = self.guest.timeout(EXIT_TIMEOUT);
        let _ = self.guest.wait(timeout);
        self.guest.end(lines)
    }

    /// The exit status of the guest, and the last lines of its console.
    pub fn failure_message(self, error_of_guest: &SessionError, lines: usize) -> String {
        let Self {
            writer,
            reader,
            mut guest,
            ..
        } = self;
        drop((writer, reader));
        // A guest that panics exits at once; its status is available a moment later.
        let status = guest.wait(Duration::from_secs(1)).ok().flatten();
        let what = match (error_of_guest, status) {
            (SessionError::Refused(reason), _) => format!("could not begin: {reason}"),
            (SessionError::Unresponsive(timeout), _) => {
                format!("has not answered for {} s", timeout.as_secs())
            }
            (SessionError::Idle(still), _) => {
                format!("hangs: neither its processor nor its disks did anything for {still}")
            }
            (SessionError::LostAlarm, _) => format!(
                "lost an alarm of its timer while it measured, and stood still for at least {} s: its figures \
                 would be wrong. `fsdyno run --resume RUN` measures the cell again",
                SILENCE.as_secs()
            ),
            (_, Some(status)) => ended(status),
            (SessionError::Broken(error), None) => format!("closed its line: {error}"),
            (SessionError::Stopped, None) => "was stopped".to_owned(),
        };
        let last = guest.end(lines);
        if let SessionError::Refused(_) | SessionError::LostAlarm = error_of_guest {
            return what;
        }
        with_last(what, &last)
    }
}

/// The exit status of a guest, with the last lines of its console, if any, and their known cause.
pub fn with_last(what: String, last: &[String]) -> String {
    if last.is_empty() {
        return what;
    }
    let printed = last.join(" / ");
    let known = known_cause(last).unwrap_or_default();
    format!("{what}; the last lines of its console: {printed}{known}")
}

/// The known cause of the last lines that a guest printed, to append to a failure.
pub fn known_cause(last: &[String]) -> Option<String> {
    kernels::explain_crash(&last.join("\n")).map(|known| format!("; {known}"))
}

fn unexpected(word: &GuestMessage) -> SessionError {
    let what = format!("it sent an unexpected message: {word:?}");
    SessionError::Broken(io::Error::new(io::ErrorKind::InvalidData, what))
}

/// Writes the images back and evicts them from memory; returns how many pages remained.
fn evict_devices(disks: &[PathBuf], stop: &CancelToken) -> Result<u64, String> {
    let mut stayed = 0;
    for disk in disks {
        let reported = |error: &dyn std::fmt::Display| format!("{}: {error}", disk.display());
        let image = std::fs::File::open(disk).map_err(|e| reported(&e))?;
        image.sync_all().map_err(|e| reported(&e))?;
        let left = cache::evict_and_count(disk, stop).map_err(|e| reported(&e))?;
        stayed += left.resident_pages;
    }
    Ok(stayed)
}
