//! The modules of a folder form no dependency cycle.

use crate::source::Source;
use crate::{finding, places, report, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The place of the first use, by the paths of the module and of the one that it uses.
type Uses = BTreeMap<(String, String), String>;

/// The module of a file as a path with its crate first; `None` outside `src`.
fn module_of(path: &str) -> Option<Vec<&str>> {
    let (krate, inside) = path.strip_suffix(".rs")?.split_once("/src/")?;
    let names = inside
        .split('/')
        .filter(|name| !["mod", "lib", "main"].contains(name));
    Some([krate].into_iter().chain(names).collect())
}

/// The module and the rest that a path refers to, with the crate first; `None` for other crates.
fn absolute<'p>(path: &'p str, module: &[&'p str]) -> Option<Vec<&'p str>> {
    let mut names = path.split("::").peekable();
    if names.next_if_eq(&"crate").is_some() {
        return Some([module[0]].into_iter().chain(names).collect());
    }
    let mut base = module;
    while names.next_if_eq(&"super").is_some() {
        base = base.split_last().filter(|(_, rest)| !rest.is_empty())?.1;
    }
    (base.len() < module.len()).then(|| base.iter().copied().chain(names).collect())
}

/// The uses between the modules of each folder. A use of a module further inside counts for the
/// modules of the common folder.
fn uses(sources: &[Source]) -> Uses {
    let mut known = BTreeSet::new();
    for module in sources.iter().filter_map(|source| module_of(&source.path)) {
        known.extend((1..=module.len()).map(|length| module[..length].join("::")));
    }
    let mut found = Uses::new();
    for source in sources {
        let module = module_of(&source.path).unwrap_or_default();
        for reached in source.product().filter(|_| module.len() > 1) {
            let target = absolute(&reached.name, &module).unwrap_or_default();
            let pairs = module.iter().zip(&target);
            let at = pairs.take_while(|(own, other)| own == other).count();
            if at > 0 && at < module.len() && at < target.len() {
                let [own, target] = [&module, &target].map(|path| path[..=at].join("::"));
                let what = format!("`{own}` uses `{target}`, and they are part of a cycle");
                if known.contains(&target) {
                    let place = finding(&source.path, reached.line, &what);
                    found.entry((own, target)).or_insert(place);
                }
            }
        }
    }
    found
}

/// All uses that are part of a cycle. Uses of modules that use nothing, and by modules that nothing
/// uses, are removed repeatedly; only cycles remain.
fn cycles(mut uses: Uses) -> Vec<String> {
    loop {
        let before = uses.len();
        let (from, to): (BTreeSet<_>, BTreeSet<_>) = uses.keys().cloned().unzip();
        uses.retain(|(user, target), _| to.contains(user) && from.contains(target));
        if uses.len() == before {
            return uses.into_values().collect();
        }
    }
}

#[test]
fn modules_form_no_cycle() {
    let uses = uses(sources());
    assert!(
        uses.len() > 300,
        "only {} uses of modules were found",
        uses.len()
    );
    report(&cycles(uses));
}

#[test]
fn the_check_of_cycles_finds_violations() {
    let check = |files: &[&str], expected: &[&str]| {
        let parse = |file: &&str| {
            let (path, text) = file.split_once(": ").unwrap_or((file, ""));
            Source::parse(&format!("a/src/{path}.rs"), text)
        };
        let sources: Vec<Source> = files.iter().map(parse).collect();
        assert_eq!(places(&cycles(uses(&sources))), expected);
    };
    let (clock, meta) = ("clock: pub fn now() {}", "engines/meta");
    let top = "top: use crate::engines::Engine;";
    let engines = "engines/sync: use super::meta;\nuse crate::clock::now;";
    check(&[clock, top, engines, meta], &[]);
    // A cycle through two modules: with groups, with `super`, and without `use`.
    let phases = "phases/op/run: \nuse {std::fs, crate::{engines::{self, Engine}}};";
    let back = "engines/sync: fn a() {\n    super::super::kinds::find();\n}";
    let kinds = "kinds: use crate::phases::copy as c;";
    let cycle = [
        "a/src/engines/sync.rs:2",
        "a/src/kinds.rs:1",
        "a/src/phases/op/run.rs:2",
    ];
    check(&[clock, top, phases, back, kinds, meta], &cycle);
    // A cycle within a folder, through a module further inside.
    let sync = "engines/sync: use super::meta::size;";
    let inner = "engines/meta/size: use super::super::sync::Calls;";
    let cycle = ["a/src/engines/meta/size.rs:1", "a/src/engines/sync.rs:1"];
    check(&[clock, sync, inner], &cycle);
    // Tests may use any module.
    let test = "engines/sync: #[cfg(test)]\nmod tests {\n    use crate::kinds;\n}";
    check(&[clock, phases, test, kinds], &[]);
}
