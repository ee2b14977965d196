//! Runs programs: no shell, a fixed locale, a group of their own, killed with us or on demand.
//!
//! Which program and with what words is not decided here; nor is what its status means.

use fsdyno_files::{poll, programs, uninterrupted};
use fsdyno_model::step::{OURSELVES, shell_line};
use fsdyno_model::{Bytes, CancelToken, Nanos};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, getppid, kill_process_group, pidfd_open};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum size of each output that is kept: its end.
const KEPT: usize = 64 << 10;

/// How often cancellation is checked while a program prints nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a program has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// The limits of a program that only answers: its time, and its output on each stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest time to its end.
    pub time: Duration,
    /// The most that it prints on a stream.
    pub output: Bytes,
}

impl Limits {
    /// For a version, a list, a state.
    pub const SHORT: Self = Self {
        time: Duration::from_secs(30),
        output: Bytes(1 << 20),
    };
    /// For an answer that grows with the sources or the repository that it is about.
    pub const LONG: Self = Self {
        time: Duration::from_secs(600),
        output: Bytes(64 << 20),
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    /// Wall time from before its start to its end.
    pub elapsed: Nanos,
    /// The last 64 KiB of its standard output; invalid UTF-8 is replaced.
    pub stdout: String,
    /// The last 64 KiB of its standard error; invalid UTF-8 is replaced.
    pub stderr: String,
}

/// The reason why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("program `{program}` is not on the path ({path}); `fsdyno doctor` names its package")]
    NotFound { program: String, path: String },
    /// It could not be started or watched.
    #[error("cannot run `{command}`: {cause}")]
    Spawn {
        command: String,
        #[source]
        cause: io::Error,
    },
    /// It was killed because the user cancelled.
    #[error("`{command}` was stopped on request")]
    Stopped { command: String },
    /// It was killed because it did not answer in time.
    #[error("`{command}` did not end within {} s and was killed; run it by hand to see what it waits for", limit.as_secs())]
    TooSlow { command: String, limit: Duration },
    /// It was killed because it printed too much.
    #[error(
        "`{command}` printed more than {limit} and was killed; it is not the program that fsdyno expects"
    )]
    TooMuch { command: String, limit: Bytes },
}

impl Finished {
    /// Whether it ended by itself, with status 0.
    pub fn success(&self) -> bool {
        self.status == Some(0)
    }

    /// One message for a run that failed: the command, how it ended, its last output.
    pub fn failure(&self, argv: &[String]) -> String {
        let words = [&self.stderr, &self.stdout]
            .into_iter()
            .map(|text| last_lines(text, 5))
            .find(|lines| !lines.is_empty())
            .unwrap_or_else(|| "it printed nothing".to_owned());
        format!("`{}` {}: {words}", shell_line(argv), self.ended())
    }

    /// `ended with status 4`, or the signal that killed it.
    pub fn ended(&self) -> String {
        describe_end(self.status, self.signal)
    }
}

