//! Published tables: comparisons that others made, as data.
//!
//! A table is two files in `data/published/`: its figures as they were printed (`.csv`), and a
//! header (`.toml`) with their source, the contenders, the phase of the workload that does the same
//! today, and the conclusions. A new one is these two files and a line in [`ALL`].

mod document;
mod read;
#[cfg(test)]
mod sound_tests;

pub use document::{document, figures};
pub use read::PublishedError;

use fsdyno_model::{Better, CacheState, PhasePlan, ResultSet};
use serde::{Deserialize, Serialize};

/// A table as it comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its name, as typed.
    pub name: &'static str,
    /// Its header.
    pub header: &'static str,
    /// Its figures, one a row.
    pub figures: &'static str,
}

macro_rules! published {
    ($($name:literal),+ $(,)?) => {
        &[$(Published {
            name: $name,
            header: include_str!(concat!("../../data/published/", $name, ".toml")),
            figures: include_str!(concat!("../../data/published/", $name, ".csv")),
        }),+]
    };
}

/// All tables, in the order they are listed: oldest first.
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

/// A table, understood.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What it compares, in a line.
    pub title: String,
    /// When it was published.
    pub year: u32,
    /// Where it was published, in words.
    pub source: String,
    /// What it was measured on.
    pub machine: String,
    /// What was measured, and how.
    pub measured: String,
    /// What speaks against some of its figures.
    pub doubt: Option<String>,
    /// The suite that does the same today.
    pub suite: String,
    /// Who competed: the columns.
    pub contenders: Vec<Competitor>,
    /// The figures.
    pub rows: Vec<Row>,
    /// What a run of today can be laid beside.
    pub lines: Vec<Line>,
    /// What was concluded.
    pub conclusions: Vec<Conclusion>,
}

/// Who competed in a published table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Competitor {
    /// What the table calls it here.
    pub label: String,
    /// The file system.
    pub filesystem: String,
    /// How it was made or mounted, where that was said.
    pub variant: String,
    /// How disks made it up.
    pub layout: String,
    /// The kernels it ran on.
    pub kernels: Vec<String>,
    /// The contenders that are the same today, in short form; none where there are none.
    pub today: Vec<String>,
    /// Those of another file system that may stand in its place, in short form, where a run has
    /// none that is the same.
    pub instead: Vec<String>,
}

/// One row of a published table: a figure of each contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// What was worked on.
    pub test: String,
    /// What was done.
    pub phase: String,
    /// The unit of the figures.
    pub unit: String,
    /// Which direction wins; none of counts that only describe.
    pub better: Option<Better>,
    /// The figures by contender; none where it has none.
    pub values: Vec<Option<f64>>,
}

/// What of a table a run of today can be laid beside: a phase of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What it is called.
    pub label: String,
    /// The rows that tell of it, by place; of several the arithmetic mean is taken.
    pub rows: Vec<usize>,
    /// The workload that does the same today.
    pub workload: String,
    /// Its dataset.
    pub dataset: String,
    /// The kind of phase.
    pub kind: String,
    /// Which of several of that kind: its label; none where there is one.
    pub phase: Option<String>,
    /// The state of the caches at its start.
    pub cache: CacheState,
    /// Which figure of a sample is of the same thing.
    pub today: Today,
}

/// A figure of a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Today {
    /// The time to return in seconds: what `time` shows.
    Return,
    /// User time in seconds.
    User,
    /// System time in seconds.
    System,
    /// Fragments per file, counted over files larger than that: bytes.
    FragmentsPerFile {
        /// The size that every file counted is larger than.
        above: u64,
    },
    /// The figure of that name.
    Figure(String),
}

/// Units as they were printed, and the words of today for the same thing. bonnie++ counts 1024
/// bytes as a KB, and files by the second.
const SAME_UNITS: [(&str, &str); 3] = [("KB/s", "KiB/s"), ("%cpu", "%"), ("files/s", "1/s")];

/// Whether figures of these units are of the same size.
pub fn same_unit(then: &str, now: &str) -> bool {
    then == now || SAME_UNITS.contains(&(then, now))
}

/// Something that was concluded: some contenders are ahead of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conclusion {
    /// The sentence.
    pub says: String,
    /// The rows it is about, by place.
    pub rows: Vec<usize>,
    /// Who is ahead, by place among the contenders: each of them of each of those behind.
    pub ahead: Vec<usize>,
    /// Who is behind.
    pub behind: Vec<usize>,
}

impl Published {
    /// Understands it.
    pub fn read(&self) -> Result<Table, PublishedError> {
        read::table(self)
    }
}

impl Row {
    /// What it is called: `portage copy`.
    pub fn label(&self) -> String {
        format!("{} {}", self.test, self.phase)
    }

    /// Whether this figure is the best of its row, or shares that place.
    pub fn is_best(&self, value: f64) -> bool {
        let mut others = self.values.iter().flatten();
        match self.better {
            Some(Better::Lower) => others.all(|other| value <= *other),
            Some(Better::Higher) => others.all(|other| value >= *other),
            None => false,
        }
    }
}

impl Line {
    /// Whether that phase, of its workload, is the one it is laid beside.
    pub fn is_of(&self, phase: &PhasePlan) -> bool {
        let label = self.phase.as_ref();
        phase.kind == self.kind
            && phase.cache == self.cache
            && label.is_none_or(|label| *label == phase.label)
    }

    /// The arithmetic mean of a contender's figures in the rows of this line.
    pub fn then(&self, table: &Table, contender: usize) -> Option<f64> {
        let figures = self
            .rows
            .iter()
            .map(|row| table.rows[*row].values[contender]);
        let sum = figures.sum::<Option<f64>>()?;
        Some(sum / self.rows.len() as f64)
    }
}

/// The workload and the phase of a run that repeat a line of a table.
pub(crate) fn place(set: &ResultSet, line: &Line) -> Option<(usize, usize)> {
    let workloads = &set.run.plan.workloads;
    let workload = workloads.iter().position(|workload| {
        workload.name == line.workload && workload.dataset.to_string() == line.dataset
    })?;
    let mut phases = workloads[workload].phases.iter();
    let phase = phases.position(|phase| line.is_of(phase))?;
    Some((workload, phase))
}
