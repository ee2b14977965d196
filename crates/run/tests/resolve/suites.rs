//! The built-in suites.

use crate::support::*;
use fsdyno_model::CacheState;
use fsdyno_run::resolve::suite;

#[test]
fn every_suite_is_valid_and_found_by_name() {
    for suite in suite::ALL {
        let parsed = suite.read(&catalogue()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(parsed.options.name.as_deref(), Some(suite.name));
        for line in [&parsed.options.title, &parsed.options.about] {
            assert!(
                line.as_ref().is_some_and(|l| !l.is_empty()),
                "{}",
                suite.name
            );
        }
        let plan = plan(&request(|r| r.suite = Some(suite.name.to_owned())));
        assert_eq!(plan.name, suite.name);
        assert!(!plan.workloads.is_empty() && !plan.contenders.is_empty());
        // A copy of the suite in a file gives the same plan.
        let (_directory, path) = written(suite.text);
        let mut copied = self::plan(&request(|r| r.plan = Some(path)));
        // The time limit of a plan file is the user's: it holds from the first block on.
        for (copied, plan) in copied.adaptive.iter_mut().zip(&plan.adaptive) {
            copied.fewest = plan.fewest;
        }
        assert_eq!(copied, plan);
    }
}

#[test]
fn the_suites_match_the_published_comparisons() {
    let of = |name: &str| plan(&request(|r| r.suite = Some(name.to_owned())));
    assert_eq!(
        work(&of("classic-2004")),
        [
            "mixed=mixed: copy, delete",
            "ports=ports: untar, copy, delete",
            "large-file=avi-693: copy",
        ]
    );
    let caches: Vec<_> = of("classic-2004").workloads[1]
        .phases
        .iter()
        .map(|phase| phase.cache)
        .collect();
    let (cold, left) = (CacheState::Cold, CacheState::AsIs);
    assert_eq!(caches, [cold, left, left]);
    assert_eq!(
        work(&of("classic-2008")),
        [
            "all=all: copy, delete",
            "music=music: copy",
            "portage=portage: copy, delete",
            "avi=avi: copy",
            "iso=iso: copy",
            "ports=ports: untar, copy, delete",
        ]
    );
    let atime = of("atime");
    assert_eq!(work(&atime), ["portage=portage: grep cold, grep warm"]);
    assert_eq!(labels(&atime), ["ext4:strictatime", "ext4:noatime"]);
    let then = of("atime-2007");
    // The same phases on an aged tree.
    assert_eq!(
        work(&then),
        ["portage=portage-in-use: grep cold, grep warm"]
    );
    assert_eq!(labels(&then), ["ext3:strictatime", "ext3:noatime"]);
}

#[test]
fn mongo_runs_with_one_and_four_workers_on_trees_that_grow_with_the_scale() {
    let plan = plan(&request(|r| {
        r.suite = Some("mongo-2001".to_owned());
        r.scale = Some(0.2);
    }));
    // Extents are counted for files above 16 KiB, as in the publication.
    assert!(plan.count_extents);
    assert_eq!(plan.extent_floor.0, 16_385);
    let facts = |workload: &fsdyno_model::Workload| {
        assert_eq!(workload.phases.len(), 7);
        let first = workload.phases[0].parameters.clone();
        assert!(workload.phases.iter().all(|p| p.parameters == first));
        let of = |name: &str| first[name].parse::<u64>().unwrap();
        (
            of("bytes") >> 20,
            of("median"),
            of("processes"),
            of("rounds"),
        )
    };
    let all: Vec<_> = plan.workloads.iter().map(facts).collect();
    assert_eq!(
        all,
        [
            (10, 100, 1, 3),
            (20, 1_000, 1, 3),
            (20, 10_000, 1, 3),
            (10, 100, 4, 3),
            (20, 1_000, 4, 3),
            (20, 10_000, 4, 3),
        ]
    );
}

#[test]
fn bonnie_matches_the_publication_of_2001_and_scales_its_sizes() {
    let at = |scale: f64| {
        plan(&request(|r| {
            r.suite = Some("bonnie-2001".to_owned());
            r.scale = Some(scale);
        }))
    };
    let given = |plan: &fsdyno_model::Plan, phase: usize, name: &str| {
        plan.workloads[0].phases[phase].parameters[name].clone()
    };
    let full = at(1.0);
    assert_eq!(full.workloads[0].phases.len(), 12);
    assert_eq!(given(&full, 1, "size"), (10 << 20).to_string());
    assert_eq!(given(&full, 6, "files"), "16384");
    assert_eq!(given(&full, 9, "order"), "random");
    let half = at(0.5);
    assert_eq!(given(&half, 1, "size"), (5 << 20).to_string());
    assert_eq!(given(&half, 6, "files"), "8192");
    // Typed values are used unchanged.
    let typed = plan(&request(|r| {
        r.suite = Some("bonnie-2001".to_owned());
        r.scale = Some(0.5);
        r.set = vec!["bonnie-write.size=3M".to_owned()];
    }));
    assert_eq!(given(&typed, 1, "size"), (3 << 20).to_string());
}
