//! Reruns: published comparisons done again on the disks of their time, as data: who runs, on what,
//! in how much memory, what is not as it was, and what is known of figures that came out otherwise.
//!
//! A rerun is a file in `data/reruns/` that bears the name of its table, and a line in [`ALL`]. How
//! a plan is made of it is not said here; what a report tells of it is (`told`).

mod ablation;
pub(crate) mod measure;
mod read;
#[cfg(test)]
mod sound_tests;

pub use ablation::{AblationSummary, OnDisk, Part, Ran, Row};
pub use read::RerunError;

use crate::published::{PublishedError, Table};
use fsdyno_model::{Bytes, Plan};
use serde::{Deserialize, Serialize};

/// A rerun as it comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rerun {
    /// The name of its table, as typed.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
}

macro_rules! reruns {
    ($($name:literal),+ $(,)?) => {
        &[$(Rerun {
            name: $name,
            text: include_str!(concat!("../../data/reruns/", $name, ".toml")),
        }),+]
    };
}

/// All reruns, in the order they are listed: oldest first.
pub static ALL: &[Rerun] = reruns![
    "bonnie-2001",
    "mongo-2001",
    "ufs-async-2004",
    "atime-2007",
    "zfs-two-disks-2008",
    "btrfs-2008",
];

/// What stands before the name of a table in the name of a plan that reruns it.
const PREFIX: &str = "rerun-";

/// The rerun of that table.
pub fn find(name: &str) -> Option<&'static Rerun> {
    ALL.iter().find(|rerun| rerun.name == name)
}

/// The rerun that a plan is of, and the inquiry of it where it is one.
pub fn of_plan(plan: &Plan) -> Option<(&'static Rerun, Option<&str>)> {
    let name = plan.name.strip_prefix(PREFIX)?;
    let (name, inquiry) = match name.split_once('+') {
        Some((name, inquiry)) => (name, Some(inquiry)),
        None => (name, None),
    };
    Some((find(name)?, inquiry))
}

impl Rerun {
    /// What a plan of it is called; with an inquiry, what that is.
    pub fn plan_name(&self, inquiry: Option<&str>) -> String {
        let name = self.name;
        inquiry.map_or_else(
            || format!("{PREFIX}{name}"),
            |inquiry| format!("{PREFIX}{name}+{inquiry}"),
        )
    }

    /// Its table.
    pub fn table(&self) -> Result<Table, PublishedError> {
        let table = crate::published::find(self.name);
        table
            .ok_or(PublishedError::None { name: self.name })?
            .read()
    }

    /// Understands it, beside its table.
    pub fn read(&self, table: &Table) -> Result<Setting, RerunError> {
        read::setting(self, table)
    }
}

/// What is done again, and on what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The name of its table.
    pub name: String,
    /// The profile of the disk.
    pub disk: String,
    /// How much of each disk is used, from its beginning.
    pub partition: Bytes,
    /// The memory that the machine of then had.
    pub memory: Bytes,
    /// Whether that was published, or is a guess.
    pub memory_known: bool,
    /// What the guest is given beside it, where it is more than [`ITSELF`].
    pub beside: Option<Bytes>,
    /// Who runs, in short form; the first is the baseline.
    pub contenders: Vec<String>,
    /// What is not as it was, and why.
    pub differs: Vec<String>,
    /// Who of the table does not run.
    pub left_out: Vec<LeftOut>,
    /// What is known of figures that come out otherwise.
    pub because: Vec<Known>,
    /// A question that is looked into beside.
    pub inquiry: Option<Ablation>,
}

/// What a guest of today takes of its memory before any file of the workload lies in it: kernel,
/// libraries, and fsdyno itself. Below it, no cell comes to its end.
pub const ITSELF: Bytes = Bytes(80 << 20);

