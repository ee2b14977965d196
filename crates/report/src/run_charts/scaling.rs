//! The rate of a phase by the number of workers: a line per contender.

use super::{Filter, Place};
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Scale, Series, Unit};
use crate::comparison::scaling::{self, Scaling};
use crate::terms;
use fsdyno_stats::{Summary, median_interval};

/// With a larger ratio of the most to the fewest workers, the axis is logarithmic.
const FAR: u32 = 16;
/// The distance between the intervals of two contenders, as a fraction of the axis.
const ASIDE: f64 = 0.01;

/// The charts of all phases with several numbers of workers.
pub(super) fn charts(place: &Place<'_>, filter: &Filter) -> Vec<Chart> {
    let phases = scaling::phases(place.share);
    let charts = phases.iter().filter_map(|one| chart(place, filter, one));
    charts.collect()
}

fn chart(place: &Place<'_>, filter: &Filter, scaling: &Scaling) -> Option<Chart> {
    let workloads = &place.comparison.workloads;
    let phase_of = |workload: usize| {
        let workload = workloads.get(workload)?;
        Some((workload.name.as_str(), workload.phases.get(scaling.phase)?))
    };
    let mut all = scaling.numbers.iter();
    all.find(|(_, at)| {
        phase_of(*at).is_some_and(|(workload, phase)| filter.takes(workload, &phase.label))
    })?;
    let (fewest, first) = *scaling.numbers.first()?;
    let (most, _) = *scaling.numbers.last()?;
    let (workload, phase) = phase_of(first)?;
    let mut chart = place.chart(Kind::Scaling, Some((workload, phase)));
    // It is of several workloads.
    chart.workload = None;
    let name = terms::printable(&phase.label);
    chart.title = format!("{name}: rate by the number of workers");
    chart.about =
        format!("Operations, or files, a second of {name} by {fewest} to {most} workers.");
    let far = most > fewest.saturating_mul(FAR);
    let x = if far { Scale::Log } else { Scale::FromZero };
    let mut intervals = false;
    let series = place.contenders().map(|contender| {
        let marks = marks(place, scaling, contender, |x, aside| {
            if far {
                x * f64::from(most / fewest.max(1)).powf(aside)
            } else {
                x + f64::from(most) * aside
            }
        });
        let lines = marks
            .iter()
            .filter(|mark| matches!(mark, Mark::Line { .. }));
        intervals |= lines.count() > 1;
        Series { contender, marks }
    });
    let series: Vec<Series> = series.filter(|one| !one.marks.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let y = rate_scale(&series);
    chart.panels.push(Panel {
        title: "rate".to_owned(),
        x: Axis::of("workers", Unit::Count, x),
        y: Some(Axis::of("rate", Unit::OperationsPerSecond, y)),
        rows: Vec::new(),
        series,
    });
    chart.describe(|mark| matches!(mark, Mark::Middle { .. }));
    chart.notes.push(if intervals {
        "Medians of all workers together. Vertical lines are their 95 % intervals, drawn side by side.".to_owned()
    } else {
        "Medians of all workers together. Intervals need 6 repeats.".to_owned()
    });
    Some(chart)
}

/// The scale of rates: logarithmic if contenders differ by a large factor with the same number of
/// workers. One contender alone reaches such factors with more workers.
fn rate_scale(series: &[Series]) -> Scale {
    let marks = series.iter().flat_map(|one| &one.marks);
    let medians = marks.filter_map(|mark| match mark {
        Mark::Middle { x, y, .. } => Some((*x, *y)),
        _ => None,
    });
    let medians: Vec<(f64, f64)> = medians.collect();
    let far = medians.iter().any(|(workers, _)| {
        let same = medians.iter().filter(|(x, _)| (x - workers).abs() < 0.5);
        Scale::of_values(same.map(|(_, rate)| *rate)) == Scale::Log
    });
    if far {
        Scale::of_values(medians.iter().map(|(_, rate)| *rate))
    } else {
        Scale::FromZero
    }
}

/// The intervals, the line, and the medians of one contender. `moved` moves a position by a
/// fraction of the axis.
fn marks(
    place: &Place<'_>,
    scaling: &Scaling,
    contender: usize,
    moved: impl Fn(f64, f64) -> f64,
) -> Vec<Mark> {
    let label = &place.comparison.contenders[contender];
    let middle = (place.comparison.contenders.len() - 1) as f64 / 2.0;
    let aside = (contender as f64 - middle) * ASIDE;
    let (mut marks, mut points, mut medians) = (Vec::new(), Vec::new(), Vec::new());
    for (workers, workload) in &scaling.numbers {
        let rates = scaling.rates(place.share, contender, *workload);
        let rates: Vec<f64> = rates.into_iter().map(|(_, rate)| rate).collect();
        let Some(summary) = Summary::of(&rates) else {
            continue;
        };
        let x = f64::from(*workers);
        let workers = terms::count(*workers as usize, "worker");
        let rate = |value: f64| format!("{}/s", terms::significant(value));
        let mut described = format!("{label}, {workers}: {}", rate(summary.median));
        if let Some(interval) = median_interval(&rates) {
            let (low, high) = (interval.low, interval.high);
            let between = format!("{} to {}", rate(low), rate(high));
            described = format!("{described}, interval {between}");
            marks.push(Mark::Line {
                points: [low, high].map(|rate| (moved(x, aside), rate)).into(),
                label: format!("{label}, {workers}: the median is between {between}, at 95 %"),
            });
        }
        points.push((x, summary.median));
        medians.push(Mark::Middle {
            x,
            y: summary.median,
            label: described,
        });
    }
    if points.is_empty() {
        return marks;
    }
    marks.push(Mark::Line {
        points,
        label: format!("{label}: medians by the number of workers"),
    });
    marks.extend(medians);
    marks
}
