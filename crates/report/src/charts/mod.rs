//! Charts as values: what is drawn, and none of how. The same value becomes the SVG of the page, a
//! picture for elsewhere ([`svg`], [`png`]) and JSON, and holds everything that can be seen in it.
//!
//! This module holds the value and its two writers. The charts of a run are made in
//! `run_charts`.

pub mod png;
pub mod svg;

use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The version of this structure, as JSON carries it.
    pub schema: u32,
    /// Its name, unique in its run, fit to be that of a file: `samples-tree-copy`.
    pub name: String,
    /// What it shows.
    pub kind: Kind,
    /// The lab, where the run has several.
    pub lab: Option<String>,
    /// The workload; none where it is of several.
    pub workload: Option<String>,
    /// The phase; none where it is of several.
    pub phase: Option<String>,
    /// What stands above it.
    pub title: String,
    /// The same in words, figures included: for those who do not see it.
    pub about: String,
    /// What a reader must know, below it.
    pub notes: Vec<String>,
    /// All contenders of its run; series name them by their places, which choose colour, shape and
    /// stroke.
    pub contenders: Vec<String>,
    /// The fields it consists of.
    pub panels: Vec<Panel>,
}

/// What a chart shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The ratios of all phases to the baseline, and their geometric mean.
    Overview,
    /// The samples of a phase, with the intervals of their medians and ratios.
    Samples,
    /// The times of a phase, block by block.
    Repeats,
    /// How long its single operations took.
    Latency,
    /// How much was done when, within a phase.
    Throughput,
    /// What a phase cost: processors, devices, space, fragments.
    Cost,
}

impl Kind {
    /// All kinds, in the order charts are listed.
    pub const ALL: [Self; 6] = [
        Self::Overview,
        Self::Samples,
        Self::Repeats,
        Self::Latency,
        Self::Throughput,
        Self::Cost,
    ];

    /// The name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Samples => "samples",
            Self::Repeats => "repeats",
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::Cost => "cost",
        }
    }

    /// What it shows, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Overview => "ratios to the baseline over all phases, with their intervals",
            Self::Samples => "every sample, the median and its interval, and the ratio",
            Self::Repeats => "the time block by block, where drift shows",
            Self::Latency => "how long single operations took, to the slowest",
            Self::Throughput => "how much was done when, within the phase",
            Self::Cost => "processor time, device traffic, space, extents",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A field with axes of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What goes to the right.
    pub x: Axis,
    /// What goes up; none where the field consists of rows.
    pub y: Option<Axis>,
    /// The rows from above, where it consists of such: row `n` reaches from `n` to `n + 1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// What is drawn, by contender.
    pub series: Vec<Series>,
}

/// What values of an axis are, and how far apart they lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What they are of.
    pub label: String,
    /// Their unit.
    pub unit: Unit,
    /// Their distances.
    pub scale: Scale,
    /// A value that others are compared with, and a line is drawn at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
}

/// The unit of the values of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Times, nanoseconds.
    Nanoseconds,
    /// Sizes, bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Operations a second.
    OperationsPerSecond,
    /// Numbers of something, block numbers included.
    Count,
    /// Ratios to the baseline.
    Ratio,
    /// Parts of all, from 0 to 1.
    Part,
}

/// How far apart the values of an axis lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// By their differences, from zero on.
    FromZero,
    /// By their differences, from the least on.
    Linear,
    /// By their ratios; what is not above zero has no place.
    Log,
    /// Parts of all by what is left: 0.9, 0.99 and 0.999 lie equally far apart.
    Nines,
}

/// A row of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What heads it and those that follow, where that changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Whose it is.
    pub contender: usize,
    /// Its figure, in words.
    pub value: String,
}

/// What is drawn of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The contender, by its place.
    pub contender: usize,
    /// Its marks, from below to above.
    pub marks: Vec<Mark>,
}

/// Something drawn. Each bears its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "kebab-case")]
pub enum Mark {
    /// One figure.
    Dot {
        /// Where.
        x: f64,
        /// Where.
        y: f64,
        /// In words.
        label: String,
    },
    /// Many figures that lie close together, as a column upon `y`.
    Bin {
        /// From here.
        low: f64,
        /// To here.
        high: f64,
        /// Its foot.
        y: f64,
        /// Its height, as a part of the tallest of its row.
        part: f64,
        /// In words.
        label: String,
    },
    /// From the least to the most.
    Range {
        /// The least.
        low: f64,
        /// The most.
        high: f64,
        /// Where.
        y: f64,
        /// In words.
        label: String,
    },
    /// Where something lies at 95 %.
    Interval {
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
        /// Where.
        y: f64,
        /// In words.
        label: String,
    },
    /// A figure that stands for many.
    Middle {
        /// Where.
        x: f64,
        /// Where.
        y: f64,
        /// In words.
        label: String,
    },
    /// A length from zero.
    Bar {
        /// Its end.
        x: f64,
        /// Where.
        y: f64,
        /// In words.
        label: String,
    },
    /// A line through points, `(x, y)` each.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// In words.
        label: String,
    },
}

impl Mark {
    /// What it says.
    pub fn label(&self) -> &str {
        match self {
            Self::Dot { label, .. }
            | Self::Bin { label, .. }
            | Self::Range { label, .. }
            | Self::Interval { label, .. }
            | Self::Middle { label, .. }
            | Self::Bar { label, .. }
            | Self::Line { label, .. } => label,
        }
    }
}

impl Chart {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 1;

    /// Whether anything is drawn.
    pub fn is_empty(&self) -> bool {
        let mut series = self.panels.iter().flat_map(|panel| &panel.series);
        series.all(|one| one.marks.is_empty())
    }

    /// Adds what its panels show in words, by their marks of a kind.
    pub(crate) fn describe(&mut self, wanted: fn(&Mark) -> bool) {
        for panel in &self.panels {
            let marks = panel.series.iter().flat_map(|one| &one.marks);
            let labels: Vec<&str> = marks.filter(|mark| wanted(mark)).map(Mark::label).collect();
            let _ = write!(self.about, " {}: {}.", panel.title, labels.join("; "));
        }
    }

    /// The contenders that something is drawn of, by their places.
    pub fn drawn(&self) -> Vec<usize> {
        let all = 0..self.contenders.len();
        let drawn = |at: &usize| {
            let mut series = self.panels.iter().flat_map(|panel| &panel.series);
            series.any(|one| one.contender == *at && !one.marks.is_empty())
        };
        all.filter(drawn).collect()
    }
}

impl Axis {
    pub(crate) fn of(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self {
            label: label.into(),
            unit,
            scale,
            reference: None,
        }
    }

    /// Times: by their ratios where they lie far apart.
    pub(crate) fn of_times(
        label: impl Into<String>,
        times: impl Iterator<Item = f64> + Clone,
    ) -> Self {
        /// From this ratio of the longest to the shortest on, the short ones could no longer be
        /// told apart.
        const FAR: f64 = 20.0;
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = times.fold(0.0, f64::max);
        let far = least > 0.0 && most / least > FAR;
        let scale = if far { Scale::Log } else { Scale::FromZero };
        Self::of(label, Unit::Nanoseconds, scale)
    }
}
