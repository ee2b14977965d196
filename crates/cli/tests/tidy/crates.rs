//! Crates depend only on the crates that the table in ARCHITECTURE.md allows.

use crate::{Finding, files, read, report};
use std::collections::BTreeMap;

/// External crates that only some crates may use: the crate, its users, and the reason.
const RESERVED: [(&str, &[&str], &str); 3] = [
    ("rusqlite", &["store"], "only store holds SQL"),
    (
        "rustix",
        &[
            "files", "datasets", "host", "guests", "observe", "load", "lab", "disk", "store",
            "ranks", "recorder", "cli",
        ],
        "it makes no system calls",
    ),
    (
        "libc",
        &["datasets", "host", "guests", "load", "recorder"],
        "only these need more of the system than rustix has",
    ),
];

/// The dependencies of a crate from its manifest, with their lines from 0; without those of tests.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = table.ends_with("dependencies") && !table.ends_with("dev-dependencies");
            // `[dependencies.NAME]`
            if let Some((_, name)) = table.split_once("dependencies.")
                && !table.contains("dev-dependencies")
            {
                found.push((at, name.to_owned()));
            }
        } else if inside {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if !name.is_empty() && !name.starts_with('#') {
                found.push((at, name.trim_matches('"').to_owned()));
            }
        }
    }
    found
}

/// The table of crates: each crate with the workspace crates it may depend on.
fn allowed(architecture: &str) -> BTreeMap<String, Vec<String>> {
    let mut table = BTreeMap::new();
    let rows = architecture
        .lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .take_while(|line| line.starts_with('|'))
        .skip(2);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_owned();
        let on = cells[cells.len() - 1];
        let mut names: Vec<String> = on.split(", ").map(str::to_owned).collect();
        names.retain(|n| n != "nothing of ours");
        table.insert(name, names);
    }
    table
}

/// The dependencies of a manifest that the table does not allow.
fn check_manifest(
    path: &str,
    manifest: &str,
    table: &BTreeMap<String, Vec<String>>,
) -> Vec<Finding> {
    let krate = path.split('/').nth(1).unwrap_or_default();
    let Some(allowed) = table.get(krate) else {
        let what = format!("crate `{krate}` is not in the table of crates in ARCHITECTURE.md");
        return vec![Finding::new(path, 0, what)];
    };
    let mut findings = Vec::new();
    for (line, name) in dependencies(manifest) {
        if let Some(ours) = name.strip_prefix("fsdyno-")
            && !allowed.iter().any(|a| a == ours || a == "all")
        {
            let what = format!("`{krate}` must not depend on `{ours}` (ARCHITECTURE.md, Crates)");
            findings.push(Finding::new(path, line, what));
        }
        if let Some((_, who, why)) = RESERVED.iter().find(|(reserved, ..)| *reserved == name)
            && !who.contains(&krate)
        {
            let what = format!("`{krate}` must not depend on `{name}`: {why}");
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let table = allowed(&read("ARCHITECTURE.md"));
    let manifests = files(&["Cargo.toml"]);
    let manifests = manifests.iter().filter(|path| path.starts_with("crates/"));
    let findings: Vec<_> = manifests
        .clone()
        .flat_map(|path| check_manifest(path, &read(path), &table))
        .collect();
    report(&findings);
    for name in table.keys() {
        let path = format!("crates/{name}/Cargo.toml");
        assert!(
            manifests.clone().any(|manifest| *manifest == path),
            "ARCHITECTURE.md names the crate `{name}`, but {path} does not exist"
        );
    }
}

#[test]
fn the_check_of_dependencies_finds_violations() {
    let table = allowed(concat!(
        "| crate | holds | depends on |\n",
        "|---|---|---|\n",
        "| `stats` | numbers | nothing of ours |\n",
        "| `report` | bytes | model, stats |\n",
    ));
    assert_eq!(table.len(), 2);
    let lines = |path, manifest| -> Vec<usize> {
        let findings = check_manifest(path, manifest, &table);
        findings.into_iter().map(|finding| finding.line).collect()
    };
    let stats =
        "[dependencies]\nfsdyno-model.workspace = true\n[dev-dependencies]\nfsdyno-load = {}";
    assert_eq!(lines("crates/stats/Cargo.toml", stats), [2]);
    let report = "[dependencies]\nfsdyno-model.workspace = true\nrusqlite = \"1\"";
    assert_eq!(lines("crates/report/Cargo.toml", report), [3]);
    let report = "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[dependencies.fsdyno-store]";
    assert_eq!(lines("crates/report/Cargo.toml", report), [2, 3]);
    assert_eq!(lines("crates/unknown/Cargo.toml", ""), [1]);
}
