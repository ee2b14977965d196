//! The contents of a table cell: a quantity with its kind. Each renderer prints it the same way
//! everywhere, the page sorts by it, and CSV has it without rounding.

use crate::resolution::BOTH_NEGLIGIBLE;
use fsdyno_model::{Better, Bytes, Nanos};
use fsdyno_stats::Verdict;

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// An empty cell.
    Empty,
    /// The quantity is unknown, or was not measured.
    Unknown,
    /// Text.
    Text(String),
    /// A count.
    Count(u64),
    /// A number with three digits.
    Number(f64),
    /// A published number.
    Published(f64),
    /// An amount of data.
    Size(Bytes),
    /// A mean amount of data, in a short form.
    MeanSize(Bytes),
    /// The change of used space, bytes; negative if space was freed.
    SpaceChange(i64),
    /// A time with its unit.
    Duration(Nanos),
    /// A share, in percent.
    Percent(f64),
    /// A ratio.
    Ratio(f64),
    /// A ratio with the mark of its outcome.
    JudgedRatio(f64, Outcome),
    /// A geometric mean of ratios.
    Mean {
        /// The mean.
        ratio: f64,
        /// The outcome to mark: equivalent or inconclusive.
        outcome: Option<Outcome>,
        /// Whether it is the lowest by verdict.
        best: bool,
    },
    /// The interval of a ratio.
    Interval(f64, f64),
    /// A rank; shared ranks may be halves.
    Rank(f64),
    /// A verdict.
    Outcome(Outcome),
    /// A measured figure with its spread and its ratio to the baseline.
    Figure(Box<Figure>),
    /// A ratio with its verdict, to the baseline and to the fastest.
    Verdict(Box<VerdictCell>),
    /// Checked crash states.
    States(Box<CheckedStates>),
}

/// Checked crash states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedStates {
    /// States that break a promise.
    pub violations: u64,
    /// Checked states.
    pub states: u64,
    /// Distinct recovered trees.
    pub trees: u64,
    /// The id of the first finding on the page.
    pub finding: Option<String>,
}

/// A measured figure.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own, in any combination"
)]
pub struct Figure {
    /// The median: nanoseconds if its group has a unit of time, else a plain number.
    pub value: f64,
    /// The format of a plain number, and whether its unit is seconds.
    pub number: Number,
    /// The minimum and the maximum.
    pub spread: Option<(f64, f64)>,
    /// Its ratio to the baseline.
    pub ratio: RatioTo,
    /// Whether it is the best by verdict.
    pub best: bool,
    /// Whether there is a warning about it.
    pub warned: bool,
    /// Whether its verdict depends on the model.
    pub sensitive: bool,
    /// Whether it is one draw, which decides nothing.
    pub one_draw: bool,
    /// Every sample with its block, for the bars.
    pub samples: Vec<(u32, f64)>,
}

/// The format of a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Number {
    /// The number has three digits.
    #[default]
    Measured,
    /// The number has three significant digits.
    Significant,
    /// The number has three digits, and its unit is seconds.
    MeasuredSeconds,
    /// The number has its published digits.
    Published,
    /// The number has its published digits, and its unit is seconds.
    PublishedSeconds,
}

/// The ratio of a figure to that of the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RatioTo {
    /// Ratios are not shown here.
    #[default]
    None,
    /// The figure of the baseline itself.
    Baseline,
    /// The baseline has no figure.
    Unknown,
    /// Both figures are negligible.
    Negligible,
    /// The ratio.
    Of {
        /// The median of the ratios within blocks.
        middle: f64,
        /// Its interval.
        interval: Option<(f64, f64)>,
        /// The outcome to mark: equivalent or inconclusive.
        outcome: Option<Outcome>,
        /// Which of two figures is better. If the higher one is, the ratio is that of the baseline to
        /// it, so that a ratio above 1 is worse in any case.
        better: Better,
    },
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Both are the same contender.
    Itself,
    /// It is faster.
    Faster,
    /// It is slower.
    Slower,
    /// Its count is lower.
    Fewer,
    /// Its count is higher.
    More,
    /// Its figure is higher, which is better.
    Gain,
    /// Its figure is lower, which is worse.
    Loss,
    /// The difference is within the margin.
    Equivalent,
    /// The figures do not show which is faster.
    Inconclusive,
    /// There are too few repeats.
    TooFew,
    /// There is one figure of each, which decides nothing.
    OneDraw,
    /// Both times are below the resolution.
    Negligible,
}

/// One contender compared with another.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Compared {
    /// Its time divided by that of the other, within blocks.
    pub ratio: Option<f64>,
    /// The interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// The verdict; `None` if there is no verdict.
    pub outcome: Option<Outcome>,
}

/// A ratio with its verdict, to the baseline and to the fastest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VerdictCell {
    /// The contender, if the column does not name it.
    pub contender: Option<String>,
    /// Its median, nanoseconds.
    pub time_ns: Option<f64>,
    /// The comparison with the baseline; `None` if only the comparison with the fastest is shown.
    pub to_base: Option<Compared>,
    /// The comparison with the fastest.
    pub to_best: Compared,
}

