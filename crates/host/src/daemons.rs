//! Daemons that programs of a file system need. A daemon is started unless one responds already,
//! shared with other runs, and ended by the last of them. One that the user started is used and not
//! ended.
//!
//! This module can end: the process whose number is in the PID file of [`Daemon`], if no other user
//! could have written that file, the process belongs to the effective user, and its command line
//! names the file.

use crate::journal::{Entry, Journal, JournalError, Kind, Undo};
use crate::processes::{self, Found};
use crate::{command, probe};
use fsdyno_files::{Access, TrustedDir, Untrusted, flock};
use fsdyno_model::{CancelToken, Daemon};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a daemon may take until it responds, or has ended.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A daemon that responds and is held for this run.
#[derive(Debug)]
pub struct Running {
    daemon: Daemon,
    /// Shared by all runs that use it.
    lock: File,
    /// Only of a daemon that fsdyno started, this run or another.
    entry: Option<Entry>,
}

/// The reason why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// It would import pools of the user.
    #[error(
        "`{program}` would import the pools that {} lists, which are not fsdyno's. Start it \
        yourself first and fsdyno uses it, or move that file away", file.display()
    )]
    TakesUp { program: String, file: PathBuf },
    /// It was started and did not respond.
    #[error("`{program}` does not respond: {why}")]
    NoResponse { program: String, why: String },
    /// Something it needs could not be made.
    #[error("cannot {act}: {cause}")]
    WorkDir {
        act: String,
        #[source]
        cause: io::Error,
    },
    #[error("cannot end the daemon of {}: {cause}", pid_file.display())]
    End {
        pid_file: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It could not be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl DaemonError {
    fn work_dir<E: Into<io::Error>>(act: String) -> impl FnOnce(E) -> Self {
        |cause| Self::WorkDir {
            act,
            cause: cause.into(),
        }
    }
}

impl Running {
    /// Starts the daemon unless it responds already.
    pub fn ensure(
        daemon: &Daemon,
        journal: &Journal,
        stop: &CancelToken,
    ) -> Result<Self, DaemonError> {
        let place = daemon.pid_file.with_extension("lock");
        let locked = |lock: &File, how| {
            flock(lock, how).map_err(DaemonError::work_dir(format!("lock {}", place.display())))
        };
        let lock = open_lock(&place)
            .map_err(DaemonError::work_dir(format!("open {}", place.display())))?;
        let mut entry = None;
        loop {
            locked(&lock, FlockOperation::LockShared)?;
            if answers(daemon, stop) {
                // No run ends it while this lock is shared.
                let started_by_us = || matches!(process_of(&daemon.pid_file), Ok(Some(_)));
                if entry.is_none() && started_by_us() {
                    entry = Some(declare(daemon, journal)?);
                }
                let daemon = daemon.clone();
                return Ok(Self {
                    daemon,
                    lock,
                    entry,
                });
            }
            // The kernel releases the shared lock before it grants the exclusive one (flock(2)).
            locked(&lock, FlockOperation::LockExclusive)?;
            if !answers(daemon, stop) && !loaded(daemon, stop) {
                if entry.is_none() {
                    entry = Some(declare(daemon, journal)?);
                }
                if let Err(error) = start(daemon, stop) {
                    if let Some(entry) = entry
                        && end_of(&daemon.pid_file).is_ok()
                    {
                        entry.done()?;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Whether fsdyno started it. Otherwise the kernel or a daemon of the user responds.
    pub fn is_ours(&self) -> bool {
        self.entry.is_some()
    }

    /// Ends it, if fsdyno started it and no other run uses it.
    pub fn end(mut self) -> Result<(), DaemonError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), DaemonError> {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        let last = flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if last && pools(&self.daemon, &CancelToken::new()).is_none_or(|pools| pools.is_empty()) {
            end_of(&self.daemon.pid_file).map_err(|cause| DaemonError::End {
                pid_file: self.daemon.pid_file.clone(),
                cause,
            })?;
        }
        entry.done()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If it cannot be ended, it stays in the journal.
        let _ = self.finish();
    }
}

/// Declares in the journal that our daemon is in use; the last run that uses it ends it.
fn declare(daemon: &Daemon, journal: &Journal) -> Result<Entry, JournalError> {
    journal.declare(Kind::Daemon.at(&daemon.pid_file))
}

/// Opens a file in a directory that only root can change; a lock is made where it is missing.
fn open_trusted(path: &Path, access: Access) -> Result<File, Untrusted> {
    let directory = TrustedDir::open(path.parent().unwrap_or(Path::new("/")))?;
    directory.file(path.file_name().unwrap_or_default(), access)
}

fn open_lock(place: &Path) -> io::Result<File> {
    open_trusted(place, Access::Create).map_err(io::Error::other)
}

/// The imported pools, as the daemon prints them; none if it does not respond.
fn pools(daemon: &Daemon, stop: &CancelToken) -> Option<String> {
    let finished = command::query(&daemon.pools, stop).ok()?;
    finished.success().then_some(finished.stdout)
}

fn answers(daemon: &Daemon, stop: &CancelToken) -> bool {
    pools(daemon, stop).is_some()
}

/// Whether the kernel module that replaces the daemon responds after it was loaded.
fn loaded(daemon: &Daemon, stop: &CancelToken) -> bool {
    let reported = command::run(&daemon.load, stop);
    reported.is_ok_and(|reported| reported.success()) && answers(daemon, stop)
}

/// Starts it, and waits until it responds.
fn start(daemon: &Daemon, stop: &CancelToken) -> Result<(), DaemonError> {
    let program = daemon.argv.first().cloned().unwrap_or_default();
    let no_response = |why: String| DaemonError::NoResponse {
        program: program.clone(),
        why,
    };
    if rustix::process::getpid().is_init() {
        hide(&daemon.takes_up)?;
    }
    if daemon.takes_up.exists() {
        let file = daemon.takes_up.clone();
        return Err(DaemonError::TakesUp { program, file });
    }
    fs::create_dir_all(&daemon.locks).map_err(DaemonError::work_dir(format!(
        "make {}",
        daemon.locks.display()
    )))?;
    // The file of a daemon that died.
    end_of(&daemon.pid_file).map_err(DaemonError::work_dir(format!(
        "end the daemon of {}",
        daemon.pid_file.display()
    )))?;
    // The device node appears with the module. If the module is missing, the daemon reports it.
    probe::load_filesystem(&daemon.mounts_by);
    let timeout = Instant::now() + TIMEOUT;
    // Not as a child of this process: if this is the first process of a guest, a daemon takes its
    // birth for done, and stays in the foreground.
    let between = ["sh", "-c", "\"$@\" || exit", "sh"].map(str::to_owned);
    let argv: Vec<String> = between.into_iter().chain(daemon.argv.clone()).collect();
    let started = command::run(&argv, stop).map_err(|error| no_response(error.to_string()))?;
    if !started.success() {
        return Err(no_response(started.failure(&daemon.argv)));
    }
    while !answers(daemon, stop) {
        if Instant::now() >= timeout || stop.requested() {
            return Err(no_response(format!(
                "it was started, and not within {TIMEOUT:?}"
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// In a guest, whose root is the host's, hides the host's list of pools.
fn hide(file: &Path) -> Result<(), DaemonError> {
    let Some(directory) = file.parent().filter(|_| file.exists()) else {
        return Ok(());
    };
    let memory = "tmpfs";
    mount(memory, directory, memory, MountFlags::empty(), None).map_err(DaemonError::work_dir(
        format!("hide {} of the host", file.display()),
    ))
}

/// The daemon whose number is in the PID file.
pub(crate) fn process_of(pid_file: &Path) -> Result<Option<Found>, Untrusted> {
    let mut file = match open_trusted(pid_file, Access::Read) {
        Err(error) if error.is_missing() => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    let number = file.read_to_string(&mut text).ok();
    let Some(number) = number.and_then(|_| text.trim().parse().ok()) else {
        return Ok(None);
    };
    // A number is given to another process after a while.
    let ours = pid_file.as_os_str().as_bytes();
    Ok(processes::find(number, |line| {
        line.split(|byte| *byte == 0).any(|word| word == ours)
    }))
}

/// Ends the daemon of a PID file and removes the file; returns whether there was one. It holds no
/// pool any more. SIGTERM would wait seconds for its threads.
fn end_of(pid_file: &Path) -> io::Result<bool> {
    let process_of = || process_of(pid_file).map_err(io::Error::other);
    let found = process_of()?;
    if let Some(process) = &found {
        process.signal(Signal::KILL)?;
        let timeout = Instant::now() + TIMEOUT;
        while process_of()?.is_some() {
            if Instant::now() >= timeout {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    match fs::remove_file(pid_file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(found.is_some()),
    }
}

/// Ends a daemon that a dead process recorded, unless other runs use it.
pub(crate) fn clean_up(pid_file: &Path) -> Undo {
    let place = pid_file.with_extension("lock");
    let ended = open_lock(&place).and_then(|lock| {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => end_of(pid_file),
            // Theirs to end.
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    });
    Undo::of(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_given_the_number_of_a_dead_daemon_is_left_alone() {
        let work_dir = tempfile::tempdir().unwrap();
        let pid_file = work_dir.path().join("daemon.pid");
        // This very process, whose command line names no such file.
        fs::write(&pid_file, std::process::id().to_string()).unwrap();
        assert!(process_of(&pid_file).unwrap().is_none());
        assert_eq!(clean_up(&pid_file), Undo::Gone);
        assert!(!pid_file.exists());
    }

    #[test]
    fn a_number_that_another_user_wrote_ends_nothing() {
        let work_dir = tempfile::tempdir().unwrap();
        let pid_file = work_dir.path().join("daemon.pid");
        let mut process = std::process::Command::new("sh")
            .args(["-c", "read line; :", "sh", pid_file.to_str().unwrap()])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        fs::write(&pid_file, process.id().to_string()).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(&pid_file, open).unwrap();
        let Undo::Failed(why) = clean_up(&pid_file) else {
            panic!("it was believed");
        };
        assert!(why.contains("writable by everybody"), "{why}");
        assert!(process.try_wait().unwrap().is_none());
        process.kill().unwrap();
        process.wait().unwrap();
    }

    #[test]
    fn a_daemon_that_others_use_is_theirs_to_end() {
        let work_dir = tempfile::tempdir().unwrap();
        let pid_file = work_dir.path().join("daemon.pid");
        let named = pid_file.display().to_string();
        let mut daemon = std::process::Command::new("sh")
            .args(["-c", "read line; :", "sh", &named])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        fs::write(&pid_file, daemon.id().to_string()).unwrap();
        // Between fork and exec its command line is ours.
        while process_of(&pid_file).unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let user = open_lock(&pid_file.with_extension("lock")).unwrap();
        flock(&user, FlockOperation::LockShared).unwrap();
        assert_eq!(clean_up(&pid_file), Undo::Gone);
        assert!(daemon.try_wait().unwrap().is_none());
        drop(user);
        assert_eq!(clean_up(&pid_file), Undo::Done);
        daemon.wait().unwrap();
    }
}
