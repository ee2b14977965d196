//! The files of a search: its question, and one for each commit that was tried. Each appears whole, so
//! that a killed search resumes with the first commit that has none.

use crate::exit::CliError;
use crate::output;
use fsdyno_files::{Existing, TrustedDir};
use fsdyno_model::names::short_hash;
use fsdyno_model::{FigureName, Nanos};
use fsdyno_run::bisect::{Figures, Tried};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const QUESTION: &str = "question.json";

/// The file that records that the repeat of the good commit was equal.
const REPEAT: &str = "repeat.json";

/// The version of these files.
const SCHEMA: u32 = 1;

/// A search as it was requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    pub schema: u32,
    /// The version of fsdyno: another one may count other blocks.
    pub version: String,
    pub repo: PathBuf,
    /// The commits of the ends; the bad one is unknown to single steps.
    pub good: String,
    pub bad: Option<String>,
    pub metric: FigureName,
    pub threshold: f64,
    /// The maximum number of blocks of a comparison, for a metric with noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_repeats: Option<u32>,
    pub cell: CellSettings,
}

/// The settings of the cell that is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSettings {
    pub fs: String,
    pub phase: String,
    pub phases: Vec<String>,
    /// The user's own workload, instead of phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<OwnWork>,
    /// An application, instead of phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The model disk; none if disks are in memory.
    pub disk: Option<PathBuf>,
    pub cpu: Option<PathBuf>,
    /// The dataset; none if the work makes its own files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    pub scale: f64,
    pub set: Vec<String>,
    pub device: Vec<String>,
    pub seed: Option<u64>,
    pub guest_memory: Option<String>,
}

/// A workload file as it was when the search began. All commits do the same work, even if the user
/// changes the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnWork {
    /// The name of the file without its extension.
    pub name: String,
    /// The workload in TOML.
    pub text: String,
}

impl OwnWork {
    /// Its file in the directory of a search.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.toml", self.name))
    }
}

impl Search {
    pub const SCHEMA: u32 = SCHEMA;

    /// The name of the search: that of its question.
    pub fn name(&self) -> String {
        // A value of these types is always JSON.
        short_hash(&serde_json::to_string(self).unwrap_or_default())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub commit: String,
    pub result: AttemptResult,
    /// The time of the build; none if the kernel existed.
    pub built_ns: Option<Nanos>,
    /// The time of the cell.
    pub measured_ns: Option<Nanos>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum AttemptResult {
    Measured {
        run: String,
        kernel: PathBuf,
        /// The digest of all disk requests.
        digest: String,
        figures: Figures,
    },
    /// The commit cannot be built or measured.
    Skipped { why: String },
}

impl Attempt {
    pub fn tried(&self) -> Tried {
        match &self.result {
            AttemptResult::Measured { figures, .. } => Tried::Measured(figures.clone()),
            AttemptResult::Skipped { why } => Tried::Skipped(why.clone()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// The directory of this search, among all searches next to a store.
    pub fn begin(all: &Path, search: &Search) -> Result<Self, CliError> {
        let folder = TrustedDir::create(&all.join(search.name())).map_err(CliError::failure)?;
        let kept = Self {
            folder: folder.path().to_owned(),
        };
        // Written again, so that its time is that of the last use.
        kept.write(QUESTION, search)?;
        if let Some(work) = &search.cell.work {
            let text = work.text.as_bytes();
            output::save(&work.path(&kept.folder), text, Existing::Replace)?;
        }
        Ok(kept)
    }

    /// The search of this name, or the last one.
    pub fn find(all: &Path, name: &str) -> Result<Search, CliError> {
        let folder = match name {
            "last" => last(all)?,
            name if name.contains('/') => None,
            name => Some(all.join(name)),
        };
        let read = folder
            .map(|folder| read(&folder.join(QUESTION)))
            .transpose()?;
        read.flatten().ok_or_else(|| {
            CliError::usage(format!(
                "--resume {name}: there is no such search in {}",
                all.display()
            ))
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn attempt(&self, commit: &str) -> Result<Option<Attempt>, CliError> {
        read(&self.folder.join(Self::file(commit)))
    }

    pub fn record(&self, attempt: &Attempt) -> Result<(), CliError> {
        self.write(&Self::file(&attempt.commit), attempt)
    }

    /// Whether the good commit was measured again with the same figures.
    pub fn is_repeated(&self) -> Result<bool, CliError> {
        Ok(read::<Attempt>(&self.folder.join(REPEAT))?.is_some())
    }

    pub fn record_repeat(&self, attempt: &Attempt) -> Result<(), CliError> {
        self.write(REPEAT, attempt)
    }

    fn file(commit: &str) -> String {
        format!("commit-{commit}.json")
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), CliError> {
        let mut bytes = serde_json::to_vec_pretty(value).map_err(CliError::failure)?;
        bytes.push(b'\n');
        output::save(&self.folder.join(name), &bytes, Existing::Replace)
    }
}

/// The directory that was used last.
fn last(all: &Path) -> Result<Option<PathBuf>, CliError> {
    let entries = match fs::read_dir(all) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let used = entries.flatten().filter_map(|entry| {
        let about = fs::metadata(entry.path().join(QUESTION)).ok()?;
        Some((about.modified().ok()?, entry.path()))
    });
    Ok(used.max().map(|(_, path)| path))
}

/// The content of a file; none if it does not exist.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, CliError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes,
    };
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::failure(format!("cannot read {}: {error}", path.display()))
    };
    let bytes = bytes.map_err(|error| wrong(&error))?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| wrong(&error))
}
