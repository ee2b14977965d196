//! The table of invariants names only tests that exist in the named crate.

use crate::{Finding, Source, read, report, root, sources};
use std::collections::BTreeSet;

const TABLE: &str = "crates/cli/tests/tidy/invariants.md";

/// The tests of the last column of each row: line from 0, crate, test.
fn named_tests(table: &str) -> Vec<(usize, String, String)> {
    let mut named = Vec::new();
    for (at, row) in table.lines().enumerate() {
        let Some(last) = row
            .strip_suffix(" |")
            .and_then(|row| row.rsplit('|').next())
        else {
            continue;
        };
        let mut krate = "";
        for (place, part) in last.split('`').enumerate() {
            if place % 2 == 0 {
                let mut words = part.split(|c: char| !c.is_alphanumeric());
                krate = words.rfind(|word| !word.is_empty()).unwrap_or(krate);
            } else {
                named.push((at, krate.to_owned(), part.to_owned()));
            }
        }
    }
    named
}

/// All functions, each with its crate.
fn functions(sources: &[Source]) -> BTreeSet<(String, String)> {
    let mut functions = BTreeSet::new();
    for source in sources {
        for line in &source.code {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if words.any(|word| word == "fn")
                && let Some(name) = words.next()
            {
                functions.insert((source.krate().to_owned(), name.to_owned()));
            }
        }
    }
    functions
}

fn unknown_tests(table: &str, sources: &[Source]) -> Vec<Finding> {
    let functions = functions(sources);
    let named = named_tests(table).into_iter();
    named
        .filter(|(_, krate, test)| !functions.contains(&(krate.clone(), test.clone())))
        .map(|(at, krate, test)| {
            let what = format!("there is no test `{test}` in the crate `{krate}`");
            Finding::new(TABLE, at, what)
        })
        .collect()
}

#[test]
fn every_invariant_names_tests_that_exist() {
    let table = read(TABLE);
    let named = named_tests(&table);
    assert!(named.len() > 60, "the tests were not found: {named:?}");
    for (_, krate, _) in &named {
        assert!(root().join("crates").join(krate).is_dir(), "{krate}");
    }
    report(&unknown_tests(&table, sources()));
}

#[test]
fn the_check_of_invariants_finds_violations() {
    let sources = [
        Source::parse(
            "crates/a/src/lib.rs",
            "fn one() {}\n#[test]\nfn two() {}\n// fn three() {}",
        ),
        Source::parse("crates/b/src/lib.rs", "pub const fn four() {}"),
    ];
    let table = "# A\n| invariant | tests |\n|---|---|\n\
                 | `x` | a `one`, `two`; b `four` |\n| y | a `three`, `four`; b `two` |\n";
    let findings = unknown_tests(table, &sources);
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings.iter().all(|finding| finding.line == 5));
}
