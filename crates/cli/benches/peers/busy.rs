//! The load of other programs during a measurement: programs outside the bench, and the host of a
//! virtual machine. Kernel time is not counted, because the bench causes much of it.

use std::time::Instant;

/// A figure is marked if the share of other programs exceeds this.
pub const NOISY: f64 = 0.05;

/// A snapshot of processor times; the count starts from it.
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

    /// The share of all processors that other programs used since the snapshot.
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

/// User time of all programs and steal time of the host, in seconds.
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

/// User time of this process and of the children it waited for, in seconds.
fn ours() -> f64 {
    let used = |who| {
        // SAFETY: `rusage` holds only numbers, and all zeros are a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer refers to a live local variable.
        unsafe { libc::getrusage(who, &raw mut usage) };
        usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}
