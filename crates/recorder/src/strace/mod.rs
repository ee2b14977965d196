//! Observes programs with strace. Buffers are printed as addresses, so contents are not even read.

pub mod log;
mod names;
mod parse;
mod prefix;
mod text;

pub use parse::{Details, Event, Parser, Status, Unreadable};

use crate::observation::{Observed, SessionError, Target, Termination};
use crate::tracker::{Sharing, Tracker};
use crate::{Call, TABLE};
use fsdyno_files::{poll, uninterrupted};
use fsdyno_host::foreground::Foreground;
use fsdyno_host::signals;
use fsdyno_model::CancelToken;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::process::Signal;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::io::{self, Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

const PROGRAM: &str = "strace";

/// How often the end and cancellation are checked while nothing is printed.
const POLL: Duration = Duration::from_millis(50);

/// Calls whose arguments are printed as numbers: no buffers, no structures.
const RAW: &str = "read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,\
                   fstat,fstatfs,clone,getdents64,io_uring_register,io_getevents,io_pgetevents";

/// Events of threads whose start was not observed yet, at most.
const MAX_WAITING: usize = 100_000;

/// The sentences that a recording by strace has as its limits.
pub const LIMITS: &[&str] = &[
    "Page faults of mapped files are not observed.",
    "Requests of io_uring and io_submit are not observed; their use is reported.",
    "Descriptors that arrive over a socket are not followed.",
    "Programs are slowed down, mostly in calls: times between calls are too long.",
];

/// The first line of `strace --version`, or why there is none.
pub fn version() -> Result<String, SessionError> {
    let argv = [PROGRAM.to_owned(), "--version".to_owned()];
    let ended = fsdyno_host::command::query(&argv, &signals::of_process())?;
    Ok(ended.stdout.lines().next().unwrap_or_default().to_owned())
}

/// Observes programs until they end, `duration` has passed, or the user cancels. `started` is called
/// before a command starts, or strace.
pub fn observe<W: Write>(
    tracker: &mut Tracker<W>,
    target: &Target,
    duration: Option<Duration>,
    stop: &CancelToken,
    started: impl FnOnce(),
) -> Result<Observed, SessionError> {
    let members = match target {
        Target::Command { .. } => Vec::new(),
        Target::Processes(pids) => pids.clone(),
        Target::Group(group) => crate::attach::processes(group)?,
    };
    // strace opens the pipe by its path, so that the command does not inherit it. This end stays open:
    // the output ends when strace has ended and the pipe is empty.
    let (mut output, pipe) = io::pipe()?;
    rustix::fs::fcntl_setfl(&output, OFlags::NONBLOCK)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), pipe.as_raw_fd());
    let start_ns = crate::observation::unix_ns();
    started();
    let running = start(&arguments(&path, target, &members), target)?;
    let mut feed = Feed::new(tracker, start_ns, matches!(target, Target::Command { .. }));
    for pid in &members {
        feed.attach(*pid)?;
    }
    let deadline = duration.map(|duration| Instant::now() + duration);
    let mut end = End::default();
    let mut buffer = vec![0; 256 << 10];
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if over || stop.requested() {
            end.request(target, &running, &feed.tracker.running());
        }
        let ended = running.ended()?;
        if !ended {
            poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(POLL))?;
        }
        match uninterrupted(|| output.read(&mut buffer)) {
            Ok(read) => {
                rest.extend_from_slice(&buffer[..read]);
                let mut from = 0;
                while let Some(length) = memchr::memchr(b'\n', &rest[from..]) {
                    feed.line(&rest[from..from + length])?;
                    from += length + 1;
                }
                rest.drain(..from);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && ended => break,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Target::Group(group) = target {
        let joined = |pid: &i32| !feed.tracker.knows(*pid);
        if crate::attach::processes(group)?.iter().any(joined) {
            feed.tracker
                .incomplete("processes joined the control group during the recording");
        }
    }
    let (unreadable, waiting) = feed.end();
    let time = running.cpu_time();
    let status = running.wait()?;
    if !matches!(target, Target::Command { .. }) && !status.success() && !end.requested {
        return Err(SessionError::Strace);
    }
    Ok(Observed {
        lost: 0,
        unknown: unreadable + waiting,
        outside: 0,
        recorder_ns: time.own_ns,
        kernel_ns: 0,
        programs_ns: time.children_ns,
        exit_status: matches!(target, Target::Command { .. })
            .then(|| crate::observation::status(status)),
        duration_ns: crate::observation::unix_ns().saturating_sub(start_ns),
    })
}

fn start(argv: &[OsString], target: &Target) -> Result<Foreground, SessionError> {
    let started = match target {
        // A watchdog kills strace with the processes of the command.
        Target::Command { mark, .. } => Foreground::start(argv, mark.as_ref(), None),
        // SIGTERM makes it detach from the processes.
        Target::Processes(_) | Target::Group(_) => {
            Foreground::start(argv, None, Some(Signal::TERM))
        }
    };
    started.map_err(SessionError::Start)
}

/// The end of a recording before its programs end: a command is terminated, others continue.
#[derive(Default)]
struct End {
    requested: bool,
    termination: Termination,
}

impl End {
    fn request(&mut self, target: &Target, strace: &Foreground, running: &BTreeSet<i32>) {
        match target {
            Target::Command { .. } => self.termination.signal(running.iter().copied()),
            Target::Processes(_) | Target::Group(_) if self.requested => {}
            Target::Processes(_) | Target::Group(_) => strace.signal(Signal::INT),
        }
        self.requested = true;
    }
}

fn arguments(pipe: &str, target: &Target, members: &[i32]) -> Vec<OsString> {
    let calls: Vec<String> = TABLE.iter().map(|call| format!("?{}", call.name)).collect();
    let trace = format!(
        "trace=?clone,?clone3,?fork,?vfork,execve,?execveat,{}",
        calls.join(",")
    );
    let fixed = [
        PROGRAM,
        "-f",
        "--absolute-timestamps=format:unix,precision:ns",
        "--syscall-times=ns",
        "-X",
        "raw",
        // Names of attributes; paths are printed whole.
        "-s",
        "256",
        "--quiet=attach,path-resolution,personality",
        "-e",
        "signal=none",
        "-e",
        &trace,
        "-e",
        &format!("raw={RAW}"),
        "-o",
    ];
    let mut argv: Vec<OsString> = fixed.iter().map(OsString::from).collect();
    argv.push(pipe.into());
    match target {
        Target::Command { argv: command, .. } => {
            argv.push("--seccomp-bpf".into());
            argv.push("--".into());
            argv.extend(command.iter().cloned());
        }
        Target::Processes(_) | Target::Group(_) => {
            for pid in members {
                argv.push("-p".into());
                argv.push(pid.to_string().into());
            }
        }
    }
    argv
}

/// Passes the events of lines to the tracker.
struct Feed<'t, W: Write> {
    tracker: &'t mut Tracker<W>,
    parser: Parser,
    start_ns: u64,
    /// The next unknown thread is the command.
    command: bool,
    /// Events of threads whose creator has not returned from its call.
    waiting: HashMap<i32, Vec<Event>>,
    count: usize,
    /// Threads that were added before their creator returned.
    early: HashSet<i32>,
    unreadable: u64,
    last_ns: u64,
}

