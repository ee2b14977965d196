//! How long tasks were stalled, from `/proc/pressure` (PSI).

use fsdyno_model::Pressure;
use std::fs;

/// The totals since boot; or why the kernel has none.
pub(crate) fn pressure() -> Result<Pressure, String> {
    let (cpu, io, memory) = (read("cpu")?, read("io")?, read("memory")?);
    let reported = |text: &str, who: &str| {
        total(text, who).ok_or_else(|| format!("pressure: /proc/pressure has no `{who}`"))
    };
    Ok(Pressure::from_parts([
        reported(&cpu, "some")?,
        reported(&io, "some")?,
        reported(&io, "full")?,
        reported(&memory, "some")?,
        reported(&memory, "full")?,
    ]))
}

/// The stall times since an earlier reading.
pub(crate) fn since(now: &Pressure, then: &Pressure) -> Pressure {
    now.combined(then, u64::saturating_sub)
}

fn read(what: &str) -> Result<String, String> {
    let path = format!("/proc/pressure/{what}");
    fs::read_to_string(&path).map_err(|error| {
        format!("pressure: cannot read {path}: {error} (a kernel with CONFIG_PSI, and psi=1)")
    })
}

/// The total of `some avg10=0.00 ... total=123`, in microseconds, as nanoseconds.
fn total(text: &str, who: &str) -> Option<u64> {
    let line = text
        .lines()
        .find(|line| line.split(' ').next() == Some(who))?;
    let micros = line
        .split(' ')
        .find_map(|word| word.strip_prefix("total="))?;
    micros.trim().parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_by_their_names() {
        let text = "some avg10=1.00 avg60=0.10 avg300=0.00 total=42\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(total(text, "some"), Some(42_000));
        assert_eq!(total(text, "full"), Some(7_000));
        assert_eq!(total("some avg10=1.00", "some"), None);
        assert_eq!(total(text, "none"), None);
    }
}
