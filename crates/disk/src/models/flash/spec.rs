//! Parameters of a flash disk in a profile, and their validation.

use crate::values::{Impossible, size};
use fsdyno_model::Bytes;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Channels that transfer data in parallel.
    pub channels: u32,
    /// Units (dies, or planes that operate as one) per channel.
    pub units_per_channel: u32,
    /// Program unit: bytes that a unit programs at once.
    #[serde(deserialize_with = "size")]
    pub program_unit: Bytes,
    /// Program units per erase block.
    pub block_programs: u32,
    pub read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
    pub read_firmware_us: f64,
    /// Firmware overhead of a write into the buffer, or of a discard.
    pub write_firmware_us: f64,
    /// Firmware overhead of a flush, in addition to its wait.
    pub flush_firmware_us: f64,
    /// Channel rate, MB/s (10^6).
    pub channel_mb_s: f64,
    /// Rate of the host link in each direction, MB/s (10^6).
    pub link_mb_s: [f64; 2],
    #[serde(deserialize_with = "size")]
    pub buffer: Bytes,
    /// Time that a partial program unit waits in the buffer for more data.
    pub partial_after_ms: f64,
    /// Size of the SLC cache (one bit per cell). `0` means none.
    #[serde(deserialize_with = "size")]
    pub fast_cache: Bytes,
    /// Program time in the SLC cache.
    pub fast_program_us: f64,
    /// Idle time before the disk starts to empty the SLC cache.
    pub fold_after_ms: f64,
    /// Rate of emptying the SLC cache, MB/s (10^6).
    pub fold_mb_s: f64,
    /// Overprovisioning as a fraction of the capacity.
    pub spare: f64,
}

/// Mapping granularity in bytes.
pub const PAGE: u64 = 4096;

impl FlashSpec {
    pub fn units(&self) -> u32 {
        self.channels * self.units_per_channel
    }

    pub fn program_pages(&self) -> u64 {
        self.program_unit.0 / PAGE
    }

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
        // Page numbers have 32 bits, including spare pages.
        Impossible::outside(
            "capacity",
            capacity.0 as f64,
            1e6,
            1.2e13 / (1.0 + self.spare),
        )
    }
}
