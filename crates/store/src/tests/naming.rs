//! Names of runs.

use super::{WorkDir, specimen};
use crate::StoreError;

/// 2026-11-21 17:30:59 UTC.
const EVENING: u64 = 1_795_282_259_000_000_000;

#[test]
fn an_id_has_start_and_suite_and_is_unique() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    for expected in ["quick", "quick-2", "quick-3"] {
        let mut run = specimen::run("", EVENING);
        store.begin_named(&mut run).unwrap();
        assert_eq!(run.id, format!("20261121-1730-{expected}"));
        assert_eq!(store.load(&run.id).unwrap().run, run);
    }
    let names = [
        ("my suite/2: \u{e4}", "20261121-1730-my-suite-2"),
        ("", "20261121-1730-run"),
        ("../..", "20261121-1730-..-.."),
    ];
    for (suite, id) in names {
        assert_eq!(store.new_id(suite, EVENING).unwrap(), id);
    }
    let longest = store.new_id(&"x".repeat(500), u64::MAX).unwrap();
    store.begin(&specimen::run(&longest, 1)).unwrap();
}

#[test]
fn an_id_that_cannot_be_typed_is_refused() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let long = "x".repeat(101);
    for id in ["", "a b", "../x", "a\0", "last", &long] {
        let error = store.begin(&specimen::run(id, 1)).unwrap_err();
        assert!(matches!(error, StoreError::BadId { .. }), "{error}");
    }
    store.begin(&specimen::run("r", 1)).unwrap();
    let error = store.begin(&specimen::run("r", 2)).unwrap_err();
    assert!(matches!(error, StoreError::RunExists { .. }), "{error}");
    assert_eq!(store.load("r").unwrap().run.started_unix_ns, 1);
}

#[test]
fn a_run_is_found_by_any_unambiguous_name() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let error = store.resolve("last").unwrap_err().to_string();
    assert!(error.contains("fsdyno run"), "{error}");
    for (start, id) in [
        (3, "20261121-1730-quick"),
        (4, "20261121-1730-quick-2"),
        (2, "20261120-0900-atime"),
        (1, "20250101-0000-quick"),
    ] {
        store.begin(&specimen::run(id, start)).unwrap();
    }
    for (name, id) in [
        ("20261121-1730-quick", "20261121-1730-quick"),
        ("last", "20261121-1730-quick-2"),
        ("2025", "20250101-0000-quick"),
        ("atime", "20261120-0900-atime"),
        ("quick-2", "20261121-1730-quick-2"),
    ] {
        assert_eq!(store.resolve(name).unwrap(), id, "{name}");
    }
    match store.resolve("quick").unwrap_err() {
        StoreError::Ambiguous { matches, .. } => assert_eq!(
            matches,
            [
                "20261121-1730-quick-2",
                "20261121-1730-quick",
                "20250101-0000-quick"
            ]
        ),
        other => panic!("{other}"),
    }
    for name in ["", "slow", "%", "20261121-1730-quick-22"] {
        match store.resolve(name).unwrap_err() {
            StoreError::NoSuchRun { recent, .. } => {
                assert_eq!(recent[0], "20261121-1730-quick-2");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_renamed_run_keeps_its_cells_and_tags_and_its_old_name_is_free() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let old = "old".to_owned();
    let (run, cells) = (specimen::run(&old, EVENING), specimen::cells());
    store.begin(&run).unwrap();
    for cell in &cells {
        store.record(&old, cell).unwrap();
    }
    store.tag(&old, "kernel-6.12", true).unwrap();
    store.rename(&old, "before-upgrade").unwrap();
    let renamed = store.load("before-upgrade").unwrap();
    assert_eq!(renamed.cells, cells);
    assert_eq!(store.tags("before-upgrade").unwrap(), ["kernel-6.12"]);
    assert!(matches!(
        store.load(&old),
        Err(StoreError::NoSuchRun { .. })
    ));
    store.begin(&run).unwrap();
    assert!(matches!(
        store.rename(&old, "before-upgrade"),
        Err(StoreError::RunExists { .. })
    ));
    for new in ["", "last", "a/b"] {
        assert!(matches!(
            store.rename(&old, new),
            Err(StoreError::BadId { .. })
        ));
    }
}

#[test]
fn a_tag_names_the_newest_run_that_has_it() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut run = specimen::run("", 0);
    for (id, started) in [("one", 1), ("two", 2), ("three", 3)] {
        run.id = id.to_owned();
        run.started_unix_ns = started;
        store.begin(&run).unwrap();
    }
    for id in ["one", "two"] {
        store.tag(id, "slow", true).unwrap();
        store.tag(id, "slow", true).unwrap();
    }
    assert_eq!(store.resolve("slow").unwrap(), "two");
    store.tag("two", "slow", false).unwrap();
    assert_eq!(store.resolve("slow").unwrap(), "one");
    store.remove("one").unwrap();
    assert!(store.resolve("slow").is_err());
    assert!(store.tag("one", "slow", true).is_err());
}

#[test]
fn a_run_is_claimed_while_its_claim_lives() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let run = specimen::run("r", EVENING);
    store.begin(&run).unwrap();
    assert!(!store.is_claimed(&run.id));
    let claim = store.claim(&run.id).unwrap();
    assert!(store.is_claimed(&run.id) && store.runs().unwrap()[0].running);
    drop(claim);
    assert!(!store.is_claimed(&run.id) && !store.runs().unwrap()[0].running);
}

