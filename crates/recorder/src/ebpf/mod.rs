//! Observes programs with eBPF: programs in the kernel, at the tracepoints of system calls, forks,
//! exec and exit.

mod assembler;
mod btf;
mod kernel;
mod programs;

use crate::calls::{Call, Pointers, Syscall, TABLE};
use crate::observation::{Observed, SessionError, Target, status};
use crate::tracker::{Sharing, Tracker};
use fsdyno_host::foreground::{Foreground, Held};
use fsdyno_model::CancelToken;
use kernel::{MapType, Ring};
use programs::{CALL, CALLS, EXEC, EXIT, FORK, LARGEST_EVENT, Maps};
use rustix::process::Signal;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the ring buffer: half a second of 500,000 calls a second.
const RING: u32 = 32 << 20;

/// How often the ring buffer is read while it is empty.
const POLL: Duration = Duration::from_millis(2);

/// The initial namespace of process numbers (kernel: `PROC_PID_INIT_INO`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// The sentences that a recording by eBPF has as its limits.
pub const LIMITS: &[&str] = &[
    "Page faults of mapped files are not observed.",
    "Requests of io_uring and io_submit are not observed; their use is reported.",
    "Descriptors that arrive over a socket are not followed.",
];

/// Programs in the kernel, until this is dropped.
#[derive(Debug)]
pub struct Probes {
    tracked: OwnedFd,
    lost: OwnedFd,
    ring: Ring,
    programs: Vec<OwnedFd>,
    /// Maps and attachments that must stay open.
    _open: Vec<OwnedFd>,
}

impl Probes {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    /// Why eBPF is not available here: permission, or a feature of the kernel.
    pub fn attach() -> Result<Self, String> {
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        if namespace.as_os_str() != INITIAL_NAMESPACE {
            return Err("fsdyno runs in a container with process numbers of its own".to_owned());
        }
        let types = std::fs::read("/sys/kernel/btf/vmlinux");
        let types = types.map_err(|error| {
            format!("cannot read the types of the kernel (/sys/kernel/btf/vmlinux): {error}")
        })?;
        let offsets = btf::task_offsets(&types);
        let offsets = offsets.ok_or("the types of the kernel have an unknown form")?;
        Self::load(&offsets).map_err(|error| format!("the kernel refuses eBPF programs: {error}"))
    }

    fn load(offsets: &btf::TaskOffsets) -> io::Result<Self> {
        let mut open = Vec::new();
        // Without statistics the cost is not known, and the recording is as good.
        open.extend(kernel::enable_statistics().ok());
        let tracked = kernel::create_map(MapType::Hash, 4, 4, 1 << 16)?;
        let calls = kernel::create_map(MapType::Array, 4, 4, CALLS)?;
        let starts = kernel::create_map(MapType::Hash, 4, 8, 1 << 17)?;
        let space = kernel::create_map(MapType::PerCpuArray, 4, LARGEST_EVENT, 1)?;
        let lost = kernel::create_map(MapType::Array, 4, 8, 1)?;
        let events = kernel::create_map(MapType::Ring, 0, 0, RING)?;
        for call in TABLE {
            kernel::update(&calls, call.number, programs::describe(call))?;
        }
        let maps = Maps {
            tracked: tracked.as_raw_fd(),
            calls: calls.as_raw_fd(),
            starts: starts.as_raw_fd(),
            space: space.as_raw_fd(),
            lost: lost.as_raw_fd(),
            events: events.as_raw_fd(),
        };
        let ring = Ring::new(&events, RING as usize)?;
        // Forks first: a child must be tracked before its first call.
        let all = [
            (c"sched_process_fork", programs::fork(&maps, offsets)),
            (c"sched_process_exec", programs::exec(&maps)),
            (c"sched_process_exit", programs::exit(&maps)),
            (c"sys_exit", programs::sys_exit(&maps)),
            (c"sys_enter", programs::sys_enter(&maps)),
        ];
        let mut loaded = Vec::new();
        for (tracepoint, code) in all {
            let program = kernel::load(&code)?;
            open.push(kernel::attach(&program, tracepoint)?);
            loaded.push(program);
        }
        open.extend([calls, starts, space, events]);
        Ok(Self {
            tracked,
            lost,
            ring,
            programs: loaded,
            _open: open,
        })
    }

    fn track(&self, pid: i32) -> io::Result<()> {
        kernel::update(&self.tracked, pid.cast_unsigned(), 1)
    }

