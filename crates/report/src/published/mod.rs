//! Published tables: comparisons by others, as data.
//!
//! A table is two files in `data/published/`. The `.csv` file has the figures as printed. The
//! `.toml` file has their source, the contenders, the corresponding phases of workloads, and the
//! conclusions. A new table is these two files, the file of its rerun ([`crate::reruns`]) and a
//! line in [`ALL`].

mod document;
mod read;
#[cfg(test)]
mod sound_tests;

pub use document::{document, figures};
pub use read::PublishedError;

use fsdyno_model::{Better, CacheState, PhasePlan, ResultSet};
use serde::{Deserialize, Serialize};

/// A built-in table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its name on the command line.
    pub name: &'static str,
    /// The contents of its header file.
    pub header: &'static str,
    /// The contents of its CSV file: one figure per row.
    pub figures: &'static str,
    /// The contents of the file of its rerun.
    pub rerun: &'static str,
}

macro_rules! published {
    ($($name:literal),+ $(,)?) => {
        &[$(Published {
            name: $name,
            header: include_str!(concat!("../../data/published/", $name, ".toml")),
            figures: include_str!(concat!("../../data/published/", $name, ".csv")),
            rerun: include_str!(concat!("../../data/reruns/", $name, ".toml")),
        }),+]
    };
}

/// All tables, in the order in which they are listed: the oldest first.
pub static ALL: &[Published] = published![
    "bonnie-2001",
    "mongo-2001",
    "ufs-async-2004",
    "atime-2007",
    "zfs-two-disks-2008",
    "btrfs-2008",
];

/// The table of that name.
pub fn find(name: &str) -> Option<&'static Published> {
    ALL.iter().find(|table| table.name == name)
}

/// A parsed table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its subject, on one line.
    pub title: String,
    /// The year of publication.
    pub year: u32,
    /// The publication, as text.
    pub source: String,
    /// The machine.
    pub machine: String,
    /// The method.
    pub measured: String,
    /// A reservation about some of its figures.
    pub caveat: Option<String>,
    /// The corresponding suite.
    pub suite: String,
    /// The contenders: the columns.
    pub contenders: Vec<Competitor>,
    /// The figures.
    pub rows: Vec<Row>,
    /// The phases to which a run can be compared.
    pub lines: Vec<Line>,
    /// The published conclusions.
    pub conclusions: Vec<Conclusion>,
}

/// A contender of a published table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Competitor {
    /// Its label.
    pub label: String,
    /// The file system.
    pub filesystem: String,
    /// Its options of mkfs or mount, if published.
    #[serde(default)]
    pub variant: String,
    /// Its layout of devices.
    #[serde(default = "single")]
    pub layout: String,
    /// The kernels, as in the figures.
    #[serde(skip_deserializing)]
    pub kernels: Vec<String>,
    /// The corresponding contenders, in short form; empty if there are none.
    #[serde(default)]
    pub today: Vec<String>,
    /// Substitutes of another file system, in short form. They are used if a run has no
    /// corresponding contender.
    #[serde(default)]
    pub instead: Vec<String>,
}

fn single() -> String {
    "single".to_owned()
}

/// One row of a published table: one figure for each contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The test: a dataset or workload.
    pub test: String,
    /// The phase.
    pub phase: String,
    /// The unit of the figures.
    pub unit: String,
    /// Whether lower or higher is better; `None` for descriptive counts.
    pub better: Option<Better>,
    /// The figures by contender.
    pub values: Vec<Option<f64>>,
}

/// A part of a table to which a run can be compared: a phase of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its rows, by index. Several rows are averaged (arithmetic mean).
    pub rows: Vec<usize>,
    /// The corresponding workload.
    pub workload: String,
    /// Its dataset.
    pub dataset: String,
    /// The kind of phase.
    pub kind: String,
    /// The label of the phase, if the workload has several of that kind.
    pub phase: Option<String>,
    /// The state of the caches at its start.
    pub cache: CacheState,
    /// The corresponding figure of a sample.
    pub today: Today,
}

/// A figure of a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Today {
    /// The time to return in seconds, as printed by `time`.
    Return,
    /// User time in seconds.
    User,
    /// System time in seconds.
    System,
    /// Extents per file, over files larger than `above` bytes.
    #[serde(rename = "fragments-per-file")]
    ExtentsPerFile {
        /// The exclusive lower limit of the file size.
        above: u64,
    },
    /// The reported figure of that name.
    Figure(String),
}

/// Printed units and their current names. bonnie++ counts 1024 bytes as a KB, and files per second.
const SAME_UNITS: [(&str, &str); 3] = [("KB/s", "KiB/s"), ("%cpu", "%"), ("files/s", "1/s")];

/// Whether two units are equivalent.
pub fn same_unit(published: &str, now: &str) -> bool {
    published == now || SAME_UNITS.contains(&(published, now))
}

/// A published conclusion: some contenders are ahead of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conclusion {
    /// The sentence.
    pub text: String,
    /// Its rows, by index.
    pub rows: Vec<usize>,
    /// The contenders ahead, by index. Each is ahead of each contender in `behind`.
    pub ahead: Vec<usize>,
    /// The contenders behind.
    pub trailing: Vec<usize>,
}

impl Published {
    /// Parses it.
    pub fn read(&self) -> Result<Table, PublishedError> {
        read::table(self)
    }
}

impl Table {
    /// The contender with this label, by index.
    pub(crate) fn contender(&self, label: &str) -> Option<usize> {
        self.contenders.iter().position(|one| one.label == label)
    }

    /// The line with this label.
    pub(crate) fn line(&self, label: &str) -> Option<&Line> {
        self.lines.iter().find(|one| one.label == label)
    }
}

impl Row {
    /// The name: `portage copy`.
    pub fn label(&self) -> String {
        format!("{} {}", self.test, self.phase)
    }

    /// Whether this figure is the best of its row, or a tie for it.
    pub fn is_best(&self, value: f64) -> bool {
        let mut others = self.values.iter().flatten();
        match self.better {
            Some(Better::Lower) => others.all(|other| value <= *other),
            Some(Better::Higher) => others.all(|other| value >= *other),
            Some(Better::Neither) | None => false,
        }
    }
}

impl Line {
    /// Whether that phase of its workload corresponds to this line.
    pub fn is_of(&self, phase: &PhasePlan) -> bool {
        let label = self.phase.as_ref();
        phase.kind == self.kind
            && phase.cache == self.cache
            && label.is_none_or(|label| *label == phase.label)
    }

    /// The arithmetic mean of a contender's published figures in the rows of this line.
    pub fn published(&self, table: &Table, contender: usize) -> Option<f64> {
        let figures = self
            .rows
            .iter()
            .map(|row| table.rows[*row].values[contender]);
        let sum = figures.sum::<Option<f64>>()?;
        Some(sum / self.rows.len() as f64)
    }
}

/// The workload and phase of a run that correspond to a line of a table.
pub(crate) fn place(set: &ResultSet, line: &Line) -> Option<(usize, usize)> {
    let workloads = &set.run.plan.workloads;
    let workload = workloads.iter().position(|workload| {
        workload.name == line.workload && workload.dataset.to_string() == line.dataset
    })?;
    let mut phases = workloads[workload].phases.iter();
    let phase = phases.position(|phase| line.is_of(phase))?;
    Some((workload, phase))
}
