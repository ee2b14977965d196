//! Fits a profile to a disk. [`measure`] sends the same requests to a device and to a model in
//! simulated time. [`fit`] computes the parameters of each model from the measurements, measures the
//! models, and selects the one whose figures are nearest to those of the device.

mod flash;
mod hdd;
mod measurements;
mod pairs;
mod probes;
mod profile;
mod reference;
mod rotation;
mod search;
mod target;
#[cfg(test)]
mod tests;
mod volume;
mod writes;

pub use flash::FlashFit;
pub use hdd::HddFit;
pub use measurements::{Measurements, measure};
pub use pairs::Pairs;
pub use probes::{Depth, Effort, Place, Size};
pub use profile::Identity;
pub use reference::{Corrected, Overhead, Reference};
pub use rotation::{RotatingDisk, Seek, Track};
pub use target::{Access, Simulated, Target, TargetError, Timing};
pub use volume::VolumeFit;
pub use writes::Writes;

use crate::profiles::{Group, Profile, ProfileError};
use probes::quantile;
use serde::Serialize;

/// A model with at most this error needs no refinement.
const GOOD: f64 = 0.15;

/// The most passes over the parameters with one factor.
const PASSES: usize = 4;

/// The reason why no profile can be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The disk has no rotation, or its cache hides it.
    #[error("no rotation was measured")]
    DoesNotTurn,
    /// The device is too small for the reads of a model.
    #[error("the device is too small: at least 4 MiB are needed")]
    TooSmall,
    /// The parameters are not those of a disk.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The model could not be measured.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// A figure of the device and of its model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    pub measured: f64,
    pub model: f64,
}

impl Figure {
    pub fn error(&self) -> f64 {
        self.model / self.measured - 1.0
    }
}

/// A model fitted to a device.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub profile: Profile,
    /// The same figures of the device and of the model.
    pub figures: Vec<Figure>,
    /// Root mean square of the logarithms of model / measured: 0.1 is 10 %.
    pub error: f64,
    /// The keys of parameters that the I/O path hides. They are estimates of the profile.
    pub unresolved: Vec<String>,
}

/// The smallest error of a fitted group of parameters: that of the model on its own data sheet.
const LEAST_ERROR: f64 = 0.03;

impl Fitted {
    /// The table `errors` of the profile: the root mean square of the logarithms of model / measured
    /// over the figures of each measured group. Groups that are estimates are left out, as are those
    /// without figures.
    pub fn errors(&self) -> String {
        let lines = self.profile.measured_groups().filter_map(|group| {
            let starts: &[&str] = match group {
                Group::Seeks | Group::Reads | Group::Requests => &["random read 4 KiB,"],
                Group::Commands => &["cached read"],
                Group::Writes => &["write ", "random writes"],
                Group::Flushes => &["flush"],
                Group::Transfers => &["sequential read"],
            };
            let is_of_group = |figure: &&Figure| starts.iter().any(|s| figure.name.starts_with(s));
            let figures = self.figures.iter().filter(is_of_group);
            let squares: Vec<f64> = figures
                .map(|figure| (figure.model / figure.measured).ln().powi(2))
                .collect();
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            let factor = 1.0 + mean.sqrt().clamp(LEAST_ERROR, 9.0);
            let name = group.name();
            (!squares.is_empty()).then(|| format!("{name} = [{:.3}, {factor:.3}]\n", 1.0 / factor))
        });
        let lines: String = lines.collect();
        if lines.is_empty() {
            return lines;
        }
        format!("\n[errors]\n{lines}")
    }
}

