//! The history of the phases of a store over kernels, dates or commits: a series of figures for
//! each contender and phase, the steps of its level, and the counters that moved with each step.
//!
//! Runs are added one by one ([`Collector`]), so that only their figures are kept. A series
//! contains only comparable figures: with another dataset, scale, disk or lab, a new series begins.

mod chart;
mod collect;
mod document;
mod figures;
mod json;
mod observation;
mod order;
mod steps;

pub use chart::charts;
pub use collect::{Collector, NoHistory};
pub(crate) use document::listed;
pub use document::{SCREENS, Screen, document, figures};
pub use json::{History, Moved, Point, SeriesHistory, Step};
pub(crate) use steps::moved;

use fsdyno_model::FigureName;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The smallest change of figures without noise that is a step.
pub const EXACT_MARGIN: f64 = 0.001;

/// The chance of a step in a series with noise and without a step.
pub const LEVEL: f64 = 0.01;

/// The selection of a history.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Contenders: labels, patterns with `*`, or names of file systems; empty for all.
    pub contenders: Vec<String>,
    /// Phases: `PHASE`, `WORKLOAD/PHASE`, or patterns with `*`; empty for all.
    pub phases: Vec<String>,
    /// The horizontal axis.
    pub by: By,
    /// The figure to follow; by default the time to durable.
    pub metric: Option<FigureName>,
    /// The smallest change that is a step; by default [`EXACT_MARGIN`] for figures without noise,
    /// and else the margin of the last run.
    pub margin: Option<f64>,
    /// Commits from the oldest to the newest, as far as their order is known.
    pub commits: Vec<String>,
}

impl Selection {
    /// The figure to follow.
    pub fn metric(&self) -> &FigureName {
        self.metric.as_ref().unwrap_or(&FigureName::DURABLE)
    }
}

/// The horizontal axis of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// One point for each kernel, by version.
    #[default]
    Kernel,
    /// One point for each run, by date.
    Date,
    /// One point for each commit.
    Commit,
}

impl By {
    /// All axes.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Date, Self::Commit];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Date => "date",
            Self::Commit => "commit",
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|by| by.name() == name);
        found.ok_or_else(|| format!("`{name}` is no axis: use kernel, date or commit"))
    }
}
