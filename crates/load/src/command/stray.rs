//! Kills processes that outlive the command that started them, in a separate session. A mark in
//! their environment identifies them. `command` kills processes that stay in the group of the
//! command.

use super::watchdog::Watchdog;
use crate::error::LoadError;
use fsdyno_files::uninterrupted;
use fsdyno_model::units::Nanos;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The variable that marks the processes of a phase.
const VARIABLE: &str = "FSDYNO_PHASE";
/// The place of the user time after the name of a program in `proc_pid_stat(5)`, and its unit.
const UTIME: usize = 11;
const TICK: u64 = 10_000_000;
/// The maximum time until a killed process exits.
const DYING: Duration = Duration::from_secs(5);

/// The mark of one phase, or of a command that is recorded.
#[derive(Debug)]
pub struct StrayProcesses {
    mark: String,
    /// Kills them if fsdyno cannot.
    _watchdog: Watchdog,
}

impl StrayProcesses {
    /// A unique mark, and a watchdog that kills the marked processes if fsdyno is killed, or when this
    /// is dropped.
    ///
    /// # Errors
    /// The shell that waits cannot be started.
    pub fn guarded() -> Result<Self, LoadError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        Ok(Self {
            _watchdog: Watchdog::start(&format!("{VARIABLE}={mark}"))?,
            mark,
        })
    }

    /// Name and value of the variable that carries the mark.
    pub fn variable(&self) -> (&'static str, &str) {
        (VARIABLE, &self.mark)
    }

    /// Kills all marked processes. Returns their number.
    pub fn end(&self) -> usize {
        let late = Instant::now() + DYING;
        let mut ended: Vec<Pid> = Vec::new();
        loop {
            let living = self.living();
            for pid in living.iter().copied() {
                let _ = kill_process(pid, Signal::KILL);
                if !ended.contains(&pid) {
                    ended.push(pid);
                }
            }
            // fsdyno must wait for orphans that it adopted; others have parents.
            let unburied = ended
                .iter()
                .map(|pid| uninterrupted(|| waitpid(Some(*pid), WaitOptions::NOHANG)))
                .any(|ended| matches!(ended, Ok(None)));
            if (living.is_empty() && !unburied) || Instant::now() > late {
                return ended.len();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The processor time of the marked processes and of their children that have ended, in user mode
    /// and in the kernel, in ticks of 10 ms.
    pub(crate) fn processor_time(&self) -> (Nanos, Nanos) {
        let mut times = (Nanos(0), Nanos(0));
        for pid in self.living() {
            let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
            let text = std::fs::read_to_string(path).unwrap_or_default();
            // The name of the program is in brackets, and may contain blanks.
            let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
            let numbers = rest.split_whitespace().skip(UTIME).take(4);
            let ticks: Vec<u64> = numbers.filter_map(|one| one.parse().ok()).collect();
            if let [user, system, user_of_children, system_of_children] = ticks[..] {
                times.0.0 += (user + user_of_children) * TICK;
                times.1.0 += (system + system_of_children) * TICK;
            }
        }
        times
    }

    /// The marked processes. A dead process has no environment.
    fn living(&self) -> Vec<Pid> {
        let entry = format!("{VARIABLE}={}", self.mark);
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        processes
            .filter_map(|process| {
                let process = process.ok()?;
                let pid = Pid::from_raw(process.file_name().to_str()?.parse().ok()?)?;
                let environment: PathBuf = process.path().join("environ");
                let environment = std::fs::read(environment).ok()?;
                environment
                    .split(|byte| *byte == 0)
                    .any(|one| one == entry.as_bytes())
                    .then_some(pid)
            })
            .collect()
    }
}
