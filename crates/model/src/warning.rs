//! Warnings: information that a reader needs with a figure, each with advice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A warning on a sample, a cell or a run.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Warning {
    /// Its kind.
    pub kind: WarningKind,
    /// The observation, with its figures.
    pub message: String,
    /// The remedy.
    pub advice: String,
}

/// The kinds of warnings.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// A recording lacks operations, so that its replay does less than the recorded programs.
    IncompleteRecording,
    /// A replay returned other results than its recording.
    Divergence,
    /// Virtual time does not count the processor time of a program that serves the file system.
    NotCounted,
    /// A daemon that frees space of the file system does not run: its work is in no figure.
    NoCleaner,
    /// `fsync` and `syncfs` returned, and no flush had made anything durable.
    NotDurable,
    /// The settings of an application give up durability.
    GivenUp,
    /// The phase was too short for its clock or for the scheduler.
    TooShort,
    /// A time limit ended the phase before all its work was done: its time is that of the limit.
    TimeLimit,
    /// The state of the caches could not be proven.
    CacheUnproven,
    /// A cold phase did not read its data from the device.
    NotFromDevice,
    /// Fewer bytes reached the device than were written (reflink, compression, zero detection).
    FreeCopy,
    /// Deferred work was still in progress when the wait for it was over.
    NotQuiet,
    /// Another program used the device or the machine.
    BackgroundLoad,
    /// Another measurement may have run at the same time.
    NotLocked,
    /// A program under test could write outside of the contender.
    NotConfined,
    /// The cell failed first, and was measured later than its block.
    Retried,
    /// The hypervisor took processor time.
    Steal,
    /// The processor's speed may change during the run.
    Frequency,
    /// Figures of one contender drift over the blocks.
    Drift,
    /// One figure is far from the others.
    Outlier,
    /// Too few repeats, or too wide a spread, to separate contenders.
    Imprecise,
    /// The distribution of the figures of one contender has several modes.
    Multimodal,
    /// Successive repeats resemble each other.
    Dependent,
    /// The first block is slower than all others.
    WarmUp,
    /// The dataset is smaller than a cache that could not be emptied.
    SmallerThanCache,
    /// An entry of a real tree was left out or changed.
    Entry,
    /// The device is memory, or its cache hides the disk.
    Device,
    /// Something could not be observed: permission or kernel is missing.
    Unobserved,
}

impl WarningKind {
    /// The stored and displayed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::IncompleteRecording => "incomplete-recording",
            Self::Divergence => "divergence",
            Self::NotCounted => "not-counted",
            Self::NoCleaner => "no-cleaner",
            Self::NotDurable => "not-durable",
            Self::GivenUp => "given-up",
            Self::TooShort => "too-short",
            Self::TimeLimit => "time-limit",
            Self::CacheUnproven => "cache-unproven",
            Self::NotFromDevice => "not-from-device",
            Self::FreeCopy => "free-copy",
            Self::NotQuiet => "not-quiet",
            Self::BackgroundLoad => "background-load",
            Self::NotLocked => "not-locked",
            Self::NotConfined => "not-confined",
            Self::Retried => "retried",
            Self::Steal => "steal",
            Self::Frequency => "frequency",
            Self::Drift => "drift",
            Self::Outlier => "outlier",
            Self::Imprecise => "imprecise",
            Self::Multimodal => "multimodal",
            Self::Dependent => "dependent",
            Self::WarmUp => "warm-up",
            Self::SmallerThanCache => "smaller-than-cache",
            Self::Entry => "entry",
            Self::Device => "device",
            Self::Unobserved => "unobserved",
        }
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Warning {
    /// A warning with its advice.
    pub fn new(kind: WarningKind, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            advice: advice.into(),
        }
    }
}
