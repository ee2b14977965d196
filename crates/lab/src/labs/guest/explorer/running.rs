//! A running guest that explores crash states, with the calendar of its time and its disks: the
//! disks under test, and the mailbox of commands and messages.

use super::super::virtual_time::{listen, write_task};
use super::super::{GuestLab, GuestLabError, LAST_LINES};
use super::recording::Recording;
use crate::disks::DiskBuilder;
use crate::explorer_messages::{Answer, Command, Trial};
use crate::messages::Task;
use fsdyno_crash::{Trace, TraceEvent};
use fsdyno_disk::mailbox::{self, Mailbox};
use fsdyno_disk::transports::calendar::{self, CalendarDisk, CalendarError, Passed, Setting};
use fsdyno_disk::{
    Base, Contents, Delta, Disk, Faults, Image, Payloads, Profile, Recorder, SectorSet,
};
use fsdyno_guests::{Guest, OneProcessor, ended, time_travel};
use fsdyno_host::image::Scratch;
use fsdyno_model::{Bytes, CancelToken, Contender, ModelDisk, Nanos};
use std::io;
use std::mem;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum virtual time of a command. A guest that takes longer hangs.
const HANG_TIMEOUT: Nanos = Nanos(15 * 60 * 1_000_000_000);

/// The maximum real time without a message of the guest to its calendar.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum processor time of the kernel for a command. Real time would depend on what else this
/// machine does.
const KERNEL_TIMEOUT: Nanos = Nanos(300 * 1_000_000_000);

/// The first word of the description of a guest that does not reply.
const HANGS: &str = "hangs";

/// The message of a kernel whose calendar closed. It is a consequence of the end, not its cause.
const END_OF_TIME: &str = "time-travel external link is broken";

/// Timeout for the end of the calendar after its guest has exited.
const GONE: Duration = Duration::from_secs(2);

/// A command, and what is on the disks when the guest receives it.
struct QueuedCommand {
    command: Vec<u8>,
    /// Those of each disk.
    contents: Vec<Contents>,
    /// Whether requests are recorded from the beginning.
    records: bool,
    /// Whether requests take no time. The order of concurrent requests then depends on nothing that
    /// was done before.
    instant: bool,
}

/// The disk at the end of the first mount of a recovered file system.
#[derive(Debug, Clone, Default)]
pub struct AfterRecovery {
    /// The sectors that were read before they were written, in the order of their first reads.
    pub reads: Vec<u64>,
    pub written: SectorSet,
    /// The number of requests, and of reads among them.
    pub requests: u64,
    pub read_requests: u64,
    /// The contents, as changes of the base of the given ones.
    pub changes: Delta,
    /// The requests, if they were recorded.
    pub trace: Trace,
}

impl AfterRecovery {
    /// Ends the recording.
    fn of(recording: &Recording, image: &Image) -> Self {
        let trace = recording.stop();
        let contents = image.contents();
        Self {
            reads: contents.reads().to_vec(),
            written: contents.written().clone(),
            requests: contents.requests(),
            read_requests: contents.read_requests(),
            changes: contents.delta().clone(),
            trace,
        }
    }
}

/// The last message of the guest about a command, and what was recorded.
#[derive(Debug)]
pub(super) struct Reply {
    pub answer: Answer,
    /// The contents of each disk when the recording began; after `Prepare`, those at its end. Empty
    /// without a recording.
    pub bases: Vec<Base>,
    /// The recording of each disk.
    pub traces: Vec<Trace>,
    /// Of each disk; empty without a recovery.
    pub after: Vec<AfterRecovery>,
}

/// A disk under test. Clones are the same disk.
#[derive(Clone)]
struct TestedDisk {
    image: Image,
    recording: Recording,
}

impl TestedDisk {
    fn after_recovery(&self) -> AfterRecovery {
        AfterRecovery::of(&self.recording, &self.image)
    }
}

/// The reason why there is no reply.
#[derive(Debug)]
pub(super) enum NoReply {
    Stopped,
    Died(GuestFailure),
}