/// How a process ended: `ended with status 4`, or the signal that killed it.
pub fn describe_end(status: Option<i32>, signal: Option<i32>) -> String {
    match (status, signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Runs a program to its end. A status other than 0 is no error here.
///
/// Standard input is empty, the locale is `C`, the system directories are on the path. The program
/// leads its own process group, so that Ctrl-C in a terminal reaches only fsdyno. The kernel kills
/// it when fsdyno dies. On cancellation the group gets SIGTERM, then SIGKILL.
pub fn run(argv: &[String], stop: &CancelToken) -> Result<Finished, CommandError> {
    attend(command(argv)?, shell_line(argv), None, stop)
}

/// Queries a program, within [`Limits::SHORT`], until the user cancels. Otherwise as [`run`].
pub fn query(argv: &[String], stop: &CancelToken) -> Result<Finished, CommandError> {
    query_command(command(argv)?, shell_line(argv), Limits::SHORT, stop)
}

/// Queries a program, within limits, until the user cancels. Its whole output is kept.
/// `line` names the command in messages.
pub fn query_command(
    command: Command,
    line: String,
    limits: Limits,
    stop: &CancelToken,
) -> Result<Finished, CommandError> {
    attend(command, line, Some(limits), stop)
}

/// The command of a program and its words.
fn command(argv: &[String]) -> Result<Command, CommandError> {
    let spawn_error = |cause| CommandError::Spawn {
        command: shell_line(argv),
        cause,
    };
    let Some(program) = argv.first() else {
        return Err(spawn_error(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    let found = executable(program);
    let mut command = programs::command(found).map_err(|_| not_found(program))?;
    command.arg0(program).args(&argv[1..]).env("LC_ALL", "C");
    // The variable is set for our own steps and removed for all other programs.
    if found == OWN_EXECUTABLE {
        command.env(STEP_OF, std::process::id().to_string());
    } else {
        command.env_remove(STEP_OF);
    }
    Ok(command)
}

fn not_found(program: &str) -> CommandError {
    CommandError::NotFound {
        program: program.to_owned(),
        path: programs::path_variable().to_string_lossy().into_owned(),
    }
}

/// Runs a command that `line` describes to its end.
fn attend(
    mut command: Command,
    line: String,
    limits: Option<Limits>,
    stop: &CancelToken,
) -> Result<Finished, CommandError> {
    if stop.requested() {
        return Err(CommandError::Stopped { command: line });
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    programs::die_with_parent(&mut command);
    let started = Instant::now();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(not_found(&command.get_program().to_string_lossy()));
        }
        Err(cause) => {
            return Err(CommandError::Spawn {
                command: line,
                cause,
            });
        }
    };
    let kept = limits.map_or(KEPT, |limits| {
        usize::try_from(limits.output.0).unwrap_or(usize::MAX)
    });
    let mut outputs = Outputs {
        stdout: Tail::new(kept),
        stderr: Tail::new(kept),
    };
    let deadline = limits.map(|limits| started + limits.time);
    let bounds = Bounds {
        deadline,
        whole: limits.is_some(),
    };
    let watched = watch(&mut child, &mut outputs, bounds, stop);
    if !matches!(watched, Ok(Watched::Ended(_))) {
        match limits {
            None => end_group(&mut child),
            Some(_) => kill_group(&mut child),
        }
    }
    let (time, most) = limits.map_or_else(Default::default, |it| (it.time, it.output));
    match watched {
        Ok(Watched::Ended(status)) => Ok(Finished {
            status: status.code(),
            signal: status.signal(),
            elapsed: Nanos::from(started.elapsed()),
            stdout: outputs.stdout.text(),
            stderr: outputs.stderr.text(),
        }),
        Ok(Watched::Stopped) => Err(CommandError::Stopped { command: line }),
        Ok(Watched::TooSlow) => Err(CommandError::TooSlow {
            command: line,
            limit: time,
        }),
        Ok(Watched::TooMuch) => Err(CommandError::TooMuch {
            command: line,
            limit: most,
        }),
        Err(cause) => Err(CommandError::Spawn {
            command: line,
            cause,
        }),
    }
}

/// Whether this process is fsdyno itself, and not a program that is built with its parts.
static IS_FSDYNO: AtomicBool = AtomicBool::new(false);

/// Called once by fsdyno's `main`. From then on the program [`OURSELVES`] is this executable, even
/// if the path has another or the file was replaced.
pub fn this_is_fsdyno() {
    IS_FSDYNO.store(true, Ordering::Relaxed);
}

fn executable(program: &str) -> &str {
    if program == OURSELVES && IS_FSDYNO.load(Ordering::Relaxed) {
        return OWN_EXECUTABLE;
    }
    program
}

/// This executable, even if its file was replaced.
const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// The variable in which [`run`] names its process to the steps that are fsdyno itself.
const STEP_OF: &str = "FSDYNO_STEP_OF";

/// Whether this process is a step that another fsdyno carries out: its devices have passed the device
/// guard of that process, or are images that it made.
///
/// The variable alone proves nothing. It must name the parent, and the parent must run this program.
pub fn is_step_of_fsdyno() -> bool {
    let named = std::env::var(STEP_OF).ok();
    let Some(parent) = named.and_then(|pid| pid.parse::<i32>().ok()) else {
        return false;
    };
    let program = |process: &str| {
        let about = std::fs::metadata(format!("/proc/{process}/exe")).ok()?;
        Some((about.dev(), about.ino()))
    };
    getppid().is_some_and(|pid| pid.as_raw_nonzero().get() == parent)
        && program("self").is_some()
        && program("self") == program(&parent.to_string())
}

/// The two outputs of a program.
struct Outputs {
    stdout: Tail,
    stderr: Tail,
}

/// The end of a stream.
struct Tail {
    bytes: VecDeque<u8>,
    kept: usize,
    /// Whether something was dropped.
    truncated: bool,
}

impl Tail {
    fn new(kept: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            kept,
            truncated: false,
        }
    }

    /// Reads once from a stream that is ready; `false` at its end.
    fn read_from(&mut self, stream: &mut impl Read) -> io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        let length = uninterrupted(|| stream.read(&mut buffer))?;
        self.bytes.extend(&buffer[..length]);
        let excess = self.bytes.len().saturating_sub(self.kept);
        self.truncated |= excess > 0;
        self.bytes.drain(..excess);
        Ok(length > 0)
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&Vec::from(self.bytes)).into_owned()
    }
}

/// What ends the wait for a program besides its end.
#[derive(Clone, Copy)]
struct Bounds {
    deadline: Option<Instant>,
    /// Whether its whole output is needed.
    whole: bool,
}

/// Why the wait for a program ended.
enum Watched {
    Ended(ExitStatus),
    Stopped,
    TooSlow,
    TooMuch,
}

/// Reads the output of the program until it ends, or a bound is reached.
///
/// Ends with the program, not with its outputs: a daemon that it started may hold them open.
fn watch(
    child: &mut Child,
    outputs: &mut Outputs,
    bounds: Bounds,
    stop: &CancelToken,
) -> io::Result<Watched> {
    let pidfd = pidfd_open(pid_of(child), PidfdFlags::empty())?;
    let mut stdout = child.stdout.take();
    let mut stderr = child.stderr.take();
    let mut ended = false;
    loop {
        let mut fds = vec![PollFd::new(&pidfd, PollFlags::IN)];
        fds.extend(
            stdout
                .iter()
                .map(|s| PollFd::from_borrowed_fd(s.as_fd(), PollFlags::IN)),
        );
        fds.extend(
            stderr
                .iter()
                .map(|s| PollFd::from_borrowed_fd(s.as_fd(), PollFlags::IN)),
        );
        let timeout = if ended { Duration::ZERO } else { POLL_INTERVAL };
        poll(&mut fds, Some(timeout))?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (from_stdout, from_stderr) = match (&stdout, &stderr) {
            (Some(_), Some(_)) => (ready[1], ready[2]),
            (Some(_), None) => (ready[1], false),
            (None, Some(_)) => (false, ready[1]),
            (None, None) => (false, false),
        };
        if from_stdout && !read_ready(&mut outputs.stdout, stdout.as_mut())? {
            stdout = None;
        }
        if from_stderr && !read_ready(&mut outputs.stderr, stderr.as_mut())? {
            stderr = None;
        }
        // What was written before the end has been read once nothing more is ready after it.
        if ended && !from_stdout && !from_stderr {
            return child.wait().map(Watched::Ended);
        }
        ended |= ready[0];
        if ended {
            continue;
        }
        if stop.requested() {
            return Ok(Watched::Stopped);
        }
        if bounds.whole && (outputs.stdout.truncated || outputs.stderr.truncated) {
            return Ok(Watched::TooMuch);
        }
        // The clock is read only where there is a limit: in virtual time that would take time.
        if bounds
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Ok(Watched::TooSlow);
        }
    }
}