impl<'t, W: Write> Feed<'t, W> {
    fn new(tracker: &'t mut Tracker<W>, start_ns: u64, command: bool) -> Self {
        Self {
            tracker,
            parser: Parser::default(),
            start_ns,
            command,
            waiting: HashMap::new(),
            count: 0,
            early: HashSet::new(),
            unreadable: 0,
            last_ns: 0,
        }
    }

    fn attach(&mut self, pid: i32) -> Result<(), SessionError> {
        crate::attach::add(self.tracker, pid)
            .map_err(|source| SessionError::Process { pid, source })
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        match self.parser.line(line) {
            Ok(Some(event)) => self.event(event),
            Ok(None) => Ok(()),
            Err(Unreadable) => {
                self.unreadable += 1;
                Ok(())
            }
        }
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        let tid = match &event {
            Event::Call(Call { tid, .. })
            | Event::Seen { tid }
            | Event::Others { tid, .. }
            | Event::Exit { tid, .. } => *tid,
            Event::Fork { parent, .. } => *parent,
            Event::Exec { former, .. } => *former,
        };
        if !self.tracker.knows(tid) && !self.adopt(tid)? {
            if self.count < MAX_WAITING {
                self.count += 1;
                self.waiting.entry(tid).or_default().push(event);
            } else {
                self.unreadable += 1;
            }
            return Ok(());
        }
        self.apply(event)
    }

    /// Adds a thread that was not seen before. Returns whether its creator is known.
    fn adopt(&mut self, tid: i32) -> io::Result<bool> {
        if std::mem::take(&mut self.command) {
            let working = std::env::current_dir()?
                .into_os_string()
                .into_encoded_bytes();
            let root = std::fs::read_link("/proc/self/root")?;
            let root = root.into_os_string().into_encoded_bytes();
            self.tracker.add_process(tid, &working, &root)?;
            crate::attach::add_inherited(self.tracker, tid)?;
            return Ok(true);
        }
        if let [(parent, Some(flags))] = self.parser.creating()[..]
            && self.tracker.knows(parent)
        {
            self.early.insert(tid);
            self.tracker
                .fork(parent, tid, Sharing::from_flags(flags), self.last_ns)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn apply(&mut self, event: Event) -> io::Result<()> {
        let since = |at_ns: u64| at_ns.saturating_sub(self.start_ns);
        match event {
            Event::Call(mut call) => {
                call.start_ns = since(call.start_ns);
                call.end_ns = since(call.end_ns);
                self.last_ns = call.end_ns;
                self.tracker.call(&call)
            }
            Event::Fork {
                parent,
                child,
                flags,
                at_ns,
            } => {
                let at_ns = since(at_ns);
                if self.early.remove(&child) {
                    return Ok(());
                }
                self.tracker
                    .fork(parent, child, Sharing::from_flags(flags), at_ns)?;
                let waiting = self.waiting.remove(&child).unwrap_or_default();
                self.count -= waiting.len();
                for event in waiting {
                    self.event(event)?;
                }
                Ok(())
            }
            Event::Exec { tid, former, at_ns } => self.tracker.exec(tid, former, since(at_ns)),
            Event::Exit { tid, at_ns } => self.tracker.exit(tid, since(at_ns)),
            Event::Seen { .. } | Event::Others { .. } => Ok(()),
        }
    }

    /// Lines and events that could not be used.
    fn end(self) -> (u64, u64) {
        let calls = self.waiting.values().flatten();
        let calls = calls
            .filter(|event| matches!(event, Event::Call(_)))
            .count();
        (self.unreadable, calls as u64)
    }
}
