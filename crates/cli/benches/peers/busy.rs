//! How busy others keep the machine while something is measured: programs that are not ours, and the
//! host of a virtual machine. The kernel's own work is not counted, for much of it is ours.

use std::time::Instant;

/// The share of other programs from which on a figure is marked.
pub const NOISY: f64 = 0.05;

/// A look at the machine, from which on is counted.
#[derive(Debug)]
pub struct Watched {
    since: Instant,
    machine: f64,
    ours: f64,
}

impl Watched {
    pub fn start() -> Self {
        Self {
            since: Instant::now(),
            machine: machine().unwrap_or(0.0),
            ours: ours(),
        }
    }

    /// The share of all processors that others had since.
    pub fn others(&self) -> f64 {
        let Some(machine) = machine() else {
            return 0.0;
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let all = self.since.elapsed().as_secs_f64() * processors as f64;
        let others = (machine - self.machine) - (ours() - self.ours);
        (others / all.max(1e-9)).max(0.0)
    }
}

/// User time of all programs, and what a host took away (steal), seconds.
fn machine() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().next()?;
    let ticks: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)), in USER_HZ.
    Some((ticks.first()? + ticks.get(1)? + ticks.get(7)?) / 100.0)
}

/// User time of ours and of all we waited for, seconds.
fn ours() -> f64 {
    let used = |who| {
        // SAFETY: `rusage` is plain numbers: all zeros are a value of it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the place to be written to is ours and live.
        unsafe { libc::getrusage(who, &raw mut usage) };
        usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}
