//! The suites that come with the program.

use crate::asking::*;
use fsdyno_model::CacheState;
use fsdyno_run::resolve::suite;

#[test]
fn every_suite_is_sound_and_can_be_run_by_its_name() {
    for suite in suite::ALL {
        let said = suite.read(&catalogue()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(said.name.as_deref(), Some(suite.name));
        for line in [&said.title, &said.about] {
            assert!(
                line.as_ref().is_some_and(|l| !l.is_empty()),
                "{}",
                suite.name
            );
        }
        let plan = plan(&request(|r| r.suite = Some(suite.name.to_owned())));
        assert_eq!(plan.name, suite.name);
        assert!(!plan.workloads.is_empty() && !plan.contenders.is_empty());
        // A copy of it in a file is the same plan.
        let (_directory, path) = written(suite.text);
        assert_eq!(self::plan(&request(|r| r.plan = Some(path))), plan);
    }
}

#[test]
fn the_suites_do_what_the_published_comparisons_did() {
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
    let (cold, left) = (CacheState::Cold, CacheState::AsLeft);
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
    assert_eq!(then.workloads, atime.workloads);
    assert_eq!(labels(&then), ["ext3:strictatime", "ext3:noatime"]);
}
