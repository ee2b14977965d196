//! The charts of a history: a line for each contender, with the levels between its steps.

use super::figures::{axis, change, heading};
use super::json::{History, SeriesHistory};
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Scale, Series, Unit};
use crate::terms::{self, amount};

/// With a larger ratio of the largest to the smallest figure, the axis begins at zero.
const FAR: f64 = 1.5;

/// A chart for each phase.
pub fn charts(history: &History) -> Vec<Chart> {
    let phases = history.phases().enumerate();
    phases
        .filter_map(|(number, phase)| of_phase(history, number, phase))
        .collect()
}

/// The chart of a phase.
pub(super) fn of_phase(history: &History, number: usize, phase: &[SeriesHistory]) -> Option<Chart> {
    let first = phase.first()?;
    let names = axis(history, phase);
    let metric = &history.metric;
    let contenders = phase.iter().map(|one| terms::printable(&one.name()));
    let title = heading(history, first);
    let mut chart = Chart {
        schema: Chart::SCHEMA,
        name: format!(
            "history-{}-{}-{}",
            terms::slug(metric.as_str()),
            history.by,
            number + 1
        ),
        kind: Kind::History,
        lab: None,
        workload: Some(first.workload.clone()),
        phase: Some(first.phase.clone()),
        title: format!("{title}: {metric} by {}", history.by),
        about: format!("{metric} of {title} by {}.", history.by),
        notes: Vec::new(),
        contenders: contenders.collect(),
        panels: Vec::new(),
    };
    let figures = phase.iter().flat_map(|one| &one.points);
    let figures: Vec<f64> = figures.map(|point| point.figure).collect();
    let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let high = figures.iter().copied().fold(0.0, f64::max);
    let scale = if low <= 0.0 || high / low > FAR {
        Scale::of_values(figures.iter().copied())
    } else {
        chart
            .notes
            .push("The vertical axis does not start at zero.".to_owned());
        Scale::Linear
    };
    let unit = Unit::of(&history.unit);
    let series = phase.iter().enumerate().map(|(contender, one)| Series {
        contender,
        marks: marks(history, one, &names),
    });
    chart.panels.push(Panel {
        title: metric.as_str().to_owned(),
        x: Axis {
            names: names.clone(),
            ..Axis::of(history.by.name(), Unit::Count, Scale::Linear)
        },
        y: Some(Axis::of(metric.as_str(), unit, scale)),
        rows: Vec::new(),
        series: series.collect(),
    });
    chart.describe(|mark| matches!(mark, Mark::Dot { .. }));
    chart
        .notes
        .push("Dots are figures. Lines are levels; a vertical line is a step.".to_owned());
    Some(chart)
}

/// The levels as one line, and the figures.
fn marks(history: &History, series: &SeriesHistory, names: &[String]) -> Vec<Mark> {
    let name = terms::printable(&series.name());
    let place = |label: &str| {
        names
            .iter()
            .position(|name| name == label)
            .map(|at| at as f64)
    };
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut level = series.steps.first().map(|step| step.before);
    for (at, point) in series.points.iter().enumerate() {
        let Some(x) = place(&point.label) else {
            continue;
        };
        // Figures without noise are their own level.
        let before = level;
        if let Some(step) = series.steps.iter().rfind(|step| step.point == at) {
            level = Some(step.after);
            let y = if series.exact {
                point.figure
            } else {
                step.after
            };
            if let Some((last, height)) = points.last().copied() {
                let middle = f64::midpoint(last, x);
                points.extend([(middle, height), (middle, y)]);
            }
        }
        let flat = if series.exact { None } else { level.or(before) };
        points.push((x, flat.unwrap_or(point.figure)));
    }
    if !series.exact && series.steps.is_empty() {
        // Without steps, the level is the median of all.
        let figures: Vec<f64> = series.points.iter().map(|point| point.figure).collect();
        let median = fsdyno_stats::median(&figures);
        for (_, y) in &mut points {
            *y = median.unwrap_or(*y);
        }
    }
    let mut marks = Vec::new();
    if points.len() > 1 {
        let steps = series.steps.iter();
        let steps: Vec<String> = steps
            .map(|step| format!("{} at {}", change(step.before, step.after), step.to))
            .collect();
        let steps = if steps.is_empty() {
            "no step".to_owned()
        } else {
            steps.join(", ")
        };
        marks.push(Mark::Line {
            points,
            label: format!("{name}: {steps}"),
        });
    }
    marks.extend(series.points.iter().filter_map(|point| {
        Some(Mark::Dot {
            x: place(&point.label)?,
            y: point.figure,
            label: format!(
                "{name}, {}: {}",
                point.label,
                amount(&history.unit, point.figure, series.exact)
            ),
        })
    }));
    marks
}
