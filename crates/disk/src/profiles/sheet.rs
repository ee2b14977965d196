//! What the makers of a disk say of it, for `disk check`: kept apart from what its model is made
//! from, so that one can be held against the other.

use super::Impossible;
use serde::Deserialize;

/// Figures of a sheet. What a sheet does not give is left out, and not checked.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sheet {
    /// Turns a minute.
    pub rpm: Option<f64>,
    /// Mean seek of reads.
    pub mean_seek_ms: Option<f64>,
    /// Mean seek of writes, settling included.
    pub mean_write_seek_ms: Option<f64>,
    /// From the first to the last cylinder.
    pub full_stroke_ms: Option<f64>,
    /// From one cylinder to the next.
    pub track_to_track_ms: Option<f64>,
    /// Reading in sequence at the beginning of the disk, megabytes (10^6) a second.
    pub outer_mb_s: Option<f64>,
    /// The same at its end.
    pub inner_mb_s: Option<f64>,
    /// A read of 4 KiB somewhere, alone.
    pub random_read_us: Option<f64>,
    /// A write of 4 KiB somewhere, alone.
    pub random_write_us: Option<f64>,
    /// Random reads of 4 KiB a second, with a full queue.
    pub random_read_iops: Option<f64>,
    /// Reading in sequence with a full queue, megabytes (10^6) a second.
    pub sequential_read_mb_s: Option<f64>,
    /// Writing in sequence with a full queue.
    pub sequential_write_mb_s: Option<f64>,
    /// A flush after a write of 4 KiB.
    pub flush_us: Option<f64>,
    /// Half of the reads take less.
    pub latency_p50_us: Option<f64>,
    /// 99 of 100 reads take less.
    pub latency_p99_us: Option<f64>,
}

impl Sheet {
    /// Each figure that is given, with its key.
    pub fn given(&self) -> Vec<(&'static str, f64)> {
        let all = [
            ("rpm", self.rpm),
            ("mean_seek_ms", self.mean_seek_ms),
            ("mean_write_seek_ms", self.mean_write_seek_ms),
            ("full_stroke_ms", self.full_stroke_ms),
            ("track_to_track_ms", self.track_to_track_ms),
            ("outer_mb_s", self.outer_mb_s),
            ("inner_mb_s", self.inner_mb_s),
            ("random_read_us", self.random_read_us),
            ("random_write_us", self.random_write_us),
            ("random_read_iops", self.random_read_iops),
            ("sequential_read_mb_s", self.sequential_read_mb_s),
            ("sequential_write_mb_s", self.sequential_write_mb_s),
            ("flush_us", self.flush_us),
            ("latency_p50_us", self.latency_p50_us),
            ("latency_p99_us", self.latency_p99_us),
        ];
        let given = all.into_iter();
        given
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }

    /// What no sheet says.
    pub(super) fn check(&self) -> Result<(), Impossible> {
        for (key, value) in self.given() {
            Impossible::outside(format!("sheet.{key}"), value, 1e-6, 1e9)?;
        }
        Ok(())
    }
}
