//! Flash as a profile writes it, and what of it is impossible.

use crate::profiles::{Impossible, size};
use fsdyno_model::Bytes;
use serde::Deserialize;

/// A flash disk.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Channels that move data at once.
    pub channels: u32,
    /// Units (dies, or planes that work together) behind each.
    pub units_per_channel: u32,
    /// What a unit programs at once.
    #[serde(deserialize_with = "size")]
    pub program_unit: Bytes,
    /// How many of these are erased together.
    pub block_programs: u32,
    /// A unit reads.
    pub read_us: f64,
    /// A unit programs.
    pub program_us: f64,
    /// A unit erases.
    pub erase_us: f64,
    /// The firmware's work on a read.
    pub read_firmware_us: f64,
    /// The same on a write into the buffer, or a discard.
    pub write_firmware_us: f64,
    /// The same on a flush, beside what it waits for.
    pub flush_firmware_us: f64,
    /// Megabytes (10^6) a second of a channel.
    pub channel_mb_s: f64,
    /// The same of the link to the host, to it and from it.
    pub link_mb_s: [f64; 2],
    /// Memory from which writes are acknowledged.
    #[serde(deserialize_with = "size")]
    pub buffer: Bytes,
    /// How long a part of a program unit waits there for the rest.
    pub partial_after_ms: f64,
    /// The part written faster, one bit a cell; none, where it is `0`.
    #[serde(deserialize_with = "size")]
    pub fast_cache: Bytes,
    /// A unit programs there.
    pub fast_program_us: f64,
    /// How long the disk must be at rest before it begins to empty that part.
    pub fold_after_ms: f64,
    /// How fast it does, in megabytes (10^6) a second.
    pub fold_mb_s: f64,
    /// Flash beyond the capacity, as a part of it.
    pub spare: f64,
}

/// Bytes that the mapping tells apart.
pub const PAGE: u64 = 4096;

impl FlashSpec {
    /// How many units there are.
    pub fn units(&self) -> u32 {
        self.channels * self.units_per_channel
    }

    /// Pages that a unit programs at once.
    pub fn program_pages(&self) -> u64 {
        self.program_unit.0 / PAGE
    }

    /// What no disk is like.
    pub(crate) fn check(&self, capacity: Bytes) -> Result<(), Impossible> {
        let whole = |key: &str, value: u32, most: f64| {
            Impossible::outside(format!("flash.{key}"), f64::from(value), 1.0, most)
        };
        whole("channels", self.channels, 64.0)?;
        whole("units_per_channel", self.units_per_channel, 64.0)?;
        whole("block_programs", self.block_programs, 65_536.0)?;
        for (key, value, least, most) in [
            ("read_us", self.read_us, 0.001, 1e6),
            ("program_us", self.program_us, 0.001, 1e6),
            ("erase_us", self.erase_us, 0.001, 1e6),
            ("fast_program_us", self.fast_program_us, 0.001, 1e6),
            ("read_firmware_us", self.read_firmware_us, 0.0, 1e6),
            ("write_firmware_us", self.write_firmware_us, 0.0, 1e6),
            ("flush_firmware_us", self.flush_firmware_us, 0.0, 1e7),
            ("channel_mb_s", self.channel_mb_s, 0.1, 1e6),
            ("link_mb_s", self.link_mb_s[0], 0.1, 1e6),
            ("link_mb_s", self.link_mb_s[1], 0.1, 1e6),
            ("partial_after_ms", self.partial_after_ms, 0.0, 60_000.0),
            ("fold_after_ms", self.fold_after_ms, 0.0, 600_000.0),
            ("fold_mb_s", self.fold_mb_s, 0.001, 1e6),
            ("spare", self.spare, 0.01, 10.0),
            (
                "buffer",
                self.buffer.0 as f64,
                self.program_unit.0 as f64,
                1e12,
            ),
            ("program_unit", self.program_unit.0 as f64, 4096.0, 1e8),
        ] {
            Impossible::outside(format!("flash.{key}"), value, least, most)?;
        }
        if !self.program_unit.0.is_multiple_of(PAGE) {
            let why = "it is a number of pages of 4096 bytes";
            let value = self.program_unit.0;
            return Err(Impossible::new("flash.program_unit", value, why));
        }
        // Pages are numbered in 32 bits, spare ones too.
        Impossible::outside(
            "capacity",
            capacity.0 as f64,
            1e6,
            1.2e13 / (1.0 + self.spare),
        )
    }
}
