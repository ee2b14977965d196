//! `disk fit`: measures a device by reads, and a scratch file by writes, and writes the profile of
//! the model that is nearest to them.

use super::args::{FitArgs, Model};
use crate::commands::measuring::LockArgs;
use crate::exit::CliError;
use crate::output;
use fsdyno_disk::Kind;
use fsdyno_disk::fit::{
    self, Access, Corrected, Effort, Figure, Fit, FitError, Fitted, Identity, Measurements,
    Overhead, Reference, Target, TargetError, Timing, Writes,
};
use fsdyno_host::direct_io::{Action, DirectError, DirectFile, DirectRequest};
use fsdyno_host::sysfs::Block;
use fsdyno_host::{signals, space};
use fsdyno_model::units::three_digits;
use fsdyno_model::{Bytes, CancelToken, Nanos};
use serde::Serialize;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// The default duration of the measurement.
pub const DURATION: Nanos = Nanos(60_000_000_000);

/// The minimum size of a device, bytes: fewer places would be cached.
const MIN_DEVICE: u64 = 64 << 20;

/// Seed of the random places.
const SEED: u64 = 1;

/// A device or a file as the target of a fit.
struct Device(DirectFile);

impl Target for Device {
    fn capacity(&self) -> u64 {
        self.0.size()
    }

    fn now(&self) -> u64 {
        self.0.now()
    }

    fn run(&mut self, all: &[Access], depth: usize) -> Result<Vec<Timing>, TargetError> {
        let request = |access: &Access| DirectRequest {
            action: match access.kind {
                Kind::Read => Action::Read,
                Kind::Flush => Action::Flush,
                Kind::Write | Kind::WriteZeroes | Kind::Discard => Action::Write,
            },
            at: access.at,
            bytes: access.bytes,
        };
        let requests: Vec<DirectRequest> = all.iter().map(request).collect();
        let times = self.0.run(&requests, depth).map_err(target_error)?;
        Ok(times
            .into_iter()
            .map(|(submitted, completed)| Timing {
                submitted,
                completed,
            })
            .collect())
    }

    fn pause(&mut self, ns: u64) -> Result<(), TargetError> {
        self.0.pause(ns).map_err(target_error)
    }
}

fn target_error(error: DirectError) -> TargetError {
    match error {
        DirectError::Stopped => TargetError::Stopped,
        error => TargetError::Io(io::Error::other(error)),
    }
}

fn stopped(error: TargetError) -> CliError {
    match error {
        TargetError::Stopped => CliError::interrupted(),
        TargetError::Io(error) => CliError::failure(error),
    }
}

pub fn fit(args: &FitArgs) -> Result<(), CliError> {
    output::check(args.output.as_deref(), output::existing(args.force))?;
    let stop = signals::cancel_token()?;
    // Everything is opened before the lock is waited for.
    let mut device = open(&args.device, &stop)?;
    let reference = args.reference.as_deref().map(|path| open(path, &stop));
    let mut reference = reference.transpose()?;
    let scratch = args.scratch.as_deref();
    let scratch = scratch.map(|path| scratch_file(path, args.scratch_size, &stop));
    let scratch = scratch.transpose()?;
    let measuring = args.lock.take(&stop)?;
    measuring.print_warning();
    let effort = effort(args.duration);
    let reference = match &mut reference {
        Some(target) => Some(measure_reference(target, effort)?),
        None => None,
    };
    let reference = reference.map(|measured| {
        let latency_us = args
            .reference_latency
            .map_or(0.0, |time| time.0 as f64 / 1e3);
        Reference::of(measured, latency_us)
    });
    let overhead = reference.as_ref().map(|reference| reference.overhead);
    let measured = measure((&mut device, scratch), effort, reference.as_ref())?;
    let fitted = fit_models(&args.device, &measured, reference.as_ref(), effort)?;
    let best = choose(&fitted, args.model)?;
    if args.json {
        output::json(&Report::of(&fitted, best, &measured, overhead))?;
    } else {
        output::rows(&figures(best), output::width())?;
        output::bytes(summary(&fitted, best, overhead).as_bytes())?;
    }
    if let Some(file) = &args.output {
        let text = profile_text(best);
        output::save(file, text.as_bytes(), output::existing(args.force))?;
        // A name without a slash would be that of an included profile.
        let dot = if file.components().count() == 1 {
            "./"
        } else {
            ""
        };
        output::note(format_args!(
            "fsdyno: wrote {}; use it with --disk {dot}{0}",
            file.display()
        ));
    }
    Ok(())
}

/// Fits a profile to the reads of a device.
pub fn fit_to_reads(
    device: &Path,
    lock: &LockArgs,
    stop: &CancelToken,
) -> Result<Fitted, CliError> {
    let mut target = open(device, stop)?;
    let measuring = lock.take(stop)?;
    measuring.print_warning();
    let effort = effort(None);
    let measured = measure_reads(&mut target, effort)?;
    let fit = fit_models(device, &measured, None, effort)?;
    choose(&fit, None).cloned()
}

