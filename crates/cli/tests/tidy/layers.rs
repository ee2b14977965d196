//! The top-level modules of a crate form no dependency cycle.

use crate::paths::reached;
use crate::source::Source;
use crate::{Finding, report, sources};
use std::collections::{BTreeMap, BTreeSet};

/// For each module, the modules it uses, with the place of the first use.
type Uses = BTreeMap<String, BTreeMap<String, Finding>>;

/// The module of a file as a path from the crate root; `None` outside `src`.
fn module_of(path: &str) -> Option<Vec<&str>> {
    let inside = path.split_once("/src/")?.1.strip_suffix(".rs")?;
    let mut names: Vec<&str> = inside.split('/').collect();
    if matches!(names.last(), Some(&("mod" | "lib" | "main"))) {
        names.pop();
    }
    Some(names)
}

/// The top-level module that a path refers to, from a file; `None` if it leaves the crate.
fn top_of<'p>(path: &'p str, module: &[&'p str]) -> Option<&'p str> {
    let mut names = path.split("::").peekable();
    if names.next_if_eq(&"crate").is_some() {
        return names.next();
    }
    let mut at = module.len();
    while names.next_if_eq(&"super").is_some() {
        at = at.checked_sub(1)?;
        if names.peek() != Some(&"super") {
            return if at == 0 {
                names.next()
            } else {
                Some(module[0])
            };
        }
    }
    None
}

/// The uses between top-level modules in the code of one crate, without tests.
fn uses<'s>(sources: impl Iterator<Item = &'s Source>) -> Uses {
    let mut uses = Uses::new();
    let sources: Vec<_> = sources
        .filter_map(|source| Some((source, module_of(&source.path)?)))
        .collect();
    let tops: BTreeSet<&str> = sources
        .iter()
        .filter_map(|(_, module)| module.first().copied())
        .collect();
    for (source, module) in &sources {
        let Some(own) = module.first() else {
            continue;
        };
        let is_test = |line: usize| source.test.get(line).copied().unwrap_or(false);
        for reached in reached(&source.lines.join("\n"), &is_test) {
            let top = top_of(&reached.path, module);
            if let Some(top) = top.filter(|top| tops.contains(top) && top != own)
                && !is_test(reached.line)
            {
                let what = format!("`{own}` uses `{top}`, and they are part of a cycle");
                uses.entry((*own).to_owned())
                    .or_default()
                    .entry(top.to_owned())
                    .or_insert_with(|| Finding::new(&source.path, reached.line, what));
            }
        }
    }
    uses
}

/// All uses that are part of a cycle. Modules without uses are removed repeatedly; only cycles
/// remain.
fn cycles(mut uses: Uses) -> Vec<Finding> {
    loop {
        let known: BTreeSet<String> = uses.keys().cloned().collect();
        let targets: BTreeSet<String> = uses.values().flat_map(|of| of.keys().cloned()).collect();
        let before = uses.values().map(BTreeMap::len).sum::<usize>();
        uses.retain(|user, _| targets.contains(user));
        for of in uses.values_mut() {
            of.retain(|used, _| known.contains(used));
        }
        uses.retain(|_, of| !of.is_empty());
        if uses.values().map(BTreeMap::len).sum::<usize>() == before {
            return uses.into_values().flat_map(BTreeMap::into_values).collect();
        }
    }
}

#[test]
fn modules_form_no_cycle() {
    let sources = sources();
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        crates.entry(source.krate()).or_default().push(source);
    }
    let uses: Vec<Uses> = crates
        .into_values()
        .map(|of| uses(of.into_iter()))
        .collect();
    let with_uses = uses.iter().filter(|uses| !uses.is_empty()).count();
    assert!(
        with_uses > 10,
        "modules were found in {with_uses} crates only"
    );
    report(&uses.into_iter().flat_map(cycles).collect::<Vec<_>>());
}

#[test]
fn the_check_of_cycles_finds_violations() {
    let check = |files: &[(&str, &str)]| -> Vec<(String, usize)> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::parse(&format!("crates/load/src/{path}"), text))
            .collect();
        let findings = cycles(uses(sources.iter()));
        findings.into_iter().map(|f| (f.path, f.line)).collect()
    };
    let at = |path: &str, line| (format!("crates/load/src/{path}"), line);
    let clock = ("clock.rs", "pub fn now() {}");
    let top = ("top.rs", "use crate::engines::Engine;");
    let engines = (
        "engines/sync.rs",
        "use super::meta;\nuse crate::clock::now;",
    );
    let meta = ("engines/meta.rs", "");
    assert_eq!(check(&[clock, top, engines, meta]), []);
    // A cycle through two modules: with groups, with `super`, and without `use`.
    let phases = (
        "phases/op/run.rs",
        "\nuse {std::fs, crate::{engines::{self, Engine}}};",
    );
    let back = (
        "engines/sync.rs",
        "fn a() {\n    super::super::kinds::find();\n}",
    );
    let kinds = ("kinds.rs", "use crate::phases::copy as c;");
    assert_eq!(
        check(&[clock, top, phases, back, kinds, meta]),
        [
            at("engines/sync.rs", 2),
            at("kinds.rs", 1),
            at("phases/op/run.rs", 2)
        ]
    );
    // Tests may use any module.
    let test = "#[cfg(test)]\nmod tests {\n    use crate::kinds;\n}";
    assert_eq!(
        check(&[clock, phases, ("engines/sync.rs", test), kinds]),
        []
    );
}
