//! Explorations: they round-trip, resume, and their shards become one exploration.

use super::WorkDir;
use super::specimen::{
    self, exploration, explored_clean, explored_in_vain, explored_with_findings,
};
use crate::{Named, Store, StoreError, Unit};
use fsdyno_model::{Exploration, ExplorationInfo, ExploredProgram, Shard, StopReason};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::PathBuf;

fn begin(store: &mut Store, started_unix_ns: u64) -> ExplorationInfo {
    let mut info = exploration(started_unix_ns);
    store.begin_exploration(&mut info).unwrap();
    info
}

/// The program of a unit of the specimen.
fn program(contender: &str, number: u32) -> ExploredProgram {
    match number {
        0 => explored_clean(contender, number),
        _ => explored_with_findings(contender, number),
    }
}

/// Leaves the least form only to the first program of each contender, as a search does. It differs
/// in each program.
fn minimise_first(programs: &mut [ExploredProgram]) {
    let mut known = BTreeSet::new();
    for program in programs {
        for finding in &mut program.findings {
            if let Some(minimal) = &mut finding.minimal {
                minimal.signature = format!("name missing: {}", program.number);
                minimal.program = format!("create a\nfsync a{}\n", program.number);
            }
            if !known.insert((program.contender.clone(), finding.signature.clone())) {
                finding.minimal = None;
            }
        }
    }
}

#[test]
fn an_exploration_round_trips_in_the_order_of_its_search() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut info = begin(&mut store, 1 << 62);
    // The order of completion is another one.
    let programs = [
        explored_with_findings("xfs", 0),
        explored_with_findings("ext2", 2),
        explored_clean("ext2", 0),
        explored_in_vain("xfs", 3),
    ];
    for program in &programs {
        store.record_program(&info.id, program).unwrap();
    }
    store
        .end_exploration(&info.id, StopReason::Budget, 99)
        .unwrap();
    (info.ended_unix_ns, info.stop) = (Some(99), Some(StopReason::Budget));
    let [first, second, third, fourth] = programs;
    let recorded = Exploration {
        schema: Exploration::SCHEMA,
        info: info.clone(),
        programs: vec![third, first, second, fourth],
    };
    assert_eq!(store.exploration(&info.id).unwrap(), recorded);
    let summary = &store.explorations().unwrap()[0];
    assert_eq!(summary.contenders, ["ext2", "xfs"]);
    assert_eq!(
        (summary.programs_recorded, summary.programs_planned),
        (4, 8)
    );
    // Each contender has one signature that is neither extra nor a fault of the disk.
    assert_eq!((summary.states, summary.findings), (123, 2));
    // Imported whole, and only once.
    let mut taker = WorkDir::new().open();
    let merged = taker.merge(&work_dir.path()).unwrap();
    assert_eq!(merged.taken, [(info.id.clone(), info.id.clone())]);
    assert_eq!(taker.exploration(&info.id).unwrap(), recorded);
    let merged = taker.merge(&work_dir.path()).unwrap();
    assert_eq!(merged.known, std::slice::from_ref(&info.id));
    taker
        .record_program(&info.id, &explored_clean("xfs", 1))
        .unwrap();
    assert_eq!(
        taker.merge(&work_dir.path()).unwrap().known,
        [info.id.as_str()]
    );
}

#[test]
fn findings_with_equal_least_programs_are_counted_once() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let info = begin(&mut store, 1 << 62);
    let other = |number, signature: &str, is_least| {
        let mut program = explored_with_findings("xfs", number);
        let finding = &mut program.findings[0];
        finding.signature = signature.to_owned();
        finding.minimal = finding.minimal.take().filter(|_| is_least);
        program
    };
    // The third has the signature of the second, which was minimised.
    let programs = [
        explored_with_findings("xfs", 0),
        other(1, "missing b", true),
        other(2, "missing b", false),
        other(3, "missing c", false),
    ];
    for program in &programs {
        store.record_program(&info.id, program).unwrap();
    }
    assert_eq!(store.explorations().unwrap()[0].findings, 2);
    let signatures = store.exploration(&info.id).unwrap().signatures();
    let of = |signature| signatures.of("xfs", signature);
    assert_eq!(of("missing a"), of("missing b"));
    assert_eq!(of("missing c"), "missing c");
}

