//! Maps values to positions along an axis, and formats the tick labels.

use super::canvas::{SMALL, width};
use crate::charts::{Axis, Scale, Unit, round_below};
use crate::terms::{self, grouped, significant};

/// An axis: its range of values and its two end positions.
#[derive(Debug, Clone)]
pub(super) struct PlacedScale<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// The upper limit of a nines axis: 0.999,999,999.
const LAST_NINE: f64 = 9.0;

impl<'a> PlacedScale<'a> {
    /// Creates an axis for these values between two positions.
    pub(super) fn of(
        axis: &'a Axis,
        values: impl Iterator<Item = f64>,
        from: f64,
        to: f64,
    ) -> Self {
        let places = values.chain(axis.reference);
        let mut positioned = Self {
            axis,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            from,
            to,
        };
        for place in places.filter_map(|value| bend(axis.scale, value)) {
            (positioned.low, positioned.high) =
                (positioned.low.min(place), positioned.high.max(place));
        }
        positioned.widen();
        positioned
    }

    /// Moves the ends inwards until all tick labels are between two positions.
    pub(super) fn with_labels_inside(self, left: f64, right: f64, spacing: f64) -> Self {
        let half = |text: &str| width(text, SMALL) / 2.0;
        let ticks = self.ticks(spacing);
        let before = ticks.iter().map(|(x, text)| left - (x - half(text)));
        let after = ticks.iter().map(|(x, text)| x + half(text) - right);
        let (before, after) = (before.fold(0.0, f64::max), after.fold(0.0, f64::max));
        self.shortened(before, after)
    }

    /// Moves the ends inwards by these distances; distances below zero are ignored.
    pub(super) fn shortened(mut self, before: f64, after: f64) -> Self {
        self.from += before.max(0.0);
        self.to -= after.max(0.0);
        self
    }

    /// Begins a logarithmic scale at a round value below the smallest one, so that bars have a
    /// length.
    pub(super) fn for_bars(mut self, values: impl Iterator<Item = f64>) -> Self {
        /// The length of the shortest bar, as a ratio of its value to the begin of the scale.
        const SHORTEST: f64 = 1.5;
        let values = values.filter(|value| *value > 0.0);
        let least = values.fold(f64::INFINITY, f64::min);
        if self.is_log() && least.is_finite() {
            self.low = round_below(least / SHORTEST, self.tick_unit()).ln();
        }
        self
    }

