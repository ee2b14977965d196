//! Stored values are read back exactly, and a refused write changes nothing.

use super::{WorkDir, specimen};
use crate::{Detail, StoreError};
use fsdyno_model::{CellRecord, Failure, FigureName, Outcome, Plan, ResultSet, Stage, StopReason};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

#[test]
fn a_run_with_every_field_and_variant_round_trips() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let run = specimen::run("r", 1 << 62);
    let cells = specimen::cells();
    store.begin(&run).unwrap();
    for cell in cells.iter().rev() {
        store.record("r", cell).unwrap();
    }
    let whole = ResultSet {
        schema: ResultSet::SCHEMA,
        run,
        cells,
        variants: Vec::new(),
    };
    assert_eq!(store.load("r").unwrap(), whole);
    // Another process sees the same run, from the file alone.
    drop(store);
    let reader = crate::Store::open_existing_read_only(&work_dir.path()).unwrap();
    assert_eq!(reader.load("r").unwrap(), whole);
}

#[test]
fn cells_of_different_runs_are_separate() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    for id in ["a", "b"] {
        store.begin(&specimen::run(id, 1)).unwrap();
    }
    store.record("a", &specimen::measured(0)).unwrap();
    store.record("b", &specimen::measured(0)).unwrap();
    store.record("b", &specimen::measured(4)).unwrap();
    assert_eq!(store.load("a").unwrap().cells, [specimen::measured(0)]);
    assert_eq!(store.recorded("b").unwrap(), BTreeSet::from([0, 4]));
    store.remove("b").unwrap();
    assert_eq!(store.load("a").unwrap().cells, [specimen::measured(0)]);
    assert!(matches!(store.load("b"), Err(StoreError::NoSuchRun { .. })));
    let left: i64 = store
        .connection
        .query_row(
            "SELECT (SELECT count(*) FROM cell) + (SELECT count(*) FROM effective) / 2",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 2, "rows of the removed run are gone");
}

#[test]
fn a_cell_is_recorded_once() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(3)).unwrap();
    let again = specimen::bare(3, Outcome::Measured);
    let error = store.record("r", &again).unwrap_err();
    assert!(
        matches!(&error, StoreError::PartRecorded { id, part } if id == "r" && part == "cell 3"),
        "{error}"
    );
    assert_eq!(store.load("r").unwrap().cells, [specimen::measured(3)]);
}

#[test]
fn a_profile_is_added_to_a_recorded_sample_and_to_no_other() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    let cells = [specimen::measured(0), specimen::measured(1)];
    for cell in &cells {
        store.record("r", cell).unwrap();
    }
    let profile = specimen::profile();
    store.add_profile("r", 1, 1, &profile).unwrap();
    let mut expected = cells.clone();
    assert_eq!(expected[1].samples[1].profile, None);
    expected[1].samples[1].profile = Some(profile.clone());
    assert_eq!(store.load("r").unwrap().cells, expected);
    for (cell, at) in [(7, 0), (1, 9)] {
        assert!(store.add_profile("r", cell, at, &profile).is_err());
    }
    assert_eq!(store.load("r").unwrap().cells, expected);
}

#[test]
fn an_unknown_run_is_refused_by_name() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let refused = [
        store.record("x", &specimen::measured(0)).unwrap_err(),
        store.end("x", StopReason::Complete, 1).unwrap_err(),
        store.reopen("x", &specimen::plan()).unwrap_err(),
        store
            .replace_failed("x", &specimen::measured(0))
            .unwrap_err(),
        store.remove("x").unwrap_err(),
        store.load("x").unwrap_err(),
        store.recorded("x").unwrap_err(),
    ];
    for error in refused {
        assert!(error.to_string().contains("`x`"), "{error}");
        assert!(matches!(error, StoreError::NoSuchRun { .. }), "{error}");
    }
}

#[test]
fn an_ended_run_can_be_reopened() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    for reason in [
        StopReason::Interrupted,
        StopReason::Budget,
        StopReason::Complete,
    ] {
        store.end("r", reason, 9).unwrap();
        let run = store.load("r").unwrap().run;
        assert_eq!((run.stop, run.ended_unix_ns), (Some(reason), Some(9)));
        store.reopen("r", &specimen::plan()).unwrap();
        assert_eq!(store.load("r").unwrap().run, specimen::run("r", 1));
    }
    let longer = Plan {
        repeats: 40,
        adaptive: None,
        ends: vec![specimen::plan().repeats],
        ..specimen::plan()
    };
    store.reopen("r", &longer).unwrap();
    let run = store.load("r").unwrap().run;
    assert_eq!(run.plan, longer);
    // The hash does not cover the number of repeats.
    assert_eq!(run.plan_hash, specimen::run("r", 1).plan_hash);
    let planned = longer.contenders.len() * longer.workloads.len() * 40;
    assert_eq!(store.runs().unwrap()[0].cells_planned, planned as u64);
}

#[test]
fn a_retry_replaces_a_failed_cell_and_no_other() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    let failure = Failure {
        stage: Stage::Mount,
        message: "cannot mount".into(),
        errno: None,
    };
    let failed = specimen::bare(2, Outcome::Failed(failure));
    store.record("r", &failed).unwrap();
    store.replace_failed("r", &failed).unwrap();
    assert_eq!(store.load("r").unwrap().cells, [failed]);
    store.replace_failed("r", &specimen::measured(2)).unwrap();
    let again = specimen::bare(2, Outcome::Measured);
    let error = store.replace_failed("r", &again).unwrap_err();
    assert!(matches!(error, StoreError::PartRecorded { .. }), "{error}");
    assert_eq!(store.load("r").unwrap().cells, [specimen::measured(2)]);
}

