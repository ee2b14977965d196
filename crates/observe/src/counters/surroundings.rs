//! A reading of the machine around a phase: the noise from other programs.

use super::frequency;
use super::other_processes::{self, AllDisks, ContenderDevices};
use super::pressure;
use super::tasks::{self, Tasks};
use fsdyno_model::{Nanos, Observed, Pressure};
use std::time::Instant;

/// A reading. What cannot be read carries its reason.
#[derive(Debug, Clone)]
pub struct Surroundings {
    at: Instant,
    speeds: Result<Vec<u64>, String>,
    throttled: Result<u64, String>,
    pressure: Result<Pressure, String>,
    tasks: Result<Tasks, String>,
    disks: Result<AllDisks, String>,
}

/// Reads everything. It takes about as many system calls as the machine has processes, so it must
/// not run within a timed interval.
pub fn surroundings() -> Surroundings {
    Surroundings {
        at: Instant::now(),
        speeds: frequency::speeds(),
        throttled: frequency::throttled(),
        pressure: pressure::pressure(),
        tasks: tasks::tasks(),
        disks: other_processes::all(),
    }
}

impl Surroundings {
    /// The activity since an earlier reading, except for that of this process, its children, and
    /// these block devices.
    pub fn since(&self, earlier: &Self, devices: &[String]) -> Observed {
        let mut unobserved = Vec::new();
        let over = self.at.saturating_duration_since(earlier.at);
        let speeds: Vec<u64> = [earlier, self]
            .into_iter()
            .filter_map(|reading| reading.speeds.as_deref().ok())
            .flatten()
            .copied()
            .collect();
        note(&mut unobserved, &self.speeds);
        let throttled = difference(
            &mut unobserved,
            (&self.throttled, &earlier.throttled),
            |now, then| now.saturating_sub(*then),
        );
        let pressure = difference(
            &mut unobserved,
            (&self.pressure, &earlier.pressure),
            pressure::since,
        );
        let own = std::process::id();
        let ran = difference(
            &mut unobserved,
            (&self.tasks, &earlier.tasks),
            |now, then| now.since(then, own),
        );
        let kernel = ran.and_then(|ran| ran.kernel_ns);
        if ran.is_some() && kernel.is_none() {
            unobserved.push("kernel threads: none can be seen (a PID namespace)".to_owned());
        }
        let devices = ContenderDevices::of(devices);
        let other_io = difference(
            &mut unobserved,
            (&self.disks, &earlier.disks),
            |now, then| now.since(then, &devices),
        );
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Observed {
            over_ns: Nanos::from(over),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            frequency: frequency::spread(&speeds),
            throttled,
            pressure,
            kernel_threads_ns: kernel.map(Nanos),
            others_ns: ran.map(|ran| Nanos(ran.others_ns)),
            other_io,
            traced: None,
            unobserved,
        }
    }
}

fn difference<T, D>(
    unobserved: &mut Vec<String>,
    (now, then): (&Result<T, String>, &Result<T, String>),
    of: impl Fn(&T, &T) -> D,
) -> Option<D> {
    note(unobserved, now);
    Some(of(now.as_ref().ok()?, then.as_ref().ok()?))
}

fn note<T>(unobserved: &mut Vec<String>, reading: &Result<T, String>) {
    if let Err(why) = reading {
        unobserved.push(why.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_that_are_not_available_are_named() {
        let earlier = surroundings();
        let now = surroundings();
        let reported = now.since(&earlier, &[]);
        for (known, name) in [
            (reported.frequency.is_some(), "frequency: "),
            (reported.throttled.is_some(), "throttling: "),
            (reported.pressure.is_some(), "pressure: "),
            (reported.others_ns.is_some(), "load of others: "),
            (reported.other_io.is_some(), "other I/O: "),
        ] {
            let named = reported.unobserved.iter().any(|why| why.starts_with(name));
            assert_eq!(known, !named, "{name}{reported:?}");
        }
        assert!(reported.processors > 0);
    }
}
