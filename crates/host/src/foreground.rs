//! Starts a program as a shell does: with the terminal, environment and directory of the user. Used
//! for observed programs of the user and for strace. `command` runs all other programs.
//!
//! A caller that must not leave a program after SIGKILL marks it in its environment, and has a
//! watchdog that kills what is marked.

use fsdyno_files::{ProcessStat, programs, uninterrupted};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, set_parent_process_death_signal, waitid,
};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::thread::JoinHandle;

#[derive(Debug)]
pub struct Foreground(Child);

/// Name and value of a variable that identifies the processes of a program.
pub type Mark = (&'static str, String);

/// Processor time of a process and of the children that it waited for, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Processor time of the process itself.
    pub own_ns: u64,
    /// Processor time of its children that it waited for.
    pub children_ns: u64,
}

impl Foreground {
    /// Starts a program. The first word is its name or path. If this thread ends, the kernel sends it
    /// `at_our_end`.
    pub fn start(
        argv: &[OsString],
        mark: Option<&Mark>,
        at_our_end: Option<Signal>,
    ) -> io::Result<Self> {
        let mut command = command(argv, mark)?;
        let request = move || Ok(set_parent_process_death_signal(at_our_end)?);
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(request) };
        Ok(Self(command.spawn()?))
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap_or(0)
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid()) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether it has ended. Its status is kept for [`Foreground::wait`].
    pub fn ended(&self) -> io::Result<bool> {
        let Some(pid) = Pid::from_raw(self.pid()) else {
            return Ok(true);
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(uninterrupted(|| waitid(WaitId::Pid(pid), options))?.is_some())
    }

    /// Its processor time. Also after its end, until [`Foreground::wait`].
    pub fn cpu_time(&self) -> CpuTime {
        let stat = ProcessStat::read(self.pid().unsigned_abs());
        stat.ok().as_ref().and_then(cpu_time).unwrap_or_default()
    }

    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

/// A process that waits before it becomes its program. It is killed if it is dropped.
#[derive(Debug)]
pub struct Held {
    pid: i32,
    release: PipeWriter,
    started: Option<JoinHandle<io::Result<Foreground>>>,
}

impl Held {
    /// Creates the process of a program, and holds it.
    pub fn start(argv: &[OsString], mark: Option<&Mark>) -> io::Result<Self> {
        let (mut pid_from, pid_to) = io::pipe()?;
        let (held_from, held_to) = io::pipe()?;
        let mut command = command(argv, mark)?;
        let hold = hold(pid_to, held_from);
        // SAFETY: between fork and exec the closure makes three system calls and allocates nothing.
        unsafe { command.pre_exec(hold) };
        // `spawn` returns when the program has replaced the child, so a thread waits for it.
        let started = std::thread::spawn(move || Ok(Foreground(command.spawn()?)));
        let mut pid = [0; 4];
        let read = pid_from.read_exact(&mut pid);
        if read.is_err() {
            // The process was not created: the thread has the reason.
            return Err(match started.join() {
                Ok(Err(error)) => error,
                _ => io::Error::from(io::ErrorKind::UnexpectedEof),
            });
        }
        Ok(Self {
            pid: i32::from_ne_bytes(pid),
            release: held_to,
            started: Some(started),
        })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Releases the process, so that the program starts.
    pub fn release(mut self) -> io::Result<Foreground> {
        self.release.write_all(b"1")?;
        let failed = || io::Error::other("the thread that starts the program panicked");
        let started = self.started.take().ok_or_else(failed)?;
        started.join().map_err(|_| failed())?
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let (Some(started), Some(pid)) = (self.started.take(), Pid::from_raw(self.pid)) else {
            return;
        };
        // The child inherited the write end of its pipe, so that closing ours does not wake it.
        let _ = kill_process(pid, Signal::KILL);
        if let Ok(Ok(program)) = started.join() {
            let _ = program.wait();
        }
    }
}

/// In the child: reports its number and waits for a byte.
fn hold(report: PipeWriter, wait: PipeReader) -> impl FnMut() -> io::Result<()> + Send + Sync {
    move || {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        uninterrupted(|| rustix::io::write(&report, &pid.to_ne_bytes()))?;
        let mut byte = [0];
        uninterrupted(|| rustix::io::read(&wait, &mut byte))?;
        Ok(())
    }
}

fn command(argv: &[OsString], mark: Option<&Mark>) -> io::Result<Command> {
    let program = argv.first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = programs::command(program)?;
    command.args(&argv[1..]);
    command.env("PATH", programs::path_of_user());
    command.envs(mark.map(|(name, value)| (*name, value)));
    Ok(command)
}

fn cpu_time(stat: &ProcessStat) -> Option<CpuTime> {
    let [user, system, user_of_children, system_of_children] = stat.times_ns()?;
    Some(CpuTime {
        own_ns: user + system,
        children_ns: user_of_children + system_of_children,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_held_and_released() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let held = Held::start(&words("sh -c exit$IFS$((3))"), None).unwrap();
        let stat = ProcessStat::read(held.pid().unsigned_abs()).unwrap();
        assert!(cpu_time(&stat).is_some(), "{stat:?}");
        let program = held.release().unwrap();
        assert_eq!(program.wait().unwrap().code(), Some(3));
        let missing = Held::start(&words("/no/such/program"), None);
        assert_eq!(
            missing.unwrap().release().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        // One that is never released does not start.
        let marker = tempfile::tempdir().unwrap();
        let file = marker.path().join("ran");
        let held = Held::start(&["touch".into(), file.clone().into()], None).unwrap();
        let process = format!("/proc/{}", held.pid());
        drop(held);
        assert!(!file.exists() && !std::path::Path::new(&process).exists());
    }
}
