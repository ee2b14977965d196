//! Checks of the sources that the compiler and clippy do not have: crate boundaries, links, and the invariants of
//! `invariants.md`.
//!
//! Every check is a function from its input to findings. A test next to it passes a bad snippet and
//! expects a finding. Other tests cover what needs a running program.

mod crates;
mod fuzz;
mod invariants;
mod layers;
mod links;
mod paths;
mod reach;
mod source;
mod waits;

use source::Source;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A place that breaks an invariant.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The path within the repository.
    path: String,
    /// The line, from 1.
    line: usize,
    /// The problem and its remedy.
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Finding {
    /// Creates a finding at a line counted from 0.
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: line + 1,
            what: what.into(),
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All files of the repository with these name endings, without build output and hidden folders.
fn files(endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                let built = name == "target" || entry.path().join("CACHEDIR.TAG").exists();
                if !built && !name.starts_with('.') {
                    folders.push(entry.path());
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let path = entry.path().strip_prefix(root()).unwrap().to_owned();
                found.push(path.into_os_string().into_string().unwrap());
            }
        }
    }
    found.sort();
    found
}

/// All Rust sources of the repository, read once. Files that contain only tests are marked.
fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let paths = files(&[".rs"]);
        let mut sources: Vec<Source> = paths.iter().map(|p| Source::parse(p, &read(p))).collect();
        assert!(sources.len() > 10, "the sources were not found");
        let tests: Vec<PathBuf> = sources.iter().flat_map(Source::test_modules).collect();
        for source in &mut sources {
            if tests.iter().any(|test| test == Path::new(&source.path)) {
                source.test.fill(true);
            }
        }
        sources
    })
}

/// Runs a check over all sources.
fn check_sources(check: impl Fn(&Source) -> Vec<Finding>) {
    report(&sources().iter().flat_map(check).collect::<Vec<_>>());
}

/// Fails with all findings, one per line.
fn report(findings: &[Finding]) {
    let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(
        list.is_empty(),
        "{} found:\n{}",
        list.len(),
        list.join("\n")
    );
}

/// The lines at which a check finds a problem in a snippet.
fn lines_found(check: impl Fn(&Source) -> Vec<Finding>, path: &str, snippet: &str) -> Vec<usize> {
    let findings = check(&Source::parse(path, snippet));
    findings.into_iter().map(|finding| finding.line).collect()
}

/// The position of `word` in `line` as a whole word.
fn find_word(line: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).map(|(at, _)| at).find(|at| {
        let after = &line[at + word.len()..];
        let joins_before = word.starts_with(part) && line[..*at].ends_with(part);
        let joins_after = word.ends_with(part) && after.starts_with(part);
        !joins_before && !joins_after
    })
}

#[test]
fn the_scanner_separates_code_strings_comments_and_tests() {
    let text = r##"
let a = "one // no comment"; // two "no string"
let b = r#"three " four"#; let c = b"five"; let r#type = '"';
/* six /* seven */ eight */ let d: &'static str = "ni\"ne
ten";
#[cfg(test)]
mod tests { let e = '\'';
}
#[cfg(test)]
mod proofs;
fn f() {}"##;
    let source = Source::parse("crates/x/src/lib.rs", text);
    let strings: Vec<_> = source
        .strings
        .iter()
        .map(|(l, s)| (*l, s.as_str()))
        .collect();
    assert_eq!(
        strings,
        [
            (1, "one // no comment"),
            (2, "three \" four"),
            (2, "five"),
            (3, "ni\\\"ne\nten")
        ]
    );
    assert!(source.comments[1].contains("two \"no string\""));
    assert!(source.comments[3].contains("eight"));
    assert!(source.code[3].trim_start().starts_with("let d"));
    assert!(source.code[2].contains("r#type"));
    let tests: Vec<_> = (0..source.test.len())
        .filter(|at| source.test[*at])
        .collect();
    assert_eq!(tests, [5, 6, 7, 8, 9]);
    assert!(
        source
            .test_modules()
            .contains(&PathBuf::from("crates/x/src/proofs.rs"))
    );
}
