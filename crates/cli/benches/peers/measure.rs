//! Runs a command. Measures processor and wall time of the whole process, or reads the times that
//! the program reports. An interrupt ends the command.

use crate::works::By;
use fsdyno_model::CancelToken;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// The figures of one run: times in seconds, peak memory in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    pub wall: f64,
    pub cpu: f64,
    pub peak: f64,
}

/// Runs commands, one at a time.
#[derive(Debug)]
pub struct Runner {
    stop: CancelToken,
    /// The process group of the running command; 0 if none runs.
    running: Arc<AtomicI32>,
}

/// Interval at which a requested stop is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of checks before SIGKILL. Until then a run can undo its mounts.
const TIMEOUT: u32 = 100;

pub const STOPPED: &str = "stopped at the user's request";

impl Runner {
    /// Creates a runner and a thread that signals the running command on a stop. The command has
    /// its own process group, which the terminal does not signal.
    pub fn new(stop: &CancelToken) -> Self {
        let runner = Self {
            stop: stop.clone(),
            running: Arc::default(),
        };
        let (stop, running) = (stop.clone(), Arc::clone(&runner.running));
        std::thread::spawn(move || {
            let mut polls = 0;
            loop {
                std::thread::sleep(POLL_INTERVAL);
                let group = running.load(Ordering::Acquire);
                if !stop.requested() || group == 0 {
                    continue;
                }
                let signal = if polls < TIMEOUT {
                    libc::SIGINT
                } else {
                    libc::SIGKILL
                };
                if polls == 0 || polls >= TIMEOUT {
                    // SAFETY: `kill` touches no memory, and the group belongs to a child that is
                    // not yet reaped.
                    unsafe { libc::kill(-group, signal) };
                }
                polls += 1;
            }
        });
        runner
    }

    pub fn stop(&self) -> &CancelToken {
        &self.stop
    }

    fn unless_stopped(&self) -> Result<(), String> {
        if self.stop.requested() {
            return Err(STOPPED.to_owned());
        }
        Ok(())
    }

    /// Runs a command to its end and measures it with all processes that it waited for.
    pub fn timed(&self, command: &str, by: By) -> Result<Measured, String> {
        self.unless_stopped()?;
        let failed = |error: std::io::Error| format!("{command}: {error}");
        let words = argv(command);
        let mut output = tempfile::tempfile().map_err(failed)?;
        let mut figures = tempfile::tempfile().map_err(failed)?;
        let mut process = Command::new(&words[0]);
        process
            .args(&words[1..])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output.try_clone().map_err(failed)?)
            .process_group(0);
        if by == By::OwnClocks {
            process.stdout(figures.try_clone().map_err(failed)?);
        }
        let started = Instant::now();
        let child = process.spawn().map_err(failed)?;
        let (status, mut measured) = self.wait(&child).map_err(failed)?;
        measured.wall = started.elapsed().as_secs_f64();
        self.unless_stopped()?;
        // Exit code 1 of a search program means that it found nothing.
        let searches = words[0].ends_with("grep") || words[0] == "rg";
        if !(status.success() || searches && status.code() == Some(1)) {
            return Err(format!("{command}: {status}: {}", last_line(&mut output)));
        }
        if by == By::OwnClocks {
            let mut text = String::new();
            figures.rewind().map_err(failed)?;
            figures.read_to_string(&mut text).map_err(failed)?;
            (measured.wall, measured.cpu) = own_clocks(&text)
                .ok_or_else(|| format!("{command}: prints no figures: {}", first_words(&text)))?;
        }
        Ok(measured)
    }

    /// Runs shell lines, untimed.
    pub fn shell(&self, lines: &str) -> Result<(), String> {
        self.unless_stopped()?;
        if lines.is_empty() {
            return Ok(());
        }
        let failed = |error: std::io::Error| format!("sh: {error}");
        let mut output = tempfile::tempfile().map_err(failed)?;
        let child = Command::new("sh")
            .args(["-euc", lines])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output.try_clone().map_err(failed)?)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (status, _) = self.wait(&child).map_err(failed)?;
        self.unless_stopped()?;
        if status.success() {
            return Ok(());
        }
        Err(format!("`{lines}`: {status}: {}", last_line(&mut output)))
    }

    /// Waits for a child. Returns its status, and the figures of it and of all children it waited
    /// for.
    fn wait(&self, child: &Child) -> std::io::Result<(ExitStatus, Measured)> {
        let id = child.id().cast_signed();
        self.running.store(id, Ordering::Release);
        let mut status = 0;
        // SAFETY: `rusage` holds only numbers, and all zeros are a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // `WNOWAIT` detects the exit before the child is reaped, so that its process id cannot be
        // reused.
        // SAFETY: `siginfo_t` is plain data, and all zeros are a valid value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer refers to a live local variable.
        let seen = unsafe {
            let how = libc::WEXITED | libc::WNOWAIT;
            libc::waitid(libc::P_PID, child.id(), &raw mut info, how)
        };
        self.running.store(0, Ordering::Release);
        if seen != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: both pointers refer to live local variables.
        if unsafe { libc::wait4(id, &raw mut status, 0, &raw mut usage) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let measured = Measured {
            wall: 0.0,
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            // The unit of `ru_maxrss` is KiB (getrusage(2)).
            peak: usage.ru_maxrss as f64 * 1024.0,
        };
        Ok((ExitStatus::from_raw(status), measured))
    }
}

/// Whether the program of a command exists.
pub fn there(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    !program.is_empty() && fsdyno_files::programs::find(program).is_some()
}

/// Splits a command into words; text in single quotes is one word.
fn argv(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Wall and processor time of all operations in seconds, from the JSON of fsdyno or fio.
fn own_clocks(text: &str) -> Option<(f64, f64)> {
    let at = text.find('{')?;
    let printed: serde_json::Value = serde_json::from_str(&text[at..]).ok()?;
    if let Some(returned) = printed.get("return_ns") {
        let cpu = printed.get("user_ns")?.as_f64()? + printed.get("system_ns")?.as_f64()?;
        return Some((returned.as_f64()? / 1e9, cpu / 1e9));
    }
    let job = printed.get("jobs")?.get(0)?;
    // Milliseconds, and percentages of them (fio(1), JSON output).
    let runtime = job.get("job_runtime")?.as_f64()? / 1e3;
    let busy = job.get("usr_cpu")?.as_f64()? + job.get("sys_cpu")?.as_f64()?;
    Some((runtime, busy / 100.0 * runtime))
}

fn last_line(output: &mut std::fs::File) -> String {
    let mut bytes = Vec::new();
    let read = output
        .rewind()
        .and_then(|()| output.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().rev().map(str::trim);
    match read {
        Ok(_) => lines.filter(|line| !line.is_empty()).take(1).collect(),
        Err(error) => error.to_string(),
    }
}

fn first_words(text: &str) -> String {
    text.chars().take(200).collect()
}
