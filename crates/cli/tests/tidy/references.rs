//! Files that no other file refers to, and files that are too large for a repository.

use crate::{Finding, Source, files, find_word, links, read, report, root, sources};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A larger file needs an entry with a reason in the list below.
const LARGE: u64 = 200 * 1024;

/// Large files with the reason for each.
const LARGE_FILES: [(&str, &str); 1] = [(
    "crates/report/tests/all/snapshots/all__labs__labs_html.snap",
    "the whole page of a run in several labs, byte by byte",
)];

/// The possible files of the modules that a source declares.
fn modules(source: &Source) -> Vec<PathBuf> {
    let path = Path::new(&source.path);
    let folder = path.parent().unwrap_or(path);
    let own = folder.join(path.file_stem().unwrap_or_default());
    let mut found = Vec::new();
    for (at, name) in source.declared_modules() {
        for folder in [folder, &own] {
            found.push(folder.join(format!("{name}.rs")));
            found.push(folder.join(name).join("mod.rs"));
        }
        // `#[path = "../other.rs"]`
        let before = at.saturating_sub(2);
        for (line, text) in &source.strings {
            if (before..=at).contains(line) && source.lines[*line].contains("#[path") {
                found.extend(links::resolve(&source.path, text).map(PathBuf::from));
            }
        }
    }
    found
}