    /// Whether the scale is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        self.axis.scale == Scale::Log
    }

    /// Adds padding at both ends, and widens an empty range.
    fn widen(&mut self) {
        if !self.low.is_finite() {
            (self.low, self.high) = (0.0, 1.0);
        }
        match self.axis.scale {
            Scale::FromZero => {
                (self.low, self.high) = (self.low.min(0.0), self.high.max(0.0));
                let air = (self.high - self.low) * 0.03;
                self.high += if self.high > 0.0 { air } else { 0.0 };
                self.low -= if self.low < 0.0 { air } else { 0.0 };
            }
            Scale::Nines => self.low = self.low.min(0.0),
            Scale::Linear | Scale::Log => {
                let air = (self.high - self.low) * 0.05;
                (self.low, self.high) = (self.low - air, self.high + air);
            }
        }
        let least = match self.axis.scale {
            // A range of 10 %.
            Scale::Log => 0.1,
            Scale::Nines => 1.0,
            Scale::FromZero | Scale::Linear => self.high.abs().max(self.low.abs()) * 0.02,
        };
        if self.high - self.low < least {
            let middle = f64::midpoint(self.low, self.high);
            (self.low, self.high) = (middle - least / 2.0, middle + least / 2.0);
        }
        if self.high <= self.low {
            self.high = self.low + 1.0;
        }
    }

    /// The position of a value.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        let part = (bend(self.axis.scale, value)? - self.low) / (self.high - self.low);
        Some(self.from + (self.to - self.from) * part)
    }

    /// The position at which bars begin.
    pub(super) fn zero(&self) -> f64 {
        self.at(0.0).unwrap_or(self.from)
    }

    /// The ticks: positions and labels, each at least `spacing` from the next.
    pub(super) fn ticks(&self, spacing: f64) -> Vec<(f64, String)> {
        let most = ((self.to - self.from).abs() / spacing).floor().max(1.0);
        let (values, step) = match self.axis.scale {
            Scale::Nines => return self.nines(spacing),
            Scale::FromZero | Scale::Linear => self.even(self.low, self.high, most),
            Scale::Log => self.by_ratio(most),
        };
        let show = |value: f64| self.show(value, step);
        let placed = values
            .into_iter()
            .filter_map(|v| Some((self.at(v)?, show(v))));
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        placed
            .filter(|(place, _)| (low - 0.5..=high + 0.5).contains(place))
            .collect()
    }

    /// Linear ticks in steps of 1, 2 or 5 in the displayed unit.
    fn even(&self, low: f64, high: f64, most: f64) -> (Vec<f64>, Option<f64>) {
        let unit = self.unit().0;
        let raw = (high - low) / unit / most;
        let power = 10_f64.powf(raw.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let least = if self.axis.unit == Unit::Count {
            1.0
        } else {
            0.0
        };
        let step = steps.into_iter().find(|step| *step >= raw * 0.999);
        let step = step.unwrap_or(power * 10.0).max(least) * unit;
        let first = (low / step).ceil();
        let values = (0_u32..1000).map(|n| (first + f64::from(n)) * step);
        let inside = values.take_while(|value| *value <= high + step * 1e-9);
        (inside.collect(), Some(step))
    }

    /// Logarithmic ticks: powers of ten, with 2 and 5 if there is room. A short range has linear
    /// ticks.
    fn by_ratio(&self, most: f64) -> (Vec<f64>, Option<f64>) {
        const NEAR: f64 = 4.0;
        let (low, high) = (self.low.exp(), self.high.exp());
        let (low, high) = (low.max(f64::MIN_POSITIVE), high.min(f64::MAX));
        if high / low < NEAR {
            return self.even(low, high, most);
        }
        let unit = self.tick_unit();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a power of a finite number"
        )]
        let power = |value: f64| (value / unit).log10().floor() as i32;
        let powers = power(low)..=power(high);
        let all = |factors: &[f64], every: i32| -> Vec<f64> {
            let powers = powers.clone().filter(|power| power.rem_euclid(every) == 0);
            let values = powers.flat_map(|power| {
                let ten = 10_f64.powi(power) * unit;
                factors.iter().map(move |factor| factor * ten)
            });
            values
                .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
                .collect()
        };
        let mut kinds = vec![all(&[1.0, 2.0, 5.0], 1)];
        kinds.extend((1..40).map(|every| all(&[1.0], every)));
        let mut fitting = kinds
            .iter()
            .filter(|values| values.len() >= 2 && values.len() as f64 <= most + 1.0);
        let fitting = fitting.next().cloned();
        (
            fitting.unwrap_or_else(|| self.thinned(&kinds[0], most)),
            None,
        )
    }

    /// As many of these values as fit, the powers of ten first.
    fn thinned(&self, values: &[f64], most: f64) -> Vec<f64> {
        let distance = (self.high - self.low) / most;
        let is_power = |value: &f64| {
            let power = (value / self.tick_unit()).log10();
            (power - power.round()).abs() < 1e-9
        };
        let (powers, others): (Vec<f64>, Vec<f64>) = values.iter().copied().partition(is_power);
        let mut thinned: Vec<f64> = Vec::new();
        for value in powers.into_iter().chain(others) {
            let is_near = |other: &f64| (value / other).ln().abs() < distance;
            if !thinned.iter().any(is_near) {
                thinned.push(value);
            }
        }
        thinned.sort_by(f64::total_cmp);
        thinned
    }

    /// The unit whose powers of ten are the first ticks of a logarithmic scale.
    fn tick_unit(&self) -> f64 {
        if self.axis.unit == Unit::Bytes {
            1024.0
        } else {
            1.0
        }
    }

    fn nines(&self, spacing: f64) -> Vec<(f64, String)> {
        let parts = [
            0.5,
            0.9,
            0.99,
            0.999,
            0.9999,
            0.99999,
            0.999_999,
            0.999_999_9,
        ];
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for part in parts {
            let Some(place) = self.at(part).filter(|place| *place <= self.to + 0.5) else {
                continue;
            };
            let near = |(other, _): &(f64, String)| (place - other).abs() < spacing;
            if !ticks.last().is_some_and(near) {
                let digits = format!("{:.5}", part * 100.0);
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                ticks.push((place, format!("{digits} %")));
            }
        }
        ticks
    }

    /// The displayed unit: its size and its name.
    fn unit(&self) -> (f64, &'static str) {
        let size = if self.axis.scale == Scale::Log {
            // A power of ten may be slightly smaller after `ln` and `exp`.
            self.high.exp() * (1.0 + 1e-9)
        } else {
            self.high.abs().max(self.low.abs())
        };
        let of = |units: &[(f64, &'static str)]| {
            let fitting = units.iter().find(|(unit, _)| size >= *unit);
            fitting.or(units.last()).copied().unwrap_or((1.0, ""))
        };
        match self.axis.unit {
            Unit::Nanoseconds => of(&[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")]),
            Unit::Bytes => of(&BYTES),
            Unit::BytesPerSecond => of(&BYTES_PER_SECOND),
            Unit::OperationsPerSecond | Unit::Count | Unit::Ratio | Unit::Part => (1.0, ""),
        }
    }

    /// The label of the axis: `time, ms`, `latency, log scale`.
    pub(super) fn label(&self) -> String {
        let unit = match (self.axis.scale, self.axis.unit) {
            (_, Unit::OperationsPerSecond) => "1/s",
            // Each tick has its own unit.
            (Scale::Log, _) if !self.near() => "",
            _ => self.unit().1,
        };
        let scale = if self.is_log() { "log scale" } else { "" };
        let parts = [self.axis.label.as_str(), unit, scale].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    }

    /// Whether a logarithmic axis has linear ticks.
    fn near(&self) -> bool {
        self.axis.scale == Scale::Log && self.high - self.low < 4.0_f64.ln()
    }

    /// A tick label: with the digits of its step, or in its own unit if there is no step.
    fn show(&self, value: f64, step: Option<f64>) -> String {
        let Some(step) = step else {
            return self.show_alone(value);
        };
        let unit = self.unit().0;
        let (value, step) = (value / unit, step / unit);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 12"
        )]
        let digits = (-(step * 1.000_1).log10().floor()).clamp(0.0, 12.0) as usize;
        // Avoids -0.
        let value = if value.abs() < step * 1e-6 {
            0.0
        } else {
            value
        };
        if digits == 0 {
            thousands(value)
        } else {
            format!("{value:.digits$}")
        }
    }

    fn show_alone(&self, value: f64) -> String {
        match self.axis.unit {
            Unit::Ratio => {
                let text = terms::ratio(value);
                let plain = text.trim_end_matches('0').trim_end_matches('.');
                let whole = value >= 0.995 || plain.is_empty();
                let shown = if whole { trimmed(&text) } else { plain };
                if value < 0.001 {
                    format!("{value:e}")
                } else {
                    shown.to_owned()
                }
            }
            Unit::OperationsPerSecond | Unit::Count | Unit::Part => thousands(value),
            Unit::Nanoseconds | Unit::Bytes | Unit::BytesPerSecond => {
                let near = PlacedScale {
                    low: value.ln(),
                    high: value.ln(),
                    ..self.clone()
                };
                let (unit, name) = near.unit();
                format!("{} {name}", trimmed(&significant(value / unit)))
            }
        }
    }
}

