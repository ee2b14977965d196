//! Passes the events of the programs in the kernel to the tracker.

use super::programs::{
    self, AIO_END, AIO_SUBMIT, CALL, CALLS, COMPLETE, EXEC, EXIT, FAULT, FORK, JOIN, LARGEST_EVENT,
    REGISTER, SUBMIT,
};
use super::requests;
use crate::calls::{Call, Pointers, Syscall, TABLE};
use crate::observation::nanoseconds;
use crate::tracker::{RequestId, Sharing, Tracker};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::PathBuf;

/// Passes events to the tracker.
pub(super) struct Feed<'t, W: Write> {
    pub tracker: &'t mut Tracker<W>,
    /// The entry of each number of a call.
    calls: Vec<Option<&'static Syscall>>,
    /// Threads of each process that runs.
    threads: HashMap<i32, HashSet<i32>>,
    pub processes: HashSet<i32>,
    /// Processes that have ended since the last poll.
    pub ended: Vec<i32>,
    /// Processes that have joined the control group since the last poll.
    pub joined: Vec<i32>,
    /// The control group that is recorded.
    pub group: Option<PathBuf>,
    /// Threads that joined the group of that number in another hierarchy.
    strangers: HashSet<i32>,
    /// On the clock of the events.
    pub start_ns: u64,
    pub last_ns: u64,
}

impl<'t, W: Write> Feed<'t, W> {
    pub fn new(tracker: &'t mut Tracker<W>) -> Self {
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
            joined: Vec::new(),
            group: None,
            strangers: HashSet::new(),
            start_ns,
            last_ns: start_ns,
        }
    }

    /// Adds a command that is held.
    pub fn start(&mut self, pid: i32) -> io::Result<()> {
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

    /// Adds a process that runs already.
    pub fn add(&mut self, pid: i32) -> io::Result<()> {
        crate::attach::add(self.tracker, pid)?;
        self.processes.insert(pid);
        let others = crate::attach::threads(pid)?.into_iter();
        let others = others.filter(|tid| *tid != pid);
        self.threads.entry(pid).or_default().extend(others);
        Ok(())
    }

    /// Whether processes other than the command still run. The event of an end may be lost.
    pub fn others_run(&mut self, command: i32) -> bool {
        self.processes
            .retain(|pid| *pid == command || crate::attach::is_running(*pid));
        self.processes.iter().any(|pid| *pid != command)
    }

    pub fn event(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = |place: usize| number(bytes, place);
        let kind = i32::try_from(at(0) & 0xffff_ffff).unwrap_or(0);
        let (process, tid) = halves(at(8));
        if kind == CALL {
            let Some(call) = self.call(bytes) else {
                return Ok(());
            };
            self.last_ns = self.last_ns.max(self.start_ns + call.end_ns);
            if self.strangers.contains(&call.tid) {
                return Ok(());
            }
            return self.tracker.call(&call);
        }
        self.last_ns = self.last_ns.max(at(16));
        let time = at(16).saturating_sub(self.start_ns);
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
            EXIT => self.exit(process, tid, time),
            JOIN => {
                self.join(process, tid);
                Ok(())
            }
            SUBMIT => self.submit(bytes, time),
            COMPLETE => {
                let result = low(at(32)).cast_signed();
                let request = RequestId::Ring(at(24));
                self.tracker.completed(request, result.into(), time)
            }
            REGISTER => {
                self.tracker.registers(tid, at(24));
                Ok(())
            }
            AIO_SUBMIT => {
                let entry = [32, 40, 48, 56, 64, 72, 80, 88].map(at);
                let event = Call {
                    tid,
                    start_ns: time,
                    ..Call::default()
                };
                let request = RequestId::Aio(process, at(24));
                let made = requests::aio_as_call(entry, event);
                self.tracker.submitted(request, None, made)
            }
            AIO_END => {
                let request = RequestId::Aio(process, at(24));
                self.tracker.completed(request, at(32).cast_signed(), time)
            }
            FAULT => {
                // The processor's error: bit 1 is a write.
                let write = at(32) & 2 != 0;
                self.tracker.fault(tid, at(24), write, time)
            }
            _ => Ok(()),
        }
    }

    /// A process joined the control group.
    fn join(&mut self, process: i32, tid: i32) {
        let Some(group) = &self.group else {
            return;
        };
        // The kernel numbers the groups of each hierarchy from 1.
        let members = crate::attach::processes(group).unwrap_or_default();
        if !members.contains(&process) && crate::attach::is_running(process) {
            self.strangers.insert(tid);
            return;
        }
        if self.tracker.knows(tid) {
            return;
        }
        if self.add(process).is_err() {
            self.tracker.incomplete(
                "processes joined the control group and ended before their open files were read",
            );
        }
        self.joined.push(process);
    }

    fn exit(&mut self, process: i32, tid: i32, time: u64) -> io::Result<()> {
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

    /// A request of `io_uring` was submitted.
    fn submit(&mut self, bytes: &[u8], time: u64) -> io::Result<()> {
        let (process, tid) = halves(number(bytes, 8));
        let kind = number(bytes, 0) >> 32;
        let requests::RequestData::Read(_, pointers) = requests::shape(low(kind)) else {
            return Ok(());
        };
        let mut call = Call {
            // The kernel's thread of a ring is not observed.
            tid: if self.tracker.knows(tid) {
                tid
            } else {
                process
            },
            start_ns: time,
            ..Call::default()
        };
        read_arguments(bytes, pointers, 0, &mut call);
        let ring = requests::is_registered(&call).then(|| number(bytes, 32));
        let request = RequestId::Ring(number(bytes, 24));
        let made = requests::as_call(kind, call);
        self.tracker.submitted(request, ring, made)
    }

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
        read_arguments(bytes, entry.pointers, result, &mut call);
        Some(call)
    }
}

/// Reads the arguments of an event, and what they point to.
fn read_arguments(bytes: &[u8], pointers: Pointers, result: i64, call: &mut Call) {
    let at = |place: usize| number(bytes, place);
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
        let length = usize::try_from(length).unwrap_or(0);
        if length > 0
            && length < LARGEST_EVENT as usize
            && let Some(bytes) = bytes.get(place..place + length)
        {
            place += length;
            *text = Some(bytes[..length - 1].to_vec());
        }
    }
    match pointers {
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
}

/// The lower half.
fn low(value: u64) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap_or(0)
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
