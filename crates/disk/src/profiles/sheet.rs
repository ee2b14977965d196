//! Manufacturer's figures for `disk check`. They are separate from the model's parameters, so that
//! the check compares the two.

use super::Impossible;
use serde::Deserialize;

/// Figures of a data sheet. Missing figures are not checked.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSheet {
    /// Revolutions per minute.
    pub rpm: Option<f64>,
    pub mean_seek_ms: Option<f64>,
    /// Mean seek time of writes, including settling.
    pub mean_write_seek_ms: Option<f64>,
    pub full_stroke_ms: Option<f64>,
    pub track_to_track_ms: Option<f64>,
    /// Sequential read rate at the start of the disk, MB/s (10^6).
    pub outer_mb_s: Option<f64>,
    /// Sequential read rate at the end of the disk, MB/s (10^6).
    pub inner_mb_s: Option<f64>,
    /// Latency of one random 4 KiB read at queue depth 1.
    pub random_read_us: Option<f64>,
    /// Latency of one random 4 KiB write at queue depth 1.
    pub random_write_us: Option<f64>,
    /// Random 4 KiB reads per second with a full queue.
    pub random_read_iops: Option<f64>,
    /// Sequential read rate with a full queue, MB/s (10^6).
    pub sequential_read_mb_s: Option<f64>,
    /// Sequential write rate with a full queue, MB/s (10^6).
    pub sequential_write_mb_s: Option<f64>,
    /// Latency of a flush after a 4 KiB write.
    pub flush_us: Option<f64>,
    pub latency_p50_us: Option<f64>,
    /// 99th percentile of read latency.
    pub latency_p99_us: Option<f64>,
}

impl DataSheet {
    /// All given figures with their keys.
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

    /// An empty data sheet.
    pub(super) fn check(&self) -> Result<(), Impossible> {
        for (key, value) in self.given() {
            Impossible::outside(format!("sheet.{key}"), value, 1e-6, 1e9)?;
        }
        Ok(())
    }
}
