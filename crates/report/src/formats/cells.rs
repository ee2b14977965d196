//! Cells as text. All renderers use the same digits and units; only the symbols differ.

use crate::document::{Cell, Compared, Figure, Group, Number, Outcome, RatioTo, Row};
use crate::resolution::BOTH_NEGLIGIBLE;
use crate::terms::{self, Scale, grouped};
use fsdyno_model::units::three_digits;
use fsdyno_model::{Better, Bytes, Nanos};

/// The symbols of a renderer.
#[derive(Debug, Clone, Copy)]
pub struct Symbols {
    /// The symbol for an unknown figure.
    pub unknown: &'static str,
    /// The symbol between the limits of a range.
    pub dash: &'static str,
    /// The symbol after a ratio.
    pub times: &'static str,
    /// The symbol before a ratio that is within the margin.
    pub equivalent: &'static str,
    /// The symbols before and after an inconclusive ratio.
    pub inconclusive: [&'static str; 2],
}

/// A cell as text.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own, in any combination"
)]
pub struct Parts {
    /// The quantity.
    pub value: String,
    /// The minimum and the maximum.
    pub spread: String,
    /// The ratio to the baseline.
    pub ratio: String,
    /// The interval of the ratio.
    pub interval: String,
    /// Whether it is the best.
    pub best: bool,
    /// Whether it has a warning.
    pub warned: bool,
    /// Whether its verdict depends on the model.
    pub sensitive: bool,
    /// Whether it is one draw: it is grey.
    pub one_draw: bool,
}

/// The style of a renderer's cells.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Its symbols.
    pub symbols: Symbols,
    /// Whether times are printed as `m:ss`.
    pub clock: bool,
}

impl Style {
    /// A cell as text; times have the unit of their group.
    pub fn parts(self, cell: &Cell, scale: Option<Scale>) -> Parts {
        if let Cell::Figure(figure) = cell {
            return self.figure(figure, scale);
        }
        if let Cell::Mean {
            ratio,
            outcome,
            best,
        } = cell
        {
            return Parts {
                ratio: self.judged(*ratio, *outcome),
                best: *best,
                one_draw: *outcome == Some(Outcome::OneDraw),
                ..Parts::default()
            };
        }
        Parts {
            value: self.plain(cell),
            ..Parts::default()
        }
    }

    /// The parts of all cells of a row.
    pub fn row(self, group: Option<&Group>, row: &Row) -> Vec<Parts> {
        let scale = group.and_then(|group| group.scale_as(self.clock));
        row.cells
            .iter()
            .map(|cell| self.parts(cell, scale))
            .collect()
    }

    fn plain(self, cell: &Cell) -> String {
        let Symbols { unknown, .. } = self.symbols;
        match cell {
            Cell::Empty | Cell::Figure(_) | Cell::Mean { .. } => String::new(),
            Cell::Unknown => unknown.to_owned(),
            Cell::Text(text) => text.clone(),
            Cell::Count(n) => grouped(*n),
            Cell::Number(n) => three_digits(*n),
            Cell::Published(n) => terms::published(*n),
            Cell::Size(size) => size.to_string(),
            Cell::MeanSize(size) => brief(*size),
            Cell::SpaceChange(n) => space_change(*n),
            Cell::Duration(time) => time.to_string(),
            Cell::Percent(n) => percent(*n),
            Cell::Ratio(ratio) => self.ratio(*ratio),
            Cell::JudgedRatio(ratio, outcome) => self.judged(*ratio, Some(*outcome)),
            Cell::Interval(low, high) => {
                format!("{}{}", self.range(*low, *high), self.symbols.times)
            }
            Cell::Rank(rank) => rank.to_string(),
            Cell::Outcome(outcome) => outcome.word().to_owned(),
            Cell::States(cell) => format!(
                "{} / {} / {}",
                grouped(cell.violations),
                grouped(cell.states),
                grouped(cell.trees)
            ),
            Cell::Verdict(cell) => self.compared(cell.to_base.unwrap_or(cell.to_best)),
        }
    }

