//! Limits on the code of each crate, in `reach.toml`: kernel, clock, other programs.

use crate::{Source, finding, read, report, sources};
use serde::Deserialize;

/// The format is described in `reach.toml`.
#[derive(Deserialize)]
struct Limits {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    why: String,
    items: String,
    #[serde(default, rename = "in")]
    within: String,
    #[serde(default)]
    except: String,
    #[serde(default)]
    bare_calls: bool,
    bad: String,
}

fn limits() -> Limits {
    toml::from_str(&read("crates/cli/tests/tidy/reach.toml")).unwrap()
}

fn violations(source: &Source, rule: &Rule) -> Vec<String> {
    let is_in = |paths: &str| {
        let mut paths = paths.split_whitespace();
        paths.any(|path| source.path.starts_with(path))
    };
    let mut findings = Vec::new();
    if is_in(&rule.except) || !(rule.within.is_empty() || is_in(&rule.within)) {
        return findings;
    }
    for named in source.product().filter(|n| n.bare || !rule.bare_calls) {
        let mut items = rule.items.split_whitespace();
        if let Some(item) = items.find(|item| named.matches(item)) {
            let what = format!("`{item}`: {}", rule.why);
            findings.push(finding(&source.path, named.line, &what));
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

#[test]
fn each_crate_reaches_only_what_it_may() {
    for rule in limits().rule {
        let found = sources().iter().flat_map(|s| violations(s, &rule));
        report(&found.collect::<Vec<_>>());
    }
}

#[test]
fn every_rule_of_reach_finds_violations() {
    for rule in limits().rule {
        let found = |path: &str| violations(&Source::parse(path, &rule.bad), &rule).len();
        let place = rule.within.split_whitespace().next();
        let lines = rule.bad.lines().count();
        assert_eq!(found(place.unwrap_or("crates/lab/")), lines, "{}", rule.why);
        for path in rule.except.split_whitespace().chain(["crates/lab/tests/"]) {
            assert_eq!(found(path), 0, "{path}: {}", rule.why);
        }
    }
    let good = "use rustix::io::read; uninterrupted(|| read(a)); clap::Command::new(b); c.read();";
    let good = Source::parse("crates/recorder/src/a.rs", good);
    let rules = limits().rule;
    assert!(rules.iter().all(|rule| violations(&good, rule).is_empty()));
}
