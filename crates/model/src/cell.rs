//! A cell: one contender, one workload, one repeat; and the record of its result.

use crate::sample::Sample;
use crate::units::Nanos;
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The unit that is executed, recorded and resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Cell {
    /// Its place in the order of execution, from 0; names it within its run.
    pub index: u32,
    /// The block (repeat) it belongs to, from 0: cells of one block are compared in pairs.
    pub block: u32,
    /// The contender, by its place in the plan.
    pub contender: u32,
    /// The workload, by its place in the plan.
    pub workload: u32,
}

/// How a recorded cell ended.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// All phases ran.
    Measured,
    /// It could not run here.
    Skipped {
        /// The requirement that is missing.
        requirement: String,
        /// The reason.
        reason: String,
        /// The remedy: how to provide the requirement.
        remedy: String,
    },
    /// It failed. The phases measured before the error are kept.
    Failed(Failure),
}

/// The error that ended a cell.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
pub struct Failure {
    /// The stage in which it happened.
    pub stage: Stage,
    /// The attempted operation, its object, and the reason that the system reported: one line or a
    /// few.
    pub message: String,
    /// The symbolic error number (`ENOSPC`), if there is one.
    pub errno: Option<String>,
}

/// The stages of a cell, in order.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "stage", content = "phase")]
pub enum Stage {
    /// Image files, loop devices, directories.
    Device,
    /// mkfs.
    Make,
    /// mount.
    Mount,
    /// Reading back the options in force.
    Describe,
    /// Creating the dataset, waiting for deferred work.
    Prepare,
    /// Setting up a cache state.
    Cache,
    /// A phase, by its label.
    Phase(String),
    /// A scrub beside a phase.
    Scrub,
    /// Replacing a lost device.
    Rebuild,
    /// Comparing trees after a phase.
    Verify,
    /// unmount.
    Unmount,
    /// The checker of the file system.
    Check,
    /// Undoing everything.
    CleanUp,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Device => "device",
            Self::Make => "make",
            Self::Mount => "mount",
            Self::Describe => "describe",
            Self::Prepare => "prepare",
            Self::Cache => "cache",
            Self::Phase(label) => return write!(f, "phase {label}"),
            Self::Scrub => "scrub",
            Self::Rebuild => "rebuild",
            Self::Verify => "verify",
            Self::Unmount => "unmount",
            Self::Check => "check",
            Self::CleanUp => "clean-up",
        };
        f.pad(name)
    }
}

/// The record of a cell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellRecord {
    /// The cell.
    pub cell: Cell,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// How long it took in total.
    pub took_ns: Nanos,
    /// The phases measured, in order.
    pub samples: Vec<Sample>,
    /// Everything executed outside the load, in order.
    pub commands: Vec<CommandRecord>,
    /// The options in force, as read back.
    pub effective: Vec<Effective>,
    /// Warnings on the whole cell.
    pub warnings: Vec<Warning>,
}

/// One command, or one system call with the command that does the same.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The stage it belongs to.
    pub stage: Stage,
    /// Program and arguments (bytes that are not UTF-8 are replaced).
    pub argv: Vec<String>,
    /// Whether fsdyno made a system call instead. `argv` is then the equivalent command.
    pub by_system_call: bool,
    /// The exit status; none if a signal ended it or it never started.
    pub status: Option<i32>,
    /// How long it took.
    pub took_ns: Nanos,
    /// The end of its standard output (at most 64 KiB).
    pub stdout: String,
    /// The end of its standard error (at most 64 KiB).
    pub stderr: String,
}

/// Options in force, as a source reports them.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Effective {
    /// The source: `mountinfo`, `xfs_info` ...
    pub source: String,
    /// The text of the source.
    pub text: String,
}

impl Effective {
    /// The source that describes how a file system was filled and aged before its workload.
    pub const STATE: &str = "state";

    /// The source that names the guest of the cell: its kernel first, up to a comma.
    pub const GUEST: &str = "guest";

    /// The source that gives the reason why files are not timed one by one.
    pub const CLOCK: &str = "clock";

    /// The source that names the machine of a cell, in runs that are executed on several.
    pub const MACHINE: &str = "machine";

    /// The source that names the model disk of the cell, and its time.
    pub const DISK: &str = "disk";

    /// The source that gives the time of each stage of the cell, a line for each: nanoseconds and
    /// stage. No option; absent in virtual time and in runs of older versions.
    pub const STAGES: &str = "stages";

    /// The source that gives the phases of the cell that were repeated at once, a line for each: the
    /// nanoseconds of the passes that are not the sample, and the phase. No option.
    pub const PASSES: &str = "passes";

    /// The source that counts what a replay did: operations, different results by kind, workers, and
    /// the recorded time. No option.
    pub const REPLAY: &str = "replay";

    /// The source that describes the order of the contenders in a block, with the reason. No option;
    /// absent in guests.
    pub const ORDER: &str = "order";

    /// Whether it is an option, and no record of what the cell did.
    pub fn is_option(&self) -> bool {
        ![Self::STAGES, Self::PASSES, Self::REPLAY, Self::ORDER].contains(&&*self.source)
    }

    /// The times of the stages of a cell.
    pub fn stages(stages: &[(Stage, Nanos)]) -> Self {
        let line = |(stage, time): &(Stage, Nanos)| format!("{} {stage}\n", time.0);
        Self {
            source: Self::STAGES.to_owned(),
            text: stages.iter().map(line).collect(),
        }
    }
}

impl CellRecord {
    /// The stages of the cell in order, each with its time; empty if they were not recorded.
    pub fn stages(&self) -> Vec<(&str, Nanos)> {
        self.times(Effective::STAGES)
    }

    /// Phases that were repeated at once, each with the time of the passes that are not its sample.
    pub fn other_passes(&self) -> Vec<(&str, Nanos)> {
        self.times(Effective::PASSES)
    }

    fn times(&self, source: &str) -> Vec<(&str, Nanos)> {
        let effective = self.effective.iter().filter(|one| one.source == source);
        let lines = effective.flat_map(|one| one.text.lines());
        lines
            .filter_map(|line| {
                let (time, name) = line.split_once(' ')?;
                Some((name, Nanos(time.parse().ok()?)))
            })
            .collect()
    }
}

/// The kernel in the description of a guest, with its build, and without the rest.
pub fn kernel_of_guest(about: &str) -> &str {
    let mut commas = about.match_indices(", ");
    let end = commas.nth(1).map_or(about.len(), |(at, _)| at);
    &about[..end]
}
