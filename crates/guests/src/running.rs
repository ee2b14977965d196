//! A running guest of any kind. Dropping [`Guest`] ends it.

use super::console::Console;
use super::machine::{GuestError, Machine};
use super::process::GuestProcess;
use super::start::{Attachment, Setting, Start, inherit};
use fsdyno_files::programs::die_with_parent;
use fsdyno_host::guest_processes::NAME;
use fsdyno_host::journal::{Journal, Kind};
use fsdyno_host::processes;
use fsdyno_model::Nanos;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs a guest on this terminal until it ends.
pub fn on_terminal(
    machine: &Machine,
    setting: &Setting<'_>,
    journal: &Journal,
) -> Result<ExitStatus, GuestError> {
    let Start { mut command, open } = machine.command(setting, Attachment::Terminal)?;
    for descriptor in &open {
        inherit(&mut command, descriptor);
    }
    die_with_parent(&mut command);
    let directory = setting.scratch.join(NAME);
    let entry = journal.declare(Kind::Guest.at(directory))?;
    // A guest makes the terminal raw, and one that dies leaves it so.
    let terminal = io::stdin();
    let before = tcgetattr(&terminal);
    let status = command.status().map_err(not_started(&command));
    if let Ok(before) = before {
        let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    }
    entry.done()?;
    status
}

fn not_started(command: &Command) -> impl FnOnce(io::Error) -> GuestError {
    let program = Path::new(command.get_program()).display();
    GuestError::host(format!("start {program}"))
}

/// A running guest. Dropping it ends the guest.
#[derive(Debug)]
pub struct Guest {
    process: GuestProcess,
    console: Console,
    argv: Vec<String>,
    about: String,
    slowness: u32,
    /// Whether the child process is the kernel (User-mode Linux).
    is_process: bool,
}

impl Guest {
    /// Starts a guest and opens the channel to it. The guest is killed when the thread that started
    /// it ends.
    pub fn start(
        machine: &Machine,
        setting: &Setting<'_>,
        journal: &Journal,
    ) -> Result<(Self, UnixStream), GuestError> {
        let line = |cause: Errno| GuestError::host("make a line")(cause.into());
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(line)?;
        let Start { mut command, open } = machine.command(setting, Attachment::Line(&theirs))?;
        for descriptor in open.iter().chain([&theirs]) {
            inherit(&mut command, descriptor);
        }
        let guest = Self::spawn(command, machine, setting.scratch, journal)?;
        Ok((guest, UnixStream::from(ours)))
    }

    /// Starts the program of a guest that works in `scratch`, and records its output.
    pub(super) fn spawn(
        mut command: Command,
        machine: &Machine,
        scratch: &Path,
        journal: &Journal,
    ) -> Result<Self, GuestError> {
        let (received, written) = io::pipe().map_err(GuestError::host("make a pipe"))?;
        // Messages of QEMU itself come before the console of its guest.
        let of_program = match machine {
            Machine::Qemu(_) => written.try_clone().map(Stdio::from),
            Machine::Uml(_) => Ok(Stdio::null()),
        };
        command
            .stdin(Stdio::null())
            .stdout(written)
            .stderr(of_program.map_err(GuestError::host("make a pipe"))?);
        let failed = |command: &Command, cause| not_started(command)(cause);
        let process = GuestProcess::spawn(&mut command, scratch, journal, failed)?;
        // A verified kernel is executed by its descriptor; readers need the path.
        let kernel = machine.kernel().map(Path::as_os_str);
        let program = kernel.unwrap_or_else(|| command.get_program());
        let argv = std::iter::once(program)
            .chain(command.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        // Dropping it closes the end of the pipe that only the guest may hold.
        drop(command);
        Ok(Self {
            process,
            console: Console::of(received),
            argv,
            about: machine.about(),
            slowness: machine.slowness(),
            is_process: matches!(machine, Machine::Uml(_)),
        })
    }

    /// The command line it was started with.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// The process that runs its machine.
    pub fn process(&self) -> Pid {
        self.process.pid()
    }

    /// A short description of its machine.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The processor time of its kernel so far, as this machine counts it: the user time of the
    /// process that is the kernel. Unknown for QEMU, where no process is the kernel.
    pub fn kernel_time(&self) -> io::Result<Nanos> {
        if !self.is_process {
            return Err(io::ErrorKind::Unsupported.into());
        }
        processes::user_time(self.process.pid().as_raw_nonzero().get().cast_unsigned())
    }

    /// Delivers an alarm of its timer again. In real time, User-mode Linux ignores one that comes while it
    /// handles another, and then waits for it for ever. One too many does nothing.
    pub fn alarm(&self) {
        if self.is_process {
            // It may have ended.
            let _ = kill_process(self.process.pid(), Signal::ALARM);
        }
    }

    /// A timeout scaled to the speed of the guest; an emulated guest is slower.
    pub fn timeout(&self, usual: Duration) -> Duration {
        usual * self.slowness
    }

    /// Waits up to the timeout for its end.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + timeout;
        loop {
            let status = self.process.try_wait()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it, by SIGKILL if it still runs. Returns the last lines of its console.
    pub fn end(mut self, lines: usize) -> Vec<String> {
        self.last_lines(lines)
    }

    /// As [`Guest::end`], for one that is dropped later.
    pub fn last_lines(&mut self, lines: usize) -> Vec<String> {
        // The kernel, its helpers and the processes of the guest are all in its group.
        self.process.kill();
        self.console.last(lines)
    }
}