impl Setting {
    /// The memory of a guest that works on datasets of that size: what it takes itself, and of the
    /// memory of then the part that the datasets are of those of then. With all of it, smaller
    /// datasets would fit the page cache and nobody would wait for a disk.
    pub fn guest_memory(&self, scale: f64) -> Bytes {
        const STEP: f64 = (1 << 20) as f64;
        let itself = self.beside.unwrap_or(ITSELF).max(ITSELF);
        let part = self.memory.0 as f64 * scale;
        // In whole megabytes; a float is exact far beyond the memory of any machine.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a scale is above 0 and at most 1000"
        )]
        let whole = ((itself.0 as f64 + part) / STEP).round() as u64;
        Bytes(whole << 20)
    }

    /// The disk, in words.
    pub(crate) fn disk_in_words(&self) -> String {
        format!("{} (model), the first {} of it", self.disk, self.partition)
    }

    /// The memory of then and of the guests of a plan, in words.
    pub(crate) fn memory_in_words(&self, plan: &Plan) -> String {
        let itself = self.beside.unwrap_or(ITSELF).max(ITSELF);
        let known = if self.memory_known {
            ""
        } else {
            " (a guess: it was not published)"
        };
        let now = plan.guest.clone().unwrap_or_default().memory;
        let both = format!("{} then{known}; {now} now", self.memory);
        if now != self.guest_memory(plan.scale) {
            return both;
        }
        let part = if (plan.scale - 1.0).abs() < 1e-9 {
            "as much as then".to_owned()
        } else {
            format!(
                "{} of that, as of the datasets, so that no more of them fits the page cache",
                plan.scale
            )
        };
        format!("{both}: {part}, and {itself} that a guest of today takes itself")
    }
}

/// A contender of the table that does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its place in the table.
    pub contender: usize,
    /// Why.
    pub why: String,
}

/// What is known of a departure from what was published: it is told where the departure is there,
/// and with what the run measured of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Known {
    /// The conclusion that no longer holds, by place; or
    pub conclusion: Option<usize>,
    /// the contenders whose figures are of another order, and
    pub contenders: Vec<usize>,
    /// the lines in which they are.
    pub lines: Vec<usize>,
    /// What brings it about.
    pub says: String,
    /// The figures of this run that show it.
    pub figures: Vec<Shown>,
}

/// A figure that shows something: of a contender, in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The contender, by place in the table.
    pub contender: usize,
    /// The line, by place in the table.
    pub line: usize,
    /// What of the sample.
    pub of: Measure,
}

/// A question that is looked into beside: the same work by contenders that differ in one thing, on
/// disks that differ in one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ablation {
    /// What it is called: a word.
    pub name: String,
    /// The question.
    pub asks: String,
    /// The workloads of the suite that it takes.
    pub workloads: Vec<String>,
    /// Who runs, in short form.
    pub contenders: Vec<Asked>,
    /// The contender and the lines of the table that its figures stand beside.
    pub beside: usize,
    /// What can be read off, told below the figures.
    pub read: Vec<String>,
}

/// A contender of an inquiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// In short form.
    pub contender: String,
    /// What it stands for.
    pub is: String,
}

/// A figure of a sample that tells where its time went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Flush requests.
    Flushes,
    /// Read requests.
    Reads,
    /// Write requests.
    Writes,
    /// Bytes read by bytes of file data.
    ReadAmplification,
    /// Bytes written by bytes of file data.
    WriteAmplification,
    /// Kilobytes of a read request in the mean.
    ReadSize,
    /// Kilobytes of a write request in the mean.
    WriteSize,
    /// Seconds that requests waited for flushes.
    FlushWait,
    /// The part of the time of requests that went by moving the arm and turning the disk.
    Positioning,
    /// Megabytes from the end of a request to the next, in the mean of those that jumped.
    SeekDistance,
    /// Seconds to return.
    Return,
    /// Seconds until durable.
    Durable,
    /// Megabytes of file data a second, to return.
    Rate,
}
