//! A series of power cuts as stored: one power cut of each contender, then the next of each.

use crate::contender::Contender;
use crate::lab::GuestSize;
use crate::model_disk::ModelDisk;
use crate::names::short_hash;
use crate::power_cut::PowerCut;
use crate::provenance::Provenance;
use crate::result::StopReason;
use crate::shard::Shard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A series with its power cuts.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Series {
    /// The version of this structure, as JSON carries it.
    #[schemars(extend("const" = Series::SCHEMA))]
    pub schema: u32,
    /// Its settings and its machine.
    pub info: SeriesInfo,
    /// The recorded power cuts, in order of execution.
    #[serde(rename = "cuts")]
    pub power_cuts: Vec<PowerCut>,
}

/// A series without its power cuts.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SeriesInfo {
    /// Its name, like that of a run.
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended, if it did.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it did not.
    pub stop: Option<StopReason>,
    /// The tested contenders, each with a label of its own.
    pub contenders: Vec<Contender>,
    /// The planned number of power cuts of each contender.
    #[serde(rename = "cuts_planned")]
    pub power_cuts_planned: u32,
    /// The part of the series that this one executes; none if it executes all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The seed of the first power cut of each contender; the next one has the next seed.
    pub seed: u64,
    /// The size of its guests.
    pub guest: GuestSize,
    /// The model disk of its guests in virtual time; `None` if their disks keep all writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<ModelDisk>,
    /// The activities of its guests: the text of their file. None if the seed has the operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activities: Option<String>,
    /// The directory of the images. Those with losses are kept there.
    pub work_dir: PathBuf,
    /// The machine, its devices and programs.
    pub provenance: Provenance,
    /// The command line that began it.
    pub command_line: Vec<String>,
}

impl SeriesInfo {
    /// How many power cuts it executes.
    pub fn power_cuts(&self) -> u64 {
        let all = u64::from(self.power_cuts_planned) * self.contenders.len() as u64;
        self.shard.map_or(all, |shard| shard.share(all))
    }

    /// The place of a power cut in the order of execution: the first one of each contender, then
    /// the second one of each. None if it is not part of the series.
    pub fn place(&self, power_cut: &PowerCut) -> Option<u32> {
        let mut contenders = self.contenders.iter();
        let contender = contenders.position(|one| one.label == power_cut.contender)?;
        let contenders = u32::try_from(self.contenders.len()).ok()?;
        let before = power_cut.number.checked_sub(1)?.checked_mul(contenders)?;
        before.checked_add(u32::try_from(contender).ok()?)
    }

    /// The name of what its shards have in common: series with the same name test the same.
    pub fn hash(&self) -> String {
        let Self {
            contenders,
            power_cuts_planned,
            seed,
            guest,
            disk,
            activities,
            ..
        } = self;
        let tested = (contenders, power_cuts_planned, seed, guest, disk);
        let text = match activities {
            None => serde_json::to_string(&tested),
            Some(text) => serde_json::to_string(&(tested, text)),
        };
        // Plain data: serialisation cannot fail.
        short_hash(&text.unwrap_or_default())
    }
}

impl Series {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 2;

    /// The name of a series in its id, where a run has its suite.
    pub const NAME: &'static str = "crash";
}
