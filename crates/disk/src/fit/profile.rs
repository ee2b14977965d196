//! The text of a fitted profile. Keys that reads cannot determine have usual values and are listed
//! as estimates.

use super::FitError;
use super::flash::FlashFit;
use super::hdd::HddFit;
use super::measurements::Measurements;
use super::probes::{Depth, Effort};
use super::target::Simulated;
use super::volume::VolumeFit;
use crate::profiles::{Profile, ProfileError};
use std::fmt::{Display, Write as _};

/// Segments of a hard disk's cache, and bytes of one, if they were not found.
const SEGMENTS: u64 = 16;
const SEGMENT: u64 = 256 << 10;

/// Bytes for writes in the cache of a hard disk, if no scratch file was given.
const DEFAULT_WRITE_CACHE: u64 = 4 << 20;

/// Queue depths of hard disks.
const QUEUES: [u32; 4] = [1, 4, 16, 32];

/// The description of the device in a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// One-line description.
    pub title: String,
    /// The source of the figures.
    pub source: String,
    /// Queue depth that the kernel uses, if it is known.
    pub queue_depth: Option<u32>,
}

impl Identity {
    fn head(&self, measured: &Measurements, queue_depth: u32, estimated: &[String]) -> String {
        // Quotes and backslashes would end a string of TOML.
        let quoted = |text: &str| {
            let text = text
                .replace(['"', '\\'], "'")
                .replace(char::is_control, " ");
            format!("\"{text}\"")
        };
        let mut text = format!("title = {}\n", quoted(&self.title));
        let _ = writeln!(text, "source = {}", quoted(&self.source));
        let keys: Vec<String> = estimated.iter().map(|key| quoted(key)).collect();
        let _ = writeln!(text, "estimated = [{}]", keys.join(", "));
        let capacity = measured.capacity.clamp(1 << 20, 10_000_000_000_000_000);
        let _ = writeln!(text, "capacity = {capacity}\nqueue_depth = {queue_depth}\n");
        text
    }

    /// The profile of a hard disk.
    pub(super) fn hdd(&self, fit: &HddFit, measured: &Measurements) -> String {
        let mut keys = Keys::of("hdd");
        keys.put("rpm", number(fit.rpm));
        keys.put_or_estimate("heads", fit.heads.map(|heads| heads.to_string()), "4");
        keys.put_estimate("zones", "16");
        let [outer, inner] = fit.sectors_per_track;
        keys.put("sectors_per_track", format!("[{outer}, {inner}]"));
        let seek = [fit.seek.minimum_ms, fit.seek.mean_ms, fit.seek.full_ms].map(number);
        let [minimum, mean, full] = seek;
        keys.put(
            "seek",
            format!(
                "{{ three-point = {{ minimum_ms = {minimum}, mean_ms = {mean}, full_ms = {full} }} }}"
            ),
        );
        // The skew covers the switch.
        keys.put_estimate("head_switch_ms", &number(0.9 * fit.track_skew_ms));
        keys.put_estimate("write_settle_ms", "0.5");
        keys.put("track_skew_ms", number(fit.track_skew_ms));
        keys.put("cylinder_skew_ms", number(fit.cylinder_skew_ms));
        keys.put("command_overhead_ms", number(fit.command_overhead_ms));
        keys.put("bus_mb_s", number(fit.bus_mb_s));
        let writes = measured.writes.as_ref();
        let room = writes.and_then(|writes| writes.room);
        let room = room.map(|room| room.max(16 << 10));
        let segments = fit.segments.unwrap_or(SEGMENTS);
        let for_reads = fit.segment.unwrap_or(SEGMENT) * segments;
        let cache = (for_reads + room.unwrap_or(DEFAULT_WRITE_CACHE)).max(16 << 10);
        let all_found = fit.segments.is_some() && fit.segment.is_some() && room.is_some();
        keys.put_or_estimate(
            "cache",
            all_found.then(|| cache.to_string()),
            &cache.to_string(),
        );
        keys.put_or_estimate(
            "segments",
            fit.segments.map(|segments| segments.to_string()),
            &segments.to_string(),
        );
        let cached = writes.map(|writes| writes.write_us * 1e-3 < 15e3 / fit.rpm);
        keys.put_or_estimate(
            "write_cache",
            cached.map(|cached| cached.to_string()),
            "true",
        );
        keys.put_or_estimate(
            "write_room",
            room.map(|room| room.to_string()),
            &DEFAULT_WRITE_CACHE.to_string(),
        );
        keys.put_estimate("destage", "\"shortest-positioning\"");
        keys.put_estimate("destage_after_ms", "10");
        self.head(measured, self.queue_depth.unwrap_or(1), &keys.estimated) + &keys.text
    }