    /// Time of the programs, ns.
    fn time_ns(&self) -> u64 {
        let time = |program: &OwnedFd| {
            let path = format!("/proc/self/fdinfo/{}", program.as_raw_fd());
            let text = std::fs::read_to_string(path).ok()?;
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("run_time_ns:"))?;
            line.trim().parse::<u64>().ok()
        };
        self.programs.iter().filter_map(time).sum()
    }
}

/// Observes programs until they end, `duration` has passed, or the user cancels.
pub fn observe<W: Write>(
    tracker: &mut Tracker<W>,
    mut probes: Probes,
    target: &Target,
    duration: Option<Duration>,
    stop: &CancelToken,
) -> Result<Observed, SessionError> {
    let mut feed = Feed::new(tracker);
    let command = match target {
        Target::Command(argv) => {
            let held = Held::start(argv).map_err(SessionError::Start)?;
            probes.track(held.pid())?;
            feed.start(held.pid())?;
            Some(held.release().map_err(SessionError::Start)?)
        }
        Target::Processes(pids) => {
            for pid in pids {
                probes.track(*pid)?;
                let added = crate::attach::add(feed.tracker, *pid);
                added.map_err(|source| SessionError::Process { pid: *pid, source })?;
                feed.processes.insert(*pid);
            }
            None
        }
    };
    let began = cpu_ns();
    let deadline = duration.map(|duration| Instant::now() + duration);
    let mut stopped = false;
    loop {
        let over = deadline.is_some_and(|deadline| Instant::now() >= deadline) || stop.requested();
        let ended = match &command {
            Some(command) => {
                if over && !stopped {
                    stopped = true;
                    command.signal(Signal::TERM);
                }
                // As strace, until the last process ends.
                command.ended()? && (over || !feed.others_run(command.pid()))
            }
            None => over || feed.processes.is_empty(),
        };
        let read = probes.ring.read(|event| feed.event(event))?;
        for pid in feed.ended.drain(..) {
            kernel::delete(&probes.tracked, pid.cast_unsigned())?;
        }
        if ended && read == 0 {
            break;
        }
        if read == 0 {
            std::thread::sleep(POLL);
        }
    }
    let time_ns = probes.time_ns();
    let duration_ns = feed.last_ns.saturating_sub(feed.start_ns);
    if let Some(command) = &command
        && feed.others_run(command.pid())
    {
        tracker.incomplete("processes of the command were still running at its end");
    }
    let (programs_ns, exit_status) = finish(command)?;
    Ok(Observed {
        lost: kernel::first_value(&probes.lost)?,
        unknown: 0,
        recorder_ns: cpu_ns().saturating_sub(began),
        kernel_ns: time_ns,
        programs_ns: programs_ns.saturating_sub(time_ns),
        exit_status,
        duration_ns,
    })
}

/// Processor time of the command, and its exit status.
fn finish(command: Option<Foreground>) -> io::Result<(u64, Option<i32>)> {
    let Some(command) = command else {
        return Ok((0, None));
    };
    let time = command.cpu_time();
    Ok((
        time.own_ns + time.children_ns,
        Some(status(command.wait()?)),
    ))
}

/// Processor time of this process, ns.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    nanoseconds(time)
}

fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Passes events to the tracker.
struct Feed<'t, W: Write> {
    tracker: &'t mut Tracker<W>,
    /// The entry of each number of a call.
    calls: Vec<Option<&'static Syscall>>,
    /// Threads of each process that runs.
    threads: HashMap<i32, HashSet<i32>>,
    processes: HashSet<i32>,
    /// Processes that have ended since the last poll.
    ended: Vec<i32>,
    /// On the clock of the events.
    start_ns: u64,
    last_ns: u64,
}

impl<'t, W: Write> Feed<'t, W> {
    fn new(tracker: &'t mut Tracker<W>) -> Self {
        let mut calls = vec![None; CALLS as usize];
        for call in TABLE {
            calls[call.number as usize] = Some(call);
        }
        let start_ns = nanoseconds(rustix::time::clock_gettime(
            rustix::time::ClockId::Monotonic,
        ));
        Self {
            tracker,
            calls,
            threads: HashMap::new(),
            processes: HashSet::new(),
            ended: Vec::new(),
            start_ns,
            last_ns: start_ns,
        }
    }

