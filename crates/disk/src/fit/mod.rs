//! Fits a profile to a disk. [`measure`] sends the same requests to a device and to a model in
//! simulated time. [`fit`] computes the parameters of each model from the measurements, measures the
//! models, and selects the one whose figures are nearest to those of the device.

mod flash;
mod hdd;
mod probes;
mod profile;
mod search;
mod target;
#[cfg(test)]
mod tests;
mod volume;
mod writes;

pub use flash::{FlashFit, Pairs};
pub use hdd::{HddFit, RotatingDisk, Seek, Track};
pub use probes::{Depth, Effort, Measurements, Place, Size, measure};
pub use profile::Identity;
pub use target::{Access, Corrected, Overhead, Simulated, Target, TargetError, Timing};
pub use volume::VolumeFit;
pub use writes::Writes;

use crate::models::hdd::SeekSpec;
use crate::profiles::{Profile, ProfileError, Timing as Model};
use probes::quantile;
use serde::Serialize;

/// A model with at most this error needs no refinement.
const GOOD: f64 = 0.15;

/// A processor sleeps while a hard disk seeks, and its time to wake up, of up to twice the path overhead,
/// is in no reference. A time of so many shares is right within a tenth.
const WAKING: f64 = 20.0;

/// The most passes over the parameters with one factor.
const PASSES: usize = 4;

/// Why no profile can be fitted.
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
    /// What was measured.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Of the device.
    pub measured: f64,
    /// Of the model.
    pub model: f64,
}

impl Figure {
    /// Relative error of the model.
    pub fn error(&self) -> f64 {
        self.model / self.measured - 1.0
    }
}

/// A device of known latency on the same I/O path, which shows the overhead of the path.
#[derive(Debug, Clone)]
pub struct Reference {
    /// What was measured on it.
    pub measurements: Measurements,
    /// The overhead of the path, as a line over the sizes of requests.
    pub overhead: Overhead,
    /// What the device itself takes, in microseconds.
    latency_us: f64,
}

impl Reference {
    /// From the measurements of a device each of whose reads takes `latency_us`.
    pub fn of(measurements: Measurements, latency_us: f64) -> Self {
        let overhead = Overhead::of(&measurements, latency_us);
        Self {
            measurements,
            overhead,
            latency_us,
        }
    }

    /// The path overhead of a request of this size, in microseconds: between two measured sizes, by
    /// their line, because a small request costs less for a byte.
    pub(crate) fn overhead_us(&self, bytes: u64) -> f64 {
        let sizes = &self.measurements.sizes;
        let above = sizes.iter().position(|size| size.bytes >= bytes);
        let us = match above {
            Some(0) => sizes[0].us,
            Some(at) => {
                let (low, high) = (sizes[at - 1], sizes[at]);
                let share = (bytes - low.bytes) as f64 / (high.bytes - low.bytes) as f64;
                low.us + share * (high.us - low.us)
            }
            None => sizes.last().map_or(0.0, |last| {
                last.us + (bytes - last.bytes) as f64 * self.overhead.byte_us
            }),
        };
        (us - self.latency_us).max(0.0)
    }

    /// The parameters that the I/O path hides: times that are shorter than the overhead of a request,
    /// and rates above that of the path. The result of the subtraction is then mostly its error.
    fn hidden(&self, model: &Model) -> Vec<&'static str> {
        let path = self.overhead;
        let time = |key, us: f64| (us < path.request_us).then_some(key);
        let rate = |key, mb_s: f64| (mb_s * path.byte_us > 1.0).then_some(key);
        let woken = |key, ms: f64| time(key, 1e3 * ms / WAKING);
        let hidden = match model {
            Model::Hdd(spec) => vec![
                match spec.seek {
                    SeekSpec::ThreePoint(seek) => {
                        woken("hdd.seek.three-point.minimum_ms", seek.minimum_ms)
                    }
                    SeekSpec::TwoPiece(_) => None,
                },
                woken("hdd.track_skew_ms", spec.track_skew_ms.unwrap_or(1.0)),
                woken("hdd.cylinder_skew_ms", spec.cylinder_skew_ms.unwrap_or(1.0)),
                woken("hdd.command_overhead_ms", spec.command_overhead_ms),
                // By the times of cached reads of 4 and 32 KiB.
                woken("hdd.bus_mb_s", 28.672 / spec.bus_mb_s),
            ],
            Model::Flash(spec) => vec![
                time("flash.read_us", spec.read_us),
                time("flash.read_firmware_us", spec.read_firmware_us),
                rate("flash.channel_mb_s", spec.channel_mb_s),
                rate("flash.link_mb_s", spec.link_mb_s[0]),
            ],
            Model::Volume(spec) => vec![
                time("volume.latency_us", spec.latency_us),
                rate("volume.mib_s", spec.mib_s * 1.048_576),
            ],
            Model::Null => Vec::new(),
        };
        hidden.into_iter().flatten().collect()
    }
}

/// A model fitted to a device.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The profile.
    pub profile: Profile,
    /// The same figures of the device and of the model.
    pub figures: Vec<Figure>,
    /// Root mean square of the logarithms of model / measured: 0.1 is 10 %.
    pub error: f64,
    /// The keys of parameters that the I/O path hides. They are estimates of the profile.
    pub unresolved: Vec<String>,
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
                    // Parameters of no disk are no candidates.
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
