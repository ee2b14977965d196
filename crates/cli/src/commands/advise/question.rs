//! The question of an advice. The first run of the advice has it in its plan, so that an interrupted
//! advice resumes from the store alone.

use super::args::AdviseArgs;
use super::disk_file::DiskFile;
use crate::commands::run::check_unchanged;
use crate::exit::CliError;
use fsdyno_model::{CancelToken, Contender, Plan, ResultSet};
use fsdyno_report::advice::{DeviceFit, Dropped};
use fsdyno_store::Store;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Everything that an advice needs to know before its first run.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct AdviceQuestion {
    pub args: AdviseArgs,
    /// The directory to which their paths are relative.
    pub directory: PathBuf,
    /// Whether contenders run in guests, in virtual time.
    pub in_guest: bool,
    pub contenders: Vec<Contender>,
    /// The file systems and contenders that are not measured.
    pub dropped: Vec<Dropped>,
    /// The device to which the model disk was fitted.
    pub fit: Option<DeviceFit>,
}

/// An advice that is recorded in part.
#[derive(Debug)]
pub struct RecordedAdvice {
    /// Its name: that of its first run.
    pub name: String,
    pub question: AdviceQuestion,
    /// Its runs, in the order in which they began.
    pub runs: Vec<ResultSet>,
    /// The model disk of its runs.
    pub disk: Option<DiskFile>,
}

impl RecordedAdvice {
    /// Reads an advice from the store, and changes to the directory of its question. An error if the
    /// user, the machine or the inputs are not those of its first run.
    pub fn read(name: &str, store: &Path, stop: &CancelToken) -> Result<Self, CliError> {
        let store = Store::open_existing_read_only(store)?;
        let name = store.resolve_advice(name)?;
        let runs = store.runs_of_advice(&name)?;
        let first = runs.first().map(|set| &set.run);
        let question = first.and_then(|run| run.plan.advice.as_ref()?.question.as_ref());
        let (Some(first), Some(question)) = (first, question) else {
            return Err(CliError::usage(format!("{name} is no advice")));
        };
        let question: AdviceQuestion = serde_json::from_str(question).map_err(|error| {
            CliError::usage(format!(
                "cannot resume {name}: another version of fsdyno asked it ({error}). Start a new advice."
            ))
        })?;
        std::env::set_current_dir(&question.directory).map_err(|error| {
            CliError::usage(format!(
                "cannot resume {name}: its paths are relative to {}: {error}",
                question.directory.display()
            ))
        })?;
        check_unchanged(first, stop)?;
        let disk = first.plan.disk.as_ref();
        let disk = disk.map(|disk| DiskFile::of(&disk.profile, &disk.text));
        Ok(Self {
            name,
            question,
            disk: disk.transpose()?,
            runs,
        })
    }
}

/// The recorded run of a stage that has this plan; the latest of several.
pub fn recorded<'a>(runs: &'a [ResultSet], stage: &str, plan: &Plan) -> Option<&'a ResultSet> {
    let mut runs = runs_of(runs, stage);
    runs.find(|one| {
        let plan = Plan {
            contents: one.run.plan.contents.clone(),
            ..plan.clone()
        };
        plan.hash() == one.run.plan_hash
    })
}

/// The recorded runs of a stage, the latest first.
pub fn runs_of<'a>(runs: &'a [ResultSet], stage: &str) -> impl Iterator<Item = &'a ResultSet> {
    let is_of_stage = move |one: &&ResultSet| {
        let advice = one.run.plan.advice.as_ref();
        advice.is_some_and(|advice| advice.stage == stage)
    };
    runs.iter().rev().filter(is_of_stage)
}