    /// Adds a command that is held.
    fn start(&mut self, pid: i32) -> io::Result<()> {
        let working = std::env::current_dir()?
            .into_os_string()
            .into_encoded_bytes();
        let root = std::fs::read_link("/proc/self/root")?
            .into_os_string()
            .into_encoded_bytes();
        self.tracker.add_process(pid, &working, &root)?;
        self.processes.insert(pid);
        crate::attach::add_inherited(self.tracker, pid)
    }

    /// Whether processes other than the command still run. The event of an end may be lost.
    fn others_run(&mut self, command: i32) -> bool {
        self.processes
            .retain(|pid| *pid == command || Path::new(&format!("/proc/{pid}")).exists());
        self.processes.iter().any(|pid| *pid != command)
    }

    fn event(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = |place: usize| number(bytes, place);
        let kind = i32::try_from(at(0) & 0xffff_ffff).unwrap_or(0);
        let (process, tid) = halves(at(8));
        let since = |ns: u64| ns.saturating_sub(self.start_ns);
        if kind == CALL {
            let Some(call) = self.call(bytes) else {
                return Ok(());
            };
            self.last_ns = self.last_ns.max(self.start_ns + call.end_ns);
            return self.tracker.call(&call);
        }
        self.last_ns = self.last_ns.max(at(16));
        let time = since(at(16));
        match kind {
            FORK => {
                let (child_process, child) = halves(at(24));
                let sharing = Sharing {
                    thread: child_process == process,
                    files: at(32) == at(40),
                    directories: at(48) == at(56),
                    memory: at(64) == at(72),
                };
                self.processes.insert(child_process);
                if sharing.thread {
                    self.threads.entry(process).or_default().insert(child);
                }
                self.tracker.fork(tid, child, sharing, time)
            }
            EXEC => {
                let former = i32::try_from(at(24) & 0xffff_ffff).unwrap_or(tid);
                self.threads.remove(&process);
                self.tracker.exec(tid, former, time)
            }
            EXIT => {
                self.tracker.exit(tid, time)?;
                let others = self.threads.entry(process).or_default();
                others.remove(&tid);
                // A first thread may end before the others.
                if others.is_empty() && (tid == process || !self.tracker.knows(process)) {
                    self.threads.remove(&process);
                    self.processes.remove(&process);
                    self.ended.push(process);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The call of an event.
    fn call(&self, bytes: &[u8]) -> Option<Call> {
        let at = |place: usize| number(bytes, place);
        let entry = (*self.calls.get(usize::try_from(at(0) >> 32).ok()?)?)?;
        let end_ns = at(24);
        // A call that began before the programs were attached has no start.
        let start_ns = if at(16) == 0 { end_ns } else { at(16) };
        let result = at(32).cast_signed();
        let mut call = Call {
            tid: halves(at(8)).1,
            name: entry.name,
            result,
            start_ns: start_ns.saturating_sub(self.start_ns),
            end_ns: end_ns.saturating_sub(self.start_ns),
            ..Call::default()
        };
        for (argument, value) in call.args.iter_mut().enumerate() {
            *value = at(40 + 8 * argument);
        }
        let mut place = programs::CALL_BYTES.unsigned_abs() as usize;
        let lengths = at(88);
        for (text, length) in call
            .texts
            .iter_mut()
            .zip([lengths & 0xffff_ffff, lengths >> 32])
        {
            // 0: no string; all ones: it could not be read.
            if length > 0 && length < u64::from(LARGEST_EVENT) {
                let length = usize::try_from(length).ok()?;
                let bytes = bytes.get(place..place + length)?;
                place += length;
                *text = Some(bytes[..length - 1].to_vec());
            }
        }
        match entry.pointers {
            Pointers::None => {}
            Pointers::Offsets(places) => {
                for (number, argument) in places.iter().enumerate() {
                    // The kernel has advanced the offset.
                    let moved = u64::try_from(result).unwrap_or(0);
                    let value = at(96 + 8 * number).wrapping_sub(moved);
                    let given = call.args[usize::from(*argument)] != 0;
                    call.numbers[number] = given.then_some(value);
                }
            }
            Pointers::Structure(argument) => {
                if call.args[usize::from(argument)] != 0 {
                    call.numbers = [96, 104, 112, 120].map(|place| Some(at(place)));
                }
            }
        }
        Some(call)
    }
}

/// Process and thread.
fn halves(value: u64) -> (i32, i32) {
    let half = |value: u64| i32::try_from(value & 0xffff_ffff).unwrap_or(0);
    (half(value >> 32), half(value))
}

/// The number at a place of an event; 0 after its end.
fn number(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
    word.map_or(0, u64::from_ne_bytes)
}