#[test]
fn the_list_of_runs_has_the_right_counts() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::ended("old", 1)).unwrap();
    store.begin(&specimen::run("new", 2)).unwrap();
    for cell in specimen::cells() {
        store.record("old", &cell).unwrap();
    }
    let runs = store.runs().unwrap();
    assert_eq!(runs[0].id, "new");
    let old = &runs[1];
    let labels: Vec<_> = specimen::plan().contenders;
    assert_eq!(old.contenders[0], labels[0].label);
    assert_eq!(old.contenders.len(), 2);
    assert_eq!(
        (old.name.as_str(), old.stop),
        ("quick", Some(StopReason::Budget))
    );
    // 2 contenders x 4 workloads x 40 repeats at most
    assert_eq!((old.cells_recorded, old.cells_planned), (16, 320));
    assert_eq!((old.failed, old.skipped, old.took_ns.0), (13, 1, 16 * 7));
    assert_eq!((runs[0].cells_recorded, runs[0].took_ns.0), (0, 0));
}

#[test]
fn a_plan_that_json_cannot_represent_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut run = specimen::run("r", 1);
    run.plan.scale = f64::INFINITY;
    let error = store.begin(&run).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    let mut run = specimen::run("r", 1);
    run.plan.contenders[1].directory = Some(std::ffi::OsStr::from_bytes(b"/\xff").into());
    let error = store.begin(&run).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    assert!(store.runs().unwrap().is_empty());
}

#[test]
fn a_full_disk_loses_no_recorded_cell_and_names_a_remedy() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(0)).unwrap();
    // SQLite handles this limit like a full disk.
    let pages: i64 = store
        .connection
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    store
        .connection
        .pragma_update(None, "max_page_count", pages + 1)
        .unwrap();
    let error = store.record("r", &specimen::measured(1)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("runs.db") && text.contains("free space"),
        "{text}"
    );
    assert_eq!(store.load("r").unwrap().cells, [specimen::measured(0)]);
    store
        .connection
        .pragma_update(None, "max_page_count", 1_000_000)
        .unwrap();
    store.record("r", &specimen::measured(1)).unwrap();
}

#[test]
fn an_invalid_stored_value_is_named_in_the_error() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(0)).unwrap();
    store
        .connection
        .execute(
            "UPDATE part SET document = json_set(document, '$.commands[2].stage.stage', 'dance')",
            [],
        )
        .unwrap();
    let error = store.load("r").unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("dance"), "{error}");
}

#[test]
fn the_sample_view_names_contenders_and_workloads() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(0)).unwrap();
    let plan = specimen::plan();
    let (contender, workload, whole): (String, String, i64) = store
        .connection
        .query_row(
            "SELECT contender, workload, whole_ns FROM figure WHERE phase = 'copy 2'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(contender, plan.contenders[1].label);
    assert_eq!(workload, plan.workloads[0].name);
    assert_eq!(whole.cast_unsigned(), specimen::sample(2).whole_ns().0);
}

#[test]
fn a_run_is_read_without_what_a_report_of_its_figures_does_not_need() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut run = specimen::run("r", 1);
    store.begin(&run).unwrap();
    let whole = specimen::measured(0);
    store.record("r", &whole).unwrap();
    let mut expected = whole.clone();
    expected.commands.clear();
    for sample in &mut expected.samples {
        sample.progress = None;
        sample.profile = None;
    }
    let cells = |detail, id| work_dir.open().load_in(detail, id).unwrap().cells;
    assert_eq!(cells(Detail::All, "r"), std::slice::from_ref(&whole));
    let of_latencies = expected.clone();
    let of_latencies = std::slice::from_ref(&of_latencies);
    assert_eq!(cells(Detail::Latencies, "r"), of_latencies);
    let mut samples = whole.samples.iter();
    assert!(samples.any(|one| !one.latencies.is_empty() && one.progress.is_some()));
    for sample in &mut expected.samples {
        sample.latencies.clear();
    }
    assert_eq!(cells(Detail::Figures, "r"), [expected]);
    // Verdicts about latencies need them.
    run.id = "judged".into();
    run.plan.workloads[0].phases[0].judge = Some(FigureName::new("latency-p99"));
    store.begin(&run).unwrap();
    store.record("judged", &whole).unwrap();
    assert_eq!(cells(Detail::Figures, "judged"), of_latencies);
}

#[test]
fn a_run_is_read_cell_by_cell_as_it_was_when_reading_began() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let run = specimen::run("r", 3);
    store.begin(&run).unwrap();
    for index in [1, 0] {
        store.record("r", &specimen::measured(index)).unwrap();
    }
    let other = work_dir.open();
    let reading = other.reading("r").unwrap();
    assert_eq!(reading.run(), &run);
    store.record("r", &specimen::measured(2)).unwrap();
    let read = |most: usize| {
        let mut read = Vec::new();
        let take = |record: CellRecord| {
            read.push(record.cell.index);
            if read.len() == most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        reading.cells(Detail::Figures, take).unwrap();
        read
    };
    assert_eq!(read(1), [0]);
    assert_eq!(read(9), [0, 1]);
    let unknown = store.reading("none").unwrap_err();
    assert!(matches!(unknown, StoreError::NoSuchRun { .. }), "{unknown}");
}
