//! Processor time of the whole machine, kernel threads included, from `/proc/stat`.

use fsdyno_model::{Figure, Nanos};
use std::io;

/// Processor time since boot, summed over all processors.
///
/// The kernel counts in ticks of 1/100 s: a difference of two readings is not finer than 10 ms,
/// and on kernels that sample (no `VIRT_CPU_ACCOUNTING`) what fits between two ticks is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineCpu {
    /// User, nice, system and interrupt time; neither idle nor waiting for I/O.
    pub busy_ns: Nanos,
    /// Time stolen by the hypervisor.
    pub steal_ns: Nanos,
    /// Context switches.
    pub switches: u64,
}

/// Reads the processor time of the machine.
pub fn machine_cpu() -> io::Result<MachineCpu> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let ticks = rustix::param::clock_ticks_per_second();
    parse(&stat, ticks)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no `cpu` line"))
}

impl MachineCpu {
    /// The time used since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let between = |now: Nanos, then: Nanos| Nanos(now.0.saturating_sub(then.0));
        Self {
            busy_ns: between(self.busy_ns, earlier.busy_ns),
            steal_ns: between(self.steal_ns, earlier.steal_ns),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }

    /// The counts that are figures of a sample.
    pub fn figures(&self) -> [Figure; 1] {
        [Figure::counted("context-switches", self.switches)]
    }
}

/// Reads `cpu user nice system idle iowait irq softirq steal guest guest_nice` and `ctxt`
/// (`proc_stat(5)`). Guest time is part of user and nice already.
fn parse(stat: &str, ticks_per_second: u64) -> Option<MachineCpu> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let tick_ns = 1_000_000_000 / ticks_per_second.max(1);
    let ns = |at: &[usize]| {
        let ticks: u64 = at.iter().filter_map(|at| fields.get(*at)).sum();
        Nanos(ticks * tick_ns)
    };
    let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt "));
    let switches = switches.map_or(Some(0), |count| count.trim().parse().ok())?;
    (fields.len() >= 4).then(|| MachineCpu {
        busy_ns: ns(&[0, 1, 2, 5, 6]),
        steal_ns: ns(&[7]),
        switches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{FigureName, Sample};

    #[test]
    fn idle_waiting_and_stolen_time_are_not_busy() {
        let text = "cpu  10 20 30 4000 500 6 7 80 9 1\ncpu0 1 2 3 4\nctxt 77\n";
        let cpu = parse(text, 100).unwrap();
        assert_eq!(cpu.busy_ns, Nanos((10 + 20 + 30 + 6 + 7) * 10_000_000));
        assert_eq!(cpu.steal_ns, Nanos(800_000_000));
        let sample = Sample {
            figures: cpu.figures().to_vec(),
            ..Sample::default()
        };
        let figure: FigureName = "context-switches".parse().unwrap();
        assert_eq!(figure.value(&sample), Some(77.0));
        assert!(FigureName::reported([&sample].into_iter()).is_empty());
        assert_eq!(parse("intr 5", 100), None);
        assert_eq!(parse("cpu  1 2 3 x", 100), None);
    }

    #[test]
    fn a_reading_follows_from_an_earlier_one() {
        let earlier = machine_cpu().unwrap();
        let later = machine_cpu().unwrap();
        assert!(later.busy_ns >= earlier.busy_ns);
        assert_eq!(earlier.since(&earlier).busy_ns, Nanos(0));
    }
}