/// The end of a guest that should not have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestFailure {
    /// A description of the error.
    pub what: String,
    /// The last lines of its console, or the first of the crash of its kernel.
    pub console: Vec<String>,
}

impl GuestFailure {
    /// Whether its kernel was still running.
    pub fn hangs(&self) -> bool {
        self.what.starts_with(HANGS)
    }

    /// The error with the last lines of the console.
    pub(super) fn words(&self) -> String {
        super::super::session::with_last(self.what.clone(), &self.console)
    }
}

type Time = JoinHandle<Result<Passed, CalendarError>>;

/// A guest. It dies with the thread that started it.
pub(super) struct Running {
    guest: Guest,
    /// Its serial line, which it does not use.
    _line: UnixStream,
    /// None once it has ended.
    time: Option<Time>,
    stop: CancelToken,
    orders: Sender<QueuedCommand>,
    replies: Receiver<Reply>,
    tested: Vec<TestedDisk>,
    _scratch: Scratch,
    _one: OneProcessor,
}

impl Running {
    /// Starts a guest; it reports what it is.
    pub fn start(
        lab: &GuestLab,
        contender: &Contender,
        model: &ModelDisk,
        empty: &Base,
    ) -> Result<(Self, String), GuestLabError> {
        let failed = |what: String| GuestLabError::Died { what };
        let one = OneProcessor::here();
        let scratch = Scratch::create(&lab.unique_place("explore"), &lab.journal)?;
        let devices = contender.layout.devices;
        let contender = Box::new(contender.clone());
        write_task(scratch.path(), &Task::Explore { contender }).map_err(failed)?;
        let (orders, next) = channel();
        let (answered, replies) = channel();
        let builder = DiskBuilder::of(model).map_err(failed)?;
        let tested: Vec<TestedDisk> = (0..devices)
            .map(|_| TestedDisk {
                image: Image::new(empty.clone()),
                recording: Recording::new(builder.keeps_writes()),
            })
            .collect();
        let stop = CancelToken::new();
        let commands = Arc::new(AtomicU64::new(0));
        let instant = Arc::new(AtomicBool::new(true));
        // It reports what it is without a command.
        let waits = Arc::new(AtomicBool::new(true));
        let post = MessageReceiver {
            waits: Arc::clone(&waits),
            tested: tested.clone(),
            replied: answered,
            bases: Vec::new(),
            after: Vec::new(),
        };
        let source = Source {
            tested: tested.clone(),
            next,
            commands: Arc::clone(&commands),
            instant: Arc::clone(&instant),
            waits,
            stop: stop.clone(),
        };
        let size = Bytes(empty.bytes());
        let served = |(number, one): (usize, &TestedDisk)| {
            let disk = builder.over(Box::new(one.image.clone()), (number, size));
            let disk = disk.with_contents_at_submission();
            let mut disk = disk.with_instant(Arc::clone(&instant));
            let sink = Box::new(one.recording.clone());
            disk.record(Recorder::to(sink, Payloads::Kept));
            (disk, builder.discards())
        };
        let mut calendar_disks: Vec<_> = tested.iter().enumerate().map(served).collect();
        calendar_disks.push((mailbox(source, post).map_err(failed)?, false));
        let mut calendar_disks = with_sockets(calendar_disks, scratch.path()).map_err(failed)?;
        let calendar = listen(scratch.path(), time_travel::CALENDAR).map_err(failed)?;
        let size = (lab.size.memory, calendar_disks.len(), builder.kind());
        let (guest, line) = lab.start_in_virtual_time(size, None, scratch.path())?;
        let stopped = stop.clone();
        let time = thread::spawn(move || {
            let setting = Setting {
                timeout: IDLE_TIMEOUT,
                ..Setting::default()
            };
            let (mut command, mut since) = (0, Nanos(0));
            let mut end = |now: Nanos| {
                let current = commands.load(Ordering::Relaxed);
                if current != command {
                    (command, since) = (current, now);
                }
                Some(Nanos(since.0 + HANG_TIMEOUT.0))
            };
            let watch = (
                &mut Vec::new as calendar::Marks<'_>,
                &mut end as calendar::End<'_>,
            );
            calendar::serve_until(&calendar, &mut calendar_disks, setting, watch, &stopped)
        });
        let mut running = Self {
            guest,
            _line: line,
            time: Some(time),
            stop,
            orders,
            replies,
            tested,
            _scratch: scratch,
            _one: one,
        };
        match running.wait(&lab.stop) {
            Ok(Reply {
                answer: Answer::Ready { about },
                ..
            }) => Ok((running, about)),
            Ok(reply) => Err(failed(format!("sent {:?}", reply.answer))),
            Err(NoReply::Stopped) => Err(GuestLabError::Stopped),
            Err(NoReply::Died(death)) => Err(failed(death.words())),
        }
    }

