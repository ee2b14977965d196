//! `OpenMetrics` text: the times of a run as gauges in seconds, for Prometheus and compatible
//! programs. Format: <https://prometheus.io/docs/specs/om/open_metrics_spec/>, version 1.0.0.

use crate::comparison::labs::has_faults;
use fsdyno_model::ResultSet;
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

/// Renders the medians and the bounds of a run, and the number of repeats.
pub fn render(set: &ResultSet) -> Vec<u8> {
    let plan = &set.run.plan;
    let mut series = Vec::new();
    for line in set.time_lines() {
        let workload = &plan.workloads[line.workload];
        for (contender, times) in plan.contenders.iter().zip(&line.times) {
            let figures: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
            let Some(summary) = Summary::of(&figures) else {
                continue;
            };
            let until = if line.durable { "durable" } else { "return" };
            let labels = [
                ("run", set.run.id.as_str()),
                ("plan_hash", set.run.plan_hash.as_str()),
                ("kernel", set.kernel()),
                ("contender", contender.label.as_str()),
                ("workload", workload.name.as_str()),
                ("phase", workload.phases[line.phase].label.as_str()),
                ("until", until),
            ];
            let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
            let mut labels = labels.join(",");
            // A disk with configured faults must not raise an alert.
            if has_faults(set) {
                labels += ",disks=\"faulty\"";
            }
            series.push((labels, summary));
        }
    }
    let mut text = String::new();
    for (name, help, of) in KINDS {
        let _ = write!(
            text,
            "# TYPE {name} gauge\n# UNIT {name} seconds\n# HELP {name} {help}\n"
        );
        for (labels, summary) in &series {
            let _ = writeln!(text, "{name}{{{labels}}} {}", of(summary) / 1e9);
        }
    }
    let name = "fsdyno_phase_repeats";
    let _ = write!(
        text,
        "# TYPE {name} gauge\n# HELP {name} Repeats behind the times of a phase.\n"
    );
    for (labels, summary) in &series {
        let _ = writeln!(text, "{name}{{{labels}}} {}", summary.n);
    }
    text += "# EOF\n";
    text.into_bytes()
}

/// A label's value: backslash, quote and line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
