//! Probes: each sends requests through its own disk and returns one figure.

use crate::disk::{Disk, SubmitError};
use crate::faults::Faults;
use crate::models::hdd::{Geometry, Mechanics};
use crate::profiles::{Profile, Timing};
use crate::request::{Completion, Kind, Request, SECTOR};
use crate::store::{NullStore, StoreError};
use fsdyno_model::Nanos;
use fsdyno_model::random::Random;

/// Sectors of a small request, 4 KiB, and of a large one, 128 KiB.
const SMALL: u64 = 8;
const LARGE: u64 = 256;

/// Number of random requests of a probe.
const RANDOM: u64 = 8_000;

/// Number of seeks of one distance, of revolutions, and of flushes.
const SEEKS: u32 = 50;
const TURNS: u64 = 100;
const FLUSHES: u64 = 1000;

/// Maximum bytes of a sequential probe. On a hard disk it stays within a zone.
const SEQUENTIAL: u64 = 128 << 20;

pub struct Probes<'a> {
    profile: &'a Profile,
    /// Only for disks with an arm.
    geometry: Option<Geometry>,
}

impl<'a> Probes<'a> {
    pub fn new(profile: &'a Profile) -> Self {
        let sectors = profile.capacity.0 / SECTOR;
        let geometry = match &profile.timing {
            Timing::Hdd(spec) => Some(Mechanics::new(spec, sectors).geometry().clone()),
            _ => None,
        };
        Self { profile, geometry }
    }

    pub fn sectors(&self) -> u64 {
        self.profile.capacity.0 / SECTOR
    }

    /// Measures the figure of a sheet with this key. Returns none if this kind of disk has no such
    /// figure.
    pub fn figure(&mut self, name: &str) -> Result<Option<f64>, StoreError> {
        let armed = self.geometry.is_some();
        Ok(Some(match name {
            "rpm" if armed => self.rpm()?,
            "mean_seek_ms" if armed => self.mean_seek_ms(Kind::Read)?,
            "mean_write_seek_ms" if armed => self.mean_seek_ms(Kind::Write)?,
            "full_stroke_ms" if armed => self.seek_ms(u32::MAX)?,
            "track_to_track_ms" if armed => self.seek_ms(1)?,
            "outer_mb_s" => self.in_sequence(Kind::Read, 0, 1)?,
            "inner_mb_s" => self.in_sequence(Kind::Read, self.sectors() - self.span(), 1)?,
            "random_read_us" => mean(&self.random_reads()?),
            "random_write_us" => {
                let all = self.alone(Kind::Write)?;
                mean(&latencies(&all))
            }
            "random_read_iops" => self.iops()?,
            "sequential_read_mb_s" => {
                self.in_sequence(Kind::Read, 0, self.profile.queue_depth.into())?
            }
            "sequential_write_mb_s" => {
                self.in_sequence(Kind::Write, 0, self.profile.queue_depth.into())?
            }
            "flush_us" => self.flush_us()?,
            "latency_p50_us" => self.quantile_us(50)?,
            "latency_p99_us" => self.quantile_us(99)?,
            _ => return Ok(None),
        }))
    }

    /// Latencies of single random reads, microseconds, sorted. For a hard disk the cylinders are
    /// uniform, as in data sheets.
    pub fn random_reads(&mut self) -> Result<Vec<f64>, StoreError> {
        let mut all = latencies(&self.alone(Kind::Read)?);
        all.sort_by(f64::total_cmp);
        Ok(all)
    }

    /// Seek time over a distance, limited to the longest one.
    pub fn seek_ms(&mut self, distance: u32) -> Result<f64, StoreError> {
        let Some(geometry) = self.geometry.clone() else {
            return Ok(0.0);
        };
        let last = geometry.place(self.sectors() - 1).cylinder;
        let distance = distance.min(last);
        let reach = last - distance + 1;
        let mut disk = self.disk();
        let (mut at, mut sum) = (0, 0);
        for n in 0..SEEKS {
            let from = u32::try_from(u64::from(n) * u64::from(reach) / u64::from(SEEKS));
            let from = from.unwrap_or_default();
            for cylinder in [from, from + distance] {
                // Write-through forces an arm movement despite the cache. The head is the same.
                let request = Request::new(0, Kind::Read, geometry.first_of(cylinder), 1);
                let done = run(&mut disk, at, request)?;
                // The next request follows immediately, before read-ahead moves the arm.
                at = done.completed.0;
                if cylinder != from {
                    sum += done.causes.seek;
                }
            }
            disk = self.disk();
        }
        Ok(sum as f64 / f64::from(SEEKS) / 1e6)
    }

    fn disk(&self) -> Disk {
        Disk::new(self.profile, None, Box::new(NullStore), Faults::none())
    }

    /// Sectors of a sequential read probe in the outermost or the innermost zone.
    fn span(&self) -> u64 {
        let zones = match &self.profile.timing {
            Timing::Hdd(spec) => u64::from(spec.zones) * 4,
            _ => 2,
        };
        let span = (self.sectors() / zones).min(SEQUENTIAL / SECTOR);
        span / LARGE * LARGE
    }

    /// A random sector, distributed as described at [`Probes::random_reads`].
    fn draw(&self, random: &mut Random) -> u64 {
        match &self.geometry {
            Some(geometry) => {
                // The last cylinder may have fewer sectors.
                let last = geometry.place(self.sectors() - 1).cylinder;
                let cylinder = random.below(u64::from(last));
                let cylinder = u32::try_from(cylinder).unwrap_or_default();
                let (first, next) = (geometry.first_of(cylinder), geometry.first_of(cylinder + 1));
                let sector = first + random.below(next - first);
                sector.min(self.sectors() - SMALL)
            }
            None => random.below(self.sectors() / SMALL) * SMALL,
        }
    }

