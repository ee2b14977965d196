//! The text form of figures and lists, the same in every format.

use fsdyno_model::figures::{BYTES, BYTES_A_SECOND, COUNT, NANOSECONDS};
use fsdyno_model::{Bytes, Cell, Nanos, Plan};
use jiff::Timestamp;

pub use fsdyno_model::{printable, printable_lines};

/// The common unit of all times of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// `m:ss`, as in the published tables.
    Clock,
    /// A unit: its name and its length in nanoseconds.
    Unit(&'static str, u32),
}

const UNITS: [Scale; 4] = [
    Scale::Unit("s", 1_000_000_000),
    Scale::Unit("ms", 1_000_000),
    Scale::Unit("us", 1_000),
    Scale::Unit("ns", 1),
];

const SIZES: [Scale; 4] = [
    Scale::Unit("GiB", 1 << 30),
    Scale::Unit("MiB", 1 << 20),
    Scale::Unit("KiB", 1 << 10),
    Scale::Unit("B", 1),
];

const RATES: [Scale; 4] = [
    Scale::Unit("GiB/s", 1 << 30),
    Scale::Unit("MiB/s", 1 << 20),
    Scale::Unit("KiB/s", 1 << 10),
    Scale::Unit("B/s", 1),
];

impl Scale {
    /// The largest unit in which the smallest of these times is at least 1, but never a unit that
    /// prints the largest with more than five digits.
    pub fn of_times(times_ns: impl Iterator<Item = f64> + Clone) -> Self {
        let least = times_ns.clone().fold(f64::INFINITY, f64::min);
        let most = times_ns.fold(0.0, f64::max);
        UNITS
            .into_iter()
            .find(|unit| least >= unit.ns() || most / unit.ns() * 1000.0 >= 100_000.0)
            .unwrap_or(Scale::Unit("ns", 1))
    }

    /// The scale of figures that are stored in this unit; `None` if they are shown as they are.
    pub fn of_unit(unit: &str, figures: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let scales = match unit {
            NANOSECONDS => return Some(Self::of_times(figures)),
            BYTES => SIZES,
            BYTES_A_SECOND => RATES,
            _ => return None,
        };
        let least = figures.map(f64::abs).fold(f64::INFINITY, f64::min);
        let fits = |scale: &Self| least >= scale.ns();
        scales.into_iter().find(fits).or(Some(scales[3]))
    }

    /// Whether it is a unit of times.
    pub fn is_of_times(self) -> bool {
        self == Self::Clock || UNITS.contains(&self)
    }

    /// The name of the unit, for a heading.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Clock => "m:ss",
            Self::Unit(name, _) => name,
        }
    }

    /// A time in this unit, without its name.
    pub fn show(self, time_ns: f64) -> String {
        match self {
            Self::Clock => Nanos::from_seconds(time_ns / 1e9).clock(),
            Self::Unit("ns", _) => format!("{time_ns:.0}"),
            Self::Unit(..) => significant(time_ns / self.ns()),
        }
    }

    /// A range of times in this unit; one figure if both ends have the same text.
    pub fn span(self, min_ns: f64, max_ns: f64, dash: &str) -> String {
        let (min, max) = (self.show(min_ns), self.show(max_ns));
        if min == max {
            return min;
        }
        format!("{min}{dash}{max}")
    }

    /// The length of the unit, nanoseconds; its size for other figures.
    pub fn ns(self) -> f64 {
        match self {
            Self::Clock => 1e9,
            Self::Unit(_, ns) => f64::from(ns),
        }
    }
}

