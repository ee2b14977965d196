//! The samples of a phase: a row for each contender, with every sample as a dot in the order of
//! blocks, the median with its interval, and the ratio.

use super::Place;
use super::ratios;
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Row, Scale, Series};
use crate::comparison::{Line, PhaseTable, Value};
use crate::terms::{self, amount};
use fsdyno_model::Nanos;
use fsdyno_stats::median_interval;

/// Above this number of samples in a row, they are drawn in bins.
const DOTS: usize = 120;
/// The number of bins of a row.
const BINS: u16 = 48;
/// The relative position of the first dot in a row, and the height of all dots.
const TOP: f64 = 0.18;
const TALL: f64 = 0.64;

pub(super) fn chart(place: &Place<'_>, (workload, phase): (&str, &PhaseTable)) -> Option<Chart> {
    let last = phase.lines.last()?;
    let mut chart = place.chart(Kind::Samples, Some((workload, phase)));
    let name = place.name(workload, &phase.label);
    chart.title = format!("{name}: samples");
    chart.panels = phase.lines.iter().map(|line| times(place, line)).collect();
    let ratios = ratios::of_line(place, last);
    let others = place.contenders().filter(|at| *at > 0).count() > 0;
    if others && ratios.series.iter().any(|one| !one.marks.is_empty()) {
        chart.panels.push(ratios);
    }
    chart.about = format!("Times of {name}.");
    chart.describe(|mark| matches!(mark, Mark::Middle { .. }));
    let most = phase
        .lines
        .iter()
        .flat_map(|line| line.values.iter().flatten());
    if most.clone().any(|value| value.times.len() > DOTS) {
        chart.notes.push(format!(
            "More than {DOTS} samples of a row are drawn as columns, as tall as there are samples."
        ));
    }
    let repeated = most.clone().any(|value| value.times.len() > 1);
    if repeated && !most.clone().any(|value| interval(value).is_some()) {
        chart
            .notes
            .push("Medians have an interval from 6 samples on.".to_owned());
    }
    Some(chart)
}

/// One time of the phase.
fn times(place: &Place<'_>, line: &Line) -> Panel {
    let shown = place.contenders();
    let values = shown.filter_map(|at| line.values.get(at)?.as_ref());
    let all: Vec<f64> = values
        .flat_map(|v| [v.summary.min, v.summary.max])
        .collect();
    let title = line.label();
    let x = Axis::of_figures(
        if line.is_time() { "time" } else { &title },
        (line.name(), &line.unit),
        all.iter().copied(),
    );
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for (y, at) in (0_u32..).zip(place.contenders()) {
        let value = line.values.get(at).and_then(Option::as_ref);
        rows.push(Row {
            group: String::new(),
            contender: at,
            value: value.map_or("\u{2013}".to_owned(), |v| {
                amount(&line.unit, v.summary.median, false)
            }),
        });
        let label = &place.comparison.contenders[at];
        series.push(Series {
            contender: at,
            marks: value.map_or(Vec::new(), |v| marks(line, v, label, f64::from(y), x.scale)),
        });
    }
    Panel {
        title,
        x,
        y: None,
        rows,
        series,
    }
}

fn marks(line: &Line, value: &Value, contender: &str, row: f64, scale: Scale) -> Vec<Mark> {
    let time = |figure| amount(&line.unit, figure, false);
    let (summary, n) = (value.summary, value.times.len());
    let y = row + 0.5;
    let mut marks = if n > DOTS {
        bins(&line.unit, value, row + TOP + TALL, scale)
    } else {
        dots(line, value, row)
    };
    let mut description = format!("{contender}: {}", time(summary.median));
    if n > 1 {
        description = format!("{contender}: median {} of {n}", time(summary.median));
        if let Some((low, high)) = interval(value) {
            let between = format!("{} to {}", time(low), time(high));
            let label = format!("{contender}: the median is between {between}, at 95 % or more");
            marks.push(Mark::Interval {
                low,
                high,
                y,
                label,
            });
            description = format!("{description}, interval {between}");
        }
    }
    marks.push(Mark::Middle {
        x: summary.median,
        y,
        label: description,
    });
    marks
}

