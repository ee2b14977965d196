//! Kills processes that outlive the command that started them, in a separate session. A mark in
//! their environment identifies them. `command` kills processes that stay in the group of the
//! command.

use super::watchdog::Watchdog;
use crate::error::LoadError;
use fsdyno_files::{ProcessStat, uninterrupted};
use fsdyno_model::units::Nanos;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The variable that marks the processes of a phase.
const VARIABLE: &str = "FSDYNO_PHASE";
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

    /// The processor time of the marked processes, of their descendants, and of the children of both
    /// that have ended, in user mode and in the kernel. It has the resolution of ticks. A descendant
    /// may have written its title over the mark, as those of PostgreSQL do.
    pub(crate) fn processor_time(&self) -> (Nanos, Nanos) {
        let mut counted: HashSet<Pid> = self.living().into_iter().collect();
        let mut others: Vec<(Pid, ProcessStat)> = all_processes()
            .filter_map(|pid| {
                let stat = ProcessStat::read(pid.as_raw_pid().unsigned_abs());
                Some((pid, stat.ok()?))
            })
            .collect();
        let mut times = (Nanos(0), Nanos(0));
        loop {
            let is_child = |stat: &ProcessStat| {
                let parent = stat.field(4).and_then(|field| field.parse().ok());
                let parent = parent.and_then(Pid::from_raw);
                parent.is_some_and(|parent| counted.contains(&parent))
            };
            let (found, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|(pid, stat)| counted.contains(pid) || is_child(stat));
            if found.is_empty() {
                return times;
            }
            for (pid, stat) in found {
                let [user, system, user_of_children, system_of_children] =
                    stat.times_ns().unwrap_or_default();
                times.0.0 += user + user_of_children;
                times.1.0 += system + system_of_children;
                counted.insert(pid);
            }
            others = rest;
        }
    }

    /// The marked processes. A dead process has no environment.
    fn living(&self) -> Vec<Pid> {
        let entry = format!("{VARIABLE}={}", self.mark);
        let has_mark = |pid: &Pid| {
            let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_pid()));
            environment.is_ok_and(|environment| {
                let mut entries = environment.split(|byte| *byte == 0);
                entries.any(|one| one == entry.as_bytes())
            })
        };
        all_processes().filter(has_mark).collect()
    }
}

fn all_processes() -> impl Iterator<Item = Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
}