    /// Sends a command and waits for its reply. These contents are on the disks when the guest
    /// receives it.
    pub fn command(
        &mut self,
        command: &Command,
        contents: Vec<Contents>,
        records: bool,
        stop: &CancelToken,
    ) -> Result<Reply, NoReply> {
        let instant = match command {
            Command::Perform { .. } | Command::Continue { .. } | Command::Execute { .. } => false,
            Command::Recover { trial, .. } => !trial.is_some_and(Trial::is_timed),
            Command::Prepare => true,
        };
        let order = QueuedCommand {
            command: serde_json::to_vec(command).unwrap_or_default(),
            contents,
            records,
            instant,
        };
        // If the guest has died, there is no reply either.
        let _ = self.orders.send(order);
        self.wait(stop)
    }

    /// The disks under test, after the guest has died.
    pub fn state_after_recovery(&self) -> Vec<AfterRecovery> {
        self.tested.iter().map(TestedDisk::after_recovery).collect()
    }

    fn wait(&mut self, stop: &CancelToken) -> Result<Reply, NoReply> {
        // A guest that has ended has no processor time; `gone` ends the wait.
        let used = |guest: &Guest| guest.kernel_time().unwrap_or_default();
        let before = used(&self.guest);
        let mut gone: Option<Instant> = None;
        loop {
            match self.replies.recv_timeout(POLL_INTERVAL) {
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Disconnected) => return Err(self.end_guest(None)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.requested() {
                return Err(NoReply::Stopped);
            }
            if gone.is_none() && !matches!(self.guest.wait(Duration::ZERO), Ok(None)) {
                gone = Some(Instant::now());
            }
            // Processes of a guest that has exited may keep its line to the calendar open.
            if gone.is_some_and(|since| since.elapsed() > GONE) {
                return Err(self.end_guest(None));
            }
            if used(&self.guest).0.saturating_sub(before.0) > KERNEL_TIMEOUT.0 {
                let what = format!("{HANGS}: no reply for {KERNEL_TIMEOUT} of processor time");
                return Err(self.end_guest(Some(what)));
            }
        }
    }

    /// Ends the guest, and reports how it died.
    fn end_guest(&mut self, what: Option<String>) -> NoReply {
        self.stop.request();
        let status = self.guest.wait(Duration::from_millis(200)).ok().flatten();
        let passed = self.take_time();
        let what = what.unwrap_or_else(|| match passed {
            Ok(passed) if passed.power_cut => {
                format!("{HANGS}: no reply for {HANG_TIMEOUT} of its time")
            }
            Ok(_) | Err(CalendarError::Stopped) => {
                status.map_or("closed its lines".to_owned(), ended)
            }
            Err(error) => error.to_string(),
        });
        let mut console = self.guest.last_lines(LAST_LINES);
        if let Some(end) = console.iter().position(|line| line.contains(END_OF_TIME)) {
            console.truncate(end);
        }
        NoReply::Died(GuestFailure { what, console })
    }

    fn take_time(&mut self) -> Result<Passed, CalendarError> {
        // The calendar checks for cancellation several times a second.
        let ended = self.time.take().and_then(|time| time.join().ok());
        ended.unwrap_or(Err(CalendarError::Stopped))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.request();
        // The thread of its time waits for an order.
        self.orders = channel().0;
        let _ = self.take_time();
    }
}

/// Brings commands to the guest, in the thread of its time.
struct Source {
    tested: Vec<TestedDisk>,
    next: Receiver<QueuedCommand>,
    /// How many commands the guest has received.
    commands: Arc<AtomicU64>,
    instant: Arc<AtomicBool>,
    waits: Arc<AtomicBool>,
    stop: CancelToken,
}

impl Source {
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let order = loop {
            match self.next.recv_timeout(POLL_INTERVAL) {
                Ok(order) => break order,
                Err(RecvTimeoutError::Timeout) if !self.stop.requested() => {}
                Err(_) => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        };
        for (disk, contents) in self.tested.iter().zip(order.contents) {
            let requests = disk.recording.in_flight();
            if requests > 0 {
                let what = format!("{requests} requests are in flight between two commands");
                return Err(io::Error::other(what));
            }
            drop(disk.image.replace(contents));
        }
        if order.records {
            self.tested.iter().for_each(|disk| disk.recording.start());
        }
        self.instant.store(order.instant, Ordering::Relaxed);
        self.waits.store(true, Ordering::Relaxed);
        self.commands.fetch_add(1, Ordering::Relaxed);
        Ok(order.command)
    }
}

/// Takes the messages of the guest, in the thread of its time.
struct MessageReceiver {
    tested: Vec<TestedDisk>,
    replied: Sender<Reply>,
    /// Whether the host waits for a reply.
    waits: Arc<AtomicBool>,
    bases: Vec<Base>,
    after: Vec<AfterRecovery>,
}

impl MessageReceiver {
    fn snapshots(&self) -> Vec<Base> {
        let tested = self.tested.iter();
        let bases = tested.map(|disk| disk.image.contents().snapshot());
        bases.collect()
    }