fn effort(duration: Option<Nanos>) -> Effort {
    Effort {
        budget_ns: duration.unwrap_or(DURATION).0,
        seed: SEED,
    }
}

/// Fits all models to the measurements of a device.
fn fit_models(
    device: &Path,
    measured: &Measurements,
    reference: Option<&Reference>,
    effort: Effort,
) -> Result<Fit, CliError> {
    let identity = identity(device, effort)?;
    let fitted = fit::fit(measured, reference, &identity, effort);
    fitted.map_err(|error| match error {
        FitError::Target(error) => stopped(error),
        error => CliError::failure(format!("{}: {error}", device.display())),
    })
}

/// Measures a target by reads, and prints each step.
fn measure_reads(target: &mut dyn Target, effort: Effort) -> Result<Measurements, CliError> {
    let mut report = |step: &str| output::note(format_args!("fsdyno: measuring {step}"));
    fit::measure(target, effort, &mut report).map_err(stopped)
}

/// The named model, or the one with the smallest error.
fn choose(fit: &Fit, model: Option<Model>) -> Result<&Fitted, CliError> {
    let Some(model) = model else {
        let best = fit.models.first();
        return best.ok_or_else(|| CliError::failure("no model was fitted"));
    };
    let name = match model {
        Model::Hdd => "hdd",
        Model::Flash => "flash",
        Model::Volume => "volume",
    };
    let mut models = fit.models.iter();
    let found = models.find(|one| one.profile.timing.name() == name);
    found.ok_or_else(|| {
        let refused = fit.refused.iter().find(|(refused, _)| *refused == name);
        let why = refused.map_or_else(String::new, |(_, why)| format!(": {why}"));
        CliError::failure(format!(
            "the model {name} does not apply to this device{why}"
        ))
    })
}

fn open(path: &Path, stop: &CancelToken) -> Result<Device, CliError> {
    let file = DirectFile::open_read_only(path, stop).map_err(CliError::failure)?;
    if file.size() < MIN_DEVICE {
        return Err(CliError::usage(format!(
            "{} has {}; a fit needs at least {}",
            path.display(),
            Bytes(file.size()),
            Bytes(MIN_DEVICE)
        )));
    }
    Ok(Device(file))
}

/// Measures the device without the time of the disk.
fn measure_reference(target: &mut dyn Target, effort: Effort) -> Result<Measurements, CliError> {
    let effort = Effort {
        budget_ns: effort.budget_ns / 4,
        ..effort
    };
    let mut report =
        |step: &str| output::note(format_args!("fsdyno: measuring {step} of the reference"));
    fit::measure(target, effort, &mut report).map_err(stopped)
}

/// Measures the device, and the scratch file if there is one.
fn measure(
    (device, scratch): (&mut Device, Option<Device>),
    effort: Effort,
    reference: Option<&Reference>,
) -> Result<Measurements, CliError> {
    let mut measured = match reference {
        Some(reference) => {
            let mut target = Corrected {
                target: device,
                reference,
            };
            measure_reads(&mut target, effort)?
        }
        None => measure_reads(device, effort)?,
    };
    if let Some(mut scratch) = scratch {
        output::note("fsdyno: measuring writes to the scratch file");
        scratch
            .0
            .fill()
            .map_err(|error| stopped(target_error(error)))?;
        measured.writes = Some(Writes::measure(&mut scratch, effort).map_err(stopped)?);
    }
    Ok(measured)
}

/// Creates the empty scratch file, if it leaves half of the free space.
fn scratch_file(path: &Path, size: Bytes, stop: &CancelToken) -> Result<Device, CliError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let free = space::free(folder.unwrap_or(Path::new(".")))?;
    if size.0 > free.0 / 2 {
        return Err(CliError::usage(format!(
            "a scratch file of {size} is more than half of the free {free}; give a smaller \
             --scratch-size"
        )));
    }
    let size = size.0.max(1 << 20) >> 20 << 20;
    let file = DirectFile::empty_scratch(path, size, stop);
    file.map(Device)
        .map_err(|error| stopped(target_error(error)))
}

/// The properties of the device that the kernel reports.
fn identity(path: &Path, effort: Effort) -> Result<Identity, CliError> {
    let block = Block::named_by(path)?;
    let block = block.as_ref();
    let attribute = |name: &str| block.and_then(|block| block.disk_attribute(name));
    let model = [attribute("device/vendor"), attribute("device/model")];
    // A vendor of virtio is a number.
    let model: Vec<String> = model
        .into_iter()
        .flatten()
        .filter(|word| !word.starts_with("0x"))
        .collect();
    let name = match (block, model.is_empty()) {
        (Some(_), false) => model.join(" "),
        (Some(block), true) => block.name.clone(),
        (None, _) => path.display().to_string(),
    };
    let queue = attribute("device/queue_depth").or_else(|| attribute("queue/nr_requests"));
    Ok(Identity {
        title: format!("{name}, fitted to its reads"),
        source: format!(
            "fsdyno disk fit {}: reads of about {} s",
            path.display(),
            effort.budget_ns / 1_000_000_000
        ),
        queue_depth: queue
            .and_then(|depth| depth.parse().ok())
            .filter(|depth| (1..=65_536).contains(depth)),
    })
}

