//! The plan file of an atlas: works on model disks at several sizes, each a run in virtual time.

use crate::options::RunOptions;
use crate::resolve::suite;
use fsdyno_model::names::short_hash;
use fsdyno_model::{LabChoice, suggestion};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The name of the plan that is shipped.
pub const DEFAULT: &str = "default";

/// The plan that is shipped.
pub const PLAN: &str = include_str!("../data/atlas.toml");

/// The name of all runs of atlases in a store.
pub const RUN: &str = "atlas";

/// A plan file of an atlas.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtlasPlan {
    /// What the atlas compares, in one line.
    pub title: String,
    /// The scale of size 1.
    scale: f64,
    /// The number of draws.
    draws: u32,
    /// The tests with faulty disks.
    #[serde(default)]
    pub faults: Option<TestsPlan>,
    /// The power cuts during usual work.
    #[serde(default)]
    pub power: Option<TestsPlan>,
    #[serde(rename = "part")]
    parts: Vec<Part>,
    /// The hash of the file.
    #[serde(skip)]
    pub hash: String,
}

/// The tests with faulty disks, or the power cuts, of an atlas (`fsdyno lose`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestsPlan {
    /// The contenders in short form.
    pub contenders: Vec<String>,
    /// The most faults of each kind in blocks of each role, or the power cuts of each contender.
    pub draws: NonZeroU32,
}

/// A part of an atlas: every work on every disk at every size, with all contenders.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    contenders: Vec<String>,
    works: Vec<String>,
    disks: Vec<String>,
    sizes: Vec<u32>,
}

/// A work on a disk at a size: one run.
#[derive(Debug, Clone, PartialEq)]
pub struct AtlasQuestion {
    /// The suite.
    pub work: String,
    /// The profile of the model disk.
    pub disk: String,
    /// The size, as a multiple of the smallest one.
    pub size: u32,
    /// The scale of the generated datasets at this size.
    pub scale: f64,
    /// The contenders in short form.
    pub contenders: Vec<String>,
    /// The number of draws.
    pub draws: u32,
}

impl AtlasPlan {
    /// Reads the text of a plan file. An error is a message.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut plan: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        plan.hash = short_hash(text);
        if !(plan.scale > 0.0 && plan.scale.is_finite()) {
            return Err(format!("scale = {}: it must be above 0", plan.scale));
        }
        if plan.draws == 0 {
            return Err("draws = 0: it must be 1 or more; verdicts need 3".to_owned());
        }
        let mut names = BTreeSet::new();
        for question in plan.questions() {
            let known = suite::ALL.iter().map(|one| one.name);
            if !known.clone().any(|name| name == question.work) {
                let hint = suggestion(&question.work, known);
                return Err(format!("work {}: it is no suite; {hint}", question.work));
            }
            if question.size == 0 {
                return Err("sizes: 0 is no size. The smallest is 1".to_owned());
            }
            if !names.insert(question.name()) {
                return Err(format!("two parts have {}", question.name()));
            }
        }
        if names.is_empty() {
            return Err("it has no works, disks or sizes".to_owned());
        }
        Ok(plan)
    }

    /// Its questions, in the order of the file.
    pub fn questions(&self) -> Vec<AtlasQuestion> {
        let mut all = Vec::new();
        for part in &self.parts {
            for work in &part.works {
                for disk in &part.disks {
                    all.extend(part.sizes.iter().map(|size| AtlasQuestion {
                        work: work.clone(),
                        disk: disk.clone(),
                        size: *size,
                        scale: self.scale * f64::from(*size),
                        contenders: part.contenders.clone(),
                        draws: self.draws,
                    }));
                }
            }
        }
        all
    }
}

impl AtlasQuestion {
    /// Its name: `mail/nvme/1`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.work, self.disk, self.size)
    }

    /// The settings of its run.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            suite: Some(self.work.clone()),
            name: Some(RUN.to_owned()),
            contenders: self.contenders.iter().cloned().map(Into::into).collect(),
            scale: Some(self.scale),
            lab: Some(LabChoice::Uml),
            disk: Some(PathBuf::from(&self.disk)),
            repeats: Some(self.draws),
            ..RunOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_plan_takes_less_than_a_night() {
        let plan = AtlasPlan::read(PLAN).unwrap();
        let cells = plan
            .questions()
            .iter()
            .map(|one| one.contenders.len() as u64 * u64::from(one.draws))
            .sum::<u64>();
        // Some seconds each, on two processors.
        assert!(cells <= 5_000, "{cells}");
    }

    #[test]
    fn a_wrong_plan_gets_one_clear_message() {
        let plan = |more: &str| {
            AtlasPlan::read(&format!(
                "title = \"a\"\nscale = 0.1\ndraws = 3\n[[part]]\ncontenders = [\"ext4\"]\n\
                 works = [\"mail\"]\ndisks = [\"nvme\"]\n{more}"
            ))
        };
        let questions = plan("sizes = [1, 4]").unwrap().questions();
        let names: Vec<String> = questions.iter().map(AtlasQuestion::name).collect();
        assert_eq!(names, ["mail/nvme/1", "mail/nvme/4"]);
        assert_eq!(questions[1].options().scale, Some(0.4));
        for (more, message) in [
            ("sizes = [1, 1]", "two parts have mail/nvme/1"),
            ("sizes = [0]", "no size"),
            ("sizes = []", "no works, disks or sizes"),
            ("sizes = [1]\nsize = 1", "unknown field `size`"),
            (
                "sizes = [1]\n[[part]]\ncontenders = []\nworks = [\"mial\"]\ndisks = [\"a\"]\nsizes = [1]",
                "mail",
            ),
        ] {
            let error = plan(more).unwrap_err();
            assert!(error.contains(message), "{more}: {error}");
        }
    }
}
