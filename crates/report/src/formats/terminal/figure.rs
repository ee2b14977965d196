//! One figure of the tables of times, in characters: its parts, their widths, and the rows they
//! stand on.

use super::paint::{Paint, right, width};
use crate::table::{Comparison, Standing, Value};
use crate::terms::{self, Scale};

/// How much of a figure stands on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Median, spread, ratio and its interval.
    One,
    /// Median and ratio; the others below.
    Two,
    /// Each on its own line.
    Three,
}

/// What one printed row of a figure holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// Everything.
    Whole,
    MedianRatio,
    Median,
    Spread,
    Ratio,
    /// The interval of the ratio.
    Interval,
}

/// The widest of each part in a report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Widths {
    median: usize,
    spread: usize,
    ratio: usize,
    interval: usize,
}

/// The texts of one figure.
pub struct Texts {
    median: String,
    spread: String,
    ratio: String,
    interval: String,
    best: bool,
    doubted: bool,
}

impl Level {
    /// The rows of a figure; without one for spreads or intervals where none has any.
    pub fn rows(self, parts: Widths) -> Vec<Row> {
        let rows: &[Row] = match self {
            Self::One => &[Row::Whole],
            Self::Two => &[Row::MedianRatio, Row::Spread, Row::Interval],
            Self::Three => &[Row::Median, Row::Spread, Row::Ratio, Row::Interval],
        };
        let mut rows = rows.to_vec();
        rows.retain(|row| match row {
            Row::Spread => parts.spread > 0,
            Row::Interval => parts.interval > 0,
            Row::Whole | Row::MedianRatio | Row::Median | Row::Ratio => true,
        });
        rows
    }

    /// Columns beside a median on its line, of those that have a ratio there.
    pub fn beside(self, parts: Widths) -> usize {
        match self {
            Self::Two => 1 + parts.ratio,
            Self::One | Self::Three => 0,
        }
    }

    /// Columns a figure takes.
    pub fn width(self, parts: Widths) -> usize {
        let below = parts.spread.max(parts.interval);
        match self {
            Self::One => {
                let interval = match parts.interval {
                    0 => 0,
                    columns => columns + 3,
                };
                parts.median + parts.spread + parts.ratio + 4 + interval
            }
            Self::Two => (parts.median + 1 + parts.ratio).max(below),
            Self::Three => parts.median.max(parts.ratio).max(below),
        }
    }
}

impl Row {
    /// What stands in front of it, where it is not the first.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Whole | Self::MedianRatio | Self::Median => None,
            Self::Spread => Some("min-max"),
            Self::Ratio => Some("ratio"),
            Self::Interval => Some("95 %"),
        }
    }

    /// What stands for a figure that is not there.
    pub fn missing(self) -> &'static str {
        if self.name().is_none() { "-" } else { "" }
    }
}

impl Widths {
    /// The widths of a report.
    pub fn of(comparison: &Comparison, clock: bool) -> Self {
        let mut widths = Self::default();
        for phase in comparison.phases() {
            let scale = phase.scale(clock);
            for (at, value) in phase.lines.iter().flat_map(|l| l.values.iter().enumerate()) {
                let Some(value) = value else { continue };
                let texts = Texts::of(value, scale, at == 0);
                widths.compact(&texts);
                widths.spread = widths.spread.max(width(&texts.spread));
                widths.interval = widths.interval.max(width(&texts.interval));
            }
        }
        widths
    }

    /// Takes in a figure of which median and ratio are shown.
    pub fn compact(&mut self, texts: &Texts) {
        self.median = self.median.max(width(&texts.median));
        self.ratio = self.ratio.max(width(&texts.ratio));
    }

    /// Takes in a text that stands where medians do.
    pub fn at_least(&mut self, median: usize) {
        self.median = self.median.max(median);
    }
}

impl Texts {
    /// A figure in this unit.
    pub fn of(value: &Value, scale: Scale, baseline: bool) -> Self {
        let mark = |wanted: bool, mark| if wanted { mark } else { "" };
        let summary = value.summary;
        let level = match value.standing {
            Standing::TooFew | Standing::Open => "?",
            Standing::Level => "~",
            Standing::Plain => "",
        };
        let interval = value.ratio.and_then(|r| r.interval);
        Self {
            median: format!(
                "{}{}{}",
                mark(value.doubted, "!"),
                mark(value.best, "*"),
                scale.show(summary.median)
            ),
            spread: if summary.n > 1 {
                scale.span(summary.min, summary.max, "-")
            } else {
                String::new()
            },
            ratio: match value.ratio {
                Some(_) if baseline => "base".to_owned(),
                Some(ratio) => format!("{level}{}x", terms::ratio(ratio.middle)),
                None if baseline => String::new(),
                None => "-".to_owned(),
            },
            interval: interval
                .filter(|_| !baseline)
                .map_or_else(String::new, |of| {
                    format!("{}-{}x", terms::ratio(of.low), terms::ratio(of.high))
                }),
            best: value.best,
            doubted: value.doubted,
        }
    }

    /// One row of it, coloured, and padded to its column.
    pub fn row(&self, paint: Paint, row: Row, parts: Widths, columns: usize) -> String {
        let median = |columns| {
            let text = right(&self.median, columns);
            match (self.best, self.doubted) {
                (true, _) => paint.good(&text),
                (_, true) => paint.doubtful(&text),
                _ => text,
            }
        };
        match row {
            Row::Whole => {
                let mut text = " ".repeat(columns.saturating_sub(Level::One.width(parts)));
                text += &median(parts.median);
                text += " ";
                text += &paint.dim(&right(&within("(", &self.spread, ")"), parts.spread + 2));
                text += " ";
                text += &right(&self.ratio, parts.ratio);
                if parts.interval > 0 {
                    let interval = within("[", &self.interval, "]");
                    text += &paint.dim(&right(&interval, parts.interval + 3));
                }
                text
            }
            Row::MedianRatio => format!(
                "{} {}",
                median(columns.saturating_sub(parts.ratio + 1)),
                right(&self.ratio, parts.ratio)
            ),
            Row::Median => median(columns),
            Row::Spread => paint.dim(&right(&self.spread, columns)),
            Row::Ratio => right(&self.ratio, columns),
            Row::Interval => paint.dim(&right(&self.interval, columns)),
        }
    }
}

/// A text in brackets, where there is one.
fn within(open: &str, text: &str, close: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{open}{text}{close}")
}
