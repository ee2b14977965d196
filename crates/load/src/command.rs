//! Runs a program for a phase, in the C locale. The program is killed when fsdyno exits and when
//! the user cancels.

pub(crate) mod application;
mod stopping;
mod stray;
mod watchdog;

pub use stray::StrayProcesses;

use crate::clock::timeval;
use crate::error::LoadError;
use crate::tool_run::{ToolCommand, ToolRun, User};
use fsdyno_files::{poll, programs, uninterrupted};
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::units::Nanos;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Gid, Pid, PidfdFlags, Signal, Uid};
use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The number of bytes of a program's output that are kept.
pub(crate) const KEPT: usize = 64 * 1024;
/// The time between two checks of cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The result of running a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub command: ToolCommand,
    pub user: Nanos,
    pub system: Nanos,
    pub lines: u64,
    /// The kept part of its standard output: more than in the record, if requested.
    pub stdout: Vec<u8>,
    /// The number of processes that it left running in its group. They were killed.
    pub left_running: usize,
}

/// Runs a program to its end.
pub(crate) fn run(tool: &ToolRun, stop: &CancelToken) -> Result<Ended, LoadError> {
    adopt_orphans();
    let start = Instant::now();
    let mut child = command(tool)
        .and_then(|mut command| command.spawn())
        .map_err(|source| cannot_start(tool, source))?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), &tool.input) {
        // A program that does not read its input reports that by its status.
        let _ = pipe.write_all(input);
    }
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let watched = watch(child.id(), stdout, stderr, tool.keeps, stop);
    if watched.is_err() {
        // A separate process group, so that child processes are killed with it.
        if let Some(group) = pid(child.id()) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
    let (status, mut usage) = wait(child.id());
    let elapsed = Nanos::from(start.elapsed());
    let left_running = end_group(child.id(), &mut usage);
    let printed = watched?;
    let argv: Vec<String> = tool
        .argv
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let kept = &printed.stdout[printed.stdout.len().saturating_sub(KEPT)..];
    let command = ToolCommand {
        argv,
        status: status.code(),
        elapsed,
        stdout: String::from_utf8_lossy(kept).into_owned(),
        stderr: String::from_utf8_lossy(&printed.stderr).into_owned(),
    };
    let complains = tool.fails_on_stderr && !command.stderr.trim().is_empty();
    if complains || status.code().is_none_or(|code| code > tool.highest_status) {
        let message = if command.stderr.trim().is_empty() {
            before_json(&command.stdout)
        } else {
            &command.stderr
        };
        return Err(LoadError::Tool {
            argv: match &tool.name {
                Some(name) => name.clone(),
                None => fsdyno_model::step::shell_line(&command.argv),
            },
            status: status.to_string(),
            errno: errno_of(message),
            stderr: last_lines(message),
            hint: hint(tool, message),
            command: Box::new(command),
        });
    }
    Ok(Ended {
        command,
        stdout: printed.stdout,
        left_running,
        user: usage.user,
        system: usage.system,
        lines: printed.lines + if tool.counts_lines { printed.binary } else { 0 },
    })
}

