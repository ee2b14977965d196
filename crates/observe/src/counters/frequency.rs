//! Frequencies of processors, and counts of thermal throttling.

use fsdyno_model::Frequency;
use std::fs;
use std::path::{Path, PathBuf};

const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The frequency of each processor in kHz; or why it is not available.
pub(super) fn speeds() -> Result<Vec<u64>, String> {
    let reported: Vec<u64> = processors()
        .iter()
        .filter_map(|processor| number(&processor.join("cpufreq/scaling_cur_freq")))
        .collect();
    if !reported.is_empty() {
        return Ok(reported);
    }
    let reported = of_cpuinfo(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default());
    if reported.is_empty() {
        return Err(format!(
            "frequency: neither {PROCESSORS}/*/cpufreq nor /proc/cpuinfo has it"
        ));
    }
    Ok(reported)
}

/// The least, the mean and the most of readings.
pub(super) fn spread(speeds: &[u64]) -> Option<Frequency> {
    let (least, most) = (speeds.iter().min()?, speeds.iter().max()?);
    Some(Frequency {
        least_khz: *least,
        mean_khz: speeds.iter().sum::<u64>() / speeds.len() as u64,
        most_khz: *most,
    })
}

/// How often processors and packages were throttled for heat since boot; or why that is not
/// available.
pub(super) fn throttled() -> Result<u64, String> {
    let mut reported = None;
    let mut packages = Vec::new();
    for processor in processors() {
        let counts = processor.join("thermal_throttle");
        if let Some(times) = number(&counts.join("core_throttle_count")) {
            *reported.get_or_insert(0) += times;
        }
        // All processors of a package have the same count.
        if let Some(times) = number(&counts.join("package_throttle_count")) {
            let package = number(&processor.join("topology/physical_package_id"));
            if !packages.contains(&package) {
                packages.push(package);
                *reported.get_or_insert(0) += times;
            }
        }
    }
    reported.ok_or_else(|| {
        format!("throttling: no {PROCESSORS}/*/thermal_throttle (a virtual machine has none)")
    })
}

fn processors() -> Vec<PathBuf> {
    let entries = fs::read_dir(PROCESSORS).into_iter().flatten().flatten();
    let is_one = |name: &str| {
        name.strip_prefix("cpu")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    entries
        .filter(|entry| is_one(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The lines `cpu MHz : 2300.000`, in kHz.
fn of_cpuinfo(text: &str) -> Vec<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mhz = lines.filter(|(key, _)| key.trim() == "cpu MHz");
    let khz = mhz.filter_map(|(_, value)| {
        let (whole, part) = value.trim().split_once('.')?;
        let part: u64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
        Some(whole.parse::<u64>().ok()? * 1000 + part)
    });
    khz.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_of_cpuinfo_are_kilohertz_and_spread_from_least_to_most() {
        let text = "processor\t: 0\ncpu MHz\t\t: 2300.000\nprocessor\t: 1\ncpu MHz\t\t: 2400.5\n";
        let reported = of_cpuinfo(text);
        assert_eq!(reported, [2_300_000, 2_400_500]);
        let spread = spread(&reported).unwrap();
        assert_eq!(
            (spread.least_khz, spread.mean_khz, spread.most_khz),
            (2_300_000, 2_350_250, 2_400_500)
        );
        assert_eq!(of_cpuinfo("model name: x\n"), Vec::<u64>::new());
        assert_eq!(super::spread(&[]), None);
    }
}
