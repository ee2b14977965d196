//! Bencher Metric Format: benchmarks by contender, workload and phase, each with its times in
//! nanoseconds and its counts. It is the input of `bencher run --adapter json --file`.
//! Format: <https://bencher.dev/docs/reference/bencher-metric-format/>.

use super::exported;
use crate::comparison::labs::has_faults;
use crate::format::ReportError;
use fsdyno_model::ResultSet;
use serde_json::{Map, Value, json};

/// Renders the medians of a run, with the minimum and the maximum as bounds.
pub fn render(set: &ResultSet) -> Result<Vec<u8>, ReportError> {
    // Times on disks with faults have a separate name, so that they are not part of another
    // history.
    let disks = if has_faults(set) {
        " (faulty disks)"
    } else {
        ""
    };
    let mut benchmarks = Map::new();
    for one in exported(set) {
        let measure = if one.figure.is_time() {
            format!("time-to-{}", one.figure)
        } else {
            one.name()
        };
        let name = format!("{}/{}/{}{disks}", one.contender, one.workload, one.phase);
        let metric = json!({
            "value": one.summary.median,
            "lower_value": one.summary.min,
            "upper_value": one.summary.max,
        });
        let benchmark = benchmarks.entry(name).or_insert_with(|| json!({}));
        if let Value::Object(measures) = benchmark {
            measures.insert(measure, metric);
        }
    }
    super::json::render(&benchmarks).map_err(|source| ReportError::Json {
        what: format!("run {}", set.run.id),
        source,
    })
}
