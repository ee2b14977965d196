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
    /// It is as it was before it was last changed.
    Stale,
    /// Its bytes are none that were ever written to it.
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

/// What became of what was acknowledged.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Judgement {
    /// Files that were looked at: those that stand, and those that were removed.
    pub files: u64,
    /// How many were lost, by how.
    pub lost: BTreeMap<Loss, u64>,
    /// Messages about the first of them.
    #[serde(alias = "told")]
    pub messages: Vec<String>,
}

impl Judgement {
    /// The number of lost files.
    pub fn losses(&self) -> u64 {
        self.lost.values().sum()
    }
}

/// How a file system came back.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Recovery {
    /// From the request to mount it until it was mounted: what its own programs do before each mount
    /// after a crash, and the repair where there was one, included.
    pub took_ns: Nanos,
    /// What had to correct it before it could be mounted: its checker, where each boot runs that.
    pub corrected_by: Option<String>,
    /// Why it could not be mounted even so, and had to be repaired first.
    pub refused: Option<String>,
    /// Why it could not be mounted at all.
    pub beyond_repair: Option<String>,
    /// What became of what was acknowledged; none where it could not be mounted.
    pub judgement: Option<Judgement>,
    /// The same before its checker ran, if the design requires a check and the kernel mounts
    /// without one.
    #[serde(alias = "as_left")]
    pub before_check: Option<Judgement>,
    /// Whether its checker found nothing, after mount and unmount; none where it has none.
    pub clean: Option<bool>,
    /// What the checker found.
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

/// What a model disk lost with its power, and its requests until then.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CacheLoss {
    /// Writes that it had acknowledged and that are gone.
    pub lost: u64,
    /// Acknowledged, and on the medium in part.
    pub torn: u64,
    /// Acknowledged, not on the medium yet, and there all the same.
    pub landed: u64,
    /// In flight: not acknowledged.
    #[serde(alias = "under_way")]
    pub in_flight: u64,
    /// Sectors of acknowledged writes that are not on the medium.
    pub sectors_lost: u64,
    /// The digest of all requests until then, and of their moments.
    pub digest: String,
}

/// One power cut.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PowerCut {
    /// The contender, by its label.
    pub contender: String,
    /// Its number among the power cuts of the contender, from 1.
    pub number: u32,
    /// The seed of what was written and of the moment.
    pub seed: u64,
    /// What the guest that wrote reported of itself, its kernel first.
    #[serde(default)]
    pub guest: String,
    /// How long it had been written to.
    pub after_ns: Nanos,
    /// How many operations had been acknowledged.
    pub acknowledged: u64,
    /// What its model disks lost; none where a disk keeps all that it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<CacheLoss>,
    /// How it came back.
    pub recovery: Recovery,
    /// The images after the power cut, kept where the file system did not recover whole.
    pub images: Vec<PathBuf>,
}