/// Three significant digits, small figures included: `0.0123`, `1.23`, `1234`.
pub fn significant(value: f64) -> String {
    match value {
        v if v >= 0.995 || v <= 0.0 => fsdyno_model::units::three_digits(v),
        v if v >= 0.0995 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

/// The name of a figure with its unit: `tps, 1/s`. A count has none.
pub fn figure_with_unit(name: &str, unit: &str) -> String {
    let name = printable(name);
    match unit {
        "" => name,
        unit => format!("{name}, {}", printable(unit)),
    }
}

/// A figure with its unit. A figure without noise has five digits.
pub fn amount(unit: &str, value: f64, exact: bool) -> String {
    match unit {
        BYTES if value >= 0.0 => Bytes(whole(value)).to_string(),
        COUNT if value >= 0.0 => grouped(whole(value)),
        unit => match Scale::of_unit(unit, std::iter::once(value)) {
            Some(scale) if exact && scale.is_of_times() && scale.ns() > 1.0 => {
                format!("{} {}", five_digits(value / scale.ns()), scale.unit())
            }
            Some(scale) => format!("{} {}", scale.show(value), scale.unit()),
            None => format!("{} {}", significant(value), printable(unit)),
        },
    }
}

fn five_digits(value: f64) -> String {
    let digits = match value {
        v if v >= 999.95 => 1,
        v if v >= 99.995 => 2,
        v if v >= 9.9995 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// The nearest whole number that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates"
)]
pub fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio with two decimals, fewer for large values.
pub fn ratio(value: f64) -> String {
    match value {
        v if v >= 99.5 => format!("{v:.0}"),
        v if v >= 9.95 => format!("{v:.1}"),
        v if v < 0.095 => format!("{v:.3}"),
        v => format!("{v:.2}"),
    }
}

/// A published figure with at most three decimals.
pub fn published(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `2 %`, `0.5 %`.
pub fn percent(part: f64) -> String {
    let percent = (part * 1000.0).round() / 10.0;
    format!("{percent} %")
}

/// `1 cell`, `2 cells`.
pub fn count(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    joined(items, "and")
}

/// `a`, `a or b`, `a, b or c` with this word before the last.
pub fn joined(items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} {word} {last}", most.join(", ")),
    }
}

/// The names of contenders for a headline of at most two lines: all of them, or their number.
pub fn contenders(names: &[String]) -> String {
    const MAX_CHARACTERS: usize = 80;
    let all = list(names);
    if names.len() > 1 && all.chars().count() > MAX_CHARACTERS {
        format!("{} file systems and settings", names.len())
    } else {
        all
    }
}

/// The names of the contender and the workload of a cell; `?` for one that the plan does not have.
pub fn of_cell(plan: &Plan, cell: Cell) -> [&str; 2] {
    let contender = plan.contenders.get(cell.contender as usize);
    let workload = plan.workloads.get(cell.workload as usize);
    [
        contender.map_or("?", |contender| &contender.label),
        workload.map_or("?", |workload| &workload.name),
    ]
}

/// The name of a phase, in a run with this number of workloads.
pub fn phase(workloads: usize, workload: &str, phase: &str) -> String {
    if workloads > 1 {
        format!("{workload} / {phase}")
    } else {
        phase.to_owned()
    }
}

/// A date in UTC, to the minute.
pub fn date(unix_ns: u64) -> String {
    Timestamp::from_nanosecond(i128::from(unix_ns)).map_or_else(
        |_| format!("{unix_ns} ns since 1970"),
        |t| t.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}

/// Letters, digits and single dashes: valid in a file name and as the id of an element.
pub fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_times_of_a_line_have_the_unit_of_the_smallest() {
        let unit = |times: &[f64]| Scale::of_times(times.iter().copied()).unit();
        assert_eq!(unit(&[2e9, 90e9]), "s");
        assert_eq!(unit(&[2e6, 9e9]), "ms");
        assert_eq!(unit(&[2e6, 900e9]), "s");
        assert_eq!(unit(&[0.0, 0.0]), "ns");
        let seconds = UNITS[0];
        assert_eq!(seconds.show(2e6), "0.0020");
        assert_eq!(seconds.span(1e9, 1.001e9, "-"), "1.00");
    }

    #[test]
    fn a_figure_has_a_readable_unit() {
        for (unit, value, text) in [
            ("ns", 1.234_56e9, "1.23 s"),
            ("", 12_345.0, "12,345"),
            ("B/s", 3.5 * 1024.0 * 1024.0, "3.50 MiB/s"),
            ("1/s", 3_362.248_672, "3362 1/s"),
            ("B", -2048.0, "-2.00 KiB"),
        ] {
            assert_eq!(amount(unit, value, false), text);
        }
        assert_eq!(amount("ns", 1.234_56e9, true), "1.2346 s");
    }

    #[test]
    fn lists_and_counts_read_as_english() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(joined(&items[..2], "or"), "a or b");
        assert_eq!(count(1, "cell"), "1 cell");
        assert_eq!(count(0, "cell"), "0 cells");
        assert_eq!(date(1_795_282_200_000_000_000), "2026-11-21 17:30 UTC");
    }
}
