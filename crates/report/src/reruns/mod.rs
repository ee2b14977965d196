//! Reruns: published comparisons repeated on models of the original disks, as data. A rerun has
//! contenders, disk, memory, differences from the original setup, and explanations of different
//! figures.
//!
//! A rerun is a file in `data/reruns/` with the name of its table. Another module builds the plan.
//! `published_comparison` reports the results.

mod ablation;
pub(crate) mod measure;
mod read;
#[cfg(test)]
mod sound_tests;

pub use ablation::{AblationSummary, OnDisk, Part, Ran, Row, SCREENS};
pub use read::RerunError;

use crate::published::{self, Published, Table};
use crate::terms;
use fsdyno_cpu::{Prices, Profile};
use fsdyno_model::{Bytes, Plan};
use serde::Deserialize;

/// The prefix of the name of a rerun's plan; the name of the table follows.
const PREFIX: &str = "rerun-";

/// The table that a plan reruns, and the name of the ablation if it is one.
pub fn of_plan(plan: &Plan) -> Option<(&'static Published, Option<&str>)> {
    let name = plan.name.strip_prefix(PREFIX)?;
    let (name, ablation) = match name.split_once('+') {
        Some((name, ablation)) => (name, Some(ablation)),
        None => (name, None),
    };
    Some((published::find(name)?, ablation))
}

impl Published {
    /// The name of the plan of its rerun; with an ablation, the name of that plan.
    pub fn rerun_name(&self, ablation: Option<&str>) -> String {
        let name = self.name;
        ablation.map_or_else(
            || format!("{PREFIX}{name}"),
            |ablation| format!("{PREFIX}{name}+{ablation}"),
        )
    }

    /// Parses its rerun, and checks that the table has everything that it names.
    pub fn read_rerun(&self, table: &Table) -> Result<Setting, RerunError> {
        read::setting(self, table)
    }
}

/// The settings of a rerun, as in its file. Contenders, lines and conclusions of the table are
/// named by their labels.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The name of its table.
    #[serde(skip)]
    pub name: String,
    /// The profile of the disk.
    pub disk: String,
    /// The profile of the processor: the one of the publication, or the nearest.
    pub cpu: String,
    /// The used part of each disk, from its start.
    #[serde(deserialize_with = "read::size")]
    pub partition: Bytes,
    /// The memory of the original machine.
    #[serde(deserialize_with = "read::size")]
    pub memory: Bytes,
    /// Whether the memory is an estimate, because it was not published.
    #[serde(default)]
    pub memory_is_a_guess: bool,
    /// The additional memory of the guest.
    #[serde(default = "itself", deserialize_with = "read::size")]
    pub own_memory: Bytes,
    /// The contenders in short form; the first is the baseline.
    pub contenders: Vec<String>,
    /// The differences from the original setup, with reasons.
    #[serde(default)]
    pub differs: Vec<String>,
    /// The contenders of the table that do not run.
    #[serde(default, rename = "left-out")]
    pub left_out: Vec<LeftOut>,
    /// The explanations of figures that differ from the published ones.
    #[serde(default, rename = "cause")]
    pub causes: Vec<KnownCause>,
    /// An additional ablation.
    pub ablation: Option<Ablation>,
}

/// The memory of the guest itself, without cached files: kernel, libraries and fsdyno. With less,
/// cells fail.
pub const ITSELF: Bytes = Bytes(80 << 20);

fn itself() -> Bytes {
    ITSELF
}

impl Setting {
    /// The memory of a guest for datasets of this scale: its own need, and the original memory
    /// multiplied by the scale. With all of the original memory, small datasets would fit in the
    /// page cache and not wait for a disk.
    pub fn guest_memory(&self, scale: f64) -> Bytes {
        const STEP: f64 = (1 << 20) as f64;
        let itself = self.own_memory.max(ITSELF);
        let part = self.memory.0 as f64 * scale;
        // Whole mebibytes. A float is exact far beyond the memory of any machine.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a scale is above 0 and at most 1000"
        )]
        let whole = ((itself.0 as f64 + part) / STEP).round() as u64;
        Bytes(whole << 20)
    }

    /// The disk, as text.
    pub(crate) fn disk_text(&self) -> String {
        format!("{} (model), the first {} of it", self.disk, self.partition)
    }

    /// The processor of a plan, as text: its name, its title, and whether it is an estimate.
    pub(crate) fn processor_text(plan: &Plan) -> String {
        let Some(cpu) = &plan.cpu else {
            return "none: computing takes no time (--cpu free)".to_owned();
        };
        let profile = Profile::parse(&cpu.profile, &cpu.text);
        let about = profile.map_or_else(
            |_| String::new(),
            |profile| {
                let estimated = profile.estimated.len() == Prices::COUNT;
                let estimated = if estimated { ", an estimate" } else { "" };
                format!(": {}{estimated}", terms::printable(&profile.title))
            },
        );
        format!("{} (model){about}", terms::printable(&cpu.profile))
    }

    /// The memory of the original machine and of the guests of a plan, as text.
    pub(crate) fn memory_text(&self, plan: &Plan) -> String {
        let itself = self.own_memory.max(ITSELF);
        let known = if self.memory_is_a_guess {
            " (a guess: it was not published)"
        } else {
            ""
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Its label in the table.
    pub contender: String,
    /// The reason.
    pub why: String,
}

/// An explanation of a difference from the published figures. It is reported if the difference
/// occurs, with the measured figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownCause {
    /// The first words of the conclusion that does not hold. Otherwise, contenders and lines are
    /// given.
    pub conclusion: Option<String>,
    /// The contenders with figures of another order of magnitude.
    #[serde(default)]
    pub contenders: Vec<String>,
    /// The lines with these figures.
    #[serde(default)]
    pub lines: Vec<String>,
    /// The cause.
    pub text: String,
    /// The figures of this run that support it.
    pub figures: Vec<Shown>,
}

/// A figure that supports an explanation: of a contender, in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The label of the contender in the table.
    pub contender: String,
    /// The label of the line.
    pub line: String,
    /// The measure.
    pub of: Measure,
}

/// An ablation: the same work on contenders that differ in one property, on disks that differ in
/// one property.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ablation {
    /// Its name, one word.
    pub name: String,
    /// The question.
    pub question: String,
    /// Its workloads of the suite.
    pub workloads: Vec<String>,
    /// The contenders in short form.
    pub contenders: Vec<AblationContender>,
    /// The contender of the table to which its figures are compared.
    pub reference: String,
    /// The results to report below the figures.
    pub read: Vec<String>,
}

/// A contender of an ablation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AblationContender {
    /// The contender, in short form.
    pub contender: String,
    /// The property that it represents.
    pub is: String,
}

/// A figure of a sample that explains its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Flush requests.
    Flushes,
    /// Read requests.
    Reads,
    /// Write requests.
    Writes,
    /// Bytes read per byte of file data.
    ReadAmplification,
    /// Bytes written per byte of file data.
    WriteAmplification,
    /// The mean size of a read request, KB.
    ReadSize,
    /// The mean size of a write request, KB.
    WriteSize,
    /// The wait of requests for flushes, seconds.
    FlushWait,
    /// The share of the request time spent in seeks and rotation.
    Positioning,
    /// The mean distance of seeks, MB.
    SeekDistance,
    /// Seconds to return.
    Return,
    /// Seconds until durable.
    Durable,
    /// The throughput of file data until return, MB/s.
    Rate,
    /// The share of the time to return that a model processor charged.
    Processor,
    /// The basic blocks of the kernel until return, and the system calls.
    Blocks,
}
