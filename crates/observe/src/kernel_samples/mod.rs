//! Samples the call stacks of this machine's kernel and of programs by the clock of each processor
//! (`perf_event_open(2)`), in the processes of a phase and in kernel threads. A stack of the kernel begins
//! with the system call; one of a program is that of its own code.
//!
//! The clock is the software clock `cpu-clock`, so each sample is the same time. Its interrupt waits
//! where the kernel has disabled interrupts: such work is attributed to the function that enables them.

mod code;
mod events;
mod processes;
mod symbols;
mod tally;

use code::Mappings;
use fsdyno_model::Nanos;
use fsdyno_model::profile::{Profile, Sampling};
use perf_event::data::endian::Native;
use perf_event::data::parse::ParseConfig;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use processes::Processes;
use rustix::io::Errno;
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use symbols::Symbols;
use tally::Tally;

/// Samples a second on each processor: a prime number, so that no timer of the kernel is in step.
pub const HERTZ: u32 = 997;

/// The ring buffer of a processor: at most 1 KiB for a stack, it holds at least a second.
const RING: usize = 1 << 20;

/// The ring buffer of new processes of a processor.
const PROCESSES_RING: usize = 256 << 10;

/// How often the rings are read.
const DRAIN_INTERVAL: Duration = Duration::from_millis(250);

/// The kernel writes a record into its ring at most so long after the time in it.
const WRITE_TIME: Duration = Duration::from_millis(1);

/// Samples the kernel of this machine during a phase.
#[derive(Debug)]
pub struct KernelSampler {
    rings: Arc<Mutex<Rings>>,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    began: Option<Instant>,
    passes: u64,
    elapsed: Duration,
}

/// The ring buffers, and what was read of them.
struct Rings {
    /// New processes and their names, of each processor. They are recorded from the beginning.
    processes: Vec<Ring>,
    /// Samples, of each processor.
    samples: Vec<Ring>,
    tally: Tally,
}

/// The ring buffer of a processor.
struct Ring {
    sampler: Sampler,
    /// How its records are to be read.
    config: ParseConfig<Native>,
}

impl Ring {
    fn open(builder: &mut Builder<'_>, size: usize) -> io::Result<Self> {
        Ok(Self {
            sampler: builder.build()?.sampled(size)?,
            config: ParseConfig::from(*builder.attrs()),
        })
    }
}

impl std::fmt::Debug for Rings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rings").finish_non_exhaustive()
    }
}

/// An error if this process may not sample the kernel, with the reason and the remedy.
pub fn check_allowed() -> Result<(), String> {
    Symbols::read()?;
    KernelSampler::open().map(drop)
}

fn refused(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let level = level.unwrap_or_default();
            format!(
                "cannot sample the kernel: this user may not (kernel.perf_event_paranoid = {}). Run fsdyno as \
                 root, or leave out --profile",
                level.trim()
            )
        }
        Some(Errno::NOSYS | Errno::NOENT | Errno::OPNOTSUPP) => format!(
            "cannot sample the kernel: it has no perf events ({error}). Use another kernel, or leave out \
             --profile"
        ),
        _ => format!("cannot sample the kernel: perf_event_open: {error}"),
    }
}

/// The samples of a processor.
fn sampler(processor: usize) -> Builder<'static> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder
        .any_pid()
        .one_cpu(processor)
        .exclude_kernel(false)
        .exclude_hv(false)
        .sample_period(u64::from(1_000_000_000 / HERTZ))
        // The weight is a word after the stack: perf-event-data 0.1 cannot read an empty stack at the end of a
        // record, as that of user code is.
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CALLCHAIN | SampleFlag::WEIGHT)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        // Nobody waits for a ring.
        .wakeup_watermark(RING);
    builder
}