    fn mark(&self, event: &TraceEvent) {
        let tested = self.tested.iter();
        tested.for_each(|disk| disk.recording.mark(event.clone()));
    }

    fn deliver(&mut self, message: &[u8]) -> io::Result<()> {
        let answer: Answer = serde_json::from_slice(message)?;
        match answer {
            Answer::SetUp => {
                self.bases = self.snapshots();
                self.tested.iter().for_each(|disk| disk.recording.start());
            }
            Answer::Began { operation } => self.mark(&TraceEvent::Began { operation }),
            Answer::Returned { operation } => self.mark(&TraceEvent::Returned { operation }),
            Answer::Unmounted => {
                self.after = self.tested.iter().map(TestedDisk::after_recovery).collect();
            }
            answer => {
                if !self.waits.swap(false, Ordering::Relaxed) {
                    return Err(io::Error::other("the guest replied without a command"));
                }
                if matches!(answer, Answer::Prepared { .. }) {
                    self.bases = self.snapshots();
                }
                let tested = self.tested.iter();
                let reply = Reply {
                    answer,
                    bases: mem::take(&mut self.bases),
                    traces: tested.map(|disk| disk.recording.stop()).collect(),
                    after: mem::take(&mut self.after),
                };
                // The receiver is gone when the guest is ended.
                let _ = self.replied.send(reply);
            }
        }
        Ok(())
    }
}

/// The disk of commands and messages. It takes no time.
fn mailbox(mut source: Source, mut post: MessageReceiver) -> Result<Disk, String> {
    let profile = Profile::named(Path::new("null")).map_err(|error| error.to_string())?;
    let next = move || source.next();
    let deliver = move |message: &[u8]| post.deliver(message);
    let store = Mailbox::new(Box::new(next), Box::new(deliver));
    let size = Some(Bytes(mailbox::BYTES));
    Ok(Disk::new(&profile, size, Box::new(store), Faults::none()))
}

/// The disks in the order of their numbers, each with its socket.
fn with_sockets(disks: Vec<(Disk, bool)>, scratch: &Path) -> Result<Vec<CalendarDisk>, String> {
    let disks = disks.into_iter().enumerate();
    let with_socket = |(number, (disk, discards))| {
        let socket = listen(scratch, &time_travel::disk_socket(number))?;
        let name = format!("disk{number}");
        Ok(CalendarDisk::new(name, disk, socket, discards))
    };
    disks.map(with_socket).collect()
}
