//! The times of a phase, block by block. They show drift, outliers and multimodal distributions.

use super::Place;
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Scale, Series, Unit};
use crate::comparison::{Line, PhaseTable, Value};
use crate::figures::summary;
use crate::terms::{self, amount};
use std::fmt::Write as _;

/// Above this number of blocks, medians of neighbours are drawn.
const POINTS: usize = 120;

pub(super) fn chart(place: &Place<'_>, (workload, phase): (&str, &PhaseTable)) -> Option<Chart> {
    let there = phase
        .lines
        .iter()
        .flat_map(|line| line.values.iter().flatten());
    let longest = there.map(|value| value.times.len()).max()?;
    if longest < 2 {
        return None;
    }
    let mut chart = place.chart(Kind::Repeats, Some((workload, phase)));
    let name = place.name(workload, &phase.label);
    chart.title = format!("{name}: block by block");
    chart.panels = phase.lines.iter().map(|line| panel(place, line)).collect();
    chart.about = format!("Times of {name} over {longest} blocks.");
    chart.describe(|mark| matches!(mark, Mark::Line { .. }));
    let is_linear = |panel: &Panel| {
        let y = panel.y.as_ref();
        y.is_some_and(|axis| axis.scale == Scale::Linear)
    };
    let all_times = phase.lines.iter().all(Line::is_time);
    let what = if all_times { "times" } else { "figures" };
    if chart.panels.iter().any(is_linear) {
        chart
            .notes
            .push(format!("The scale of {what} does not begin at zero."));
    }
    if longest > POINTS {
        chart.notes.push(format!(
            "Of {longest} blocks, neighbours are drawn together by their median."
        ));
    }
    Some(chart)
}

fn panel(place: &Place<'_>, line: &Line) -> Panel {
    let values = place
        .contenders()
        .filter_map(|at| line.values.get(at)?.as_ref());
    let ends: Vec<f64> = values
        .flat_map(|v| [v.summary.min, v.summary.max])
        .collect();
    let title = line.label();
    let mut y = Axis::of_figures(&title, (line.name(), &line.unit), ends.iter().copied());
    if y.scale == Scale::FromZero {
        y.scale = Scale::Linear;
    }
    let series = place.contenders().filter_map(|at| {
        let value = line.values.get(at)?.as_ref()?;
        let label = &place.comparison.contenders[at];
        Some(Series {
            contender: at,
            marks: marks(line, value, label),
        })
    });
    Panel {
        title,
        x: Axis::of("block", Unit::Count, Scale::Linear),
        series: series.collect(),
        y: Some(y),
        rows: Vec::new(),
    }
}

fn marks(line: &Line, value: &Value, label: &str) -> Vec<Mark> {
    let (times, drift) = (&value.times, value.drift);
    let time = |figure| amount(&line.unit, figure, false);
    let every = times.len().div_ceil(POINTS).max(1);
    let middle = |chunk: &[(u32, f64)]| -> Option<(f64, f64, String)> {
        let block = |at: usize| f64::from(chunk[at].0) + 1.0;
        let summary = summary(chunk)?;
        let (first, last) = (block(0), block(chunk.len() - 1));
        let blocks = if chunk.len() == 1 {
            format!("block {first}")
        } else {
            format!("median of blocks {first} to {last}")
        };
        let description = format!("{label}, {blocks}: {}", time(summary.median));
        Some((f64::midpoint(first, last), summary.median, description))
    };
    let points: Vec<_> = times.chunks(every).filter_map(middle).collect();
    let (first, last) = (points.first(), points.last());
    let mut description = label.to_owned();
    if let (Some(first), Some(last)) = (first, last) {
        description = format!("{label}: from {} to {}", time(first.1), time(last.1));
    }
    if let Some(drift) = drift {
        let way = if drift > 0.0 { "rises" } else { "falls" };
        let _ = write!(description, ", {way} by {}", terms::percent(drift.abs()));
    }
    let mut marks = vec![Mark::Line {
        points: points.iter().map(|(x, y, _)| (*x, *y)).collect(),
        label: description,
    }];
    let dots = points
        .into_iter()
        .map(|(x, y, label)| Mark::Dot { x, y, label });
    marks.extend(dots);
    marks
}
