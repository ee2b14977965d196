//! Observes programs with eBPF: programs in the kernel, at the tracepoints of system calls, forks,
//! exec and exit.

mod assembler;
mod btf;
mod feed;
mod kernel;
mod programs;
mod requests;

use crate::calls::TABLE;
use crate::observation::{Observed, SessionError, Target, Termination, cpu_ns, status};
use crate::tracker::{MappedFile, Tracker};
use feed::Feed;
use fsdyno_host::foreground::{Foreground, Held};
use fsdyno_model::CancelToken;
use kernel::{MapType, Ring};
use programs::{CALLS, LARGEST_EVENT, Maps, REQUESTS, Watch};
use requests::RequestData;
use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::io::{self, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of the ring buffer unless something else is chosen: half a second of 500,000 calls a second.
pub const BUFFER: u32 = 32 << 20;

/// How often the ring buffer is read while it is empty.
const POLL: Duration = Duration::from_millis(5);

/// Polls without an event after which it is checked whether the processes still run.
const IDLE_POLLS: u32 = 50;

/// The initial namespace of process numbers (kernel: `PROC_PID_INIT_INO`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// The maximum number of threads and processes that are tracked at a time.
const MAX_THREADS: u32 = 1 << 17;

/// The events besides system calls that this kernel lets the programs observe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Observes {
    /// Requests of `io_uring`.
    pub requests: bool,
    pub faults: bool,
    /// Processes that join a control group.
    pub joins: bool,
}

/// Programs in the kernel, until this is dropped.
#[derive(Debug)]
pub struct Probes {
    root: PathBuf,
    threads: OwnedFd,
    mapped: OwnedFd,
    counts: OwnedFd,
    time: OwnedFd,
    ring: Ring,
    programs: Vec<OwnedFd>,
    observes: Observes,
    /// Maps and attachments that must stay open.
    #[allow(dead_code, reason = "they are closed with the others")]
    open: Vec<OwnedFd>,
}

/// The descriptors of the maps.
struct Created {
    threads: OwnedFd,
    mapped: OwnedFd,
    in_flight: OwnedFd,
    calls: OwnedFd,
    requests: OwnedFd,
    space: OwnedFd,
    counts: OwnedFd,
    time: OwnedFd,
    events: OwnedFd,
}

impl Created {
    fn new(buffer: u32) -> io::Result<Self> {
        use kernel::create_map as map;
        let created = Self {
            threads: map(MapType::Hash, 4, programs::THREAD_BYTES, MAX_THREADS)?,
            mapped: map(MapType::Hash, 4, programs::RANGE_BYTES, MAX_THREADS)?,
            in_flight: map(MapType::Hash, 8, 4, MAX_THREADS)?,
            calls: map(MapType::Array, 4, 4, CALLS)?,
            requests: map(MapType::Array, 4, 4, REQUESTS)?,
            space: map(MapType::PerCpuArray, 4, LARGEST_EVENT, 1)?,
            counts: map(MapType::Array, 4, 8, 3)?,
            time: map(MapType::PerCpuArray, 4, 8, 2)?,
            events: map(MapType::Ring, 0, 0, buffer)?,
        };
        for call in TABLE {
            let word = programs::describe(call).to_ne_bytes();
            kernel::update(&created.calls, call.number, word)?;
        }
        for kind in 0..REQUESTS {
            if let RequestData::Read(texts, pointers) = requests::shape(kind) {
                let word = programs::describe_pointers(texts, pointers).to_ne_bytes();
                kernel::update(&created.requests, kind, word)?;
            }
        }
        Ok(created)
    }

    fn numbers(&self) -> Maps {
        Maps {
            threads: self.threads.as_raw_fd(),
            mapped: self.mapped.as_raw_fd(),
            in_flight: self.in_flight.as_raw_fd(),
            calls: self.calls.as_raw_fd(),
            requests: self.requests.as_raw_fd(),
            space: self.space.as_raw_fd(),
            counts: self.counts.as_raw_fd(),
            time: self.time.as_raw_fd(),
            events: self.events.as_raw_fd(),
        }
    }
}

