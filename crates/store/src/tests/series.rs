//! Series of power cuts: they round-trip, and are separate from runs.

use super::WorkDir;
use super::specimen::{self, power_cut_with_losses, power_cut_without_losses, series};
use crate::{Named, Store, StoreError};
use fsdyno_model::{ModelDisk, PowerCut, Recovery, Series, StopReason};
use std::os::unix::ffi::OsStringExt as _;

fn power_cut_beyond_repair(contender: &str, number: u32) -> PowerCut {
    let mut power_cut = power_cut_without_losses(contender, number);
    power_cut.recovery = Recovery {
        beyond_repair: Some("the guest died".into()),
        ..Recovery::default()
    };
    power_cut
}

#[test]
fn a_series_round_trips_in_order() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut begun = series(1 << 62);
    begun.disk = Some(ModelDisk {
        profile: "mine".into(),
        text: "queue_depth = 1".into(),
        faults: Some("[flush]\nignored = 1.0\n".into()),
        time: fsdyno_model::DiskTime::Virtual,
    });
    store.begin_series(&mut begun).unwrap();
    let power_cuts = vec![
        power_cut_with_losses("ext2", 1),
        power_cut_without_losses("xfs", 1),
        power_cut_without_losses("ext2", 2),
        power_cut_beyond_repair("xfs", 2),
    ];
    // The order of completion is another one.
    for power_cut in power_cuts.iter().rev() {
        store.record_power_cut(&begun.id, power_cut).unwrap();
    }
    store
        .end_series(&begun.id, StopReason::Interrupted, 99)
        .unwrap();
    begun.ended_unix_ns = Some(99);
    begun.stop = Some(StopReason::Interrupted);
    let recorded = Series {
        schema: Series::SCHEMA,
        info: begun.clone(),
        power_cuts,
    };
    assert_eq!(store.load_series(&begun.id).unwrap(), recorded);
    let summary = &store.series().unwrap()[0];
    assert_eq!(summary.contenders, ["ext2", "xfs"]);
    let counts = (
        summary.power_cuts_recorded,
        summary.power_cuts_planned,
        summary.losing,
    );
    assert_eq!(counts, (4, 4, 2));
    // Imported whole, and only once.
    let other = WorkDir::new();
    let mut taker = other.open();
    assert_eq!(
        taker.merge(&work_dir.path()).unwrap().taken,
        [(begun.id.clone(), begun.id.clone())]
    );
    assert_eq!(taker.load_series(&begun.id).unwrap(), recorded);
    assert_eq!(
        taker.merge(&work_dir.path()).unwrap().known,
        [begun.id.clone()]
    );
    taker
        .record_power_cut(&begun.id, &power_cut_without_losses("xfs", 3))
        .unwrap();
    assert_eq!(taker.merge(&work_dir.path()).unwrap().known, [begun.id]);
}

#[test]
fn an_unknown_or_duplicate_power_cut_is_refused() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut begun = series(1);
    store.begin_series(&mut begun).unwrap();
    store
        .record_power_cut(&begun.id, &power_cut_without_losses("xfs", 1))
        .unwrap();
    let nobody = store
        .record_power_cut(&begun.id, &power_cut_without_losses("jfs", 1))
        .unwrap_err();
    assert!(matches!(nobody, StoreError::Unstorable { .. }), "{nobody}");
    assert!(
        store
            .record_power_cut(&begun.id, &power_cut_without_losses("xfs", 1))
            .is_err()
    );
    let unknown = store
        .record_power_cut("none", &power_cut_without_losses("xfs", 2))
        .unwrap_err();
    assert!(matches!(unknown, StoreError::NoSuchRun { .. }), "{unknown}");
    assert_eq!(store.load_series(&begun.id).unwrap().power_cuts.len(), 1);
    let mut odd = series(1);
    odd.work_dir = std::ffi::OsString::from_vec(b"/tmp/\xff".to_vec()).into();
    let error = store.begin_series(&mut odd).unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
    assert_eq!(store.series().unwrap().len(), 1);
}

#[test]
fn runs_and_series_have_separate_names_and_last_covers_both() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut run = specimen::run("", 1);
    run.plan.name = Series::NAME.into();
    run.started_unix_ns = 60_000_000_000;
    store.begin_named(&mut run).unwrap();
    let mut begun = series(61_000_000_000);
    store.begin_series(&mut begun).unwrap();
    assert_eq!(begun.id, format!("{}-2", run.id));
    let named = |store: &Store, name: &str| store.resolve_any(name).unwrap();
    assert_eq!(named(&store, "last"), Named::Series(begun.id.clone()));
    assert_eq!(named(&store, &run.id), Named::Run(run.id.clone()));
    assert_eq!(named(&store, "crash-2"), Named::Series(begun.id.clone()));
    // Only runs can be resumed, so `resolve` returns only runs.
    assert_eq!(store.resolve("last").unwrap(), run.id);
    assert!(store.load(&begun.id).is_err() && store.load_series(&run.id).is_err());
}