fn command(tool: &ToolRun) -> io::Result<Command> {
    let mut command = programs::command(&tool.argv[0])?;
    command.args(&tool.argv[1..]);
    if !tool.user_environment {
        programs::clear_environment(&mut command);
    }
    if tool.user_environment {
        command.env("PATH", programs::path_of_user());
        if tool.confined.is_some() {
            // It could not write there; the private directory is the usual one.
            command.env_remove("TMPDIR");
        }
    }
    command.envs(tool.environment.iter().map(|(name, value)| (name, value)));
    if let Some((name, value)) = &tool.mark {
        command.env(name, value);
    }
    if let Some(directory) = &tool.current_dir {
        command.current_dir(directory);
    }
    command
        .stdin(if tool.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(if tool.counts_lines || tool.keeps > 0 {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(confined) = tool.confined.clone() {
        let directory = tool.current_dir.as_deref().unwrap_or(Path::new("/"));
        let directory = CString::new(directory.as_os_str().as_bytes())?;
        let enter = move || {
            confined.enter()?;
            // The directory on the old mount is another one.
            Ok(rustix::process::chdir(&*directory)?)
        };
        // SAFETY: between fork and exec the closure makes only system calls; it allocates and locks
        // nothing.
        unsafe { command.pre_exec(enter) };
    }
    if let Some(user) = tool.user {
        let become_user = move || become_user(user);
        // SAFETY: between fork and exec the closure makes only system calls; it allocates and locks
        // nothing.
        unsafe { command.pre_exec(become_user) };
    }
    programs::die_with_parent(&mut command);
    Ok(command)
}

/// Makes the calling process one of that user, without further groups.
pub(crate) fn become_user(user: User) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    Ok(rustix::thread::set_thread_res_uid(uid, uid, uid)?)
}

fn cannot_start(tool: &ToolRun, source: io::Error) -> LoadError {
    let program = &tool.argv[0];
    let name = program.to_string_lossy().into_owned();
    if source.kind() != io::ErrorKind::NotFound {
        return LoadError::io("execve", program, source);
    }
    let package = tool.package.unwrap_or(&name).to_owned();
    LoadError::MissingTool { package, name }
}

/// Processor time of a program.
#[derive(Debug)]
struct Usage {
    user: Nanos,
    system: Nanos,
}

/// The output of a program.
#[derive(Debug, Default)]
struct Printed {
    lines: u64,
    /// Matching binary files: since 3.5 grep reports them on standard error, before as a line.
    binary: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Reads the output of the program until it exits.
fn watch(
    id: u32,
    mut stdout: Option<ChildStdout>,
    mut stderr: Option<ChildStderr>,
    keeps: usize,
    stop: &CancelToken,
) -> Result<Printed, LoadError> {
    let refused = |operation: &'static str| {
        move |errno: rustix::io::Errno| LoadError::io(operation, "(a child)", errno.into())
    };
    let ended: OwnedFd = match pid(id) {
        Some(pid) => {
            rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(refused("pidfd_open"))?
        }
        None => return Ok(Printed::default()),
    };
    let mut printed = Printed::default();
    let mut buffer = vec![0; KEPT];
    loop {
        stop.check()?;
        let mut watched = Vec::with_capacity(3);
        watched.push(PollFd::new(&ended, PollFlags::IN));
        watched.extend(stdout.as_ref().map(|out| PollFd::new(out, PollFlags::IN)));
        watched.extend(stderr.as_ref().map(|err| PollFd::new(err, PollFlags::IN)));
        poll(&mut watched, Some(POLL_INTERVAL)).map_err(refused("poll"))?;
        let gone = !watched[0].revents().is_empty();
        drop(watched);
        let more = drain(&mut stdout, &mut buffer, |bytes| {
            printed.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
            keep_end(&mut printed.stdout, bytes, keeps);
        }) | drain(&mut stderr, &mut buffer, |bytes| {
            printed.binary += binary_matches(&printed.stderr, bytes);
            keep_end(&mut printed.stderr, bytes, KEPT);
        });
        if gone && !more {
            return Ok(printed);
        }
    }
}

/// Reads once if data is available, and returns whether it was. Closes a pipe at its end.
fn drain<P: Read + AsFd>(
    pipe: &mut Option<P>,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]),
) -> bool {
    let Some(open) = pipe else {
        return false;
    };
    let mut ready = [PollFd::new(open, PollFlags::IN)];
    if !matches!(poll(&mut ready, Some(Duration::ZERO)), Ok(1..)) {
        return false;
    }
    if let Ok(bytes @ 1..) = uninterrupted(|| open.read(buffer)) {
        take(&buffer[..bytes]);
        true
    } else {
        *pipe = None;
        false
    }
}

/// The number of messages about binary files in the last read, of which `before` is the preceding
/// data.
fn binary_matches(before: &[u8], bytes: &[u8]) -> u64 {
    const MESSAGE: &[u8] = b": binary file matches\n";
    let carried = &before[before.len().saturating_sub(MESSAGE.len() - 1)..];
    memchr::memmem::find_iter(&[carried, bytes].concat(), MESSAGE).count() as u64
}

