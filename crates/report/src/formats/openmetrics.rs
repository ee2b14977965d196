//! `OpenMetrics` text: the times of a run as gauges in seconds, and its counts, for Prometheus and
//! compatible programs. Format: <https://prometheus.io/docs/specs/om/open_metrics_spec/>, version
//! 1.0.0.

use super::exported;
use crate::comparison::labs::has_faults;
use fsdyno_model::{Metric, ResultSet};
use fsdyno_stats::Summary;
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

/// The metric of a count: its name and its help.
const COUNTS: [(Metric, &str, &str); 2] = [
    (
        Metric::Blocks,
        "fsdyno_phase_median_kernel_blocks",
        "Median of the basic blocks that the kernel of a guest executed during a phase.",
    ),
    (
        Metric::Instructions,
        "fsdyno_phase_median_instructions",
        "Median of the instructions of the workload during a phase, as the processors counted them.",
    ),
];

/// A series: its labels, and its figures.
type Series = (String, Summary);

/// Renders the medians and the bounds of the times, the number of repeats, and the counts.
pub fn render(set: &ResultSet) -> Vec<u8> {
    let times = series(set, &Metric::TIMES);
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
    for (metric, name, help) in COUNTS {
        let counts = series(set, &[metric]);
        if !counts.is_empty() {
            gauge(&mut text, name, help, &counts, |summary| summary.median);
        }
    }
    text += "# EOF\n";
    text.into_bytes()
}

/// A gauge without a unit.
fn gauge(text: &mut String, name: &str, help: &str, all: &[Series], of: fn(&Summary) -> f64) {
    let _ = write!(text, "# TYPE {name} gauge\n# HELP {name} {help}\n");
    for (labels, summary) in all {
        let _ = writeln!(text, "{name}{{{labels}}} {}", of(summary));
    }
}

fn series(set: &ResultSet, metrics: &[Metric]) -> Vec<Series> {
    let series = exported(set, metrics).map(|one| {
        let mut labels = vec![
            ("run", set.run.id.as_str()),
            ("plan_hash", set.run.plan_hash.as_str()),
            ("kernel", set.kernel()),
            ("contender", one.contender),
            ("workload", one.workload),
            ("phase", one.phase),
        ];
        if one.metric.is_time() {
            labels.push(("until", one.metric.name()));
        }
        // A disk with configured faults must not raise an alert.
        if has_faults(set) {
            labels.push(("disks", "faulty"));
        }
        let labels = labels.iter();
        let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        (labels.collect::<Vec<_>>().join(","), one.summary)
    });
    series.collect()
}

/// A label's value: backslash, quote and line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
