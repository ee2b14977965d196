//! The profile of a kernel's work: which function did how much of it, by call path.

use std::ops::AddAssign;

/// What a kernel did in one part of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// The names of functions. The first level of a path is who executed: [`Profile::EXECUTORS`].
    pub functions: Vec<String>,
    /// The source file of each function, without the end of its name: `fs/ext4/namei`; empty if it is not
    /// known.
    pub sources: Vec<String>,
    /// Call paths; a caller is before what it calls.
    pub paths: Vec<CallPath>,
    /// Blocks for which there was no room: they are in no path.
    pub lost: u64,
}

/// A function, called by a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPath {
    /// The index of its caller; none for who executed.
    pub caller: Option<usize>,
    /// The index of its function.
    pub function: usize,
    /// Without what it called.
    pub own: PathWork,
}

/// What a path did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathWork {
    /// Basic blocks.
    pub blocks: u64,
    /// Bytes copied, set to zero, and checksummed.
    pub bytes: u64,
    /// Requests to disks.
    pub requests: u64,
    /// How often it slept.
    pub sleeps: u64,
    /// How long, in nanoseconds of virtual time.
    pub slept_ns: u64,
}

impl Profile {
    /// Who executes, in the order of the kernel's contexts.
    pub const EXECUTORS: [&'static str; 5] =
        ["processes", "kernel threads", "interrupts", "idle", "host"];

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
}

impl AddAssign for PathWork {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.sleeps += other.sleeps;
        self.slept_ns += other.slept_ns;
    }
}