/// New processes on a processor, their names, and the files of which they execute code.
fn new_processes(processor: usize) -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    builder
        .any_pid()
        .one_cpu(processor)
        .exclude_kernel(false)
        .exclude_hv(false)
        .task(true)
        .comm(true)
        .comm_exec(true)
        .mmap(true)
        .mmap2(true)
        .sample(SampleFlag::TIME)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        .enabled(true)
        .wakeup_watermark(PROCESSES_RING);
    builder
}

impl KernelSampler {
    /// Opens the rings of all processors. Samples nothing before `begin`.
    pub fn open() -> Result<Self, String> {
        let mut processes = Vec::new();
        let mut samples = Vec::new();
        for processor in online()? {
            let new = Ring::open(&mut new_processes(processor), PROCESSES_RING);
            let opened = new.and_then(|new| {
                processes.push(new);
                samples.push(Ring::open(&mut sampler(processor), RING)?);
                Ok(())
            });
            opened.map_err(|error| refused(&error))?;
        }
        // After the rings: a process that begins meanwhile is in both.
        let known = Processes::read(process::id())
            .map_err(|error| format!("cannot list the processes of /proc: {error}"))?;
        let mut code = Mappings::default();
        known.of_phase().for_each(|process| code.read(process));
        let rings = Arc::new(Mutex::new(Rings {
            processes,
            samples,
            tally: Tally::new(known, code),
        }));
        let (stop, stopped) = mpsc::sync_channel(0);
        let of_thread = Arc::clone(&rings);
        let thread = thread::Builder::new().name("profiler".to_owned());
        let thread = thread.spawn(move || drain_until(&stopped, &of_thread));
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self {
            rings,
            thread: Some((stop, thread)),
            began: None,
            passes: 0,
            elapsed: Duration::ZERO,
        })
    }

    /// Samples from now on.
    pub fn begin(&mut self) {
        for ring in &mut locked(&self.rings).samples {
            // Without its clock a processor has no samples.
            let _ = ring.sampler.enable();
        }
        // Of several parts of a phase the first.
        self.began.get_or_insert_with(Instant::now);
    }

    /// Ends a pass, if one has begun.
    pub fn end(&mut self) {
        let Some(began) = self.began.take() else {
            return;
        };
        self.elapsed += began.elapsed();
        self.passes += 1;
        let rings = &mut *locked(&self.rings);
        for ring in &mut rings.samples {
            let _ = ring.sampler.disable();
        }
        rings.drain(now());
    }

    /// The profile of all passes; an error if functions have no names.
    pub fn profile(mut self) -> Result<Profile, String> {
        self.end();
        self.stop();
        let symbols = Symbols::read()?;
        let mut profile = locked(&self.rings).tally.profile(&symbols);
        if let Some(sampled) = &mut profile.sampled {
            *sampled = Sampling {
                hertz: HERTZ,
                passes: self.passes,
                elapsed_ns: Nanos(u64::try_from(self.elapsed.as_nanos()).unwrap_or(u64::MAX)),
                ..*sampled
            };
        }
        Ok(profile)
    }

    fn stop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // A thread that panicked has read nothing since.
            let _ = thread.join();
        }
    }
}

impl Drop for KernelSampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn locked(rings: &Mutex<Rings>) -> MutexGuard<'_, Rings> {
    rings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the rings from time to time, so that none becomes full.
fn drain_until(stopped: &Receiver<()>, rings: &Mutex<Rings>) {
    locked(rings).tally.profiler = gettid().as_raw_nonzero().get().unsigned_abs();
    while stopped.recv_timeout(DRAIN_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let until = now().saturating_sub(WRITE_TIME);
        locked(rings).drain(until);
    }
}

/// The clock of the records.
fn now() -> Duration {
    clock_gettime(ClockId::Monotonic)
        .try_into()
        .expect("the monotonic clock is positive")
}