impl Probes {
    /// Loads and attaches the programs, for the tree at `root`. The ring buffer has `buffer` bytes, a
    /// power of two.
    ///
    /// # Errors
    /// The reason why eBPF is not available here: permission, or a feature of the kernel.
    pub fn attach(root: &Path, target: &Target, buffer: u32) -> Result<Self, String> {
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        if namespace.as_os_str() != INITIAL_NAMESPACE {
            return Err("fsdyno runs in a container with process numbers of its own".to_owned());
        }
        let types = std::fs::read("/sys/kernel/btf/vmlinux");
        let types = types.map_err(|error| {
            format!("cannot read the types of the kernel (/sys/kernel/btf/vmlinux): {error}")
        })?;
        let offsets = btf::offsets(&types);
        let offsets = offsets.ok_or("the types of the kernel have an unknown form")?;
        let watch = Watch {
            device: device(root),
            group: match target {
                Target::Group(group) => std::fs::metadata(group).ok().map(|found| found.ino()),
                _ => None,
            },
        };
        Self::load(root, &offsets, &watch, buffer)
            .map_err(|error| format!("the kernel refuses eBPF programs: {error}"))
    }

    fn load(root: &Path, offsets: &btf::Offsets, watch: &Watch, buffer: u32) -> io::Result<Self> {
        let created = Created::new(buffer)?;
        let maps = created.numbers();
        let mut probes = Self {
            root: root.to_owned(),
            ring: Ring::new(&created.events, buffer as usize)?,
            programs: Vec::new(),
            observes: Observes::default(),
            open: Vec::new(),
            threads: created.threads,
            mapped: created.mapped,
            counts: created.counts,
            time: created.time,
        };
        probes.open.extend([
            created.in_flight,
            created.calls,
            created.requests,
            created.space,
            created.events,
        ]);
        // Forks first: a child must be tracked before its first call.
        let fork = programs::fork(&maps, offsets, watch);
        probes.add(c"sched_process_fork", &fork)?;
        probes.add(c"sched_process_exec", &programs::exec(&maps))?;
        probes.add(c"sched_process_exit", &programs::exit(&maps))?;
        if let Some(attach) = programs::attach_task(&maps, offsets, watch) {
            probes.observes.joins = probes.add(c"cgroup_attach_task", &attach).is_ok();
        }
        if let Some(requests) = &offsets.request {
            let submit = programs::submit(&maps, requests);
            let complete = programs::complete(&maps, requests);
            probes.observes.requests = probes.add(c"io_uring_complete", &complete).is_ok()
                && (probes.add(c"io_uring_submit_req", &submit).is_ok()
                    // Before Linux 6.4.
                    || probes.add(c"io_uring_submit_sqe", &submit).is_ok());
            // Without it, registered files are not known.
            let _ = probes.add(c"io_uring_register", &programs::register(&maps));
        }
        let fault = programs::fault(&maps);
        probes.observes.faults = probes.add(c"page_fault_user", &fault).is_ok()
            && probes.add(c"page_fault_kernel", &fault).is_ok();
        let sys_exit = programs::sys_exit(&maps, offsets, watch);
        probes.add(c"sys_exit", &sys_exit)?;
        probes.add(c"sys_enter", &programs::sys_enter(&maps))?;
        Ok(probes)
    }

    fn add(&mut self, tracepoint: &CStr, code: &[u64]) -> io::Result<()> {
        let program = kernel::load(code)?;
        self.open.push(kernel::attach(&program, tracepoint)?);
        self.programs.push(program);
        Ok(())
    }

    /// The scope of the observation.
    pub fn observes(&self) -> Observes {
        self.observes
    }

