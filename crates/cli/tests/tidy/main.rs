//! Checks of the sources that the compiler and clippy do not have: crate boundaries, links, the
//! length of the documents, and the invariants of `invariants.md`.
//!
//! Every check is a function from its input to findings. A test next to it passes a bad snippet and
//! expects a finding. Other tests cover what needs a running program.

mod crates;
mod invariants;
mod layers;
mod links;
mod reach;
mod source;
mod words;

use source::Source;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A place that breaks an invariant, with the problem and its remedy. The line is counted from 0.
fn finding(path: &str, line: usize, what: &str) -> String {
    format!("{path}:{}: {what}", line + 1)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All files of the repository with this name ending, without build output and hidden folders.
fn files(ending: &str) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let built = name == "target" || path.join("CACHEDIR.TAG").exists();
            if path.is_dir() && !built && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() && name.ends_with(ending) {
                let path = path.strip_prefix(root()).unwrap();
                found.push(path.to_str().unwrap().to_owned());
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
        let paths = files(".rs");
        let mut sources: Vec<Source> = paths.iter().map(|p| Source::parse(p, &read(p))).collect();
        assert!(sources.len() > 100, "the sources were not found");
        let tests: Vec<PathBuf> = sources.iter().flat_map(Source::test_files).collect();
        for source in &mut sources {
            source.test |= tests.contains(&PathBuf::from(&source.path));
        }
        sources
    })
}

/// Fails with all findings, one per line.
fn report(findings: &[String]) {
    assert!(
        findings.is_empty(),
        "{} found:\n{}",
        findings.len(),
        findings.join("\n")
    );
}

/// The paths and lines of findings, such as `docs/labs.md:7`.
fn places(findings: &[String]) -> Vec<&str> {
    let places = findings.iter().map(|finding| finding.split(": ").next());
    places.flatten().collect()
}

#[test]
fn paths_functions_and_tests_of_a_source_are_found() {
    let text = r##"//! "no string"
        use std::{io, fs::{self as files, read}, time::*};
        fn f() { files::write(b'"', c"one // no comment"); vec![path.exists()] }
        extern crate libc as c; fn g() { c::fork(); uninterrupted(|| read(r#"2 " 3"#)); read(a) }
        #[cfg(test)] mod proofs;
        #[cfg(test)]
        mod tests { use other as files; fn h() { files::mkdir("four"); } }
        fn i() { ::std::process::id(); }"##;
    let source = Source::parse("crates/x/src/lib.rs", text);
    let product = |line: usize, bare: bool, name: &str| {
        let mut same = source
            .product()
            .filter(|n| n.line == line && n.bare == bare);
        same.any(|n| n.name == name)
    };
    assert!(product(2, true, "std::fs::write") && product(2, true, ".exists"));
    assert!(product(3, false, "std::fs::read") && product(3, true, "std::fs::read"));
    assert!(product(3, true, "libc::fork") && product(7, true, "std::process::id"));
    assert!(source.product().all(|n| !n.name.ends_with("mkdir")));
    let mut time = source.product().filter(|n| n.name == "std::time::*");
    assert!(time.any(|n| n.matches("std::time::Instant") && !n.matches("std::fs")));
    assert_eq!(source.functions, ["f", "g", "h", "i"]);
    let mut tests = source.test_files();
    assert!(tests.any(|path| path == Path::new("crates/x/src/proofs.rs")));
}