#[derive(Serialize)]
struct Report<'a> {
    model: &'static str,
    error: f64,
    figures: &'a [Figure],
    estimated: &'a [String],
    unresolved: &'a [String],
    others: Vec<Other>,
    overhead: Option<Overhead>,
    measurements: &'a Measurements,
    profile: &'a str,
}

/// Another model.
#[derive(Serialize)]
struct Other {
    model: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl<'a> Report<'a> {
    fn of(
        fit: &'a Fit,
        best: &'a Fitted,
        measurements: &'a Measurements,
        overhead: Option<Overhead>,
    ) -> Self {
        Self {
            model: best.profile.timing.name(),
            error: best.error,
            figures: &best.figures,
            estimated: &best.profile.estimated,
            unresolved: &best.unresolved,
            others: others(fit, best),
            overhead,
            measurements,
            profile: &best.profile.text,
        }
    }
}

fn others(fit: &Fit, chosen: &Fitted) -> Vec<Other> {
    let timing = &chosen.profile.timing;
    let models = fit.models.iter();
    let worse = models
        .filter(|one| one.profile.timing != *timing)
        .map(|one| Other {
            model: one.profile.timing.name(),
            error: Some(one.error),
            why: None,
        });
    let refused = fit.refused.iter().map(|(model, why)| Other {
        model,
        error: None,
        why: Some(why.to_string()),
    });
    worse.chain(refused).collect()
}

/// Relative error in percent.
fn percent(error: f64) -> String {
    format!("{:+.1} %", 100.0 * error)
}

fn figures(best: &Fitted) -> Vec<Vec<String>> {
    let heading = output::words(["", "measured", "model", "", "error"]);
    let rows = best.figures.iter().map(|figure| {
        vec![
            figure.name.clone(),
            three_digits(figure.measured),
            three_digits(figure.model),
            figure.unit.to_owned(),
            percent(figure.error()),
        ]
    });
    std::iter::once(heading).chain(rows).collect()
}

fn summary(fit: &Fit, best: &Fitted, overhead: Option<Overhead>) -> String {
    let mut text = String::new();
    if let Some(overhead) = overhead {
        let _ = writeln!(
            text,
            "\nsubtracted, as measured on the reference: {} us for a request, {} us for a MiB",
            three_digits(overhead.request_us),
            three_digits(overhead.byte_us * 1_048_576.0)
        );
    }
    let _ = writeln!(
        text,
        "\nmodel: {}; root mean square error of {} figures: {:.1} %",
        best.profile.timing.name(),
        best.figures.len(),
        100.0 * best.error
    );
    for other in others(fit, best) {
        let _ = match (other.error, other.why) {
            (Some(error), _) => {
                writeln!(
                    text,
                    "  not {}: its error is {:.1} %",
                    other.model,
                    100.0 * error
                )
            }
            (None, why) => writeln!(text, "  not {}: {}", other.model, why.unwrap_or_default()),
        };
    }
    let is_resolved = |key: &&String| !best.unresolved.contains(key);
    let usual = best.profile.estimated.iter().filter(is_resolved);
    let usual: Vec<String> = usual.cloned().collect();
    for (why, keys) in [
        (
            "hidden by the I/O path to this device, so not figures of the disk:",
            &best.unresolved,
        ),
        (
            "usual values, because the measurement does not determine them:",
            &usual,
        ),
    ] {
        if !keys.is_empty() {
            let _ = writeln!(text, "{why}\n{}", wrapped(keys));
        }
    }
    text
}

/// Keys in lines of at most 78 columns.
fn wrapped(keys: &[String]) -> String {
    let mut lines = vec![String::from(" ")];
    for (number, key) in keys.iter().enumerate() {
        let comma = if number + 1 < keys.len() { "," } else { "" };
        let last = lines.len() - 1;
        if lines[last].len() + key.len() + 2 > 78 {
            lines.push(String::from(" "));
        }
        let last = lines.len() - 1;
        let _ = write!(lines[last], " {key}{comma}");
    }
    lines.join("\n")
}

pub fn profile_text(best: &Fitted) -> String {
    format!(
        "# Root mean square error of {} figures: {:.1} %\n{}{}",
        best.figures.len(),
        100.0 * best.error,
        best.profile.text,
        best.errors()
    )
}
