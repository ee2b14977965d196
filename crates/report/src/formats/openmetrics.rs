//! `OpenMetrics` text: the times of a run as gauges in seconds, and its counts, for Prometheus and
//! compatible programs. Format: <https://prometheus.io/docs/specs/om/open_metrics_spec/>, version
//! 1.0.0.

use super::{Exported, exported};
use crate::comparison::labs::has_faults;
use fsdyno_model::ResultSet;
use fsdyno_model::figures::{BYTES, NANOSECONDS};
use fsdyno_stats::Summary;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A metric of a time: its name, its help, and its value.
type Kind = (&'static str, &'static str, fn(&Summary) -> f64);

const KINDS: [Kind; 3] = [
    (
        "fsdyno_phase_median_seconds",
        "Median time of a phase over the repeats of a run.",
        |summary| summary.median,
    ),
    (
        "fsdyno_phase_min_seconds",
        "Smallest time of a phase over the repeats of a run.",
        |summary| summary.min,
    ),
    (
        "fsdyno_phase_max_seconds",
        "Largest time of a phase over the repeats of a run.",
        |summary| summary.max,
    ),
];

/// A series: its labels, and its figures.
type Series = (String, Summary);

/// Renders the medians and the bounds of the times, the number of repeats, and the medians of all
/// other figures: a metric for each defined one, and one metric for all that programs report.
pub fn render(set: &ResultSet) -> Vec<u8> {
    let (times, others): (Vec<_>, Vec<_>) = exported(set).partition(|one| one.figure.is_time());
    let times: Vec<Series> = times.iter().map(|one| series(set, one)).collect();
    let mut text = String::new();
    for (name, help, of) in KINDS {
        let _ = write!(
            text,
            "# TYPE {name} gauge\n# UNIT {name} seconds\n# HELP {name} {help}\n"
        );
        for (labels, summary) in &times {
            let _ = writeln!(text, "{name}{{{labels}}} {}", of(summary) / 1e9);
        }
    }
    gauge(
        &mut text,
        "fsdyno_phase_repeats",
        "Repeats behind the times of a phase.",
        &times,
        |summary| summary.n as f64,
    );
    // The metrics of a name must not be interleaved.
    let mut by_metric = BTreeMap::<_, (String, Vec<Series>)>::new();
    for one in &others {
        let (name, help) = metric(one);
        let key = (one.figure.definition().map(|_| one.figure.clone()), name);
        let of_metric = by_metric.entry(key).or_insert_with(|| (help, Vec::new()));
        of_metric.1.push(series(set, one));
    }
    for ((_, name), (help, all)) in by_metric {
        let in_seconds = name.ends_with("_seconds");
        let factor = if in_seconds { 1e-9 } else { 1.0 };
        gauge(&mut text, &name, &help, &all, |summary| {
            summary.median * factor
        });
    }
    text += "# EOF\n";
    text.into_bytes()
}

/// The metric of a figure, and its help.
fn metric(one: &Exported<'_>) -> (String, String) {
    let Some(definition) = one.figure.definition() else {
        let help = "Median of a figure that a program reports, in the unit of its label.";
        return ("fsdyno_phase_median_reported".to_owned(), help.to_owned());
    };
    let plain = one.name().replace(['-', '.'], "_");
    let suffix = match definition.unit {
        NANOSECONDS => "_seconds",
        BYTES if !plain.ends_with("bytes") => "_bytes",
        _ => "",
    };
    let help = format!("Median over the repeats of a phase: {}.", definition.about);
    (format!("fsdyno_phase_median_{plain}{suffix}"), help)
}

/// A gauge without a unit.
fn gauge(text: &mut String, name: &str, help: &str, all: &[Series], of: impl Fn(&Summary) -> f64) {
    let _ = write!(text, "# TYPE {name} gauge\n# HELP {name} {help}\n");
    for (labels, summary) in all {
        let _ = writeln!(text, "{name}{{{labels}}} {}", of(summary));
    }
}

fn series(set: &ResultSet, one: &Exported<'_>) -> Series {
    let mut labels = vec![
        ("run", set.run.id.as_str()),
        ("plan_hash", set.run.plan_hash.as_str()),
        ("kernel", set.kernel()),
        ("contender", one.contender),
        ("workload", one.workload),
        ("phase", one.phase),
    ];
    if one.figure.is_time() {
        labels.push(("until", one.figure.as_str()));
    } else if one.figure.definition().is_none() {
        labels.push(("figure", one.figure.as_str()));
        labels.push(("unit", one.unit.as_str()));
        labels.push(("better", one.better.name()));
    }
    // A disk with configured faults must not raise an alert.
    if has_faults(set) {
        labels.push(("disks", "faulty"));
    }
    let labels = labels.iter();
    let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    (labels.collect::<Vec<_>>().join(","), one.summary)
}

/// A label's value: backslash, quote and line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
