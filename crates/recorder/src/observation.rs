//! Types that all observers share: the programs to observe, the figures of an observation, and
//! errors.

use fsdyno_host::command::CommandError;
use fsdyno_host::foreground::Mark;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Command {
        argv: Vec<OsString>,
        /// Marks its processes, so that a watchdog finds them.
        mark: Option<Mark>,
    },
    /// Running processes, by their numbers, and their future children.
    Processes(Vec<i32>),
    /// The processes of a control group and of those below it, by its directory, and those that join
    /// it.
    Group(PathBuf),
}

#[derive(Debug, Clone, Default)]
pub struct Observed {
    pub lost: u64,
    /// Events that could not be interpreted.
    pub unknown: u64,
    /// Calls outside the tree that the tracker did not see.
    pub outside: u64,
    /// Processor time of the observer's processes, ns.
    pub recorder_ns: u64,
    /// Processor time of its part in the kernel, ns.
    pub kernel_ns: u64,
    /// Processor time of the programs, ns. 0 if not known.
    pub programs_ns: u64,
    pub exit_status: Option<i32>,
    /// Length of the observation, ns.
    pub duration_ns: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot record {}: {source}", path.display())]
    Tree { path: PathBuf, source: io::Error },
    /// The tree cannot be read.
    #[error(transparent)]
    Manifest(#[from] fsdyno_datasets::DatasetError),
    /// A program of the recorder is missing or failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The command or strace cannot be started.
    #[error("cannot start the command: {0}")]
    Start(io::Error),
    #[error("cannot record process {pid}: {source}")]
    Process { pid: i32, source: io::Error },
    /// eBPF is requested and not available.
    #[error("cannot record with eBPF: {0}. Run as root, or use --recorder strace")]
    NoEbpf(String),
    #[error(
        "strace failed; its messages are above. Tracing may need root, or kernel.yama.ptrace_scope=0"
    )]
    Strace,
    /// A log of strace cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error(
        "no call of the log is on a file in {root}{}. Name the directory, as it was called there: \
         --path DIR",
        if outside.is_empty() { String::new() } else { format!("; most are in {outside}") }
    )]
    EmptyLog { root: String, outside: String },
    /// The recording cannot be written, or the observer failed.
    #[error("cannot write the recording: {0}")]
    Write(#[from] io::Error),
}

impl From<rustix::io::Errno> for SessionError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Write(errno.into())
    }
}

/// How long the processes of a command may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// The end of a command before its last process ends: SIGTERM for each of its processes, and SIGKILL
/// for those that are left after [`GRACE`].
#[derive(Debug, Default)]
pub(crate) struct Termination {
    began: Option<Instant>,
    terminated: BTreeSet<i32>,
}

impl Termination {
    /// Signals the processes that are running now. To be called again until none is.
    pub fn signal(&mut self, running: impl IntoIterator<Item = i32>) {
        let late = self.began.get_or_insert_with(Instant::now).elapsed() > GRACE;
        for pid in running {
            let signal = if late { Signal::KILL } else { Signal::TERM };
            if let Some(process) = Pid::from_raw(pid)
                && (self.terminated.insert(pid) || late)
            {
                // It may have ended meanwhile.
                let _ = kill_process(process, signal);
            }
        }
    }
}

/// Time since 1970, ns.
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(0)
}

/// Processor time of this process, ns.
pub(crate) fn cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

pub(crate) fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// The status of a program as a shell has it.
pub(crate) fn status(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// A key for the hashes of names, which is forgotten.
pub(crate) fn key() -> io::Result<[u8; 32]> {
    fsdyno_files::random()
}
