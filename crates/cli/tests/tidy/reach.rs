//! Limits on the code of each crate, in `reach.toml`: kernel, clock, other programs. And names of file
//! systems in literals.

use crate::{Source, files, finding, places, read, report, root, sources};
use serde::Deserialize;
use std::path::Path;

/// The format is described in `reach.toml`.
#[derive(Deserialize)]
struct Limits {
    filesystems: String,
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
        paths
            .split_whitespace()
            .any(|path| source.path.starts_with(path))
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

/// File systems, and loop devices outside of host, named in literals. Names of data files are exempt.
fn names_in_literals(source: &Source, names: &[String], data: &[String]) -> Vec<String> {
    let marked = |line: &String| line.contains("// example") || line.contains("// no contender");
    let exempt = |at: usize| source.lines[at.saturating_sub(1)..=at].iter().any(marked);
    let recipe = source.path.starts_with("crates/recipes/src/fs/");
    let mut findings = Vec::new();
    for literal in source.literals() {
        let text = &literal.name;
        if source.krate() != "host" && text.starts_with("/dev/loop") {
            let what = format!("\"{text}\": only host opens loop devices");
            findings.push(finding(&source.path, literal.line, &what));
        }
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let word = words.find(|word| names.iter().any(|name| name == word));
        if let Some(word) = word
            && !(recipe || data.contains(text) || exempt(literal.line))
        {
            let what = format!(
                "`{word}` in a literal: what depends on a file system belongs to its recipe; \
                 mark a text that only shows an example with // example, and a file system that \
                 is never compared with // no contender"
            );
            findings.push(finding(&source.path, literal.line, &what));
        }
    }
    findings
}

/// The names of files with this ending in directories of this name, without the ending.
fn stems(directory: &str, ending: &str) -> Vec<String> {
    let mut paths = files(ending);
    paths.retain(|path| path.contains(directory));
    let stem = |path: &String| Path::new(path).file_stem()?.to_str().map(str::to_owned);
    paths.iter().filter_map(stem).collect()
}

/// Names of file systems: the listed ones, and all recipes. `dir` is a keyword of the plan too.
fn filesystem_names() -> Vec<String> {
    let mut names = stems("crates/recipes/src/fs/", ".rs");
    let recipe = |name: &String| {
        root()
            .join(format!("crates/recipes/src/fs/{name}.rs"))
            .exists()
    };
    names.retain(|name| recipe(name) && !["mod", "dir", "tests"].contains(&name.as_str()));
    names.extend(limits().filesystems.split_whitespace().map(str::to_owned));
    names
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
        let found = |path: &str, text: &str| {
            let path = if path.ends_with('/') {
                &format!("{path}a.rs")
            } else {
                path
            };
            violations(&Source::parse(path, text), &rule).len()
        };
        let place = rule
            .within
            .split_whitespace()
            .next()
            .unwrap_or("crates/lab/");
        assert_eq!(
            found(place, &rule.bad),
            rule.bad.lines().count(),
            "{}",
            rule.why
        );
        for path in rule.except.split_whitespace().chain(["crates/lab/tests/"]) {
            assert_eq!(found(path, &rule.bad), 0, "{path}: {}", rule.why);
        }
    }
    let good = "use rustix::io::read; uninterrupted(|| read(a)); clap::Command::new(b); c.read();";
    let good = Source::parse("crates/recorder/src/a.rs", good);
    assert!(
        limits()
            .rule
            .iter()
            .all(|rule| violations(&good, rule).is_empty())
    );
}

#[test]
fn no_file_system_is_named_outside_its_recipe() {
    // A published table is named after the file systems it compares.
    let (names, data) = (filesystem_names(), stems("/data/", ".toml"));
    let check = |source| names_in_literals(source, &names, &data);
    let found: Vec<String> = sources().iter().flat_map(check).collect();
    report(&found);
}

#[test]
fn the_check_of_file_system_names_finds_violations() {
    let text = "if name == \"xfs\" {}\n// xfs\nlet a = \"mkfs.ext4 -q\";\nlet b = \"next4\";\n\
                let c = \"--fs ext4,xfs\"; // example\n\n// example: two of them\nlet d = \"ext4 xfs\";\n\
                // no contender\nlet e = \"tmpfs\";\n\nlet f = \"xfs-2001\";\nlet g = \"the xfs-2001\";\n\
                let h = \"/dev/loop-control\";";
    let check = |path: &str, expected: &[usize]| {
        let source = Source::parse(path, text);
        let findings = names_in_literals(&source, &filesystem_names(), &["xfs-2001".to_owned()]);
        let lines = expected.iter().map(|line| format!("{path}:{line}"));
        assert_eq!(places(&findings), lines.collect::<Vec<_>>());
    };
    check("crates/cli/src/probe.rs", &[1, 3, 13, 14]);
    check("crates/host/src/probe.rs", &[1, 3, 13]);
    check("crates/recipes/src/fs/xfs.rs", &[14]);
    check("crates/host/tests/lab_mounts.rs", &[]);
}
