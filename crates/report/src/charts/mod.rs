//! Charts as values, independent of how they are drawn. The same value is rendered as SVG in the
//! page, as a standalone picture ([`svg`], [`png`]) and as JSON. It contains all visible
//! information.
//!
//! This module has the value and its two renderers. `run_charts` builds the charts of a run.

pub mod flame;
mod picture;
pub mod png;
pub mod svg;

pub use picture::Picture;

use fsdyno_model::figures::{BYTES, BYTES_A_SECOND, NANOSECONDS};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The version of this structure in JSON.
    pub schema: u32,
    /// Its name, unique in its run and valid as a file name: `samples-tree-copy`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The lab, if the run has several.
    pub lab: Option<String>,
    /// The workload; `None` for a chart of several.
    pub workload: Option<String>,
    /// The phase; `None` for a chart of several.
    pub phase: Option<String>,
    /// The title above the chart.
    pub title: String,
    /// A text description with the figures, for readers who cannot see the chart.
    pub about: String,
    /// Notes below the chart.
    pub notes: Vec<String>,
    /// All contenders of its run. Series refer to them by index. The index selects colour, marker
    /// and dash pattern.
    pub contenders: Vec<String>,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// The kind of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The ratios of all phases to the baseline, and their geometric mean.
    Overview,
    /// The samples of a phase, with the intervals of their medians and ratios.
    Samples,
    /// The times of a phase, block by block.
    Repeats,
    /// The latency distribution of the operations of a phase.
    Latency,
    /// The throughput over time within a phase.
    Throughput,
    /// The cost of a phase: processors, devices, space, extents.
    Cost,
    /// The rate of a phase by the number of workers.
    Scaling,
    /// The figures of a phase over kernels, dates or commits.
    History,
    /// The functions of the kernel by call path, and how they differ between two contenders.
    Flame,
    /// The sleep of processes by call path, likewise.
    Sleep,
}

impl Kind {
    /// All kinds, in the order in which charts are listed.
    pub const ALL: [Self; 10] = [
        Self::Overview,
        Self::Samples,
        Self::Repeats,
        Self::Latency,
        Self::Throughput,
        Self::Cost,
        Self::Scaling,
        Self::History,
        Self::Flame,
        Self::Sleep,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Samples => "samples",
            Self::Repeats => "repeats",
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::Cost => "cost",
            Self::Scaling => "scaling",
            Self::History => "history",
            Self::Flame => "flame",
            Self::Sleep => "sleep",
        }
    }

    /// A short description.
    pub fn about(self) -> &'static str {
        match self {
            Self::Overview => "ratios to the baseline in all phases, with intervals",
            Self::Samples => "every sample, median with interval, and ratio",
            Self::Repeats => "time of each block, to show drift",
            Self::Latency => "latency distribution of single operations",
            Self::Throughput => "throughput over the time of a phase",
            Self::Cost => "processor time, device traffic, space, extents",
            Self::Scaling => "rate by the number of workers",
            Self::History => "figures over kernels, dates or commits",
            Self::Flame => "kernel blocks by call path: why --functions",
            Self::Sleep => "sleep in the kernel by call path: why --functions",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A panel with its own axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Its title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; `None` if the panel consists of rows.
    pub y: Option<Axis>,
    /// The rows from top to bottom: row `n` covers `n` to `n + 1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// The marks by contender.
    pub series: Vec<Series>,
}

/// An axis: label, unit and scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// The unit.
    pub unit: Unit,
    /// The scale.
    pub scale: Scale,
    /// A reference value, drawn as a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
    /// The names of the positions 0, 1, ...; empty for an axis of quantities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// The unit of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Times, nanoseconds.
    Nanoseconds,
    /// Sizes, bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Operations per second.
    OperationsPerSecond,
    /// Counts, including block numbers.
    Count,
    /// Ratios to the baseline.
    Ratio,
    /// Fractions from 0 to 1.
    Part,
}

impl Unit {
    /// The unit of an axis of figures that are stored in this unit.
    pub(crate) fn of(unit: &str) -> Self {
        match unit {
            NANOSECONDS => Self::Nanoseconds,
            BYTES => Self::Bytes,
            BYTES_A_SECOND => Self::BytesPerSecond,
            _ => Self::Count,
        }
    }
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Linear from zero.
    FromZero,
    /// Linear from the smallest value.
    Linear,
    /// Logarithmic. Values that are not above zero are not drawn.
    Log,
    /// Fractions by their complement: 0.9, 0.99 and 0.999 have equal distances.
    Nines,
}

impl Scale {
    /// The scale for values that a reader compares: logarithmic if they differ by a large factor.
    /// Values of zero or below have no place on a logarithmic scale, so they make it linear.
    pub(crate) fn of_values(values: impl Iterator<Item = f64> + Clone) -> Self {
        /// From this ratio of the largest to the smallest value on, a linear scale does not
        /// separate the small ones.
        const FAR: f64 = 10.0;
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        if least > 0.0 && most / least >= FAR {
            Self::Log
        } else {
            Self::FromZero
        }
    }
}

