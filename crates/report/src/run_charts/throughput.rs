//! The throughput over time within a phase: for each contender, the repeat with the median time.
//! Several repeats in one curve would hide short events of each.

use super::Place;
use super::samples::time;
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Scale, Series, Unit};
use crate::comparison::PhaseTable;
use crate::terms;
use fsdyno_model::{Bytes, Progress, Sample, Slice};

/// Above this number, slices are merged. A file counts at its end, so narrow slices would show file
/// sizes instead of the rate.
const POINTS: usize = 40;
/// The number of points in the text description.
const DOTS_SHOWN: usize = 12;

/// A counted quantity with its unit.
type Counted = (&'static str, Unit, fn(&Slice) -> u64);

const COUNTED: [Counted; 2] = [
    ("operations", Unit::OperationsPerSecond, |slice| {
        slice.operations
    }),
    ("data", Unit::BytesPerSecond, |slice| slice.bytes.0),
];

pub(super) fn chart(
    place: &Place<'_>,
    (workload, phase): (&str, &PhaseTable),
    at: (usize, usize),
) -> Option<Chart> {
    let samples = place.share.samples_of_all(at.0, at.1);
    let found = place.contenders().filter_map(|contender| {
        let (block, sample) = middle(&samples[contender])?;
        Some((contender, block, sample, sample.progress.as_ref()?))
    });
    let found: Vec<(usize, u32, &Sample, &Progress)> = found.collect();
    let mut chart = place.chart(Kind::Throughput, Some((workload, phase)));
    let name = place.name(workload, &phase.label);
    chart.title = format!("{name}: throughput over its time");
    for (title, unit, of) in COUNTED {
        let slices = found.iter().flat_map(|(.., progress)| &progress.slices);
        if slices.map(of).all(|count| count == 0) {
            continue;
        }
        let series = found.iter().map(|(contender, block, sample, progress)| {
            let label = &place.comparison.contenders[*contender];
            let label = format!("{label}, block {}", block + 1);
            Series {
                contender: *contender,
                marks: marks(&label, sample, progress, unit, of),
            }
        });
        let series: Vec<Series> = series.collect();
        let highest = series.iter().map(highest);
        let y = Scale::of_values(highest.filter(|rate| *rate > 0.0));
        let ends = found.iter().map(|(_, _, sample, _)| sample.return_ns.0);
        chart.panels.push(Panel {
            title: title.to_owned(),
            x: Axis::of_times("time since the start", ends.map(|ns| ns as f64)),
            y: Some(Axis::of(title, unit, y)),
            rows: Vec::new(),
            series,
        });
    }
    if chart.panels.is_empty() {
        return None;
    }
    chart.about = format!("How much of {name} was done when.");
    chart.describe(|mark| matches!(mark, Mark::Line { .. }));
    let several = found.iter().any(|(at, ..)| samples[*at].len() > 1);
    let until = "until the work had returned; later work until it is durable is not drawn. \
        A file or operation counts where it ended";
    chart.notes.push(if several {
        format!("Of each contender, the repeat of the middle time, {until}.")
    } else {
        format!("Drawn {until}.")
    });
    Some(chart)
}

/// The highest rate of a contender.
fn highest(series: &Series) -> f64 {
    let rates = series.marks.iter().flat_map(Mark::ys);
    rates.fold(0.0, f64::max)
}

/// The sample with the median time to return, among those with a timeline.
fn middle<'a>(samples: &[(u32, &'a Sample)]) -> Option<(u32, &'a Sample)> {
    let telling = samples.iter().filter(|(_, sample)| {
        let progress = sample.progress.as_ref();
        progress.is_some_and(|p| p.slice_ns.0 > 0 && !p.slices.is_empty())
    });
    let mut telling: Vec<(u32, &Sample)> = telling.copied().collect();
    telling.sort_by_key(|(block, sample)| (sample.return_ns, *block));
    let last = telling.len().checked_sub(1)?;
    Some(telling[last / 2])
}

fn marks(
    label: &str,
    sample: &Sample,
    progress: &Progress,
    unit: Unit,
    of: fn(&Slice) -> u64,
) -> Vec<Mark> {
    let every = progress.slices.len().div_ceil(POINTS).max(1);
    let slice = progress.slice_ns.0 as f64;
    let whole = sample.return_ns.0 as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut begun = (0.0, 0);
    for (at, chunk) in progress.slices.chunks(every).enumerate() {
        let (from, mut count) = (slice * (at * every) as f64, chunk.iter().map(of).sum());
        // The last slice ends when the work returned.
        let full = from + slice * chunk.len() as f64;
        let to = if whole > from { full.min(whole) } else { full };
        // A short remainder is merged into the previous slice, because it is too short for a rate.
        let short = (to - from) * 2.0 < slice * every as f64;
        if short && points.pop().is_some() {
            count += begun.1;
        } else {
            begun.0 = from;
        }
        begun.1 = count;
        let rate = count as f64 / (to - begun.0) * 1e9;
        points.push((f64::midpoint(begun.0, to), rate));
    }
    let step = points.len().div_ceil(DOTS_SHOWN).max(1);
    let dots = points.iter().step_by(step).map(|(x, y)| Mark::Dot {
        x: *x,
        y: *y,
        label: format!("{label}, {}: {}", time(*x), rate(*y, unit)),
    });
    let dots: Vec<Mark> = dots.collect();
    let rates = || points.iter().map(|(_, y)| *y);
    let (least, most) = (
        rates().fold(f64::INFINITY, f64::min),
        rates().fold(0.0, f64::max),
    );
    let label = format!(
        "{label}: between {} and {}, {} in all",
        rate(least, unit),
        rate(most, unit),
        time(whole)
    );
    let mut marks = vec![Mark::Line { points, label }];
    marks.extend(dots);
    marks
}

fn rate(value: f64, unit: Unit) -> String {
    if unit == Unit::BytesPerSecond {
        return format!("{}/s", Bytes(terms::whole(value)));
    }
    format!("{}/s", terms::significant(value))
}
