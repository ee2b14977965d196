//! Names of version 0.1 that stored plans, plan files and command lines may still contain.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// Converts the name and value of a phase parameter of version 0.1 to the current ones.
pub fn parameter<'a>(name: &'a str, value: &'a str) -> (&'a str, &'a str) {
    match (name, value) {
        ("as", "threads") => ("worker-type", "thread"),
        ("as", "processes") => ("worker-type", "process"),
        ("as", value) => ("worker-type", value),
        ("each", value) => ("files-per-dir", value),
        ("lay", "hole") => ("lay", "sparse"),
        today => today,
    }
}

/// Deserializes the parameters of a phase.
pub(crate) fn parameters<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let stored = BTreeMap::<String, String>::deserialize(deserializer)?;
    let today = stored.iter().map(|(name, value)| {
        let (name, value) = parameter(name, value);
        (name.to_owned(), value.to_owned())
    });
    Ok(today.collect())
}

#[cfg(test)]
mod tests {
    use crate::{CacheState, PhasePlan};

    #[test]
    fn a_phase_of_version_0_1_is_read_with_current_names() {
        // retired word kept: names of version 0.1
        let stored = r#"{"label": "op-stat", "kind": "op-stat", "cache": "as-left", "pattern": null,
            "parameters": {"as": "processes", "each": "7", "lay": "hole", "files": "9"}}"#;
        let phase: PhasePlan = serde_json::from_str(stored).unwrap();
        assert_eq!(phase.cache, CacheState::AsIs);
        let read: Vec<_> = phase
            .parameters
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        assert_eq!(
            read,
            [
                "files=9",
                "files-per-dir=7",
                "lay=sparse",
                "worker-type=process"
            ]
        );
    }
}
