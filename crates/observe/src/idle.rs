//! Whether other work keeps this machine busy, before a measurement starts. The kernel's pressure
//! figures cover the last 10 s, so that nothing is waited for.

use std::fs;

/// Above this share of the time, in percent, waiting tasks disturb a measurement.
const BUSY: f64 = 10.0;

/// Describes the load of the machine if it is busy. `None` if it is idle, or if the kernel has no
/// pressure figures (`CONFIG_PSI`).
pub fn busy() -> Option<String> {
    let read =
        |name: &str| fs::read_to_string(format!("/proc/pressure/{name}")).unwrap_or_default();
    describe(&read("cpu"), &read("io"))
}

fn describe(cpu: &str, io: &str) -> Option<String> {
    let waited = [("a processor", cpu), ("a disk", io)].map(|(what, text)| {
        let share = some_avg10(text).filter(|share| *share > BUSY)?;
        Some(format!("{what} for {share:.0} %"))
    });
    let waited: Vec<String> = waited.into_iter().flatten().collect();
    (!waited.is_empty()).then(|| {
        let waited = waited.join(" and ");
        format!("tasks waited for {waited} of the last 10 s")
    })
}

/// The share of the last 10 s in which some task waited (Documentation/accounting/psi.rst).
fn some_avg10(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let share = line
        .split_whitespace()
        .find_map(|word| word.strip_prefix("avg10="))?;
    share.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_described_and_an_idle_one_is_not() {
        let busy = "some avg10=35.21 avg60=1.00 avg300=0.50 total=1\nfull avg10=0.00 total=0\n";
        let idle = "some avg10=0.80 avg60=90.00 avg300=0.50 total=1\n";
        assert_eq!(
            describe(busy, idle).as_deref(),
            Some("tasks waited for a processor for 35 % of the last 10 s")
        );
        assert!(describe(busy, busy).unwrap().contains("a disk for 35 %"));
        assert_eq!(describe(idle, idle), None);
        assert_eq!(describe("", "some avg10="), None);
    }
}