impl Rings {
    /// Reads all records, and counts those before `until`.
    fn drain(&mut self, until: Duration) {
        for Ring { sampler, config } in self.processes.iter_mut().chain(&mut self.samples) {
            while let Some(record) = sampler.next_record() {
                let kind = (record.ty(), record.misc());
                match events::event(kind, &record.to_contiguous(), config.clone()) {
                    Ok(event) => self.tally.read.extend(event),
                    Err(_) => self.tally.lost += 1,
                }
            }
        }
        self.tally.count(until);
    }
}

/// The numbers of the processors that run.
fn online() -> Result<Vec<usize>, String> {
    const PATH: &str = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(PATH).map_err(|error| format!("cannot read {PATH}: {error}"))?;
    ranges(text.trim()).ok_or_else(|| format!("{PATH} has no list of processors: {text:?}"))
}

/// The numbers of a list such as `0-3,8`.
fn ranges(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::profile::CallPath;
    use std::fs::File;
    use std::io::Read as _;

    /// The function of the kernel that reads of `/dev/zero` are in.
    const READS: &str = "vfs_read";

    #[test]
    fn the_samples_of_a_busy_call_path_are_its_processor_time() {
        if check_allowed().is_err() {
            println!("SKIP samples of the kernel: samples of a busy call path");
            return;
        }
        let used = || {
            let used = clock_gettime(ClockId::ThreadCPUTime);
            used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
        };
        let mut sampler = KernelSampler::open().unwrap();
        let mut zeros = File::open("/dev/zero").unwrap();
        let mut buffer = vec![0; 1 << 20];
        let mut read = |least: f64| {
            let began = used();
            while used() - began < least {
                zeros.read_exact(&mut buffer).unwrap();
            }
            used() - began
        };
        sampler.begin();
        let mut time = read(0.15);
        sampler.end();
        // Not sampled.
        read(0.3);
        // A program that the phase starts. The thread that reads the rings runs meanwhile.
        sampler.begin();
        time += read(0.3);
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let status = process::Command::new("sh").args(["-c", script]).status();
        sampler.end();
        assert!(status.unwrap().success());
        let profile = sampler.profile().unwrap();
        profile.check().unwrap();
        let sampling = profile.sampled.unwrap();
        assert_eq!((sampling.passes, sampling.hertz), (2, HERTZ));
        let paths = profile.paths.iter();
        let is_of_process = |path: &&CallPath| {
            path.caller
                .is_some_and(|caller| profile.paths[caller].caller.is_none())
        };
        let names = paths
            .filter(is_of_process)
            .map(|path| &profile.functions[path.function]);
        let names: Vec<&String> = names.collect();
        assert!(names.contains(&&"user code of sh".to_owned()), "{names:?}");
        // The shell is in a file, with or without symbols of it.
        let is_in_shell = |path: &&CallPath| {
            let caller = path.caller.map(|caller| &profile.paths[caller]);
            caller.is_some_and(|caller| profile.functions[caller.function] == "user code of sh")
        };
        let shell = profile.paths.iter().filter(is_in_shell);
        let shell: Vec<&String> = shell
            .map(|path| &profile.functions[path.function])
            .collect();
        let is_place = |name: &&String| name.contains("+0x") || name.ends_with(')');
        assert!(!shell.is_empty() && shell.iter().all(is_place), "{shell:?}");
        let [_, count] = profile.of_function(READS, |work| work.samples);
        let counted = count as f64 / f64::from(HERTZ);
        // A virtual machine that is paused has fewer samples.
        assert!(
            (0.6..1.2).contains(&(counted / time)),
            "{counted} s of {time} s"
        );
    }

    #[test]
    fn processors_are_listed_by_ranges() {
        assert_eq!(ranges("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(ranges("0"), Some(vec![0]));
        assert_eq!(ranges(""), None);
    }

    #[test]
    fn a_user_who_may_not_sample_gets_the_reason_and_the_remedy() {
        let message = refused(&Errno::ACCESS.into());
        assert!(message.contains("perf_event_paranoid = ") && message.contains("as root"));
    }
}