    /// Tracks a thread. Its current call is observed, without its start.
    fn track(&self, tid: i32) -> io::Result<()> {
        let mut state = [0; programs::THREAD_BYTES as usize];
        state[8] = 1;
        kernel::update(&self.threads, tid.cast_unsigned(), state)
    }

    /// Tracks all threads of a process, also those that it creates meanwhile.
    fn track_process(&self, pid: i32) -> io::Result<()> {
        self.watch_mapped(pid)?;
        let mut known = HashSet::new();
        loop {
            let threads = crate::attach::threads(pid)?;
            let fresh: Vec<i32> = threads
                .into_iter()
                .filter(|tid| known.insert(*tid))
                .collect();
            if fresh.is_empty() {
                return Ok(());
            }
            for tid in fresh {
                self.track(tid)?;
            }
        }
    }

    /// Observes page faults in the files of the tree that a process has mapped already.
    fn watch_mapped(&self, pid: i32) -> io::Result<()> {
        let inside =
            |file: &MappedFile| Path::new(OsStr::from_bytes(&file.path)).starts_with(&self.root);
        let mapped = crate::attach::mapped(pid)?;
        let mapped = || mapped.iter().filter(|file| inside(file));
        let first = mapped().map(|file| file.start).min();
        let end = mapped().map(|file| file.start + file.length).max();
        let (Some(first), Some(end)) = (first, end) else {
            return Ok(());
        };
        let mut range = [0; programs::RANGE_BYTES as usize];
        range[..8].copy_from_slice(&first.to_ne_bytes());
        range[8..].copy_from_slice(&end.to_ne_bytes());
        kernel::update(&self.mapped, pid.cast_unsigned(), range)?;
        kernel::update(&self.counts, programs::ANY_MAPPED, 1_u64.to_ne_bytes())
    }

    /// Runs of the programs that did not take place, because they were interrupted by themselves.
    fn missed(&self) -> u64 {
        let missed = |program: &OwnedFd| {
            let path = format!("/proc/self/fdinfo/{}", program.as_raw_fd());
            let text = std::fs::read_to_string(path).ok()?;
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix("recursion_misses:"))?;
            line.trim().parse::<u64>().ok()
        };
        self.programs.iter().filter_map(missed).sum()
    }

    /// Time of the programs at the return of observed calls, ns.
    fn time_ns(&self) -> io::Result<u64> {
        kernel::sum_of_processors(&self.time)
    }

    /// Events that were lost: the buffer was full, or a program was interrupted by itself.
    fn lost(&self) -> io::Result<u64> {
        let full = kernel::value(&self.counts, programs::LOST)?;
        Ok(full + self.missed())
    }
}

/// The device of a tree as the kernel numbers it. None if other file systems are mounted in the tree.
fn device(root: &Path) -> Option<u32> {
    let mount = fsdyno_host::mounts::mountinfo(root).ok()?;
    let inside = fsdyno_host::mounts::mounted_below(root).ok()?;
    if inside.iter().any(|target| target != root) {
        return None;
    }
    let (major, minor) = mount.number;
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// The sentences that a recording by eBPF has as its limits.
pub fn limits(observes: Observes) -> Vec<&'static str> {
    let mut limits = vec![
        "A request of io_submit ends when its program receives the result.",
        "Descriptors that arrive over a socket are not followed.",
    ];
    if observes.faults {
        limits.push(
            "Of mapped files, page faults are observed: pages that the kernel maps with a \
             neighbour, and programs that are started, are not.",
        );
    } else {
        limits.push("Page faults of mapped files are not observed.");
    }
    if !observes.requests {
        limits.push("Requests of io_uring are not observed; their use is reported.");
    }
    limits
}

