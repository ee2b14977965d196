//! The target of a fit: a disk that receives requests and returns their times. It is a device, a
//! file, or a model in simulated time.

use crate::disk::{Disk, SubmitError};
use crate::faults::Faults;
use crate::profiles::Profile;
use crate::request::{Kind, Request, SECTOR};
use crate::store::NullStore;
use fsdyno_model::Nanos;
use fsdyno_model::random::Random;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Read, write or flush.
    pub kind: Kind,
    /// First byte.
    pub at: u64,
    /// Number of bytes; 0 for a flush.
    pub bytes: u64,
}

impl Access {
    pub fn read(at: u64, bytes: u64) -> Self {
        let kind = Kind::Read;
        Self { kind, at, bytes }
    }
}

/// The times of a request, in nanoseconds of the target's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    pub submitted: u64,
    pub completed: u64,
}

impl Timing {
    /// The latency in microseconds.
    pub fn us(&self) -> f64 {
        self.completed.saturating_sub(self.submitted) as f64 / 1e3
    }
}

/// The reason why a measurement ended early.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("interrupted")]
    Stopped,
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub trait Target {
    /// Capacity in bytes.
    fn capacity(&self) -> u64;

    /// Nanoseconds of the target's clock.
    fn now(&self) -> u64;

    /// Sends these requests in order, `depth` of them at a time. Returns their times in this order.
    fn run(&mut self, all: &[Access], depth: usize) -> Result<Vec<Timing>, TargetError>;

    /// Waits without requests.
    fn pause(&mut self, ns: u64) -> Result<(), TargetError>;
}

/// A model disk in simulated time.
pub struct Simulated {
    disk: Disk,
    now: u64,
    noise: Option<Random>,
    /// Time of the next disturbance.
    disturbed_at: u64,
}

/// The noise of a latency is at most this share of it, and at most these nanoseconds.
const NOISE: (f64, f64) = (0.03, 30_000.0);

/// Interval and duration of simulated disturbances, in nanoseconds.
const DISTURBED: (u64, u64) = (300_000_000, 1_000_000);

impl Simulated {
    pub fn new(profile: &Profile) -> Self {
        Self {
            disk: Disk::new(profile, None, Box::new(NullStore), Faults::none()),
            now: 0,
            noise: None,
            disturbed_at: 0,
        }
    }

    /// Adds noise and disturbances to the latencies.
    #[must_use]
    pub fn with_noise(self, seed: u64) -> Self {
        Self {
            noise: Some(Random::new(seed)),
            ..self
        }
    }

    /// The time at which a completion is observed.
    fn seen(&mut self, submitted: u64, completed: u64) -> u64 {
        let Some(random) = &mut self.noise else {
            return completed;
        };
        let latency = completed.saturating_sub(submitted);
        let reach = (latency as f64 * NOISE.0).min(NOISE.1);
        let shift = crate::arithmetic::to_ns(reach * 2.0 * random.unit());
        let mut disturbed = 0;
        if completed >= self.disturbed_at {
            // A disturbance between requests has no effect.
            if submitted <= self.disturbed_at {
                disturbed = DISTURBED.1;
            }
            self.disturbed_at = completed + random.below(2 * DISTURBED.0);
        }
        (completed + shift + disturbed).saturating_sub(crate::arithmetic::to_ns(reach))
    }

    fn submit(&mut self, number: usize, access: &Access) -> io::Result<()> {
        let (sector, sectors) = (access.at / SECTOR, access.bytes / SECTOR);
        let request = Request::new(number as u64, access.kind, sector, sectors);
        match self.disk.submit(Nanos(self.now), request, |_| {}) {
            Ok(_) => Ok(()),
            Err(SubmitError::Store(error)) => Err(io::Error::other(error)),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidInput, error)),
        }
    }
}

impl Target for Simulated {
    fn capacity(&self) -> u64 {
        self.disk.capacity().0
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn run(&mut self, all: &[Access], depth: usize) -> Result<Vec<Timing>, TargetError> {
        let mut times = vec![Timing::default(); all.len()];
        let (mut sent, mut done) = (0, 0);
        while done < all.len() {
            while sent < all.len() && sent - done < depth.max(1) {
                times[sent].submitted = self.now;
                self.submit(sent, &all[sent])?;
                sent += 1;
            }
            let next = self.disk.next_completion();
            let at = next.map_or(self.now, |next| next.0.max(self.now));
            let mut latest = at;
            while let Some(completion) = self.disk.complete(Nanos(at)).map_err(io::Error::other)? {
                let number = usize::try_from(completion.request.id).unwrap_or_default();
                let submitted = times[number].submitted;
                times[number].completed = self.seen(submitted, at);
                latest = latest.max(times[number].completed);
                done += 1;
            }
            self.now = latest;
        }
        Ok(times)
    }

    fn pause(&mut self, ns: u64) -> Result<(), TargetError> {
        self.now += ns;
        Ok(())
    }
}