    /// Random small requests at queue depth 1, with pauses in which the disk becomes idle. Writes
    /// of a hard disk are write-through.
    fn alone(&mut self, kind: Kind) -> Result<Vec<Completion>, StoreError> {
        let mut disk = self.disk();
        let mut random = Random::new(1);
        let mut all = Vec::new();
        let mut at = 0;
        for _ in 0..RANDOM {
            let mut request = Request::new(0, kind, self.draw(&mut random), SMALL);
            request.fua = kind == Kind::Write && self.geometry.is_some();
            let done = run(&mut disk, at, request)?;
            let pause = match self.geometry {
                // The pause varies the angle and is too short for more read-ahead tracks.
                Some(_) => random.below(100_000),
                None => 20_000_000,
            };
            at = done.completed.0 + pause;
            all.push(done);
        }
        Ok(all)
    }

    fn mean_seek_ms(&mut self, kind: Kind) -> Result<f64, StoreError> {
        let all = self.alone(kind)?;
        let sum: u64 = all.iter().map(|done| done.causes.seek).sum();
        Ok(sum as f64 / all.len() as f64 / 1e6)
    }

    /// Repeated write-through of one sector takes one revolution per write.
    fn rpm(&mut self) -> Result<f64, StoreError> {
        let mut disk = self.disk();
        let request = Request::new(0, Kind::Write, 0, 1).with_fua();
        let first = run(&mut disk, 0, request)?.completed.0;
        let mut at = first;
        for _ in 0..TURNS {
            at = run(&mut disk, at, request)?.completed.0;
        }
        Ok(60e9 * TURNS as f64 / (at - first) as f64)
    }

    /// Sequential large requests at a queue depth: MB/s (10^6).
    fn in_sequence(&mut self, kind: Kind, from: u64, depth: u64) -> Result<f64, StoreError> {
        let count = self.span() / LARGE;
        let request = |n: u64| Request::new(0, kind, from + n * LARGE, LARGE);
        self.rate(count, depth, request)
            .map(|a_second| a_second * (LARGE * SECTOR) as f64 / 1e6)
    }

    fn iops(&mut self) -> Result<f64, StoreError> {
        let mut random = Random::new(1);
        let depth = u64::from(self.profile.queue_depth);
        let sectors: Vec<u64> = (0..RANDOM).map(|_| self.draw(&mut random)).collect();
        let request = |n: u64| {
            let sector = usize::try_from(n).ok().and_then(|n| sectors.get(n));
            Request::new(0, Kind::Read, sector.copied().unwrap_or_default(), SMALL)
        };
        self.rate(RANDOM, depth, request)
    }

    /// Sends requests at a constant queue depth. Returns completions per second over the second
    /// half, when the buffers are full.
    fn rate(
        &self,
        count: u64,
        depth: u64,
        request: impl Fn(u64) -> Request,
    ) -> Result<f64, StoreError> {
        let mut disk = self.disk();
        let (mut sent, mut done, mut at) = (0, 0, Nanos(0));
        let mut began = Nanos(0);
        while done < count {
            while sent < count && sent - done < depth.max(1) {
                submit(&mut disk, at.0, request(sent))?;
                sent += 1;
            }
            at = disk.next_completion().unwrap_or(at);
            while disk.complete(at)?.is_some() {
                done += 1;
                if done == count / 2 {
                    began = at;
                }
            }
        }
        let counted = (count - count / 2) as f64;
        Ok(counted * 1e9 / (at.0 - began.0) as f64)
    }

    fn flush_us(&mut self) -> Result<f64, StoreError> {
        let mut disk = self.disk();
        let mut random = Random::new(1);
        let (mut at, mut sum) = (0, 0);
        for _ in 0..FLUSHES {
            let write = Request::new(0, Kind::Write, self.draw(&mut random), SMALL);
            let written = run(&mut disk, at, write)?;
            let flushed = run(&mut disk, written.completed.0, Request::flush(0))?;
            sum += flushed.latency().0;
            at = flushed.completed.0 + 20_000_000;
        }
        Ok(sum as f64 / FLUSHES as f64 / 1e3)
    }

    fn quantile_us(&mut self, percent: usize) -> Result<f64, StoreError> {
        let all = self.random_reads()?;
        Ok(all
            .get(all.len() * percent / 100)
            .copied()
            .unwrap_or_default())
    }
}

fn latencies(all: &[Completion]) -> Vec<f64> {
    let us = all.iter().map(|done| done.latency().0 as f64 / 1e3);
    us.collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn submit(disk: &mut Disk, at: u64, request: Request) -> Result<u64, StoreError> {
    match disk.submit(Nanos(at), request, |_| {}) {
        Ok(order) => Ok(order),
        Err(SubmitError::Store(error)) => Err(error),
        Err(error) => unreachable!("a probe is inside the disk: {error}"),
    }
}

/// Runs one request alone, from submission to completion.
fn run(disk: &mut Disk, at: u64, request: Request) -> Result<Completion, StoreError> {
    submit(disk, at, request)?;
    let mut now = Nanos(at);
    loop {
        now = disk.next_completion().unwrap_or(now);
        if let Some(done) = disk.complete(now)? {
            return Ok(done);
        }
    }
}
