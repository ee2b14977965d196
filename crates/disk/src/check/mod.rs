//! Compares a profile with its sheet by random and sequential probes. The probes send requests as a
//! transport does.
//!
//! The probes use only requests and completions. All random numbers come from a fixed seed.

pub mod curve;
mod expected;
mod probes;

use crate::models::hdd::Mechanics;
use crate::profiles::{Profile, Timing};
use crate::store::StoreError;
use expected::expected_reads;
use probes::Probes;
use serde::Serialize;

/// Tolerance relative to the sheet's figure.
pub const TOLERANCE: f64 = 0.03;

/// Result of the comparison of a profile with its sheet.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub profile: String,
    /// Each figure of the sheet with its measurement.
    pub figures: Vec<Figure>,
    /// Latencies of single random 4 KiB reads.
    pub reads: Option<Distribution>,
    /// Measured and computed seek times by distance in cylinders. Empty for disks without an arm.
    pub seeks: Vec<SeekPoint>,
    /// Whether all figures are within the tolerance.
    pub agrees: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Key in the sheet. It ends with the unit.
    pub name: &'static str,
    pub sheet: f64,
    /// Measured value.
    pub model: f64,
    /// Relative deviation from the sheet.
    pub off: f64,
    /// Whether the value is an estimate without a source.
    pub estimated: bool,
}

/// A latency distribution in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Distribution {
    /// Number of requests.
    pub count: usize,
    pub mean_us: f64,
    pub least_us: f64,
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    pub most_us: f64,
    /// Demerit figure of Ruemmler and Wilkes: root mean square distance to the distribution
    /// computed from the sheet, relative to its mean. None if the sheet lacks figures.
    pub demerit: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SeekPoint {
    /// Distance in cylinders.
    pub cylinders: u32,
    /// Measured time.
    pub model_ms: f64,
    /// Time from the three points of the sheet.
    pub sheet_ms: Option<f64>,
}

/// Compares a profile with its sheet.
pub fn check(profile: &Profile) -> Result<Check, StoreError> {
    let mut probes = Probes::new(profile);
    let mut figures = Vec::new();
    for (name, sheet) in profile.sheet.given() {
        let Some(model) = probes.figure(name)? else {
            continue;
        };
        figures.push(Figure {
            name,
            sheet,
            model,
            off: model / sheet - 1.0,
            estimated: profile
                .estimated
                .iter()
                .any(|key| key.strip_prefix("sheet.") == Some(name)),
        });
    }
    let reads = if profile.timing == Timing::Null {
        None
    } else {
        let measured = probes.random_reads()?;
        let expected = expected_reads(profile, measured.len());
        Some(distribution(&measured, expected))
    };
    let seeks = match &profile.timing {
        Timing::Hdd(spec) => {
            let mechanics = Mechanics::new(spec, probes.sectors());
            seek_curve(&mut probes, profile, mechanics.geometry().cylinders())?
        }
        _ => Vec::new(),
    };
    Ok(Check {
        profile: profile.name.clone(),
        agrees: figures.iter().all(|one| one.off.abs() <= TOLERANCE),
        figures,
        reads,
        seeks,
    })
}

fn seek_curve(
    probes: &mut Probes<'_>,
    profile: &Profile,
    cylinders: u32,
) -> Result<Vec<SeekPoint>, StoreError> {
    let formula = expected::three_points(profile);
    let mut points = Vec::new();
    let mut distance = 1;
    while distance < cylinders {
        points.push(SeekPoint {
            cylinders: distance,
            model_ms: probes.seek_ms(distance)?,
            sheet_ms: formula.map(|f| f.at(f64::from(distance) / f64::from(cylinders))),
        });
        distance = distance.saturating_mul(3);
    }
    Ok(points)
}

/// Summarizes sorted latencies and compares them with equally many sorted expected ones.
fn distribution(sorted_us: &[f64], expected: Option<Vec<f64>>) -> Distribution {
    let count = sorted_us.len();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let at = |part: usize| {
        let index = (count * part / 100).min(count.saturating_sub(1));
        sorted_us.get(index).copied().unwrap_or_default()
    };
    let demerit = expected.filter(|all| all.len() == count).map(|expected| {
        let squares = sorted_us.iter().zip(&expected);
        let squares: Vec<f64> = squares.map(|(a, b)| (a - b) * (a - b)).collect();
        mean(&squares).sqrt() / mean(&expected)
    });
    Distribution {
        count,
        mean_us: mean(sorted_us),
        least_us: at(0),
        p50_us: at(50),
        p99_us: at(99),
        most_us: at(100),
        demerit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::ALL;

    #[test]
    fn every_profile_matches_its_sheet_within_the_tolerance() {
        for shipped in &ALL {
            let profile = Profile::try_from(shipped).unwrap();
            let check = check(&profile).unwrap();
            for figure in &check.figures {
                assert!(
                    figure.off.abs() <= TOLERANCE,
                    "{}: {figure:?}",
                    profile.name
                );
            }
            assert_eq!(check.figures.len(), profile.sheet.given().len());
            assert!(check.agrees);
            if let Some(demerit) = check.reads.and_then(|reads| reads.demerit) {
                assert!(demerit < 0.05, "{}: {demerit}", profile.name);
            }
        }
    }

    #[test]
    fn sequential_writes_of_hard_disks_are_as_fast_as_reads() {
        for shipped in &ALL {
            let profile = Profile::try_from(shipped).unwrap();
            let Some(outer) = profile.sheet.outer_mb_s else {
                continue;
            };
            let mut probes = Probes::new(&profile);
            let written = probes.figure("sequential_write_mb_s").unwrap().unwrap();
            let off = written / outer - 1.0;
            assert!(off.abs() <= TOLERANCE, "{}: {written}", profile.name);
        }
    }

    #[test]
    fn a_deviation_from_the_sheet_is_reported() {
        let text = ALL[2].text;
        for (from, to, name) in [
            ("[hdd]\nrpm = 4200", "[hdd]\nrpm = 5400", "rpm"),
            ("mean_ms = 12", "mean_ms = 11", "mean_seek_ms"),
            ("[1117, 574]", "[1117, 674]", "inner_mb_s"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            let check = check(&Profile::parse("mine", &changed).unwrap()).unwrap();
            let off = check.figures.iter().find(|one| one.name == name).unwrap();
            assert!(!check.agrees && off.off.abs() > TOLERANCE, "{off:?}");
        }
    }
}