#[test]
fn last_is_never_the_run_that_a_process_works_on() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut run = specimen::run("", 0);
    for (id, started) in [("ended", 1), ("running", 2)] {
        run.id = id.to_owned();
        run.started_unix_ns = started;
        store.begin(&run).unwrap();
    }
    assert_eq!(store.resolve("last").unwrap(), "running");
    let claim = store.claim("running").unwrap();
    assert_eq!(store.resolve("last").unwrap(), "ended");
    assert_eq!(store.resolve_any("last").unwrap().id(), "ended");
    assert_eq!(store.resolve("running").unwrap(), "running");
    store.remove("ended").unwrap();
    let error = store.resolve("last").unwrap_err().to_string();
    assert!(error.contains("`running`"), "{error}");
    drop(claim);
    assert_eq!(store.resolve("last").unwrap(), "running");
}

#[test]
fn a_variant_belongs_to_its_run_and_is_found_only_by_its_id() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut main = specimen::run("20261121-1730-quick", 1);
    main.plan.robust = true;
    store.begin(&main).unwrap();
    for (start, id) in [(2, "20261121-1730-quick-2"), (3, "20261121-1730-quick-3")] {
        let mut variant = specimen::run(id, start);
        variant.plan.variant = Some(fsdyno_model::VariantOf {
            run: main.id.clone(),
            change: format!("change {id}"),
            all: 2,
        });
        store.begin(&variant).unwrap();
    }
    for name in ["last", "quick", "2026"] {
        assert_eq!(store.resolve(name).unwrap(), main.id);
        assert_eq!(store.resolve_any(name).unwrap().id(), main.id);
    }
    let id = "20261121-1730-quick-3";
    assert_eq!(store.resolve(id).unwrap(), id);
    assert_eq!(store.resolve_any(id).unwrap().id(), id);
    assert_eq!(store.runs().unwrap().len(), 1);
    // They follow their run under another name, and are deleted with it.
    store.rename(&main.id, "mine").unwrap();
    let set = store
        .load_with_variants(crate::Detail::All, "mine")
        .unwrap();
    let ids: Vec<&str> = set.variants.iter().map(|one| one.run.id.as_str()).collect();
    assert_eq!(ids, ["20261121-1730-quick-2", id]);
    store.remove("mine").unwrap();
    assert!(store.ids().unwrap().is_empty());
}

#[test]
fn the_runs_of_an_advice_are_found_by_the_name_of_the_first() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let error = store.resolve_advice("last").unwrap_err().to_string();
    assert!(error.contains("last"), "{error}");
    for (start, id, first) in [
        (1, "one-advise", None),
        (2, "one-advise-2", Some("one-advise")),
        (3, "two-advise", None),
        (4, "other", None),
    ] {
        let mut run = specimen::run(id, start);
        run.plan.advice = (id != "other").then(|| fsdyno_model::AdviceOf {
            first: first.map(str::to_owned),
            stage: "defaults".to_owned(),
            question: first.is_none().then(|| "{}".to_owned()),
        });
        store.begin(&run).unwrap();
    }
    assert_eq!(store.resolve_advice("last").unwrap(), "two-advise");
    assert_eq!(store.resolve_advice("one").unwrap(), "one-advise");
    assert!(store.resolve_advice("other").is_err());
    store.rename("one-advise", "mine").unwrap();
    let runs = store.runs_of_advice("mine").unwrap();
    let ids: Vec<&str> = runs.iter().map(|set| set.run.id.as_str()).collect();
    assert_eq!(ids, ["mine", "one-advise-2"]);
}
