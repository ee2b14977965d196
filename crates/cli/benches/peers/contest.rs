//! Two commands that do the same work, in alternating pairs: who begins alternates as well. What is
//! compared is the processor time of the whole process, or its wall time.

use fsdyno_model::Stop;
use fsdyno_stats::{PairedRatio, ratio_paired};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Two commands.
#[derive(Debug)]
pub struct Duel {
    /// Untimed, through `sh`, before each of them.
    pub before: String,
    pub ours: String,
    pub theirs: String,
}

/// What one run took, seconds.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub wall: f64,
    pub cpu: f64,
}

/// What all runs took.
#[derive(Debug)]
pub struct Figures {
    pub ours: Vec<Took>,
    pub theirs: Vec<Took>,
}

impl Figures {
    /// Ours to theirs, pair by pair.
    pub fn ratio(&self, of: fn(&Took) -> f64) -> Option<PairedRatio> {
        let list = |runs: &[Took]| -> Vec<(u32, f64)> { (0..).zip(runs.iter().map(of)).collect() };
        ratio_paired(&list(&self.ours), &list(&self.theirs))
    }

    /// In a line, for the screen.
    pub fn line(&self) -> String {
        let told = |of| match self.ratio(of) {
            Some(ratio) => format!(
                "{:.3} ({:.3} to {:.3})",
                ratio.middle, ratio.low, ratio.high
            ),
            None => "-".to_owned(),
        };
        format!("cpu {}, wall {}", told(|t| t.cpu), told(|t| t.wall))
    }
}

impl Duel {
    /// Takes all pairs. A run before them, of each, warms what is warm from then on.
    pub fn fight(self, pairs: u32, stop: &Stop) -> Result<Figures, String> {
        let mut figures = Figures {
            ours: Vec::new(),
            theirs: Vec::new(),
        };
        for command in [&self.ours, &self.theirs] {
            shell(&self.before, stop)?;
            timed(command)?;
        }
        for pair in 0..pairs {
            let mut ours = || -> Result<(), String> {
                shell(&self.before, stop)?;
                figures.ours.push(timed(&self.ours)?);
                Ok(())
            };
            let mut theirs = || -> Result<(), String> {
                shell(&self.before, stop)?;
                figures.theirs.push(timed(&self.theirs)?);
                Ok(())
            };
            if pair % 2 == 0 {
                ours()?;
                theirs()?;
            } else {
                theirs()?;
                ours()?;
            }
        }
        Ok(figures)
    }
}

/// Whether the program of a command is there.
pub fn there(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    fsdyno_host::probe::program(program).is_some()
}

/// A command in words; what stands in single quotes is one of them.
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

/// Runs a command to its end, and takes its times: those of all processes it waited for.
fn timed(command: &str) -> Result<Took, String> {
    let words = argv(command);
    let started = Instant::now();
    let child = Command::new(&words[0])
        .args(&words[1..])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{command}: {error}"))?;
    let (status, cpu) = wait(child.id()).map_err(|error| format!("{command}: {error}"))?;
    let wall = started.elapsed().as_secs_f64();
    // Of those that search, 1 says that nothing was found.
    let searches = words[0].ends_with("grep") || words[0] == "rg";
    if status.success() || searches && status.code() == Some(1) {
        return Ok(Took { wall, cpu });
    }
    Err(format!("{command}: {status}"))
}

/// Waits for a child: how it ended, and the processor time of it and of all it waited for, seconds.
fn wait(child: u32) -> std::io::Result<(ExitStatus, f64)> {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers: all zeros are a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places to be written to are ours and live.
        let waited =
            unsafe { libc::wait4(child.cast_signed(), &raw mut status, 0, &raw mut usage) };
        if waited >= 0 {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    Ok((ExitStatus::from_raw(status), cpu))
}

/// Runs lines of a shell, untimed.
pub fn shell(lines: &str, stop: &Stop) -> Result<(), String> {
    if stop.requested() {
        return Err("stopped at the user's request".to_owned());
    }
    if lines.is_empty() {
        return Ok(());
    }
    let output = Command::new("sh")
        .args(["-euc", lines])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("sh: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{lines}`: {}: {}", output.status, words.trim()))
}