    fn figure(self, figure: &Figure, scale: Option<Scale>) -> Parts {
        let Symbols { unknown, dash, .. } = self.symbols;
        let (ratio, interval) = match figure.ratio {
            RatioTo::None => (String::new(), None),
            RatioTo::Baseline => ("base".to_owned(), None),
            RatioTo::Unknown => (unknown.to_owned(), None),
            RatioTo::Negligible => (BOTH_NEGLIGIBLE.to_owned(), None),
            RatioTo::Of {
                middle,
                interval,
                outcome,
                better,
            } => self.of_baseline(middle, interval, outcome, better),
        };
        let number = |value| self.number(value, figure.number, scale);
        let value = number(figure.value);
        Parts {
            value: if figure.one_draw {
                format!("({value})")
            } else {
                value
            },
            spread: figure.spread.map_or_else(String::new, |(min, max)| {
                let (min, max) = (number(min), number(max));
                if min == max && scale.is_some() {
                    min
                } else {
                    format!("{min}{dash}{max}")
                }
            }),
            ratio,
            interval: interval.map_or_else(String::new, |(low, high)| {
                format!("{}{}", self.range(low, high), self.symbols.times)
            }),
            best: figure.best,
            warned: figure.warned,
            sensitive: figure.sensitive,
            one_draw: figure.one_draw,
        }
    }

    fn number(self, value: f64, number: Number, scale: Option<Scale>) -> String {
        if let Some(scale) = scale {
            return scale.show(value);
        }
        match number {
            Number::MeasuredSeconds | Number::PublishedSeconds if self.clock => {
                Nanos::from_seconds(value).clock()
            }
            Number::Measured => three_digits(value),
            Number::MeasuredSeconds | Number::Significant => terms::significant(value),
            Number::Published | Number::PublishedSeconds => terms::published(value),
        }
    }

    /// A ratio to the baseline, with its interval. If the higher figure is better it says which one
    /// is higher: `2.52x lower`.
    fn of_baseline(
        self,
        ratio: f64,
        interval: Option<(f64, f64)>,
        outcome: Option<Outcome>,
        better: Better,
    ) -> (String, Option<(f64, f64)>) {
        if better != Better::Higher {
            return (self.judged(ratio, outcome), interval);
        }
        if ratio >= 1.0 {
            return (format!("{} lower", self.judged(ratio, outcome)), interval);
        }
        let inverse = self.judged(1.0 / ratio, outcome);
        let interval = interval.map(|(low, high)| (1.0 / high, 1.0 / low));
        (format!("{inverse} higher"), interval)
    }

    /// A ratio with the mark of its outcome.
    pub fn judged(self, ratio: f64, outcome: Option<Outcome>) -> String {
        let ratio = self.ratio(ratio);
        match outcome {
            Some(Outcome::Equivalent) => format!("{}{ratio}", self.symbols.equivalent),
            Some(Outcome::Inconclusive | Outcome::TooFew) => {
                let [before, after] = self.symbols.inconclusive;
                format!("{before}{ratio}{after}")
            }
            Some(Outcome::OneDraw) => format!("({ratio})"),
            _ => ratio,
        }
    }

    /// `0.78x`.
    pub fn ratio(self, ratio: f64) -> String {
        format!("{}{}", terms::ratio(ratio), self.symbols.times)
    }

    /// `0.75-0.81`.
    pub fn range(self, low: f64, high: f64) -> String {
        let (low, high) = (terms::ratio(low), terms::ratio(high));
        format!("{low}{}{high}", self.symbols.dash)
    }

    fn compared(self, compared: Compared) -> String {
        let ratio = compared.ratio.map_or_else(
            || self.symbols.unknown.to_owned(),
            |ratio| self.ratio(ratio),
        );
        match compared.outcome {
            Some(Outcome::Itself) | None => ratio,
            Some(Outcome::OneDraw) => format!("({ratio})"),
            Some(outcome) => format!("{ratio} {}", outcome.word()),
        }
    }
}

/// `37.1 %`; `<0.1 %` for values that round to zero but are not zero.
fn percent(part: f64) -> String {
    match part {
        0.0 => "0 %".to_owned(),
        of if of < 0.05 => "<0.1 %".to_owned(),
        of => format!("{of:.1} %"),
    }
}

/// `+34.0 MiB`, `-4.00 KiB`, `0 B`.
fn space_change(bytes: i64) -> String {
    let size = Bytes(bytes.unsigned_abs());
    match bytes {
        0 => "0 B".to_owned(),
        n if n > 0 => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

/// An amount with at most three digits: `32 KiB`, `3.0 MiB`.
fn brief(size: Bytes) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (size.0 as f64, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = usize::from(value < 9.95 && unit > 0);
    format!("{value:.digits$} {}", UNITS[unit])
}