fn interval(value: &Value) -> Option<(f64, f64)> {
    let times: Vec<f64> = value.times.iter().map(|(_, time)| *time).collect();
    median_interval(&times).map(|interval| (interval.low, interval.high))
}

/// Every sample, with the first block at the top.
fn dots(line: &Line, value: &Value, row: f64) -> Vec<Mark> {
    let time = |figure| amount(&line.unit, figure, false);
    let steps = value.times.len().saturating_sub(1) as f64;
    let place = |at: usize| {
        let part = if steps > 0.0 { at as f64 / steps } else { 0.5 };
        row + TOP + TALL * part
    };
    let dot = |(at, (block, x)): (usize, &(u32, f64))| Mark::Dot {
        x: *x,
        y: place(at),
        label: format!("block {}: {}", block + 1, time(*x)),
    };
    value.times.iter().enumerate().map(dot).collect()
}

/// A histogram of the samples.
fn bins(unit: &str, value: &Value, foot: f64, scale: Scale) -> Vec<Mark> {
    let time = |figure| amount(unit, figure, false);
    let summary = value.summary;
    let log = scale == Scale::Log;
    let there = |x: f64| if log { x.ln() } else { x };
    let back = |x: f64| if log { x.exp() } else { x };
    let (low, high) = (there(summary.min), there(summary.max));
    let width = (high - low) / f64::from(BINS);
    let mut counts = vec![0_usize; usize::from(BINS)];
    for (_, x) in &value.times {
        let part = if width > 0.0 {
            (there(*x) - low) / width
        } else {
            0.0
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the number of bins"
        )]
        let bin = (part as usize).min(counts.len() - 1);
        counts[bin] += 1;
    }
    let tallest = counts.iter().copied().max().unwrap_or(1) as f64;
    let bin = |(at, count): (u16, usize)| {
        let (low, high) = (
            back(low + width * f64::from(at)),
            back(low + width * f64::from(at + 1)),
        );
        let samples = terms::count(count, "sample");
        Mark::Bin {
            label: format!("{} to {}: {samples}", time(low), time(high)),
            part: count as f64 / tallest,
            y: foot,
            low,
            high,
        }
    };
    let filled = (0..BINS).zip(counts).filter(|(_, count)| *count > 0);
    filled.map(bin).collect()
}

/// A time with its unit.
pub(super) fn time(ns: f64) -> String {
    Nanos(terms::whole(ns)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_stats::Summary;

    fn value(times: Vec<(u32, f64)>) -> Value {
        let figures: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
        Value {
            summary: Summary::of(&figures).unwrap(),
            adjusted: times.clone(),
            times,
            ratio: None,
            outcome: None,
            best: false,
            drift: None,
            outliers: Vec::new(),
            doubted: false,
            not_durable: false,
            one_draw: false,
            sensitive: false,
            better: fsdyno_model::Better::Lower,
            negligible: false,
        }
    }

    #[test]
    fn every_one_of_many_samples_is_in_one_bin() {
        let noise = |block: u32| 1e9 + f64::from(block.wrapping_mul(2_654_435_761) >> 8);
        let value = value((0..100_000).map(|block| (block, noise(block))).collect());
        for scale in [Scale::FromZero, Scale::Log] {
            let bins = bins("ns", &value, 1.0, scale);
            assert!(bins.len() <= usize::from(BINS));
            let count = |mark: &Mark| -> usize {
                let words = mark.label().split(": ").nth(1).unwrap();
                words.split(' ').next().unwrap().parse().unwrap()
            };
            assert_eq!(bins.iter().map(count).sum::<usize>(), 100_000);
        }
    }

    #[test]
    fn equal_samples_are_one_bin() {
        let value = value((0..500).map(|block| (block, 7.0)).collect());
        assert_eq!(bins("ns", &value, 1.0, Scale::FromZero).len(), 1);
    }
}