/// A row of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The heading of this row and the following ones, if it changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its contender, by index.
    pub contender: usize,
    /// Its figure as text.
    pub value: String,
}

/// The marks of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The contender, by index.
    pub contender: usize,
    /// Its marks, from back to front.
    pub marks: Vec<Mark>,
}

/// A mark. Each has its own label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "kebab-case")]
pub enum Mark {
    /// One figure.
    Dot {
        /// Its horizontal position.
        x: f64,
        /// Its vertical position.
        y: f64,
        /// Its label.
        label: String,
    },
    /// A bin of a histogram, as a column on `y`.
    Bin {
        /// The lower limit of the bin.
        low: f64,
        /// The upper limit of the bin.
        high: f64,
        /// The bottom of the column.
        y: f64,
        /// Its height, relative to the tallest column of its row.
        part: f64,
        /// Its label.
        label: String,
    },
    /// A range from the minimum to the maximum.
    Range {
        /// The minimum.
        low: f64,
        /// The maximum.
        high: f64,
        /// Its vertical position.
        y: f64,
        /// Its label.
        label: String,
    },
    /// A 95 % confidence interval.
    Interval {
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
        /// Its vertical position.
        y: f64,
        /// Its label.
        label: String,
    },
    /// A median or mean.
    Middle {
        /// Its horizontal position.
        x: f64,
        /// Its vertical position.
        y: f64,
        /// Its label.
        label: String,
    },
    /// A bar from zero.
    Bar {
        /// Its end.
        x: f64,
        /// Its vertical position.
        y: f64,
        /// Its label.
        label: String,
    },
    /// A line through points, `(x, y)` each.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// Its label.
        label: String,
    },
}

impl Mark {
    /// Its label.
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

    /// Its horizontal positions.
    pub(crate) fn xs(&self) -> Vec<f64> {
        match self {
            Self::Dot { x, .. } | Self::Middle { x, .. } | Self::Bar { x, .. } => vec![*x],
            Self::Bin { low, high, .. }
            | Self::Range { low, high, .. }
            | Self::Interval { low, high, .. } => vec![*low, *high],
            Self::Line { points, .. } => points.iter().map(|(x, _)| *x).collect(),
        }
    }

    /// Its vertical positions.
    pub(crate) fn ys(&self) -> Vec<f64> {
        match self {
            Self::Dot { y, .. }
            | Self::Middle { y, .. }
            | Self::Bar { y, .. }
            | Self::Bin { y, .. }
            | Self::Range { y, .. }
            | Self::Interval { y, .. } => vec![*y],
            Self::Line { points, .. } => points.iter().map(|(_, y)| *y).collect(),
        }
    }
}

impl Chart {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 1;

    /// Whether the chart has no marks.
    pub fn is_empty(&self) -> bool {
        let mut series = self.panels.iter().flat_map(|panel| &panel.series);
        series.all(|one| one.marks.is_empty())
    }

    /// Appends the labels of the selected marks to the description.
    pub(crate) fn describe(&mut self, wanted: fn(&Mark) -> bool) {
        for panel in &self.panels {
            let marks = panel.series.iter().flat_map(|one| &one.marks);
            let labels: Vec<&str> = marks.filter(|mark| wanted(mark)).map(Mark::label).collect();
            let _ = write!(self.about, " {}: {}.", panel.title, labels.join("; "));
        }
    }

    /// The contenders that have marks, by index.
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
            names: Vec::new(),
        }
    }

    /// The axis of figures with that unit; a count has their name. Logarithmic if they differ by a
    /// large factor.
    pub(crate) fn of_figures(
        label: &str,
        (name, unit): (String, &str),
        figures: impl Iterator<Item = f64> + Clone,
    ) -> Self {
        let unit = Unit::of(unit);
        let label = match unit {
            Unit::Count => name,
            _ => label.to_owned(),
        };
        Self::of(label, unit, Scale::of_values(figures))
    }

    /// An axis of times: logarithmic if they differ by a large factor.
    pub(crate) fn of_times(
        label: impl Into<String>,
        times: impl Iterator<Item = f64> + Clone,
    ) -> Self {
        Self::of(label, Unit::Nanoseconds, Scale::of_values(times))
    }
}

/// The largest of the values 1, 2, 5, 10, ... times a unit that is not above a value.
pub(crate) fn round_below(value: f64, unit: f64) -> f64 {
    let power = 10_f64.powf((value / unit).log10().floor()) * unit;
    let steps = [5.0, 2.0, 1.0].map(|factor| factor * power);
    let mut fitting = steps.into_iter().filter(|step| *step <= value);
    fitting.next().unwrap_or(power)
}