/// Observes programs until they end, `duration` has passed, or the user cancels. `started` is called
/// when running processes are observed, or before a command starts.
pub fn observe<W: Write>(
    tracker: &mut Tracker<W>,
    mut probes: Probes,
    target: &Target,
    duration: Option<Duration>,
    stop: &CancelToken,
    started: impl FnOnce(),
) -> Result<Observed, SessionError> {
    tracker.observes(probes.observes.requests, true);
    let mut feed = Feed::new(tracker);
    let command = start(&probes, &mut feed, target, started)?;
    let began = cpu_ns();
    let deadline = duration.map(|duration| Instant::now() + duration);
    let over = || deadline.is_some_and(|deadline| Instant::now() >= deadline) || stop.requested();
    read_events(&mut probes, &mut feed, command.as_ref(), &over)?;
    let time_ns = probes.time_ns()?;
    let duration_ns = feed.last_ns.saturating_sub(feed.start_ns);
    let (programs_ns, exit_status) = finish(command)?;
    Ok(Observed {
        lost: probes.lost()?,
        unknown: 0,
        outside: kernel::value(&probes.counts, programs::OUTSIDE)?,
        recorder_ns: cpu_ns().saturating_sub(began),
        kernel_ns: time_ns,
        programs_ns: programs_ns.saturating_sub(time_ns),
        exit_status,
        duration_ns,
    })
}

/// Starts the command, or attaches to what runs already.
fn start<W: Write>(
    probes: &Probes,
    feed: &mut Feed<'_, W>,
    target: &Target,
    started: impl FnOnce(),
) -> Result<Option<Foreground>, SessionError> {
    let Target::Command { argv, mark } = target else {
        attach(probes, feed, target)?;
        started();
        return Ok(None);
    };
    let held = Held::start(argv, mark.as_ref()).map_err(SessionError::Start)?;
    probes.track(held.pid())?;
    feed.start(held.pid())?;
    started();
    Ok(Some(held.release().map_err(SessionError::Start)?))
}

/// Passes events to the tracker until the programs have ended, or `over` is true. A command is then
/// terminated.
fn read_events<W: Write>(
    probes: &mut Probes,
    feed: &mut Feed<'_, W>,
    command: Option<&Foreground>,
    over: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut termination = Termination::default();
    let mut idle = 0_u32;
    loop {
        let over = over();
        let ended = match command {
            Some(command) => {
                // As strace, until the last process ends.
                let ended = command.ended()? && !feed.others_run(command.pid());
                if over && !ended {
                    termination.signal(feed.processes.iter().copied());
                }
                ended
            }
            None => over || feed.processes.is_empty(),
        };
        let read = probes.ring.read(|event| feed.event(event))?;
        for pid in feed.ended.drain(..) {
            kernel::delete(&probes.mapped, pid.cast_unsigned())?;
        }
        for pid in feed.joined.drain(..) {
            // It may have ended meanwhile.
            let _ = probes.track_process(pid);
        }
        if ended && read == 0 {
            return Ok(());
        }
        if read == 0 {
            idle += 1;
            if idle.is_multiple_of(IDLE_POLLS) {
                // The event of an end may be lost.
                feed.others_run(0);
            }
            std::thread::sleep(POLL);
        }
    }
}

/// Adds the processes that run already.
fn attach<W: Write>(
    probes: &Probes,
    feed: &mut Feed<'_, W>,
    target: &Target,
) -> Result<(), SessionError> {
    let Target::Group(group) = target else {
        let Target::Processes(pids) = target else {
            return Ok(());
        };
        for pid in pids {
            let tracked = probes.track_process(*pid);
            let added = tracked.and_then(|()| feed.add(*pid));
            added.map_err(|source| SessionError::Process { pid: *pid, source })?;
        }
        return Ok(());
    };
    if !probes.observes.joins {
        feed.tracker
            .incomplete("processes that joined the control group are not observed");
    }
    feed.group = Some(group.clone());
    for pid in crate::attach::processes(group)? {
        // It may have ended meanwhile.
        if probes.track_process(pid).is_ok() {
            let _ = feed.add(pid);
        }
    }
    Ok(())
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
