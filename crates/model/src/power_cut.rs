//! A power cut, and how a file system recovered from it.

use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// How something acknowledged was lost.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The file is gone.
    Missing,
    /// It has no bytes, and had some.
    Empty,
    /// It has its content from before the last acknowledged change.
    Stale,
    /// It has bytes that were never written to it.
    Torn,
    /// It was removed, and is back.
    Returned,
    /// It cannot be read.
    Unreadable,
}

impl Loss {
    /// The displayed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Empty => "empty",
            Self::Stale => "stale",
            Self::Torn => "torn",
            Self::Returned => "returned",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The state of the acknowledged files after a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Judgement {
    /// Files that were checked: existing and removed ones.
    pub files: u64,
    /// The number of lost files, by kind of loss.
    pub lost: BTreeMap<Loss, u64>,
    /// Messages about the first lost files.
    pub messages: Vec<String>,
}

impl Judgement {
    /// The number of lost files.
    pub fn losses(&self) -> u64 {
        self.lost.values().sum()
    }
}

/// The recovery of a file system after a power cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Recovery {
    /// The time until it was mounted. It includes programs that run before a mount after a crash,
    /// and a repair.
    pub took_ns: Nanos,
    /// The program that corrected it before the mount: its checker, if each boot runs that; none
    /// otherwise.
    pub corrected_by: Option<String>,
    /// The reason why it could not be mounted before a repair; none if it could.
    pub refused: Option<String>,
    /// The reason why it could not be mounted even after a repair; none if it could.
    pub beyond_repair: Option<String>,
    /// The state of the acknowledged files; none if it could not be mounted.
    pub judgement: Option<Judgement>,
    /// The same before its checker ran, if the design requires a check and the kernel mounts
    /// without one.
    pub before_check: Option<Judgement>,
    /// Whether its checker found nothing after mount and unmount; none without a checker.
    pub clean: Option<bool>,
    /// The messages of the checker.
    pub found: Option<String>,
}

impl Recovery {
    /// Whether it could be mounted without a prior correction. Replay of a journal is not a
    /// correction.
    pub fn is_unaided(&self) -> bool {
        self.judgement.is_some() && self.refused.is_none() && self.corrected_by.is_none()
    }

    /// Whether it recovered as its design promises, with all acknowledged data. A file system
    /// without a journal needs its checker; one with a journal does not.
    pub fn is_whole(&self) -> bool {
        (self.is_unaided() || (self.before_check.is_some() && self.refused.is_none()))
            && self.clean != Some(false)
            && self.judgement.as_ref().is_some_and(|j| j.losses() == 0)
    }
}

/// The acknowledged writes that a model disk lost at a power cut, and its requests until then.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CacheLoss {
    /// Acknowledged writes that are lost.
    pub lost: u64,
    /// Acknowledged writes that are on the medium in part.
    pub torn: u64,
    /// Acknowledged writes that were only in the cache and are on the medium after the power cut.
    pub landed: u64,
    /// Writes in flight, which were not acknowledged.
    pub in_flight: u64,
    /// Sectors of acknowledged writes that are not on the medium.
    pub sectors_lost: u64,
    /// The digest of all requests until then, with their times.
    pub digest: String,
}

/// The work of one activity that a power cut undid. Nothing of it was made durable,
/// unless the [`Judgement`] counts it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WorkLoss {
    /// The activity, by its name.
    pub activity: String,
    /// The time from the oldest change that is lost until the power cut; none if none is lost.
    pub lost_ns: Option<Nanos>,
    /// Files that existed at the power cut.
    pub files: u64,
    /// Files that are gone.
    pub missing: u64,
    /// Files without any byte that had some.
    pub empty: u64,
    /// Other files with zeros where data were, or with bytes that were never written to them.
    pub damaged: u64,
    /// Files that a rename had replaced.
    pub saves: u64,
    /// Of these, files with neither the content before nor after a replacement.
    pub broken_saves: u64,
    /// Deleted names.
    pub deleted: u64,
    /// Deleted names that are back.
    pub returned: u64,
    /// What happened to the first such file.
    pub first: Option<String>,
}

/// One power cut.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PowerCut {
    /// The contender, by its label.
    pub contender: String,
    /// Its number among the power cuts of the contender, from 1.
    pub number: u32,
    /// The seed of the operations and of the time of the power cut.
    pub seed: u64,
    /// The description of the guest that wrote, its kernel first.
    #[serde(default)]
    pub guest: String,
    /// The time from the first acknowledged operation until the power cut.
    pub after_ns: Nanos,
    /// The number of acknowledged operations.
    pub acknowledged: u64,
    /// The losses of its model disks; none if the disk keeps all that it received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<CacheLoss>,
    /// The recovery.
    pub recovery: Recovery,
    /// The lost work of each activity, if the guest performed activities and its file system could be
    /// mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Vec<WorkLoss>>,
    /// The images after the power cut, kept if the file system did not recover completely.
    pub images: Vec<PathBuf>,
}
