//! Whether other work keeps this machine busy, before a measurement starts. The kernel's pressure
//! figures cover the last 10 s, so that nothing is waited for on an idle machine. If they were busy, half
//! a second shows whether it still is: the load may have been that of fsdyno before.

use crate::counters::pressure;
use fsdyno_model::Pressure;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Above this share of the time, in percent, waiting tasks disturb a measurement.
const BUSY: f64 = 10.0;

/// How long a machine is watched that was busy before.
const WATCHED: Duration = Duration::from_millis(500);

/// Describes the load of the machine if it is busy. `None` if it is idle, or if the kernel has no
/// pressure figures (`CONFIG_PSI`).
pub fn busy() -> Option<String> {
    let read =
        |name: &str| fs::read_to_string(format!("/proc/pressure/{name}")).unwrap_or_default();
    if !was_busy(&read("cpu")) && !was_busy(&read("io")) {
        return None;
    }
    let before = pressure::pressure().ok()?;
    sleep(WATCHED);
    describe(&pressure::since(&pressure::pressure().ok()?, &before))
}

/// Describes what tasks waited for while the machine was watched.
fn describe(waited: &Pressure) -> Option<String> {
    let kinds = [
        ("a processor", waited.cpu_some_ns),
        ("a disk", waited.io_some_ns),
    ];
    let waited = kinds.into_iter().filter_map(|(what, waited)| {
        let share = 100.0 * waited.0 as f64 / WATCHED.as_nanos() as f64;
        (share > BUSY).then(|| format!("{what} for {share:.0} %"))
    });
    let waited: Vec<String> = waited.collect();
    (!waited.is_empty()).then(|| {
        let (waited, watched) = (waited.join(" and "), WATCHED.as_secs_f64());
        format!("tasks waited for {waited} of the last {watched} s")
    })
}

/// Whether some task waited for long in the last 10 s (Documentation/accounting/psi.rst).
fn was_busy(text: &str) -> bool {
    let line = text.lines().find_map(|line| line.strip_prefix("some "));
    let mut words = line.unwrap_or_default().split_whitespace();
    let share = words.find_map(|word| word.strip_prefix("avg10="));
    share.is_some_and(|share| share.parse().is_ok_and(|share: f64| share > BUSY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Nanos;

    #[test]
    fn a_machine_is_busy_if_tasks_still_wait() {
        let waited = |cpu, io| {
            describe(&Pressure {
                cpu_some_ns: Nanos(cpu),
                io_some_ns: Nanos(io),
                ..Pressure::default()
            })
        };
        assert_eq!(
            waited(175_000_000, 0).as_deref(),
            Some("tasks waited for a processor for 35 % of the last 0.5 s")
        );
        let both = waited(100_000_000, 100_000_000).unwrap();
        assert!(both.contains("a disk for 20 %"), "{both}");
        assert_eq!(waited(10_000_000, 10_000_000), None);
        assert_eq!(waited(0, 0), None);
    }

    #[test]
    fn a_machine_was_busy_by_the_average_of_ten_seconds() {
        let busy = "some avg10=35.21 avg60=1.00 avg300=0.50 total=1\nfull avg10=0.00 total=0\n";
        let idle = "some avg10=0.80 avg60=90.00 avg300=0.50 total=1\n";
        assert!(was_busy(busy) && !was_busy(idle));
        assert!(!was_busy("") && !was_busy("some avg10="));
    }
}
