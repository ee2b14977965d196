//! The table of invariants names only tests that exist in the named crate.

use crate::{Source, finding, places, read, report, sources};
use std::collections::BTreeSet;

const TABLE: &str = "crates/cli/tests/tidy/invariants.md";

/// The tests of the last column of each row: line from 0, crate, test.
fn named_tests(table: &str) -> Vec<(usize, &str, &str)> {
    let mut named = Vec::new();
    for (at, row) in table.lines().enumerate() {
        let row = row.strip_suffix(" |").unwrap_or_default();
        let parts = row.rsplit('|').next().unwrap_or_default().split('`');
        let mut krate = "";
        for (place, part) in parts.enumerate() {
            if place % 2 == 0 {
                let mut words = part.split(|c: char| !c.is_alphanumeric());
                krate = words.rfind(|word| !word.is_empty()).unwrap_or(krate);
            } else {
                named.push((at, krate, part));
            }
        }
    }
    named
}

fn unknown_tests(table: &str, sources: &[Source]) -> Vec<String> {
    let mut functions = BTreeSet::new();
    for source in sources {
        functions.extend(
            source
                .functions
                .iter()
                .map(|name| (source.krate(), name.as_str())),
        );
    }
    let mut unknown = named_tests(table);
    unknown.retain(|(_, krate, test)| !functions.contains(&(*krate, *test)));
    let what = |krate, test| format!("there is no test `{test}` in the crate `{krate}`");
    let unknown = unknown.into_iter();
    unknown
        .map(|(at, krate, test)| finding(TABLE, at, &what(krate, test)))
        .collect()
}

#[test]
fn every_invariant_names_tests_that_exist() {
    let table = read(TABLE);
    assert!(named_tests(&table).len() > 60, "the tests were not found");
    report(&unknown_tests(&table, sources()));
}

#[test]
fn the_check_of_invariants_finds_violations() {
    let a = "fn one() {}\n#[test]\nfn two() {}\n// fn three() {}";
    let a = Source::parse("crates/a/src/lib.rs", a);
    let b = Source::parse("crates/b/src/lib.rs", "pub const fn four() {}");
    let table = "# A\n| invariant | tests |\n|---|---|\n\
                 | `x` | a `one`, `two`; b `four` |\n| y | a `three`, `four`; b `two` |\n";
    let found = unknown_tests(table, &[a, b]);
    assert_eq!(places(&found), ["crates/cli/tests/tidy/invariants.md:5"; 3]);
}
