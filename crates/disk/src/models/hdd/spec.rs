//! A hard disk as a profile writes it, and what of it is impossible.

use super::seek::{SeekCurve, SeekSpec};
use crate::profiles::{Impossible, size};
use fsdyno_model::Bytes;
use serde::Deserialize;

/// A hard disk. What is left out is as its comment says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HddSpec {
    /// Turns a minute.
    pub rpm: f64,
    /// Tracks of a cylinder.
    pub heads: u32,
    /// Stretches of cylinders with equally full tracks.
    pub zones: u32,
    /// Sectors of a track: in the outer zone, and in the inner.
    pub sectors_per_track: [u64; 2],
    /// The seek curve.
    pub seek: SeekSpec,
    /// From one head to another of the same cylinder.
    pub head_switch_ms: f64,
    /// What a write waits for after the arm moved, beyond what a read does.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// How far a track begins behind the one before; without, as long as a head switch.
    pub track_skew_ms: Option<f64>,
    /// The same from one cylinder to the next; without, as long as the shortest seek.
    pub cylinder_skew_ms: Option<f64>,
    /// The controller's work on a command.
    pub command_overhead_ms: f64,
    /// Megabytes (10^6) a second between the host and the disk's memory.
    pub bus_mb_s: f64,
    /// The disk's memory.
    #[serde(deserialize_with = "size")]
    pub cache: Bytes,
    /// Parts of it that follow readers of their own.
    pub segments: u32,
    /// Whether writes are acknowledged once they are in memory.
    pub write_cache: bool,
    /// How much of the memory may hold such writes; without, half of it.
    #[serde(default, deserialize_with = "crate::profiles::some_size")]
    pub write_room: Option<Bytes>,
    /// In which order these go to the medium.
    pub destage: Destage,
    /// How long the disk must have been at rest before it begins with that by itself.
    pub destage_after_ms: f64,
}

/// In which order cached writes go to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destage {
    /// One way over the sectors, then again from the first.
    CLook,
    /// The one that is reached soonest, of those near the arm.
    ShortestPositioning,
}

impl HddSpec {
    /// Room for writes.
    pub fn write_room(&self) -> u64 {
        self.write_room.map_or(self.cache.0 / 2, |room| room.0)
    }

    /// What no disk is like.
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
        if self.write_room() > self.cache.0 {
            let why = "it is a part of `hdd.cache`";
            let room = self.write_room().to_string();
            return Err(Impossible::new("hdd.write_room", room, why));
        }
        Ok(())
    }

    /// The same of its seek curve, over so many cylinders.
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