impl Outcome {
    /// The outcome of a verdict on a time, or on another figure.
    pub fn of_verdict(verdict: Option<Verdict>, is_time: bool, better: Better) -> Self {
        let higher = better == Better::Higher;
        match verdict {
            Some(Verdict::Faster) if is_time => Self::Faster,
            Some(Verdict::Slower) if is_time => Self::Slower,
            Some(Verdict::Faster) if higher => Self::Gain,
            Some(Verdict::Slower) if higher => Self::Loss,
            Some(Verdict::Faster) => Self::Fewer,
            Some(Verdict::Slower) => Self::More,
            Some(Verdict::Equivalent) => Self::Equivalent,
            Some(Verdict::Inconclusive) => Self::Inconclusive,
            None => Self::TooFew,
        }
    }

    /// Whether it is better than what it is compared with; `None` if it is neither better nor worse.
    pub fn is_better(self) -> Option<bool> {
        match self {
            Self::Faster | Self::Fewer | Self::Gain => Some(true),
            Self::Slower | Self::More | Self::Loss => Some(false),
            _ => None,
        }
    }

    /// The outcome as one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Itself => "baseline",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Fewer => "fewer",
            Self::Loss => "less",
            Self::More | Self::Gain => "more",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::TooFew => "too few repeats",
            Self::OneDraw => "one draw",
            Self::Negligible => BOTH_NEGLIGIBLE,
        }
    }
}

impl RatioTo {
    /// A ratio without a verdict, if there is one.
    pub fn plain(ratio: Option<f64>) -> Self {
        ratio.map_or(Self::None, |middle| Self::Of {
            middle,
            interval: None,
            outcome: None,
            better: Better::Neither,
        })
    }

    /// The ratio without its interval.
    #[must_use]
    pub fn without_interval(self) -> Self {
        match self {
            Self::Of {
                middle,
                outcome,
                better,
                ..
            } => Self::Of {
                middle,
                interval: None,
                outcome,
                better,
            },
            other => other,
        }
    }
}

impl Figure {
    /// A figure without spread or ratio.
    pub fn of(value: f64) -> Self {
        Self {
            value,
            number: Number::default(),
            spread: None,
            ratio: RatioTo::None,
            best: false,
            warned: false,
            sensitive: false,
            one_draw: false,
            samples: Vec::new(),
        }
    }
}

impl From<Figure> for Cell {
    fn from(figure: Figure) -> Self {
        Self::Figure(Box::new(figure))
    }
}

impl Cell {
    /// A text cell; unknown for `None`.
    pub fn text(text: Option<String>) -> Self {
        text.map_or(Self::Unknown, Self::Text)
    }

    /// A cell of a quantity; unknown for `None`.
    pub fn known<T>(value: Option<T>, cell: impl Fn(T) -> Self) -> Self {
        value.map_or(Self::Unknown, cell)
    }

    /// Its measured figure.
    pub fn figure(&self) -> Option<&Figure> {
        match self {
            Self::Figure(figure) => Some(figure),
            _ => None,
        }
    }

    /// Whether it contains no known value.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Empty | Self::Unknown)
    }

    /// The outcome that it marks or names.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Figure(figure) => match figure.ratio {
                RatioTo::Of { outcome, .. } => outcome,
                RatioTo::Negligible => Some(Outcome::Negligible),
                _ => None,
            },
            Self::Mean { outcome, .. } => *outcome,
            Self::JudgedRatio(_, outcome) | Self::Outcome(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// Whether it has the mark of the best.
    pub fn is_best(&self) -> bool {
        match self {
            Self::Figure(figure) => figure.best,
            Self::Mean { best, .. } => *best,
            _ => false,
        }
    }

    /// The sort key.
    pub fn sort_value(&self) -> Option<f64> {
        match self {
            Self::Count(n) | Self::Size(Bytes(n)) | Self::MeanSize(Bytes(n)) => Some(*n as f64),
            Self::Duration(time) => Some(time.0 as f64),
            Self::SpaceChange(n) => Some(*n as f64),
            Self::Number(n)
            | Self::Published(n)
            | Self::Percent(n)
            | Self::Ratio(n)
            | Self::JudgedRatio(n, _)
            | Self::Rank(n) => Some(*n),
            Self::Mean { ratio, .. } => Some(*ratio),
            Self::Figure(figure) => Some(figure.value),
            Self::Verdict(cell) => cell.to_base?.ratio,
            Self::States(cell) => Some(cell.violations as f64),
            Self::Empty | Self::Unknown | Self::Text(_) | Self::Interval(..) | Self::Outcome(_) => {
                None
            }
        }
    }

    /// The exact quantity without unit, for CSV; empty if it is unknown.
    pub fn raw(&self) -> String {
        match self {
            Self::Empty | Self::Unknown => String::new(),
            Self::Text(text) => text.clone(),
            Self::Count(n) | Self::Size(Bytes(n)) | Self::MeanSize(Bytes(n)) => n.to_string(),
            Self::Duration(time) => time.0.to_string(),
            Self::SpaceChange(n) => n.to_string(),
            Self::Number(n)
            | Self::Published(n)
            | Self::Percent(n)
            | Self::Ratio(n)
            | Self::JudgedRatio(n, _)
            | Self::Rank(n) => n.to_string(),
            Self::Mean { ratio, .. } => ratio.to_string(),
            Self::Interval(low, high) => format!("{low}-{high}"),
            Self::Outcome(outcome) => outcome.word().to_owned(),
            Self::Figure(figure) => figure.value.to_string(),
            Self::Verdict(cell) => cell
                .to_base
                .and_then(|to| to.ratio)
                .map_or_else(String::new, |ratio| ratio.to_string()),
            Self::States(cell) => cell.violations.to_string(),
        }
    }
}
