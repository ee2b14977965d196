//! The parameters of a flash disk, from reads of several sizes and in pairs.

use super::FitError;
use super::measurements::Measurements;
use super::probes::{LARGE, SMALL, rate, second_half};
use crate::models::flash::PAGE;
use fsdyno_model::Bytes;

/// Parameters of a flash disk that its reads determine.
#[derive(Debug, Clone, PartialEq)]
pub struct FlashFit {
    /// Whether pairs showed the units. Otherwise they follow from the rate at depth.
    pub units_seen: bool,
    pub channels: u32,
    pub units_per_channel: u32,
    /// Bytes that a unit has in a row.
    pub program_unit: Bytes,
    /// Read time of a unit.
    pub read_us: f64,
    pub read_firmware_us: f64,
    pub channel_mb_s: f64,
    pub link_mb_s: f64,
}

impl FlashFit {
    /// The number of parameters that [`FlashFit::scaled`] knows.
    pub(super) const PARAMETERS: usize = 5;

    /// The same with one parameter multiplied by a factor.
    pub(super) fn scaled(&self, parameter: usize, factor: f64) -> Self {
        let mut scaled = self.clone();
        let units = |units: u32| {
            let next = crate::arithmetic::to_ns(f64::from(units) * factor);
            u32::try_from(next).unwrap_or(1).clamp(1, 64)
        };
        match parameter {
            0 => scaled.read_us *= factor,
            1 => scaled.read_firmware_us *= factor,
            2 => scaled.channel_mb_s *= factor,
            3 => scaled.link_mb_s *= factor,
            // At least one more, or one less.
            _ if factor > 1.0 => scaled.channels = units(self.channels).max(self.channels + 1),
            _ => scaled.channels = units(self.channels).min(self.channels - 1).max(1),
        }
        scaled.channels = scaled.channels.min(64);
        scaled
    }

    pub fn of(measured: &Measurements) -> Result<Self, FitError> {
        let size = |bytes: u64| {
            let found = measured.sizes.iter().find(|size| size.bytes == bytes);
            found.map(|size| size.us).ok_or(FitError::TooSmall)
        };
        let small_us = size(SMALL)?;
        let streamed = rate(second_half(&measured.large_burst_us)) * LARGE as f64;
        // Bytes per microsecond are MB/s.
        let link = (LARGE / 2) as f64 / (size(LARGE)? - size(LARGE / 2)?).max(0.1);
        let link_mb_s = link.max(streamed).clamp(0.1, 1e6);
        let pairs = measured.pairs.as_ref();
        let seen = pairs.and_then(|pairs| {
            let unit = pairs.program_unit?;
            Some((unit, pairs.units?, pairs.delay_us()))
        });
        let program_unit = seen
            .map_or(32 << 10, |(unit, ..)| unit)
            .clamp(2 * PAGE, LARGE);
        let slope = (size(program_unit)? - small_us) / (program_unit - SMALL) as f64;
        let moving = slope - 1.0 / link_mb_s;
        let channel_mb_s = (1.0 / moving.max(1e-6)).clamp(1.0, 20.0 * link_mb_s);
        let rest_us = (small_us - SMALL as f64 * (1.0 / channel_mb_s + 1.0 / link_mb_s)).max(0.2);
        let fastest = measured
            .depths
            .iter()
            .map(|one| one.iops)
            .fold(0.0, f64::max);
        let (units, read_us) = if let Some((_, units, delay_us)) = seen {
            // Reads that do not delay each other wait for the link.
            (units, delay_us + SMALL as f64 / link_mb_s)
        } else {
            let read_us = 0.6 * rest_us;
            let units = (fastest * read_us / 1e6).round().clamp(1.0, 1024.0);
            (crate::arithmetic::to_ns(units), read_us)
        };
        let read_us = read_us.clamp(0.1, rest_us - 0.05);
        let known = pairs.and_then(|pairs| pairs.channels);
        let channels = known.unwrap_or_else(|| {
            // The most channels of at most eight that share the units evenly.
            (1..=units.min(8))
                .rev()
                .find(|n| units.is_multiple_of(*n))
                .unwrap_or(1)
        });
        let channels = channels.min(64);
        let number = |value: u64| u32::try_from(value).unwrap_or(1).clamp(1, 64);
        Ok(Self {
            units_seen: seen.is_some(),
            channels: number(channels),
            units_per_channel: number(units / channels),
            program_unit: Bytes(program_unit),
            read_us,
            read_firmware_us: rest_us - read_us,
            channel_mb_s,
            link_mb_s,
        })
    }
}
