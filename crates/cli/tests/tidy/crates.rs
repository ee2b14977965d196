//! Crates depend only on the crates that the table in ARCHITECTURE.md allows. The fuzz drivers and
//! `fsdyno-mpi` are separate workspaces, and their lock files match the main one.

use crate::{files, finding, places, read, report};
use std::collections::BTreeMap;
use toml::Table;

/// The dependencies of a table of a manifest, also below `[target]`; without those of tests.
fn dependencies(table: &Table, found: &mut Vec<String>) {
    for (key, value) in table {
        match (key.as_str(), value.as_table()) {
            ("dependencies" | "build-dependencies", Some(of)) => found.extend(of.keys().cloned()),
            ("dev-dependencies", _) | (_, None) => {}
            (_, Some(inner)) => dependencies(inner, found),
        }
    }
}

/// The table of crates: each crate with the workspace crates it may depend on.
fn allowed(architecture: &str) -> BTreeMap<&str, &str> {
    let rows = architecture
        .lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .skip(2);
    let rows = rows.map_while(|row| row.strip_prefix("| `")?.strip_suffix(" |"));
    rows.filter_map(|row| Some((row.split_once('`')?.0, row.rsplit_once("| ")?.1)))
        .collect()
}

/// The dependencies of a manifest that the table does not allow.
fn check_manifest(path: &str, manifest: &str, table: &BTreeMap<&str, &str>) -> Vec<String> {
    let krate = path.split('/').nth(1).unwrap_or_default();
    let Some(allowed) = table.get(krate) else {
        return vec![finding(
            path,
            0,
            "this crate is not in the table of ARCHITECTURE.md",
        )];
    };
    let (mut findings, mut found) = (Vec::new(), Vec::new());
    dependencies(&manifest.parse().unwrap(), &mut found);
    for name in found {
        let ours = name.strip_prefix("fsdyno-").unwrap_or("all");
        if !allowed.split(", ").any(|a| a == "all" || a == ours) && ours != "all" {
            let line = manifest.lines().position(|line| line.contains(&name));
            let what = format!("`{name}` is not in its row of ARCHITECTURE.md, Crates");
            findings.push(finding(path, line.unwrap_or(0), &what));
        }
    }
    findings
}

/// Packages that the main lock file has in other versions only. bindgen needs an older shlex.
fn other_versions(main: &str, path: &str, lock: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (line, pair) in lock.lines().zip(lock.lines().skip(1)).enumerate() {
        let (name, both) = (format!("{}\n", pair.0), format!("{}\n{}\n", pair.0, pair.1));
        let other = name.starts_with("name = ") && main.contains(&name) && !main.contains(&both);
        if other && !both.contains("\"shlex\"\nversion = \"1.") {
            findings.push(finding(
                path,
                line,
                "see Cargo.lock: cargo update --precise",
            ));
        }
    }
    findings
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let architecture = read("ARCHITECTURE.md");
    let table = allowed(&architecture);
    let mut manifests = files("Cargo.toml");
    manifests.retain(|path| path.starts_with("crates/"));
    for path in &manifests {
        report(&check_manifest(path, &read(path), &table));
    }
    assert_eq!(table.len(), manifests.len(), "a crate of the table is gone");
}

#[test]
fn other_workspaces_use_the_versions_of_the_program() {
    for path in ["fuzz/drivers/Cargo.lock", "mpi/Cargo.lock"] {
        report(&other_versions(&read("Cargo.lock"), path, &read(path)));
    }
}

#[test]
fn the_checks_of_dependencies_find_violations() {
    let table = "| crate | holds | depends on |\n|---|---|---|\n\
                 | `stats` | numbers | nothing of ours |\n| `report` | bytes | model, stats |\n";
    let check = |krate: &str, manifest: &str, expected: &[&str]| {
        let findings = check_manifest(&format!("c/{krate}"), manifest, &allowed(table));
        assert_eq!(places(&findings), expected, "{manifest}");
    };
    let text = "[dependencies]\nfsdyno-model = {}\n[dev-dependencies]\nfsdyno-load = {}";
    check("stats", text, &["c/stats:2"]);
    let text = "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[dependencies.fsdyno-store]";
    check("report", text, &["c/report:3"]);
    check("other", "", &["c/other:1"]);
    let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
    let found = |from, to| other_versions(lock, "", &lock.replace(from, to)).len();
    let found = [found("a", "a"), found("1.0", "1.1"), found("\"a", "\"b")];
    assert_eq!(found, [0, 1, 0]);
}