#[test]
fn an_interrupted_exploration_resumes_with_what_is_missing_or_failed() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let info = begin(&mut store, 1);
    store
        .record_program(&info.id, &explored_clean("ext2", 0))
        .unwrap();
    store
        .record_program(&info.id, &explored_in_vain("xfs", 0))
        .unwrap();
    store
        .end_exploration(&info.id, StopReason::Interrupted, 9)
        .unwrap();
    store.reopen_exploration(&info.id).unwrap();
    let open = store.exploration(&info.id).unwrap().info;
    assert_eq!(open, info);
    let done = store.explored(&info.id).unwrap();
    let left: Vec<_> = info.units().filter(|unit| !done.contains(unit)).collect();
    assert_eq!((done.len(), left.len()), (1, 7));
    // A retry replaces a failure, and nothing replaces a result.
    store
        .record_program(&info.id, &explored_with_findings("xfs", 0))
        .unwrap();
    assert!(
        store
            .record_program(&info.id, &explored_clean("xfs", 0))
            .is_err()
    );
    let programs = store.exploration(&info.id).unwrap().programs;
    assert_eq!(
        programs,
        [explored_clean("ext2", 0), explored_with_findings("xfs", 0)]
    );
    for strange in [explored_clean("jfs", 0), explored_clean("xfs", 4)] {
        let error = store.record_program(&info.id, &strange).unwrap_err();
        assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    }
    let unknown = store.record_program("none", &explored_clean("xfs", 1));
    assert!(matches!(unknown, Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn an_exploration_is_resolved_renamed_and_removed_like_a_run() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut series = specimen::series(60_000_000_000);
    store.begin_series(&mut series).unwrap();
    let info = begin(&mut store, 61_000_000_000);
    store
        .record_program(&info.id, &explored_with_findings("xfs", 0))
        .unwrap();
    let named = |store: &Store, name: &str| store.resolve_any(name).unwrap();
    assert_eq!(named(&store, "last"), Named::Exploration(info.id.clone()));
    assert_eq!(named(&store, "crash"), Named::Series(series.id.clone()));
    assert!(store.rename(&info.id, &series.id).is_err());
    store.rename(&info.id, "mine").unwrap();
    assert_eq!(named(&store, "mine"), Named::Exploration("mine".into()));
    let programs = store.exploration("mine").unwrap().programs;
    assert_eq!(programs, [explored_with_findings("xfs", 0)]);
    store.remove("mine").unwrap();
    assert!(store.explorations().unwrap().is_empty());
    let left: i64 = store
        .connection
        .query_row("SELECT count(*) FROM finding", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

/// A store with a shard of an exploration, changed by `edit`.
fn shard(
    text: &str,
    machine: u64,
    edit: impl Fn(&mut ExplorationInfo, &mut Vec<ExploredProgram>),
) -> (WorkDir, PathBuf) {
    let mut info = exploration(machine);
    info.shard = Some(text.parse().unwrap());
    let label = |at: usize| info.contenders[at].label.clone();
    let units = info.units();
    let mut programs: Vec<ExploredProgram> = units
        .map(|unit| ExploredProgram {
            guest: format!("Linux 6.1 (User-mode Linux), #1, node{machine}"),
            ..program(&label(unit.contender), unit.number)
        })
        .collect();
    minimise_first(&mut programs);
    for finding in programs.iter_mut().flat_map(|one| &mut one.findings) {
        // Each machine keeps its own images.
        if let Some(minimal) = &mut finding.minimal {
            minimal.image = Some(format!("/var/tmp/{machine}.img").into());
        }
    }
    edit(&mut info, &mut programs);
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin_exploration(&mut info).unwrap();
    for program in &programs {
        store.record_program(&info.id, program).unwrap();
    }
    store
        .end_exploration(&info.id, StopReason::Complete, machine)
        .unwrap();
    let path = work_dir.path();
    (work_dir, path)
}

#[test]
fn the_digest_of_an_exploration_does_not_depend_on_the_split() {
    let mut digests = Vec::new();
    for of in 1..=5 {
        let shards = Shard::all(NonZeroU32::new(of).unwrap());
        let stores: Vec<_> = shards
            .map(|one| shard(&one.to_string(), one.number.get().into(), |_, _| {}))
            .collect();
        let mut paths: Vec<PathBuf> = stores.iter().map(|(_, path)| path.clone()).collect();
        let mut ours = WorkDir::new().open();
        // All but the first; then all in another order, twice.
        if of > 1 {
            let first = ours.merge_all(&paths[1..]).unwrap();
            assert_eq!(
                first.joined[0].missing,
                [format!("1/{of}").parse().unwrap()]
            );
            let id = &first.joined[0].id;
            assert_eq!(ours.exploration(id).unwrap().info.stop, None);
        }
        paths.reverse();
        for _ in 0..2 {
            let merged = ours.merge_all(&paths).unwrap();
            let [joined] = &merged.joined[..] else {
                panic!("{merged:?}");
            };
            assert_eq!(
                (joined.unit, joined.recorded, joined.planned),
                (Unit::Program, 8, 8)
            );
            assert!(joined.missing.is_empty() && merged.refused.is_empty());
            let whole = ours.exploration(&joined.id).unwrap();
            assert_eq!(whole.info.stop, Some(StopReason::Complete));
            assert_eq!(whole.info.shard, None);
            digests.push(whole.digest());
            // The first program decides, although shards have minimised others too.
            let signatures = whole.signatures();
            assert_eq!(signatures.of("xfs", "missing a"), "name missing: 1");
            assert_eq!(ours.explorations().unwrap()[0].findings, 2);
        }
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
    // The digest covers the findings.
    let (_store, path) = shard("1/1", 1, |_, programs| programs[2].findings[0].count += 1);
    let mut ours = WorkDir::new().open();
    let id = ours.merge(&path).unwrap().joined[0].id.clone();
    assert_ne!(ours.exploration(&id).unwrap().digest(), digests[0]);
    // The digest covers the least form of a finding too.
    let (_store, path) = shard("1/1", 1, |_, programs| {
        let minimal = programs[2].findings[0].minimal.as_mut().unwrap();
        minimal.state = "0/1/c2/2".into();
    });
    let mut ours = WorkDir::new().open();
    let id = ours.merge(&path).unwrap().joined[0].id.clone();
    assert_ne!(ours.exploration(&id).unwrap().digest(), digests[0]);
}

#[test]
fn shards_of_other_systems_are_refused_by_name_and_of_other_searches_joined_apart() {
    let stores = [
        shard("1/2", 1, |_, _| {}),
        shard("2/2", 2, |info, _| info.search.states += 1),
        shard("2/2", 3, |info, _| info.provenance.fsdyno = "9.9".into()),
        shard("2/2", 4, |_, programs| {
            programs[0].guest = "Linux 6.13, #2".into();
        }),
        shard("1/2", 5, |_, programs| programs[1].states.trees += 1),
    ];
    let paths: Vec<PathBuf> = stores.iter().map(|(_, path)| path.clone()).collect();
    let mut ours = WorkDir::new().open();
    let merged = ours.merge_all(&paths).unwrap();
    let expected = [
        "(shard 2/2) was measured with another version of fsdyno (9.9",
        "another kernel of its guests (Linux 6.13, #2; the other shards: Linux 6.1",
        "program 1 on xfs of ",
    ];
    assert_eq!(merged.refused.len(), expected.len(), "{:?}", merged.refused);
    for (part, why) in expected.iter().zip(&merged.refused) {
        assert!(why.contains(part), "{part}: {why}");
    }
    let recorded: Vec<u64> = merged.joined.iter().map(|one| one.recorded).collect();
    assert_eq!(recorded, [4, 4]);
}

#[test]
fn a_failed_program_is_replaced_by_that_of_a_shard_that_explored_it() {
    let (_one, first) = shard("1/1", 1, |info, programs| {
        programs[0] = explored_in_vain("ext2", 0);
        programs.truncate(5);
        info.budget = None;
    });
    let (_two, second) = shard("1/1", 2, |_, _| {});
    let mut ours = WorkDir::new().open();
    let joined = ours.merge(&first).unwrap().joined.remove(0);
    assert_eq!(joined.missing, ["1/1".parse::<Shard>().unwrap()]);
    for path in [&second, &first] {
        ours.merge(path).unwrap();
        let whole = ours.exploration(&joined.id).unwrap();
        assert!(whole.programs.iter().all(|one| one.failed.is_none()));
        assert_eq!(whole.programs.len(), 8);
    }
}
