//! A history as a value, for JSON and for the renderers.

use super::By;
use crate::compare::Difference;
use crate::comparison::warnings::run_prefix;
use fsdyno_model::{Better, FigureName};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A history.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct History {
    /// The version of this structure.
    #[schemars(extend("const" = History::SCHEMA))]
    pub schema: u32,
    /// The horizontal axis.
    pub by: By,
    /// The figure that is followed.
    pub metric: FigureName,
    /// Its unit: `ns`, `B`, `1/s`; empty for a count.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// The number of runs that have points.
    pub runs: usize,
    /// The names of the places on the axis, in order.
    pub axis: Vec<String>,
    /// The series, by workload and phase, then by contender.
    pub series: Vec<SeriesHistory>,
    /// Runs that are left out, and figures that contradict each other.
    pub warnings: Vec<String>,
}

/// The comparable figures of one contender and one phase.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct SeriesHistory {
    /// The label of the contender.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The differences from other series of the same contender and phase; empty if it is the only
    /// one.
    pub conditions: Vec<String>,
    /// Whether the figures have no noise.
    pub exact: bool,
    /// The smallest relative change that is a step.
    pub margin: f64,
    /// The points, from the oldest to the newest.
    pub points: Vec<Point>,
    /// The steps, in the same order.
    pub steps: Vec<Step>,
    /// The reason why no step can be detected, or why steps are left out; none if neither is so.
    pub note: Option<String>,
    /// Whether it has the runs in which a step can be detected.
    #[serde(skip)]
    pub has_enough_runs: bool,
}

/// The figure of a kernel, a run or a commit.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Point {
    /// Its name on the axis.
    pub label: String,
    /// The kernel.
    pub kernel: String,
    /// The commit, if it is known.
    pub commit: Option<String>,
    /// The runs, from the oldest to the newest.
    pub runs: Vec<String>,
    /// The start of the first of them: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The median of the medians of the runs.
    pub figure: f64,
    /// The smallest sample.
    pub low: f64,
    /// The largest sample.
    pub high: f64,
    /// The number of samples.
    pub samples: usize,
}

/// A change of the level of a series.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Step {
    /// The index of the first point of the new level.
    pub point: usize,
    /// The last point of the old level.
    pub from: String,
    /// The first point of the new level.
    pub to: String,
    /// The last run of the old level.
    pub run_before: String,
    /// The first run of the new level.
    pub run_after: String,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The new level divided by the old one; none if that is zero.
    pub ratio: Option<f64>,
    /// The p-value; none for figures without noise.
    pub p: Option<f64>,
    /// The other figures that changed by more than the margin, the largest change first.
    pub moved: Vec<Moved>,
    /// The other differences between the two runs.
    pub changed: Vec<Difference>,
}

/// A figure that changed with a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Moved {
    /// The figure.
    pub metric: FigureName,
    /// Its level before.
    pub before: f64,
    /// Its level after.
    pub after: f64,
    /// The new level divided by the old one; none if that is zero.
    pub ratio: Option<f64>,
}

impl History {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 2;

    /// The steps of all series.
    pub fn steps(&self) -> usize {
        self.series.iter().map(|series| series.steps.len()).sum()
    }

    /// The part of the history with these series.
    #[must_use]
    pub fn only(&self, series: &[SeriesHistory]) -> Self {
        let runs = series.iter().flat_map(|one| &one.points);
        let runs: BTreeSet<&String> = runs.flat_map(|point| &point.runs).collect();
        let about = |warning: &&String| {
            let mut series = series.iter();
            series.any(|one| warning.starts_with(&format!("{}, {},", one.contender, one.phase)))
                || runs.iter().any(|id| warning.starts_with(&run_prefix(id)))
        };
        Self {
            runs: runs.len(),
            series: series.to_vec(),
            warnings: self.warnings.iter().filter(about).cloned().collect(),
            ..self.clone()
        }
    }

    /// The series, in groups of one workload and phase.
    pub fn phases(&self) -> impl Iterator<Item = &[SeriesHistory]> {
        let same = |one: &SeriesHistory, other: &SeriesHistory| one.place() == other.place();
        self.series.chunk_by(same)
    }
}

impl SeriesHistory {
    /// The workload and the phase.
    pub fn place(&self) -> (&str, &str) {
        (&self.workload, &self.phase)
    }

    /// The contender, with its conditions.
    pub fn name(&self) -> String {
        if self.conditions.is_empty() {
            return self.contender.clone();
        }
        format!("{} ({})", self.contender, self.conditions.join(", "))
    }
}
