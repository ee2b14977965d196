//! The modules of a folder form no dependency cycle.

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

/// The module path, and the rest, that a path refers to, from the crate root; `None` if it leaves the
/// crate.
fn absolute<'p>(path: &'p str, module: &[&'p str]) -> Option<Vec<&'p str>> {
    let mut names = path.split("::").peekable();
    if names.next_if_eq(&"crate").is_some() {
        return Some(names.collect());
    }
    let mut above = module.len();
    while names.next_if_eq(&"super").is_some() {
        above = above.checked_sub(1)?;
    }
    let base = module
        .get(..above)
        .filter(|base| base.len() < module.len())?;
    Some(base.iter().copied().chain(names).collect())
}

/// The uses between the modules of each folder in the code of one crate, without tests. A use of a
/// module further inside counts for the modules of the common folder.
fn uses<'s>(sources: impl Iterator<Item = &'s Source>) -> BTreeMap<String, Uses> {
    let sources: Vec<_> = sources
        .filter_map(|source| Some((source, module_of(&source.path)?)))
        .collect();
    let known: BTreeSet<&[&str]> = sources
        .iter()
        .flat_map(|(_, module)| (0..module.len()).map(|last| &module[..=last]))
        .collect();
    let mut folders: BTreeMap<String, Uses> = BTreeMap::new();
    for (source, module) in &sources {
        let is_test = |line: usize| source.test.get(line).copied().unwrap_or(false);
        for reached in reached(&source.lines.join("\n"), &is_test) {
            let Some(target) = absolute(&reached.path, module) else {
                continue;
            };
            let pairs = module.iter().zip(&target);
            let at = pairs.take_while(|(own, other)| own == other).count();
            let (Some(own), Some(used)) = (module.get(at), target.get(at)) else {
                continue;
            };
            if known.contains(&target[..=at]) && !is_test(reached.line) {
                let what = format!("`{own}` uses `{used}`, and they are part of a cycle");
                let folder = folders.entry(module[..at].join("/")).or_default();
                let targets = folder.entry((*own).to_owned()).or_default();
                targets
                    .entry((*used).to_owned())
                    .or_insert_with(|| Finding::new(&source.path, reached.line, what));
            }
        }
    }
    folders
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
        .flat_map(|of| uses(of.into_iter()).into_values())
        .collect();
    assert!(
        uses.len() > 60,
        "modules were found in {} folders only",
        uses.len()
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
        let findings = uses(sources.iter()).into_values().flat_map(cycles);
        findings.map(|f| (f.path, f.line)).collect()
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
    // A cycle within a folder, through a module further inside.
    let sync = ("engines/sync.rs", "use super::meta::size;");
    let inner = ("engines/meta/size.rs", "use super::super::sync::Calls;");
    assert_eq!(
        check(&[clock, sync, inner]),
        [at("engines/meta/size.rs", 1), at("engines/sync.rs", 1)]
    );
    // Tests may use any module.
    let test = "#[cfg(test)]\nmod tests {\n    use crate::kinds;\n}";
    assert_eq!(
        check(&[clock, phases, ("engines/sync.rs", test), kinds]),
        []
    );
}
