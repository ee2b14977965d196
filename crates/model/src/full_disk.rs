//! What an ordinary user can do on a full file system, and what is lost there.

use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that a user does while the file system is full. Each is followed by fsync of its file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum FullAction {
    /// Overwrite 64 scattered blocks of a database in place.
    Overwrite,
    /// Append 256 bytes to a log whose last block has room for them.
    Append,
    /// Rename a file.
    Rename,
    /// Change the mode of a file.
    Chmod,
    /// Create an empty file.
    Create,
    /// Save 16 KiB under a new name, and rename it over the file.
    SaveByRename,
    /// Truncate a file to nothing, and write its 16 KiB again.
    SaveInPlace,
    /// Delete files: the first of [`FullDisk::DELETED`].
    Delete,
}

impl FullAction {
    /// All of them, in the order in which they are done.
    pub const ALL: [Self; 8] = [
        Self::Overwrite,
        Self::Append,
        Self::Rename,
        Self::Chmod,
        Self::Create,
        Self::SaveByRename,
        Self::SaveInPlace,
        Self::Delete,
    ];

    /// What the user does.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite in place",
            Self::Append => "append to a log",
            Self::Rename => "rename",
            Self::Chmod => "change a mode",
            Self::Create => "create an empty file",
            Self::SaveByRename => "save by rename",
            Self::SaveInPlace => "save in place",
            Self::Delete => "delete files",
        }
    }
}

impl fmt::Display for FullAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What came of an action on a full file system.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ActionOutcome {
    /// What the user did.
    pub action: FullAction,
    /// The name of the first error; none if it succeeded.
    pub error: Option<String>,
    /// Whether the file has neither its old nor its new content although an error was reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content_gone: bool,
}

/// The speed of filling, from a share of what was stored at the end to the next one of
/// [`FullDisk::BANDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FillSpeed {
    /// Per cent of what was stored at the end.
    pub from_percent: u32,
    /// Bytes stored.
    pub bytes: Bytes,
    /// The time for them, with sync.
    pub ns: Nanos,
}

/// What saving small files takes while a share of the space is used.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FillLevel {
    /// Per cent of what was available when it was new, or of the quota, by statvfs: one of
    /// [`FullDisk::LEVELS`].
    pub percent: u32,
    /// The name of the first error; none if all were saved.
    pub error: Option<String>,
    /// The time of all saves: each under a new name with fsync, renamed over the file, with fsync of the
    /// directory.
    pub ns: Nanos,
}

/// What a quota is charged with, and what the files of its user have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Accounting {
    /// The space with which the quota is charged.
    pub charged: Bytes,
    /// The space of the files.
    pub used: Bytes,
    /// The files and directories with which the quota is charged.
    pub charged_files: u64,
    /// The files and directories.
    pub used_files: u64,
}

impl Accounting {
    /// Whether the quota is charged with what there is.
    pub fn is_right(&self) -> bool {
        (self.charged, self.charged_files) == (self.used, self.used_files)
    }
}

/// A quota that was used, before and after its file system stopped without a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QuotaUse {
    /// The accounting before; none if the kernel did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Accounting>,
    /// The accounting after the recovery; none if the kernel did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Accounting>,
    /// The error of a user who then wrote more than the quota; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_with: Option<String>,
}

/// The life of a file system, or of a quota, that an ordinary user fills, uses, and empties.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FullDisk {
    /// The seed of sizes, contents and places.
    pub seed: u64,
    /// The size of all disks, or the quota.
    pub capacity: Bytes,
    /// What a user could write when it was new (statvfs).
    pub available: Bytes,
    /// The bytes of files when no further one of 4 KiB could be stored.
    pub stored: Bytes,
    /// What a user could still write then, by statvfs.
    pub said_available: Bytes,
    /// The system call that first reported that it is full.
    pub refused_by: String,
    /// Its error.
    pub refused_with: String,
    /// The speed of filling.
    pub speed: Vec<FillSpeed>,
    /// What saves take before it is full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<FillLevel>,
    /// Why it cannot be mounted after it was filled, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmountable: Option<String>,
    /// What the user did then.
    pub actions: Vec<ActionOutcome>,
    /// The share of what was stored that was then deleted, per cent: the first of
    /// [`FullDisk::DELETED`] with which half of it could be written again, or the last.
    pub deleted_percent: u32,
    /// How many seconds that could not be written, with a sync in each; none if not within 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_after_seconds: Option<u32>,
    /// The files that are damaged or gone although no system call reported an error after them.
    pub lost: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_first: Option<String>,
    /// The files that are damaged or gone after an error of a later sync.
    pub unsynced: u64,
    /// The quota after its use; none if the disks were filled, or that could not be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaUse>,
    /// Whether the checker found nothing; none if there is none, or it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// The complaint of the checker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complaint: Option<String>,
    /// What a user could write after all files were deleted; none if they could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Bytes>,
    /// The first warnings of the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<String>,
    /// How the guest ended, if the kernel crashed or hung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crashed: Option<String>,
}

impl FullDisk {
    /// Where the bands of [`FillSpeed`] begin: per cent of what was stored at the end.
    pub const BANDS: [u32; 5] = [0, 50, 90, 95, 99];

    /// The shares of what is stored that are deleted until there is room, per cent.
    pub const DELETED: [u32; 5] = [1, 2, 5, 10, 20];

    /// What came of an action; none if it was not tried.
    pub fn outcome(&self, action: FullAction) -> Option<&ActionOutcome> {
        self.actions.iter().find(|one| one.action == action)
    }

    /// Whether its files were compared at the end.
    pub fn is_verified(&self) -> bool {
        self.crashed.is_none() && self.unmountable.is_none()
    }

    /// Whether data are lost or out of reach, nothing can be deleted, or the kernel stopped.
    pub fn is_loss(&self) -> bool {
        let delete = self.outcome(FullAction::Delete);
        self.crashed.is_some()
            || self.unmountable.is_some()
            || self.lost > 0
            || delete.is_some_and(|one| one.error.is_some())
    }

    /// The shares of the space at which small files are saved before it is full, per cent.
    pub const LEVELS: [u32; 3] = [0, 95, 99];

    /// What saves take while this share is used.
    pub fn level(&self, percent: u32) -> Option<&FillLevel> {
        self.levels.iter().find(|one| one.percent == percent)
    }

    /// The time of these saves as a multiple of that when it was new.
    pub fn slower_saves(&self, percent: u32) -> Option<f64> {
        let ns = |percent| Some(self.level(percent)?.ns.0 as f64);
        let [new, ..] = Self::LEVELS;
        Some(ns(percent)? / ns(new).filter(|ns| *ns > 0.0)?)
    }

    /// The time for a byte from this per cent on, to the next band, as a multiple of that in the first half.
    pub fn slowdown(&self, from: u32) -> Option<f64> {
        let cost = |from: u32| {
            let band = self.speed.iter().find(|band| band.from_percent == from)?;
            (band.bytes.0 > 0).then(|| band.ns.0 as f64 / band.bytes.0 as f64)
        };
        let [first, ..] = Self::BANDS;
        Some(cost(from)? / cost(first)?)
    }
}
