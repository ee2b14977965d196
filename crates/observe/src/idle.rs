//! Whether other work keeps this machine busy, before a measurement starts. The kernel's pressure
//! figures cover the last 10 s, so that nothing is waited for on an idle machine. If they were busy, half
//! a second shows whether it still is: the load may have been that of fsdyno before.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Above this share of the time, in percent, waiting tasks disturb a measurement.
const BUSY: f64 = 10.0;

/// How long a machine is watched that was busy before.
const WATCHED: Duration = Duration::from_millis(500);

/// What tasks wait for, with the kernel's name of its pressure figures.
const WAITS: [(&str, &str); 2] = [("a processor", "cpu"), ("a disk", "io")];

/// The pressure of one kind (Documentation/accounting/psi.rst).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pressure {
    /// The share of the last 10 s in which some task waited, in percent.
    recent: f64,
    /// The time for which some task waited since boot, in microseconds.
    total: u64,
}

/// Describes the load of the machine if it is busy. `None` if it is idle, or if the kernel has no
/// pressure figures (`CONFIG_PSI`).
pub fn busy() -> Option<String> {
    let read = || WAITS.map(|(_, name)| Pressure::parse(&contents(name)));
    let before = read();
    let was_busy = |pressure: &Pressure| pressure.recent > BUSY;
    if !before.iter().flatten().any(was_busy) {
        return None;
    }
    sleep(WATCHED);
    describe(before, read())
}

fn contents(name: &str) -> String {
    fs::read_to_string(format!("/proc/pressure/{name}")).unwrap_or_default()
}

fn describe(before: [Option<Pressure>; 2], after: [Option<Pressure>; 2]) -> Option<String> {
    let pairs = WAITS.iter().zip(before.into_iter().zip(after));
    let waited = pairs.filter_map(|((what, _), (before, after))| {
        let waited = after?.total.saturating_sub(before?.total);
        let share = 100.0 * waited as f64 / WATCHED.as_micros() as f64;
        (share > BUSY).then(|| format!("{what} for {share:.0} %"))
    });
    let waited: Vec<String> = waited.collect();
    (!waited.is_empty()).then(|| {
        let (waited, watched) = (waited.join(" and "), WATCHED.as_secs_f64());
        format!("tasks waited for {waited} of the last {watched} s")
    })
}

impl Pressure {
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let field = |name: &str| {
            let mut words = line.split_whitespace();
            words.find_map(|word| word.strip_prefix(name))
        };
        Some(Self {
            recent: field("avg10=")?.parse().ok()?,
            total: field("total=")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_busy_if_tasks_still_wait() {
        let at = |total| {
            Some(Pressure {
                recent: 35.2,
                total,
            })
        };
        let still = describe([at(1000), at(50)], [at(176_000), at(50)]);
        assert_eq!(
            still.as_deref(),
            Some("tasks waited for a processor for 35 % of the last 0.5 s")
        );
        let both = describe([at(0); 2], [at(100_000); 2]).unwrap();
        assert!(both.contains("a disk for 20 %"), "{both}");
        assert_eq!(describe([at(1000); 2], [at(11_000); 2]), None);
        assert_eq!(describe([None; 2], [None; 2]), None);
    }

    #[test]
    fn the_pressure_of_the_kernel_is_read() {
        let text = "some avg10=35.21 avg60=1.00 avg300=0.50 total=17\nfull avg10=0.00 total=0\n";
        let (recent, total) = (35.21, 17);
        assert_eq!(Pressure::parse(text), Some(Pressure { recent, total }));
        assert_eq!(Pressure::parse("some avg10="), None);
    }
}