/// Whether cargo compiles this file by its location, or a manifest names it.
fn is_root(path: &str, manifests: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let (["crates", _, inside @ ..] | ["mpi", inside @ ..]) = &parts[..] else {
        let name = parts.last().unwrap_or(&"");
        return path == "fuzz/src/lib.rs" || (parts.len() > 1 && manifests.contains(name));
    };
    matches!(
        inside,
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", ..]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Rust files that no module declares.
fn unreached_sources(sources: &[Source], manifests: &str) -> Vec<Finding> {
    let declared: BTreeSet<PathBuf> = sources.iter().flat_map(modules).collect();
    let unreached = sources.iter().filter(|source| {
        !is_root(&source.path, manifests) && !declared.contains(Path::new(&source.path))
    });
    unreached
        .map(|source| Finding::new(&source.path, 0, "no module declares this file"))
        .collect()
}

/// Whether a file has a conventional location, so that no text needs to name it.
fn is_conventional(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    !path.contains('/')
        || matches!(name, "Cargo.toml" | "Cargo.lock" | "SUMMARY.md")
        || path.starts_with("fuzz/corpus/")
}

/// Files that are no Rust source and that no other file names. `texts` holds all text files.
fn unnamed_files(paths: &[String], texts: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in paths {
        let file = Path::new(path);
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let stem = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let own = |wanted: &str| texts.iter().any(|(other, _)| other == wanted);
        let folder: String = path.split_inclusive('/').take(2).collect();
        let in_crate = || {
            let sources = texts.iter().filter(|(other, _)| other.ends_with("rs"));
            sources.filter(|(other, _)| other.starts_with(&folder))
        };
        let ending = file
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or_default();
        let named = match ending {
            "rs" => true,
            _ if is_conventional(path) => true,
            // The name of a snapshot comes from a test and may have a formatted part.
            "snap" => {
                let name = stem.rsplit("__").next().unwrap_or_default();
                let ends = name.char_indices().filter(|(_, c)| "_-".contains(*c));
                let parts: Vec<String> = ends
                    .map(|(at, _)| format!("\"{}{{", &name[..=at]))
                    .collect();
                in_crate().any(|(_, text)| {
                    text.contains(name) || parts.iter().any(|part| text.contains(part))
                })
            }
            // Regression seeds of proptest have the name of their test.
            "proptest-regressions" => own(&file.with_extension("rs").display().to_string()),
            "md" if path.starts_with("docs/") => texts
                .iter()
                .any(|(other, text)| other == "docs/SUMMARY.md" && text.contains(name)),
            // A list of data files may name them without their endings.
            _ => {
                let word = |text: &str| text.lines().any(|line| find_word(line, stem).is_some());
                let mut others = texts.iter().filter(|(other, _)| other != path);
                others.any(|(_, text)| text.contains(name))
                    || in_crate().any(|(_, text)| word(text))
            }
        };
        if !named {
            findings.push(Finding::new(path, 0, "no other file names this file"));
        }
    }
    findings
}

/// Files above the limit without an entry, and entries of files that are missing or small.
fn large_files(sizes: &[(String, u64)], listed: &[(&str, &str)]) -> Vec<Finding> {
    let large = |path: &str| sizes.iter().any(|(p, size)| p == path && *size > LARGE);
    let unlisted = sizes
        .iter()
        .filter(|(path, size)| *size > LARGE && !listed.iter().any(|(listed, _)| listed == path));
    let mut findings: Vec<Finding> = unlisted
        .map(|(path, size)| {
            let what = format!("{size} bytes, more than {LARGE}: list it with its reason");
            Finding::new(path, 0, what)
        })
        .collect();
    for (path, _) in listed {
        if !large(path) {
            findings.push(Finding::new(path, 0, "listed as large, but it is not"));
        }
    }
    findings
}

/// All files of the repository and those of `.ci`, without build output and other hidden folders.
fn all_files() -> Vec<String> {
    let mut paths = files(&[""]);
    paths.extend([".ci/run", ".ci/left"].map(str::to_owned));
    paths.retain(|path| {
        let generated = [".pending-snap", ".snap.new"]
            .iter()
            .any(|end| path.ends_with(end));
        !generated && path != "report.html" && !path.starts_with("fuzz/artifacts/")
    });
    paths
}

#[test]
fn every_source_belongs_to_a_module() {
    let manifests: String = files(&["Cargo.toml"])
        .iter()
        .map(|path| read(path))
        .collect();
    report(&unreached_sources(sources(), &manifests));
}

#[test]
fn the_check_of_modules_finds_violations() {
    let source = |path: &str, text: &str| Source::parse(path, text);
    let sources = [
        source("crates/a/src/lib.rs", "mod b;\npub mod c;"),
        source(
            "crates/a/src/b.rs",
            "mod inner;\n#[path = \"../other/d.rs\"]\nmod d;",
        ),
        source("crates/a/src/b/inner.rs", ""),
        source("crates/a/src/c/mod.rs", ""),
        source("crates/a/other/d.rs", ""),
        source("crates/a/src/dead.rs", "// mod dead;"),
        source("crates/a/tests/whole.rs", ""),
        source("crates/a/tests/support/stray.rs", ""),
    ];
    let findings = unreached_sources(&sources, "");
    let paths: Vec<&str> = findings
        .iter()
        .map(|finding| finding.path.as_str())
        .collect();
    assert_eq!(
        paths,
        ["crates/a/src/dead.rs", "crates/a/tests/support/stray.rs"]
    );
}

#[test]
fn every_file_is_named_somewhere() {
    let paths = all_files();
    let text = |path: &String| std::fs::read_to_string(root().join(path)).ok();
    let texts = paths
        .iter()
        .filter(|path| !path.starts_with("fuzz/corpus/"));
    let texts: Vec<(String, String)> = texts
        .filter_map(|path| Some((path.clone(), text(path)?)))
        .collect();
    report(&unnamed_files(&paths, &texts));
}

#[test]
fn the_check_of_named_files_finds_violations() {
    let texts = [
        (
            "crates/a/src/lib.rs",
            "include_str!(\"../data/used.csv\"); \"listed\"; \"x_{part}\"",
        ),
        ("crates/a/data/used.csv", ""),
        ("crates/a/data/listed.toml", ""),
        ("crates/a/data/dead.csv", "dead.csv"),
        ("crates/b/data/listed.toml", ""),
        ("crates/a/src/s/a__x_part.snap", ""),
        ("crates/a/src/s/a__y.snap", ""),
        ("docs/SUMMARY.md", "[A](a.md)"),
        ("docs/a.md", "[B](b.md)"),
        ("docs/b.md", ""),
        ("README.md", ""),
    ];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let paths: Vec<String> = texts.iter().map(|(path, _)| path.clone()).collect();
    let findings = unnamed_files(&paths, &texts);
    let found: Vec<&str> = findings
        .iter()
        .map(|finding| finding.path.as_str())
        .collect();
    let dead = ["crates/a/data/dead.csv", "crates/b/data/listed.toml"];
    assert_eq!(
        found,
        [&dead[..], &["crates/a/src/s/a__y.snap", "docs/b.md"]].concat()
    );
}

#[test]
fn every_large_file_has_a_reason() {
    let size = |path: &String| root().join(path).metadata().unwrap().len();
    let sizes: Vec<(String, u64)> = all_files().iter().map(|p| (p.clone(), size(p))).collect();
    report(&large_files(&sizes, &LARGE_FILES));
}

#[test]
fn the_check_of_large_files_finds_violations() {
    let sizes = [("a", LARGE), ("b", LARGE + 1), ("c", LARGE + 1)];
    let sizes = sizes.map(|(path, size)| (path.to_owned(), size));
    let listed = [("c", "why"), ("a", "why")];
    let findings = large_files(&sizes, &listed);
    let found: Vec<&str> = findings
        .iter()
        .map(|finding| finding.path.as_str())
        .collect();
    assert_eq!(found, ["b", "a"]);
}
