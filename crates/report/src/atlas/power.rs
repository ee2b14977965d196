//! The power cuts of an atlas.

use super::{Atlas, Head};
use fsdyno_model::{
    Bytes, Contender, DiskTime, GuestSize, ModelDisk, PowerCut, Provenance, Recovery, Series,
    SeriesInfo, StopReason,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The largest numbers of contenders, of power cuts of each, and of activities.
const CONTENDERS: usize = 64;
const POWER_CUTS: u32 = 1000;
const ACTIVITIES: usize = 100;

/// Power cuts during usual work (`fsdyno lose power`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtlasPower {
    /// The seed of the first power cut of each contender.
    pub seed: u64,
    /// The number of power cuts of each contender.
    pub draws: u32,
    /// The profile of the model disk.
    pub disk: String,
    /// The contenders.
    pub contenders: Vec<Contender>,
    /// The power cuts, without messages and images.
    pub power_cuts: Vec<PowerCut>,
}

impl AtlasPower {
    /// Those of a complete series on a model disk.
    pub fn of(series: &Series) -> Self {
        let disk = series.info.disk.as_ref();
        Self {
            seed: series.info.seed,
            draws: series.info.power_cuts_planned,
            disk: disk.map(|disk| disk.profile.clone()).unwrap_or_default(),
            contenders: series.info.contenders.clone(),
            power_cuts: series.power_cuts.iter().map(without_messages).collect(),
        }
    }

    /// The power cuts of a contender, in their order.
    pub fn of_contender<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a PowerCut> {
        let all = self.power_cuts.iter();
        all.filter(move |one| one.contender == label)
    }

    /// The series, as a store would have it.
    pub fn series(&self, head: &Head) -> Series {
        Series {
            schema: Series::SCHEMA,
            info: SeriesInfo {
                id: "atlas".to_owned(),
                started_unix_ns: head.measured_unix_ns,
                ended_unix_ns: Some(head.measured_unix_ns),
                stop: Some(StopReason::Complete),
                contenders: self.contenders.clone(),
                power_cuts_planned: self.draws,
                shard: None,
                seed: self.seed,
                guest: GuestSize {
                    memory: Bytes(0),
                    kernel: None,
                    processors: None,
                    image: None,
                },
                disk: Some(ModelDisk {
                    profile: self.disk.clone(),
                    text: String::new(),
                    faults: None,
                    time: DiskTime::Virtual,
                }),
                activities: Some(String::new()),
                work_dir: PathBuf::new(),
                provenance: Provenance::default(),
                command_line: Vec::new(),
            },
            power_cuts: self.power_cuts.clone(),
        }
    }

    /// An error if a report cannot rely on it.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.contenders.len() > CONTENDERS || self.draws > POWER_CUTS {
            return Err("it has too many power cuts".to_owned());
        }
        let labels = self.contenders.iter().map(|one| &one.label);
        let planned =
            (1..=self.draws).flat_map(|number| labels.clone().map(move |label| (number, label)));
        let has = self
            .power_cuts
            .iter()
            .map(|one| (one.number, &one.contender));
        if !planned.eq(has) {
            return Err("its power cuts are not those of its contenders".to_owned());
        }
        let works = self.power_cuts.iter().filter_map(|one| one.work.as_ref());
        if works
            .map(Vec::len)
            .any(|activities| activities > ACTIVITIES)
        {
            return Err("a power cut has too many activities".to_owned());
        }
        Ok(())
    }
}

/// A power cut without what only its own series shows.
fn without_messages(power_cut: &PowerCut) -> PowerCut {
    let mut power_cut = power_cut.clone();
    power_cut.images.clear();
    let Recovery {
        judgement,
        before_check,
        found,
        ..
    } = &mut power_cut.recovery;
    *found = None;
    for judgement in [judgement, before_check].into_iter().flatten() {
        judgement.messages.clear();
    }
    for activity in power_cut.work.iter_mut().flatten() {
        activity.first = None;
    }
    power_cut
}

impl Atlas {
    /// The power cuts; none if the atlas has none.
    pub fn power_cuts(&self) -> Option<Series> {
        self.power.as_ref().map(|power| power.series(&self.head))
    }
}
