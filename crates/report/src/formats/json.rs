//! The result set as JSON: every raw sample, the plan, the commands; `schema` is its version.

use crate::ReportError;
use fsdyno_model::ResultSet;

/// Writes the result set, indented, with a newline at its end.
pub fn render(set: &ResultSet) -> Result<Vec<u8>, ReportError> {
    let mut bytes = serde_json::to_vec_pretty(set).map_err(|source| ReportError::Json {
        run: set.run.id.clone(),
        source,
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}