/// The models of a device, best first, and why the others do not apply.
#[derive(Debug)]
pub struct Fit {
    /// At least one.
    pub models: Vec<Fitted>,
    /// Models that do not apply.
    pub refused: Vec<(&'static str, FitError)>,
}

/// Fits all models to the measurements. `effort` is that of the measurements. Rates that the I/O path
/// limits are not compared: those above half of the rates of `reference`.
pub fn fit(
    measured: &Measurements,
    reference: Option<&Reference>,
    identity: &Identity,
    effort: Effort,
) -> Result<Fit, FitError> {
    let mut models = Vec::new();
    let mut refused = Vec::new();
    let texts = [
        (
            "hdd",
            HddFit::of(measured).map(|fit| identity.hdd(&fit, measured)),
        ),
        (
            "flash",
            FlashFit::of(measured).map(|fit| identity.flash(&fit, measured)),
        ),
        (
            "volume",
            VolumeFit::of(measured).map(|fit| identity.volume(&fit, measured)),
        ),
    ];
    for (name, text) in texts {
        let fitted = text.and_then(|text| candidate(name, &text, (measured, reference), effort));
        match fitted {
            Ok(fitted) => models.push(fitted),
            Err(error) => refused.push((name, error)),
        }
    }
    let least = models
        .iter()
        .map(|one| one.error)
        .fold(f64::INFINITY, f64::min);
    if least > GOOD
        && let Ok(start) = FlashFit::of(measured)
        && !start.units_seen
    {
        let refined = refine(&start, (measured, reference), identity, effort)?;
        models.retain(|one| one.profile.timing.name() != "flash" || one.error < refined.error);
        if !models
            .iter()
            .any(|one| one.profile.timing.name() == "flash")
        {
            models.push(refined);
        }
    }
    models.sort_by(|a, b| a.error.total_cmp(&b.error));
    if models.is_empty() {
        return Err(refused.pop().map_or(FitError::TooSmall, |(_, error)| error));
    }
    Ok(Fit { models, refused })
}

/// Adjusts the parameters of a flash disk whose units no pair of reads showed: factors that reduce
/// the error, one parameter after the other.
fn refine(
    start: &FlashFit,
    both: (&Measurements, Option<&Reference>),
    identity: &Identity,
    effort: Effort,
) -> Result<Fitted, FitError> {
    // Fewer requests: the error of a candidate needs no precise figures.
    let brief = Effort {
        budget_ns: effort.budget_ns / 100,
        ..effort
    };
    let try_out =
        |fit: &FlashFit, effort| candidate("flash", &identity.flash(fit, both.0), both, effort);
    let mut best = (try_out(start, brief)?.error, start.clone());
    for factor in [1.5, 1.2, 1.08] {
        for _ in 0..PASSES {
            let before = best.0;
            for parameter in 0..FlashFit::PARAMETERS {
                for factor in [factor, 1.0 / factor] {
                    let next = best.1.scaled(parameter, factor);
                    if next == best.1 {
                        continue;
                    }
                    // Impossible parameters are no candidates.
                    if let Ok(fitted) = try_out(&next, brief)
                        && fitted.error < best.0
                    {
                        best = (fitted.error, next);
                    }
                }
            }
            if best.0 >= before {
                break;
            }
        }
    }
    try_out(&best.1, effort)
}

/// A profile's text, measured as the device was.
fn candidate(
    name: &str,
    text: &str,
    (measured, reference): (&Measurements, Option<&Reference>),
    effort: Effort,
) -> Result<Fitted, FitError> {
    let mut profile = Profile::parse(name, text)?;
    if name == "hdd" {
        profile = profile::with_queue_depth(&profile, measured)?;
    }
    let mut model = measure(&mut Simulated::new(&profile), effort, &mut |_| {})?;
    if measured.writes.is_some() {
        model.writes = Some(Writes::measure(&mut Simulated::new(&profile), effort)?);
    }
    let figures = figures(measured, &model, reference);
    let squares: Vec<f64> = figures
        .iter()
        .map(|figure| (figure.model / figure.measured).ln().powi(2))
        .collect();
    let error = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    let hidden = reference.map(|of| of.hidden(&profile.timing));
    let unresolved: Vec<String> = hidden.into_iter().flatten().map(str::to_owned).collect();
    Ok(Fitted {
        profile: profile::with_estimates(&profile, &unresolved)?,
        figures,
        error,
        unresolved,
    })
}

/// The figures that both have.
fn figures(
    measured: &Measurements,
    model: &Measurements,
    reference: Option<&Reference>,
) -> Vec<Figure> {
    let mut of_model = named(model);
    let of_way = reference.map(|of| named(&of.measurements));
    let of_way = of_way.unwrap_or_default();
    // In a burst, the path overhead is part of the time.
    let limited = |name: &str, unit: &str, value: f64| {
        let found = of_way.iter().find(|(other, ..)| other == name);
        found.is_some_and(|(_, _, path)| match unit {
            "us" => name.ends_with("at once") && *path > value / 2.0,
            _ => *path < 2.0 * value,
        })
    };
    let mut figures = Vec::new();
    for (name, unit, value) in named(measured) {
        let found = of_model.iter().position(|(other, ..)| *other == name);
        if let Some((_, _, model)) = found.map(|at| of_model.swap_remove(at))
            && value > 0.0
            && model > 0.0
            && !limited(&name, unit, value)
        {
            figures.push(Figure {
                name,
                unit,
                measured: value,
                model,
            });
        }
    }
    figures
}

/// The figures of a measurement: name, unit, value.
fn named(all: &Measurements) -> Vec<(String, &'static str, f64)> {
    let mut named = Vec::new();
    for (name, share) in [
        ("10 %", 0.1),
        ("median", 0.5),
        ("90 %", 0.9),
        ("99 %", 0.99),
    ] {
        let us = quantile(&all.random_us, share);
        named.push((format!("random read 4 KiB, {name}"), "us", us));
    }
    for one in &all.depths {
        let name = format!("random reads 4 KiB, depth {}", one.depth);
        named.push((name, "/s", one.iops));
    }
    for size in &all.sizes {
        let name = format!("random read {}", fsdyno_model::Bytes(size.bytes));
        named.push((name, "us", size.us));
    }
    // One figure for each quarter of the disk and both ends.
    let last = all.sequential.len().saturating_sub(1);
    for quarter in 0..=4 {
        if let Some(place) = all.sequential.get(last * quarter / 4) {
            let name = format!("sequential read at {} %", 25 * quarter);
            named.push((name, "MB/s", place.mb_s));
        }
    }
    for (name, burst) in [
        ("4 KiB", &all.small_burst_us),
        ("1 MiB", &all.large_burst_us),
    ] {
        for (part, share) in [("half", 0.5), ("all", 1.0)] {
            if !burst.is_empty() {
                let count = burst.len();
                let name = format!("{part} of {count} reads of {name} at once");
                named.push((name, "us", quantile(burst, share)));
            }
        }
    }
    if let Some(rotating) = &all.rotating {
        for (name, track) in [("outer", rotating.tracks[0]), ("inner", rotating.tracks[1])] {
            named.push((
                format!("revolution, {name} track"),
                "us",
                track.revolution_us,
            ));
            named.push((format!("sectors, {name} track"), "", track.sectors));
        }
        for size in &rotating.cached {
            let name = format!("cached read {}", fsdyno_model::Bytes(size.bytes));
            named.push((name, "us", size.us));
        }
    }
    if let Some(writes) = &all.writes {
        named.extend([
            ("write 4 KiB".to_owned(), "us", writes.write_us),
            ("write 128 KiB".to_owned(), "us", writes.large_us),
            ("flush".to_owned(), "us", writes.clean_flush_us),
            (
                "flush after a write 4 KiB".to_owned(),
                "us",
                writes.flush_us,
            ),
            (
                "random writes 4 KiB, sustained".to_owned(),
                "/s",
                writes.sustained_iops,
            ),
        ]);
    }
    named
}
