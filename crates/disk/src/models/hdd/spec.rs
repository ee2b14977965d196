//! Parameters of a hard disk in a profile, and their validation.

use super::seek::{SeekCurve, SeekSpec};
use crate::SECTOR;
use crate::values::{Impossible, size};
use fsdyno_model::Bytes;
use serde::Deserialize;

/// Parameters of a hard disk. The comments give the defaults.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HddSpec {
    /// Revolutions per minute.
    pub rpm: f64,
    /// Tracks per cylinder.
    pub heads: u32,
    /// Number of zones: ranges of cylinders with equal sectors per track.
    pub zones: u32,
    /// Sectors per track in the outermost and in the innermost zone.
    pub sectors_per_track: [u64; 2],
    pub seek: SeekSpec,
    /// Head switch time within a cylinder.
    pub head_switch_ms: f64,
    /// Additional settle time of a write after a seek.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// Track skew. Default: the head switch time.
    pub track_skew_ms: Option<f64>,
    /// Cylinder skew. Default: the shortest seek.
    pub cylinder_skew_ms: Option<f64>,
    pub command_overhead_ms: f64,
    /// Bus rate between host and disk, MB/s (10^6).
    pub bus_mb_s: f64,
    /// Size of the disk's cache.
    #[serde(deserialize_with = "size")]
    pub cache: Bytes,
    /// Read-ahead segments of the cache.
    pub segments: u32,
    /// Whether the cache acknowledges writes.
    pub write_cache: bool,
    /// Cache space for writes. Default: half of the cache.
    #[serde(default, deserialize_with = "crate::values::some_size")]
    pub write_room: Option<Bytes>,
    /// Destage order of cached writes.
    pub destage: Destage,
    /// Idle time before background destaging starts.
    pub destage_after_ms: f64,
}

/// Destage order of cached writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destage {
    /// One-way sweep over the sectors, then again from the first (C-LOOK).
    CLook,
    /// Shortest positioning time first, among the writes near the arm.
    ShortestPositioning,
}

impl HddSpec {
    pub fn write_room(&self) -> u64 {
        self.write_room.map_or(self.cache.0 / 2, |room| room.0)
    }

    pub fn check(&self) -> Result<(), Impossible> {
        let positive = [
            ("hdd.rpm", self.rpm, 60.0, 100_000.0),
            ("hdd.bus_mb_s", self.bus_mb_s, 0.01, 1e6),
        ];
        for (key, value, least, most) in positive {
            Impossible::outside(key, value, least, most)?;
        }
        let skews = [self.track_skew_ms, self.cylinder_skew_ms].map(Option::unwrap_or_default);
        for (key, value) in [
            ("hdd.head_switch_ms", self.head_switch_ms),
            ("hdd.write_settle_ms", self.write_settle_ms),
            ("hdd.track_skew_ms", skews[0]),
            ("hdd.cylinder_skew_ms", skews[1]),
            ("hdd.command_overhead_ms", self.command_overhead_ms),
            ("hdd.destage_after_ms", self.destage_after_ms),
        ] {
            Impossible::outside(key, value, 0.0, 60_000.0)?;
        }
        Impossible::outside("hdd.heads", f64::from(self.heads), 1.0, 256.0)?;
        Impossible::outside("hdd.zones", f64::from(self.zones), 1.0, 256.0)?;
        Impossible::outside("hdd.segments", f64::from(self.segments), 1.0, 1024.0)?;
        let [outer, inner] = self.sectors_per_track;
        let tracks = "hdd.sectors_per_track";
        Impossible::outside(tracks, inner as f64, 8.0, 100_000.0)?;
        Impossible::outside(tracks, outer as f64, 8.0, 100_000.0)?;
        if inner > outer || (self.zones == 1 && inner != outer) {
            let why = "the outer zone comes first and holds most; one zone has one number, twice";
            return Err(Impossible::new(tracks, format!("[{outer}, {inner}]"), why));
        }
        Impossible::outside("hdd.cache", self.cache.0 as f64, 16_384.0, 1e12)?;
        let room = self.write_room();
        let wrong_room = if room > self.cache.0 {
            Some("it is a part of `hdd.cache`")
        } else if self.write_cache && room < SECTOR {
            Some("no write fits in it; `write_cache = false` is a disk without a write cache")
        } else {
            None
        };
        if let Some(why) = wrong_room {
            return Err(Impossible::new("hdd.write_room", room.to_string(), why));
        }
        Ok(())
    }

    /// Checks the seek curve over this many cylinders.
    pub fn check_seeks(&self, cylinders: u32) -> Result<(), Impossible> {
        let values = match &self.seek {
            SeekSpec::ThreePoint(p) => vec![
                ("hdd.seek.three-point.minimum_ms", p.minimum_ms),
                ("hdd.seek.three-point.mean_ms", p.mean_ms),
                ("hdd.seek.three-point.full_ms", p.full_ms),
            ],
            SeekSpec::TwoPiece(p) => vec![
                ("hdd.seek.two-piece.short_ms", p.short_ms),
                ("hdd.seek.two-piece.short_root_ms", p.short_root_ms),
                ("hdd.seek.two-piece.long_ms", p.long_ms),
                ("hdd.seek.two-piece.long_cylinder_ms", p.long_cylinder_ms),
            ],
        };
        for (key, value) in values {
            Impossible::outside(key, value, 0.0, 10_000.0)?;
        }
        match SeekCurve::new(self.seek, cylinders).falls_at() {
            None => Ok(()),
            Some(distance) => Err(Impossible::new(
                "hdd.seek",
                format!("{:?}", self.seek),
                format!("a seek of {distance} cylinders would be shorter than one of half as far"),
            )),
        }
    }
}
