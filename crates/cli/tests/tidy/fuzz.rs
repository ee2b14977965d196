//! The fuzz targets and `fsdyno-mpi` are separate workspaces. Their lock files must match the main
//! one, and each target needs a check, a driver for libFuzzer, and a corpus.

use crate::{Finding, files, read, report, root};
use std::collections::BTreeSet;

/// Packages that only the fuzz targets need.
const ONLY_FUZZ: [&str; 3] = ["arbitrary", "fsdyno-fuzz", "libfuzzer-sys"];

/// Packages that only the binding to MPI needs.
const ONLY_MPI: [&str; 18] = [
    "bindgen",
    "build-probe-mpi",
    "cexpr",
    "clang-sys",
    "conv",
    "custom_derive",
    "either",
    "fsdyno-mpi",
    "glob",
    "itertools",
    "libloading",
    "minimal-lexical",
    "mpi",
    "mpi-sys",
    "nom",
    "rustc-hash",
    "shell-words",
    "shlex",
];

/// The packages of a lock file, each with its version and line.
fn packages(lock: &str) -> Vec<(usize, &str, &str)> {
    let lines: Vec<&str> = lock.lines().collect();
    let value = |line: &'_ str, key: &str| -> Option<(usize, usize)> {
        let from = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        Some((line.len() - from.len(), line.len() - 1))
    };
    let pairs = lines.windows(2).enumerate();
    pairs
        .filter_map(|(at, pair)| {
            let (name, version) = (value(pair[0], "name")?, value(pair[1], "version")?);
            Some((at, &pair[0][name.0..name.1], &pair[1][version.0..version.1]))
        })
        .collect()
}

fn other_versions(ours: &str, path: &str, theirs: &str, only: &[&str]) -> Vec<Finding> {
    let known: BTreeSet<(&str, &str)> =
        packages(ours).into_iter().map(|(_, n, v)| (n, v)).collect();
    let others = packages(theirs).into_iter();
    others
        .filter(|(_, name, version)| !only.contains(name) && !known.contains(&(name, version)))
        .map(|(line, name, version)| {
            let what = format!("{name} {version} is not in Cargo.lock: cargo update --precise");
            Finding::new(path, line, what)
        })
        .collect()
}

#[test]
fn other_workspaces_use_the_versions_of_the_program() {
    let ours = read("Cargo.lock");
    for (path, only) in [
        ("fuzz/Cargo.lock", &ONLY_FUZZ[..]),
        ("mpi/Cargo.lock", &ONLY_MPI),
    ] {
        report(&other_versions(&ours, path, &read(path), only));
    }
}

#[test]
fn the_check_of_versions_finds_violations() {
    let ours = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
    let other_versions = |theirs| other_versions(ours, "Cargo.lock", theirs, &ONLY_FUZZ);
    assert_eq!(other_versions(ours), []);
    let other = ours.replace("1.0.0", "1.0.1");
    assert_eq!(other_versions(&other).len(), 1);
    let only = "[[package]]\nname = \"arbitrary\"\nversion = \"1.0.0\"\n";
    assert_eq!(other_versions(only), []);
}

#[test]
fn every_fuzz_target_is_listed_and_has_a_corpus() {
    let manifest = read("fuzz/Cargo.toml");
    let all = read("fuzz/src/targets/mod.rs");
    let drivers = files(&[".rs"]);
    let drivers = drivers.iter().filter_map(|path| {
        let name = path.strip_prefix("fuzz/fuzz_targets/")?;
        name.strip_suffix(".rs")
    });
    let drivers: BTreeSet<&str> = drivers.collect();
    assert!(!drivers.is_empty(), "the fuzz targets were not found");
    for name in &drivers {
        let path = format!("fuzz/fuzz_targets/{name}.rs");
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
        let constant = name.to_uppercase();
        assert!(all.contains(&format!("    {constant}: {name}, ")), "{name}");
        assert!(
            read(&path).contains(&format!("run(&targets::{constant},")),
            "{name}"
        );
    }
    let (_, list) = all.split_once("targets! {").expect("a list of targets");
    let listed = list.matches(";\n").count();
    let corpus = std::fs::read_dir(root().join("fuzz/corpus")).unwrap();
    let folders: BTreeSet<String> = corpus
        .map(|folder| folder.unwrap())
        .filter(|folder| folder.path().read_dir().unwrap().next().is_some())
        .map(|folder| folder.file_name().into_string().unwrap())
        .collect();
    assert!(folders.iter().eq(&drivers), "{folders:?} and {drivers:?}");
    assert_eq!(listed, drivers.len());
}
