//! The measurement of a disk by reads. A disk that turns, and a disk that does not, are probed further
//! in their own modules.

use super::pairs::Pairs;
use super::probes::{Depth, Effort, LARGE, Place, Prober, SLOW_US, SMALL, Size, median};
use super::rotation::RotatingDisk;
use super::target::{Target, TargetError};
use super::writes::Writes;
use serde::Serialize;

/// Requests of the small and of the large burst, and their depths.
const SMALL_BURST: (u64, usize) = (1024, 256);
const LARGE_BURST: (u64, usize) = (64, 32);

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurements {
    /// Capacity in bytes.
    pub capacity: u64,
    /// Latencies of random 4 KiB reads, one at a time, microseconds.
    pub random_us: Vec<f64>,
    /// Random 4 KiB reads per second by depth.
    pub depths: Vec<Depth>,
    /// Latencies of single random reads by size.
    pub sizes: Vec<Size>,
    /// Sequential read rates over the address range.
    pub sequential: Vec<Place>,
    /// Times of completion of many 4 KiB reads, from the submission of the first, microseconds,
    /// sorted.
    pub small_burst_us: Vec<f64>,
    /// The same for reads of 1 MiB. Empty for a disk that turns.
    pub large_burst_us: Vec<f64>,
    pub rotating: Option<RotatingDisk>,
    /// Pairs of reads at the same time, which show the units of a disk.
    pub pairs: Option<Pairs>,
    pub writes: Option<Writes>,
}

/// Measures a disk by reads. `report` is called with the name of each step.
pub fn measure(
    target: &mut dyn Target,
    effort: Effort,
    report: &mut dyn FnMut(&str),
) -> Result<Measurements, TargetError> {
    let mut prober = Prober::new(target, effort);
    report("random reads");
    let first = prober.random_reads(64)?;
    prober.latency_us = median(&first).max(0.1);
    let slow = prober.latency_us > SLOW_US;
    let random_us = prober.random_reads(prober.count(0.05, prober.latency_us, 64, 2000))?;
    let rotating = if slow {
        report("rotation, tracks and seeks");
        RotatingDisk::measure(&mut prober)?
    } else {
        None
    };
    report("reads of several sizes");
    let sizes = prober.sizes(if slow { 12 } else { 64 })?;
    report("sequential reads");
    let sequential = prober.sequential(slow)?;
    report("random reads at several depths");
    let depths = prober.depths()?;
    report("bursts");
    let small = if slow { 128 } else { SMALL_BURST.0 };
    let small_burst_us = prober.burst(small, SMALL, SMALL_BURST.1)?;
    let large_burst_us = if rotating.is_some() {
        Vec::new()
    } else {
        prober.burst(LARGE_BURST.0, LARGE, LARGE_BURST.1)?
    };
    let pairs = if slow {
        None
    } else {
        report("reads in pairs");
        Pairs::measure(&mut prober)?
    };
    Ok(Measurements {
        capacity: prober.target.capacity(),
        random_us,
        depths,
        sizes,
        sequential,
        small_burst_us,
        large_burst_us,
        rotating,
        pairs,
        writes: None,
    })
}
