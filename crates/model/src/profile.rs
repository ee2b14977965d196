//! The profile of a kernel's work: which function did how much of it, by call path.

use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The most calls in a path: kernels have small stacks.
const DEEPEST: usize = 1000;

/// What a kernel did in a phase, or in one part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Profile {
    /// The names of functions. The first level of a path is who executed: `processes`, `kernel threads`,
    /// `interrupts`, `idle` or `host`.
    pub functions: Vec<String>,
    /// The source file of each function, without the end of its name: `fs/ext4/namei`; empty if it is not
    /// known.
    pub sources: Vec<String>,
    /// Call paths; a caller is before what it calls.
    pub paths: Vec<CallPath>,
    /// The requests to model disks, by the path that submitted them; none if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<PathRequests>>,
    /// Blocks or samples for which there was no room: they are in no path.
    pub lost: u64,
    /// How it was sampled, on the host; none for an exact profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampling>,
}

/// How the kernel of the host was sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Sampling {
    /// Samples of each processor in a second of its clock.
    pub hertz: u32,
    /// The passes of the phase: a short phase is repeated.
    pub passes: u64,
    /// The wall time of all passes until they were durable.
    pub elapsed_ns: Nanos,
    /// Samples of programs that are not of the phase: they are in no path.
    pub others: u64,
    /// Samples of the thread that reads the samples: they are in no path.
    pub profiler: u64,
}

impl Sampling {
    /// The processor time of that many samples in one pass, in nanoseconds.
    pub fn time_ns(&self, samples: u64) -> f64 {
        samples as f64 * 1e9 / f64::from(self.hertz.max(1)) / self.passes.max(1) as f64
    }
}

/// A function, called by a path.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CallPath {
    /// The index of its caller; none for who executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<usize>,
    /// The index of its function.
    pub function: usize,
    /// Without what it called.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub own: PathWork,
}

/// Requests of one kind to model disks.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PathRequests {
    /// The index of the path that submitted them.
    pub path: usize,
    /// What they do.
    pub operation: Operation,
    /// What the first block of each holds; none if the recipe of the file system cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// How many there are.
    pub sum: RequestSum,
}

fn is_nothing(work: &PathWork) -> bool {
    *work == PathWork::default()
}

/// What a request does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads blocks.
    Read,
    /// Writes blocks, also zeros.
    Write,
    /// Frees blocks.
    Discard,
    /// Writes the cache of the disk to its medium.
    Flush,
}

/// What a file system keeps in the blocks of a request.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Data of files, or blocks that the recipe does not recognise.
    Data,
    /// The journal or log.
    Journal,
    /// Everything else that describes files and free space.
    Metadata,
}

/// Requests, their bytes, and how many did not begin where the one before them ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RequestSum {
    /// The number of requests.
    pub requests: u64,
    /// The bytes of their extents.
    pub bytes: u64,
    /// Reads and writes that do not begin where the one before them ended.
    pub seeks: u64,
}

/// What a path did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct PathWork {
    /// Basic blocks.
    #[serde(skip_serializing_if = "is_zero")]
    pub blocks: u64,
    /// Samples of processor time, in a sampled profile: it has no other figures.
    #[serde(skip_serializing_if = "is_zero")]
    pub samples: u64,
    /// Bytes copied, set to zero, and checksummed.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Requests to disks.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests: u64,
    /// Calls that give the block layer a request which needs a flush before it or after it
    /// (`REQ_PREFLUSH`, `REQ_FUA`). Its worker submits that flush.
    #[serde(skip_serializing_if = "is_zero")]
    pub flush_calls: u64,
    /// How often it slept.
    #[serde(skip_serializing_if = "is_zero")]
    pub sleeps: u64,
    /// How long, in nanoseconds of virtual time.
    #[serde(skip_serializing_if = "is_zero")]
    pub slept_ns: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(figure: &u64) -> bool {
    *figure == 0
}

impl Profile {
    /// Who executes, in the order of the kernel's contexts.
    pub const EXECUTORS: [&'static str; 5] =
        ["processes", "kernel threads", "interrupts", "idle", "host"];

    /// With fewer samples a profile has no shares.
    pub const MIN_SAMPLES: u64 = 30;

    /// Of processes, kernel threads and interrupts, as [`KernelWork`](crate::KernelWork) counts.
    pub fn blocks(&self) -> u64 {
        let idle = &Self::EXECUTORS[3..];
        let mut counts = vec![true; self.paths.len()];
        let mut blocks = self.lost;
        for (at, path) in self.paths.iter().enumerate() {
            counts[at] = match path.caller {
                Some(caller) => counts[caller],
                None => !idle.contains(&&*self.functions[path.function]),
            };
            blocks += if counts[at] { path.own.blocks } else { 0 };
        }
        blocks
    }

    /// All samples that are in paths.
    pub fn samples(&self) -> u64 {
        self.paths.iter().map(|path| path.own.samples).sum()
    }

    /// The figure of a function by all paths: its own, and with all that it calls.
    pub fn of_function(&self, function: &str, figure: fn(&PathWork) -> u64) -> [u64; 2] {
        let mut is_below = vec![false; self.paths.len()];
        let [mut own, mut total] = [0, 0];
        for (at, path) in self.paths.iter().enumerate() {
            let is_it = self.functions[path.function] == function;
            is_below[at] = is_it || path.caller.is_some_and(|caller| is_below[caller]);
            own += if is_it { figure(&path.own) } else { 0 };
            total += if is_below[at] { figure(&path.own) } else { 0 };
        }
        [own, total]
    }

    /// An error if it is none that fsdyno writes.
    pub fn check(&self) -> Result<(), String> {
        if self.sources.len() != self.functions.len() {
            return Err("profile: its functions do not each have a source file".to_owned());
        }
        let is_name = |name: &String| !name.chars().any(char::is_control);
        if !self.functions.iter().chain(&self.sources).all(is_name) {
            return Err("profile: the name of a function has control characters".to_owned());
        }
        let mut depths = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let depth = match path.caller {
                None => Some(0),
                // A caller is before what it calls.
                Some(caller) => depths.get(caller).map(|depth| depth + 1),
            };
            let depth = depth.filter(|depth| *depth < DEEPEST);
            let (Some(depth), Some(_)) = (depth, self.functions.get(path.function)) else {
                return Err(format!("profile: call path {} is invalid", depths.len()));
            };
            depths.push(depth);
        }
        let of_requests = self.requests.iter().flatten();
        for one in of_requests {
            if one.path >= self.paths.len() {
                return Err(format!(
                    "profile: requests of call path {}, which is not there",
                    one.path
                ));
            }
        }
        Ok(())
    }
}

impl AddAssign for RequestSum {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.seeks += other.seeks;
    }
}

impl AddAssign for PathWork {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.samples += other.samples;
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.flush_calls += other.flush_calls;
        self.sleeps += other.sleeps;
        self.slept_ns += other.slept_ns;
    }
}