fn read_ready(tail: &mut Tail, stream: Option<&mut impl Read>) -> io::Result<bool> {
    stream.map_or(Ok(false), |stream| tail.read_from(stream))
}

/// Ends the process group of a program with SIGTERM, then SIGKILL, and reaps it.
pub fn end_group(child: &mut Child) {
    let group = pid_of(child);
    let _ = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Also when the leader has gone: what it started may still write to the device.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// Kills the process group of a program that only answers. One that cannot die, because a device does
/// not respond, is left to the kernel.
fn kill_group(child: &mut Child) {
    let _ = kill_process_group(pid_of(child), Signal::KILL);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// The last non-empty lines of a text, on one line.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    lines[lines.len().saturating_sub(count)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn sh(script: &str) -> Finished {
        run(&argv(&["sh", "-c", script]), &CancelToken::new()).unwrap()
    }

    #[test]
    fn status_signal_and_both_outputs_come_back() {
        let finished = sh("echo out; echo err >&2; exit 3");
        assert_eq!((finished.status, finished.signal), (Some(3), None));
        assert_eq!(
            (finished.stdout.as_str(), finished.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert!(!finished.success());
        let killed = sh("kill -9 $$");
        assert_eq!((killed.status, killed.signal), (None, Some(9)));
        assert!(sh("true").success());
    }

    #[test]
    fn a_failure_names_command_status_and_last_output() {
        let words = argv(&["sh", "-c", "echo one; echo 'no such thing' >&2; exit 7"]);
        let message = run(&words, &CancelToken::new()).unwrap().failure(&words);
        assert!(
            message.ends_with("ended with status 7: no such thing"),
            "{message}"
        );
        assert!(message.starts_with("`sh -c "), "{message}");
        let words = argv(&["sh", "-c", "echo only here; exit 1"]);
        let message = run(&words, &CancelToken::new()).unwrap().failure(&words);
        assert!(message.ends_with("status 1: only here"), "{message}");
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let finished = sh("head -c 300000 /dev/zero | tr '\\0' a; echo end");
        assert_eq!(finished.stdout.len(), KEPT);
        assert!(finished.stdout.ends_with("aend\n"));
    }

    #[test]
    fn the_locale_is_fixed_the_input_empty_and_the_path_complete() {
        let finished = sh("echo $LC_ALL; cat; echo $PATH");
        let lines: Vec<_> = finished.stdout.lines().collect();
        assert_eq!(lines[0], "C");
        assert!(
            lines[1]
                .split(':')
                .any(|directory| directory == "/usr/sbin")
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&argv(&["no-such-program-xyz", "-q"]), &CancelToken::new()).unwrap_err();
        assert!(matches!(&error, CommandError::NotFound { program, .. }
            if program == "no-such-program-xyz"));
    }

    #[test]
    fn a_program_without_execute_permission_is_not_reported_as_missing() {
        let error = run(&argv(&["/dev/null"]), &CancelToken::new()).unwrap_err();
        assert!(matches!(&error, CommandError::Spawn { .. }), "{error}");
    }

    #[test]
    fn a_program_that_only_answers_has_limits() {
        let queried = |script: &str, limits| {
            let command = command(&argv(&["sh", "-c", script])).unwrap();
            query_command(command, script.to_owned(), limits, &CancelToken::new())
        };
        let short = Limits {
            time: Duration::from_millis(200),
            ..Limits::SHORT
        };
        let error = queried("trap '' TERM; while :; do sleep 100; done", short).unwrap_err();
        assert!(matches!(error, CommandError::TooSlow { .. }), "{error}");
        let small = Limits {
            output: Bytes(100_000),
            ..Limits::SHORT
        };
        for stream in ["", ">&2"] {
            let script = format!("while :; do echo all of this is too much {stream}; done");
            let error = queried(&script, small).unwrap_err();
            assert!(matches!(error, CommandError::TooMuch { .. }), "{error}");
        }
        let whole = queried("head -c 100000 /dev/zero | tr '\\0' a", small).unwrap();
        assert_eq!(whole.stdout.len(), 100_000);
        let stop = CancelToken::new();
        stop.request();
        let error = query(&argv(&["true"]), &stop).unwrap_err();
        assert!(matches!(error, CommandError::Stopped { .. }), "{error}");
    }

    #[test]
    fn a_background_child_does_not_delay_the_end() {
        let finished = sh("sleep 60 & echo started $!");
        let pid = finished.stdout.trim().rsplit(' ').next().unwrap();
        assert!(finished.elapsed < Nanos::from_seconds(30.0));
        let _ = Command::new("kill").arg(pid).status();
    }

    #[test]
    fn cancellation_ends_the_whole_process_group() {
        let stop = CancelToken::new();
        let marker = tempfile::tempdir().unwrap();
        let script = format!(
            "trap '' TERM; (trap '' TERM; echo $$ > {0}/ready; sleep 300) & wait; sleep 300",
            marker.path().display()
        );
        let words = argv(&["sh", "-c", &script]);
        let (asker, ready) = (stop.clone(), marker.path().join("ready"));
        let asking = std::thread::spawn(move || {
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            asker.request();
        });
        let error = run(&words, &stop).unwrap_err();
        assert!(matches!(error, CommandError::Stopped { .. }), "{error}");
        asking.join().unwrap();
        let group = std::fs::read_to_string(marker.path().join("ready")).unwrap();
        let group = Pid::from_raw(group.trim().parse().unwrap()).unwrap();
        // Killed members may stay as zombies of init for an instant.
        let deadline = Instant::now() + Duration::from_secs(10);
        while kill_process_group(group, Signal::CONT).is_ok() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(kill_process_group(group, Signal::CONT).is_err());
    }
}
