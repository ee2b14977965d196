//! Bencher Metric Format: benchmarks by contender, workload and phase, each with its times in
//! nanoseconds and its counts. It is the input of `bencher run --adapter json --file`.
//! Format: <https://bencher.dev/docs/reference/bencher-metric-format/>.

use crate::comparison::labs::has_faults;
use crate::format::ReportError;
use fsdyno_model::{Metric, ResultSet};
use fsdyno_stats::Summary;
use serde_json::{Map, Value, json};

/// Renders the medians of a run, with the minimum and the maximum as bounds.
pub fn render(set: &ResultSet) -> Result<Vec<u8>, ReportError> {
    let plan = &set.run.plan;
    let mut benchmarks = Map::new();
    for line in set.lines_of(&Metric::ALL) {
        let workload = &plan.workloads[line.workload];
        let phase = &workload.phases[line.phase].label;
        let measure = match line.metric {
            Metric::Return => "time-to-return",
            Metric::Durable => "time-to-durable",
            Metric::Blocks => "kernel-blocks",
            Metric::Instructions => "instructions",
        };
        for (contender, figures) in plan.contenders.iter().zip(&line.figures) {
            let figures: Vec<f64> = figures.iter().map(|(_, figure)| *figure).collect();
            let Some(summary) = Summary::of(&figures) else {
                continue;
            };
            // Times on disks with faults have a separate name, so that they are not part of another
            // history.
            let disks = if has_faults(set) {
                " (faulty disks)"
            } else {
                ""
            };
            let name = format!("{}/{}/{phase}{disks}", contender.label, workload.name);
            let metric = json!({
                "value": summary.median,
                "lower_value": summary.min,
                "upper_value": summary.max,
            });
            let benchmark = benchmarks.entry(name).or_insert_with(|| json!({}));
            if let Value::Object(measures) = benchmark {
                measures.insert(measure.to_owned(), metric);
            }
        }
    }
    let bytes = serde_json::to_vec_pretty(&Value::Object(benchmarks));
    let mut bytes = bytes.map_err(|source| ReportError::Json {
        what: format!("run {}", set.run.id),
        source,
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}