    /// The profile of a flash disk.
    pub(super) fn flash(&self, fit: &FlashFit, measured: &Measurements) -> String {
        let mut keys = Keys::of("flash");
        let seen = |value: String| fit.units_seen.then_some(value);
        let units = [fit.channels, fit.units_per_channel].map(|units| units.to_string());
        keys.put_or_estimate("channels", seen(units[0].clone()), &units[0]);
        keys.put_or_estimate("units_per_channel", seen(units[1].clone()), &units[1]);
        let unit = fit.program_unit.0.to_string();
        keys.put_or_estimate("program_unit", seen(unit.clone()), &unit);
        keys.put_estimate("block_programs", "256");
        let times = [fit.read_us, fit.read_firmware_us].map(number);
        keys.put_or_estimate("read_us", seen(times[0].clone()), &times[0]);
        let moving_us = fit.program_unit.0 as f64 / fit.channel_mb_s;
        let writes = measured.writes.as_ref();
        let program = writes.map(|w| (w.flush_us - w.clean_flush_us - moving_us).max(1.0));
        let program_us = number(program.unwrap_or(200.0));
        keys.put_or_estimate("program_us", program.map(number), &program_us);
        keys.put_estimate("erase_us", "3000");
        keys.put_or_estimate("read_firmware_us", seen(times[1].clone()), &times[1]);
        let link = writes.map(|w| f64::from(124 << 10) / (w.large_us - w.write_us).max(0.1));
        let link = link.map(|link| link.clamp(0.1, 1e6));
        let firmware = writes
            .zip(link)
            .map(|(w, link)| (w.write_us - 4096.0 / link).max(0.0));
        keys.put_or_estimate("write_firmware_us", firmware.map(number), "10");
        let flush = writes.map(|w| w.clean_flush_us.max(0.0));
        keys.put_or_estimate("flush_firmware_us", flush.map(number), "10");
        keys.put("channel_mb_s", number(fit.channel_mb_s));
        let links = [fit.link_mb_s, link.unwrap_or(fit.link_mb_s)].map(number);
        keys.put("link_mb_s", format!("[{}, {}]", links[0], links[1]));
        let buffer = fit.program_unit.0.max(8 << 20);
        keys.put_estimate("buffer", &buffer.to_string());
        keys.put_estimate("partial_after_ms", "5");
        keys.put_estimate("fast_cache", "0");
        keys.put_estimate("fast_program_us", &program_us);
        keys.put_estimate("fold_after_ms", "0");
        keys.put_estimate("fold_mb_s", "1");
        keys.put_estimate("spare", "0.07");
        self.queue(&mut keys);
        self.head(measured, self.queue_depth.unwrap_or(1024), &keys.estimated) + &keys.text
    }

    pub(super) fn volume(&self, fit: &VolumeFit, measured: &Measurements) -> String {
        let mut keys = Keys::of("volume");
        keys.put("iops", number(fit.iops));
        keys.put("burst", format!("{:.0}", fit.burst));
        keys.put_estimate("counted", "\"256K\"");
        keys.put("mib_s", number(fit.mib_s));
        keys.put("burst_bytes", format!("{:.0}", fit.burst_bytes));
        keys.put("latency_us", number(fit.latency_us));
        keys.put("sigma", number(fit.sigma));
        keys.put("seed", 1);
        self.queue(&mut keys);
        self.head(measured, self.queue_depth.unwrap_or(128), &keys.estimated) + &keys.text
    }

    /// Lists the queue depth as an estimate, if the kernel did not report it.
    fn queue(&self, keys: &mut Keys) {
        if self.queue_depth.is_none() {
            keys.estimated.push("queue_depth".to_owned());
        }
    }
}

/// A number with four digits after the first.
fn number(value: f64) -> String {
    let digits = 4.0 - value.abs().max(1e-4).log10().floor().clamp(-4.0, 4.0);
    let digits = usize::try_from(crate::arithmetic::to_ns(digits)).unwrap_or(4);
    format!("{value:.digits$}")
}

/// The keys of a table, with those that are estimates.
struct Keys {
    table: &'static str,
    text: String,
    estimated: Vec<String>,
}

impl Keys {
    fn of(table: &'static str) -> Self {
        Self {
            table,
            text: format!("[{table}]\n"),
            estimated: Vec::new(),
        }
    }

    fn put(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.text, "{key} = {value}");
    }

    fn put_estimate(&mut self, key: &str, value: &str) {
        self.estimated.push(format!("{}.{key}", self.table));
        self.put(key, value);
    }

    fn put_or_estimate(&mut self, key: &str, value: Option<String>, otherwise: &str) {
        match value {
            Some(value) => self.put(key, value),
            None => self.put_estimate(key, otherwise),
        }
    }
}

/// The same profile with more keys listed as estimates.
pub(super) fn with_estimates(profile: &Profile, keys: &[String]) -> Result<Profile, ProfileError> {
    let mut new = String::new();
    for key in keys.iter().filter(|key| !profile.estimated.contains(key)) {
        let _ = write!(new, "\"{key}\", ");
    }
    let text = profile
        .text
        .replacen("estimated = [", &format!("estimated = [{new}"), 1);
    Profile::parse(&profile.name, &text)
}

/// A hard disk with the queue depth whose rates are nearest to the measured ones.
pub(super) fn with_queue_depth(
    profile: &Profile,
    measured: &Measurements,
) -> Result<Profile, FitError> {
    let effort = Effort {
        budget_ns: 60_000_000_000,
        seed: 7,
    };
    let mut best: Option<(f64, Profile)> = None;
    for queue in QUEUES {
        let line = format!("queue_depth = {}\n", profile.queue_depth);
        let text = profile
            .text
            .replacen(&line, &format!("queue_depth = {queue}\n"), 1);
        let profile = Profile::parse(&profile.name, &text)?;
        let model = super::probes::depths_of(&mut Simulated::new(&profile), effort)?;
        let error = distance(&measured.depths, &model);
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, profile));
        }
    }
    Ok(best.map_or_else(|| profile.clone(), |(_, profile)| profile))
}

/// Sum of the squares of the logarithms of the ratios.
fn distance(measured: &[Depth], model: &[Depth]) -> f64 {
    let pairs = measured.iter().zip(model);
    pairs.map(|(a, b)| (a.iops / b.iops).ln().powi(2)).sum()
}
