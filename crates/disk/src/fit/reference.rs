//! A device of known latency on the I/O path of a disk. It shows the overhead of the path, which is
//! subtracted from the times of the disk.

use super::measurements::Measurements;
use super::target::{Access, Target, TargetError, Timing};
use crate::models::hdd::SeekSpec;
use crate::profiles::Timing as Model;
use serde::Serialize;

/// A processor sleeps while a hard disk seeks, and its time to wake up, of up to twice the path overhead,
/// is in no reference. A time of so many shares is right within a tenth.
const WAKING: f64 = 20.0;

/// A device of known latency on the same I/O path, which shows the overhead of the path.
#[derive(Debug, Clone)]
pub struct Reference {
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
    pub(super) fn overhead_us(&self, bytes: u64) -> f64 {
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
    pub(super) fn hidden(&self, model: &Model) -> Vec<&'static str> {
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

/// The overhead of the I/O path to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overhead {
    /// Of a request, in microseconds.
    pub request_us: f64,
    pub byte_us: f64,
}

impl Overhead {
    /// From the measurement of a device on the same path, each of whose reads takes `latency_us`.
    pub fn of(reference: &Measurements, latency_us: f64) -> Self {
        let (Some(small), Some(large)) = (reference.sizes.first(), reference.sizes.last()) else {
            return Self {
                request_us: 0.0,
                byte_us: 0.0,
            };
        };
        let bytes = large.bytes.saturating_sub(small.bytes).max(1) as f64;
        let byte_us = ((large.us - small.us) / bytes).max(0.0);
        let request_us = small.us - latency_us - small.bytes as f64 * byte_us;
        Self {
            request_us: request_us.max(0.0),
            byte_us,
        }
    }
}

/// A disk without the overhead of its I/O path.
pub struct Corrected<'a> {
    pub target: &'a mut dyn Target,
    /// A device that shows the overhead.
    pub reference: &'a Reference,
}

impl Target for Corrected<'_> {
    fn capacity(&self) -> u64 {
        self.target.capacity()
    }

    fn now(&self) -> u64 {
        self.target.now()
    }

    fn run(&mut self, all: &[Access], depth: usize) -> Result<Vec<Timing>, TargetError> {
        let mut times = self.target.run(all, depth)?;
        for (time, access) in times.iter_mut().zip(all) {
            let us = self.reference.overhead_us(access.bytes);
            let completed = time
                .completed
                .saturating_sub(crate::arithmetic::us_to_ns(us));
            time.completed = completed.max(time.submitted + 1);
        }
        Ok(times)
    }

    fn pause(&mut self, ns: u64) -> Result<(), TargetError> {
        self.target.pause(ns)
    }
}
