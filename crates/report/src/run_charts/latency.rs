//! The latency of single operations of a phase: a percentile curve, with a panel for each kind of
//! operation. The axis is logarithmic in the complement of the fraction, so the slow tail has as
//! much space as the rest. G. Tene, `HdrHistogram` (2012), percentile plots.

use super::Place;
use super::samples::time;
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Scale, Series, Unit};
use crate::comparison::PhaseTable;
use crate::terms;
use fsdyno_model::{LatencyDistribution, Sample};
use std::collections::BTreeMap;

/// The step between points of a curve, in powers of ten of the complement.
const STEP: f64 = 0.1;
/// The fractions in the text description, with their names.
const QUANTILES_SHOWN: [(f64, &str); 6] = [
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
];

pub(super) fn chart(
    place: &Place<'_>,
    (workload, phase): (&str, &PhaseTable),
    at: (usize, usize),
) -> Option<Chart> {
    let samples = place.share.samples_of_all(at.0, at.1);
    let reported = place.contenders().map(|contender| {
        let samples = samples[contender].iter();
        (contender, merged(samples.map(|(_, sample)| *sample)))
    });
    let reported: Vec<(usize, BTreeMap<String, LatencyDistribution>)> = reported.collect();
    let mut operations: Vec<&String> = reported.iter().flat_map(|(_, all)| all.keys()).collect();
    operations.sort();
    operations.dedup();
    if operations.is_empty() {
        return None;
    }
    let mut chart = place.chart(Kind::Latency, Some((workload, phase)));
    let name = place.name(workload, &phase.label);
    chart.title = format!("{name}: how long single operations took");
    for operation in operations {
        let series = reported.iter().map(|(contender, all)| Series {
            contender: *contender,
            marks: all.get(operation).map_or(Vec::new(), |distribution| {
                marks(&place.comparison.contenders[*contender], distribution)
            }),
        });
        chart.panels.push(Panel {
            title: terms::printable(operation),
            x: Axis::of("operations no longer than that", Unit::Part, Scale::Nines),
            y: Some(Axis::of("latency", Unit::Nanoseconds, Scale::Log)),
            rows: Vec::new(),
            series: series.collect(),
        });
    }
    chart.about = format!("Latencies of single operations of {name}, all repeats together.");
    chart.describe(|mark| matches!(mark, Mark::Line { .. }));
    chart
        .notes
        .push("All repeats together; a curve ends at the longest.".to_owned());
    Some(chart)
}

/// The distributions of all samples of a contender, by operation.
fn merged<'a>(samples: impl Iterator<Item = &'a Sample>) -> BTreeMap<String, LatencyDistribution> {
    let mut all: BTreeMap<String, LatencyDistribution> = BTreeMap::new();
    for one in samples.flat_map(|sample| &sample.latencies) {
        if one.count > 0 {
            let whole = all.entry(one.operation.clone()).or_default();
            whole.operation.clone_from(&one.operation);
            whole.add(one);
        }
    }
    all
}

fn marks(contender: &str, distribution: &LatencyDistribution) -> Vec<Mark> {
    let count = distribution.count as f64;
    // The last of n samples represents a share of 1/n; its point is in the middle.
    let last = 1.0 - 0.5 / count;
    let part = |step: u32| 1.0 - 10_f64.powf(-STEP * f64::from(step));
    let parts = (0..200).map(part).take_while(|part| *part < last);
    let mut points: Vec<(f64, f64)> = parts
        .filter_map(|part| Some((part, distribution.at(part)? as f64)))
        .collect();
    let longest = distribution.max_ns as f64;
    points.push((last, longest));
    let reported: Vec<(f64, &str, f64)> = QUANTILES_SHOWN
        .into_iter()
        .filter(|(part, _)| *part < last)
        .filter_map(|(part, name)| Some((part, name, distribution.at(part)? as f64)))
        .collect();
    let describe = reported
        .iter()
        .map(|(_, name, ns)| format!("{name} within {}", time(*ns)));
    let describe: Vec<String> = describe.collect();
    let operations = format!("{contender}, {} operations", distribution.count);
    let mut marks = vec![Mark::Line {
        points,
        label: format!(
            "{operations}: {}, the longest {}",
            describe.join(", "),
            time(longest)
        ),
    }];
    marks.extend(reported.into_iter().map(|(x, name, y)| Mark::Dot {
        x,
        y,
        label: format!("{contender}: {name} within {}", time(y)),
    }));
    marks.push(Mark::Dot {
        x: last,
        y: longest,
        label: format!(
            "{contender}: the longest of {} {}",
            distribution.count,
            time(longest)
        ),
    });
    marks
}
