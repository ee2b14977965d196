//! A value as JSON; its `schema` is the version.

use serde::Serialize;

/// Renders a value, indented, with a newline at its end.
pub fn render(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