/// Appends, and drops the beginning of a text that is too long.
fn keep_end(kept: &mut Vec<u8>, bytes: &[u8], most: usize) {
    kept.extend_from_slice(bytes);
    if kept.len() > most {
        kept.drain(..kept.len() - most);
    }
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// Waits for a child; returns its resource usage, including all children that it waited for.
fn wait(id: u32) -> (ExitStatus, Usage) {
    let (_, status, usage) = wait4(id.cast_signed(), 0);
    (ExitStatus::from_raw(status), usage)
}

/// `wait4(2)`: its return value, the status, and the resource usage.
fn wait4(id: i32, flags: i32) -> (i32, i32, Usage) {
    let mut status = 0;
    // SAFETY: `rusage` contains only numbers, and all zeros are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let waited = uninterrupted(|| {
        // SAFETY: both pointers are to live local variables.
        match unsafe { libc::wait4(id, &raw mut status, flags, &raw mut usage) } {
            -1 => Err(io::Error::last_os_error()),
            waited => Ok(waited),
        }
    });
    let waited = waited.unwrap_or(-1);
    let usage = Usage {
        user: timeval(usage.ru_utime),
        system: timeval(usage.ru_stime),
    };
    (waited, status, usage)
}

/// Makes orphans of started programs children of fsdyno (`prctl(2)`, `PR_SET_CHILD_SUBREAPER`), so
/// that fsdyno can wait for them.
fn adopt_orphans() {
    // If it fails, process 1 adopts the orphans, and their usage is not counted.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills the processes that a program left running in its group, after it has exited. Returns their
/// number. Adds the usage of orphans of the group, whether they exited earlier or are killed now.
fn end_group(leader: u32, usage: &mut Usage) -> usize {
    let Some(group) = pid(leader) else { return 0 };
    let mut bury = |flags| {
        let mut buried = 0;
        loop {
            let (waited, _, used) = wait4(-leader.cast_signed(), flags);
            if waited <= 0 {
                return buried;
            }
            buried += 1;
            usage.user.0 += used.user.0;
            usage.system.0 += used.system.0;
        }
    };
    bury(libc::WNOHANG);
    if rustix::process::kill_process_group(group, Signal::KILL).is_err() {
        return 0;
    }
    bury(0)
}

/// The messages that a program prints before its results in JSON.
fn before_json(text: &str) -> &str {
    match text.split_once("\n{\n") {
        Some((before, _)) if !before.trim().is_empty() => before,
        _ => text,
    }
}

/// The last lines of a message.
///
/// A line may contain a path of any length. Its beginning is removed, because its end has the
/// reason.
pub(crate) fn last_lines(text: &str) -> String {
    const MAX_LINE_CHARS: usize = 300;
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.char_indices().nth_back(MAX_LINE_CHARS) {
            Some((place, _)) => format!("...{}", &line[place..]),
            None => line.to_owned(),
        })
        .collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

/// What to do if a confined program was probably refused a write.
fn hint(tool: &ToolRun, message: &str) -> String {
    const REFUSALS: [&str; 4] = [
        "Read-only file system",
        "Permission denied",
        "Operation not permitted",
        "/dev/",
    ];
    let is_refusal = REFUSALS.iter().any(|text| message.contains(text));
    if tool.confined.is_none() || !is_refusal {
        return String::new();
    }
    let remedy = if tool.user_environment {
        "the directory on the contender, and a private /tmp: write there, or give --exec-everywhere"
    } else {
        "its directory on the contender: leave the path out"
    };
    format!(" (it may write only {remedy})")
}

/// The error number in a message. In the C locale the texts are those of `strerror(3)`.
fn errno_of(text: &str) -> Option<i32> {
    const TEXTS: [(&str, i32); 9] = [
        ("No space left on device", libc::ENOSPC),
        ("Disk quota exceeded", libc::EDQUOT),
        ("Input/output error", libc::EIO),
        ("Read-only file system", libc::EROFS),
        ("Permission denied", libc::EACCES),
        ("Operation not permitted", libc::EPERM),
        ("Operation not supported", libc::EOPNOTSUPP),
        ("File name too long", libc::ENAMETOOLONG),
        ("No such file or directory", libc::ENOENT),
    ];
    TEXTS
        .iter()
        .find(|(message, _)| text.contains(message))
        .map(|(_, errno)| *errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_and_its_children_are_killed_on_cancellation() {
        let stop = CancelToken::new();
        let token = stop.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            token.request();
        });
        let tool = ToolRun::new("", ["sh", "-c", "sleep 1000 & wait"]);
        let error = run(&tool, &stop).unwrap_err();
        assert!(matches!(error, LoadError::Stopped), "{error}");
        thread.join().unwrap();
    }

    #[test]
    fn a_failure_reports_status_message_and_error_number() {
        let script = "echo 1 >&2; echo 2 >&2; echo 'x: No space left on device' >&2; exit 3";
        let tool = ToolRun::new("", ["sh", "-c", script]);
        let error = run(&tool, &CancelToken::new()).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOSPC));
        let text = error.to_string();
        assert!(
            text.contains("status: 3") && text.contains("2; x: No"),
            "{text}"
        );
    }

    #[test]
    fn the_reason_of_a_failure_precedes_the_results_in_json() {
        let script = "echo 'x: No space left on device'; printf '{\\n\"a\": 1\\n}\\n'; exit 1";
        let mut tool = ToolRun::new("", ["sh", "-c", script]);
        tool.keeps = 1000;
        let error = run(&tool, &CancelToken::new());
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with("1: x: No space left on device"), "{error}");
    }

    #[test]
    fn text_on_standard_error_is_a_failure_despite_status_zero() {
        for (fails_on_stderr, script) in [(true, "true"), (false, "echo x >&2")] {
            let mut tool = ToolRun::new("", ["sh", "-c", script]);
            tool.fails_on_stderr = fails_on_stderr;
            run(&tool, &CancelToken::new()).unwrap();
        }
        let mut tool = ToolRun::new("", ["sh", "-c", "echo 'cannot open' >&2"]);
        tool.fails_on_stderr = true;
        let error = run(&tool, &CancelToken::new()).unwrap_err().to_string();
        assert!(error.contains("status: 0: cannot open"), "{error}");
    }

    #[test]
    fn programs_are_found_in_the_directories_of_system_programs() {
        let path = command(&ToolRun::new("", ["sh"])).unwrap();
        let mut environment = path.get_envs();
        let (_, path) = environment.find(|(name, _)| *name == "PATH").unwrap();
        let path = path.unwrap().to_string_lossy().into_owned();
        assert!(path.split(':').any(|one| one == "/usr/sbin"), "{path}");
    }

    #[test]
    fn the_reason_of_a_failure_is_kept_with_a_long_path() {
        let message = last_lines(&format!(
            "cp: {}: File name too long\n",
            "dir/".repeat(2000)
        ));
        assert!(
            message.len() < 400 && message.ends_with("File name too long"),
            "{message}"
        );
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let tool = ToolRun::new("", ["fsdyno-no-such-program"]);
        let error = run(&tool, &CancelToken::new()).unwrap_err();
        assert!(matches!(error, LoadError::MissingTool { .. }), "{error}");
        let mut find = ToolRun::new("", ["fsdyno-no-such-program"]);
        find.package = Some("findutils");
        let missing = run(&find, &CancelToken::new()).unwrap_err();
        assert!(missing.to_string().contains("findutils"));
    }

    #[test]
    fn messages_about_binary_files_are_counted_over_several_reads() {
        let text = b"grep: a: binary file matches\ngrep: b: binary file matches\n";
        for split in 0..=text.len() {
            let (before, after) = text.split_at(split);
            let count = binary_matches(b"", before) + binary_matches(before, after);
            assert_eq!(count, 2, "{split}");
        }
    }

    #[test]
    fn processes_left_in_the_group_are_counted_and_killed() {
        let mut tool = ToolRun::new("", ["sh", "-c", "sleep 1000 & sleep 1000 & echo $$"]);
        tool.keeps = 100;
        let ended = run(&tool, &CancelToken::new()).unwrap();
        assert_eq!(ended.left_running, 2);
        let group = ended.command.stdout.trim().parse().unwrap();
        let group = Pid::from_raw(group).unwrap();
        assert!(rustix::process::test_kill_process_group(group).is_err());
    }

    #[test]
    fn processor_time_of_orphans_is_counted() {
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let tool = ToolRun::new("", ["sh", "-c"]).arg(format!("({busy} &); sleep 1"));
        let ended = run(&tool, &CancelToken::new()).unwrap();
        assert!(ended.user.0 > 20_000_000, "{}", ended.user);
    }

    #[test]
    fn the_end_of_the_output_is_kept_and_input_is_read() {
        let mut tool = ToolRun::new("", ["cat"]);
        tool.input = Some(b"0123456789".to_vec());
        tool.keeps = 4;
        let ended = run(&tool, &CancelToken::new()).unwrap();
        assert_eq!(ended.command.stdout, "6789");
    }

    #[test]
    fn lines_are_counted_and_output_is_read_to_its_end() {
        let mut tool = ToolRun::new("", ["seq", "300000"]);
        tool.counts_lines = true;
        assert_eq!(run(&tool, &CancelToken::new()).unwrap().lines, 300_000);
    }
}