/// A transformed value. `None` if the scale does not contain it.
fn bend(scale: Scale, value: f64) -> Option<f64> {
    let bent = match scale {
        Scale::FromZero | Scale::Linear => value,
        Scale::Log if value > 0.0 => value.ln(),
        Scale::Log => return None,
        Scale::Nines => -(1.0 - value.clamp(0.0, 1.0)).log10().max(-LAST_NINE),
    };
    bent.is_finite().then_some(bent)
}

const BYTES: [(f64, &str); 5] = [
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];
const BYTES_PER_SECOND: [(f64, &str); 4] = [
    (1_073_741_824.0, "GiB/s"),
    (1_048_576.0, "MiB/s"),
    (1024.0, "KiB/s"),
    (1.0, "B/s"),
];

/// `12,000`.
fn thousands(value: f64) -> String {
    let whole = terms::whole(value.abs());
    let sign = if value < 0.0 { "-" } else { "" };
    if value != 0.0 && value.abs() < 1.0 {
        return trimmed(&significant(value)).to_owned();
    }
    match whole {
        1_000_000_000.. => format!("{sign}{} G", trimmed(&significant(value.abs() / 1e9))),
        1_000_000.. => format!("{sign}{} M", trimmed(&significant(value.abs() / 1e6))),
        _ => format!("{sign}{}", grouped(whole)),
    }
}

/// `2` of `2.00`.
fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}
