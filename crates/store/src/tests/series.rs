//! Series of cuts: what goes in comes out, beside runs and apart from them.

use super::{WorkDir, specimen};
use crate::{Named, Store, StoreError};
use fsdyno_model::{
    Bytes, CacheLoss, Contender, GuestSize, Judgement, LabChoice, Loss, ModelDisk, Nanos, PowerCut,
    Provenance, Recovery, Series, SeriesInfo, StopReason,
};
use std::os::unix::ffi::OsStringExt as _;

fn info(started_unix_ns: u64) -> SeriesInfo {
    let contender = |name: &str| Contender {
        lab: LabChoice::Uml,
        ..Contender::plain(name)
    };
    SeriesInfo {
        id: String::new(),
        started_unix_ns,
        ended_unix_ns: None,
        stop: None,
        contenders: vec![contender("ext2"), contender("xfs")],
        cuts_planned: 2,
        seed: u64::MAX,
        guest: GuestSize {
            memory: Bytes(256 << 20),
            kernel: Some(fsdyno_model::KernelChoice::Lab),
            processors: Some(2),
        },
        disk: None,
        work_dir: "/var/tmp/a b".into(),
        provenance: Provenance {
            kernel: "Linux 6.1".into(),
            root: true,
            uid: Some(1000),
            ..Provenance::default()
        },
        command_line: vec!["fsdyno".into(), "crash".into()],
    }
}

fn whole(contender: &str, number: u32) -> PowerCut {
    PowerCut {
        contender: contender.into(),
        number,
        seed: 7,
        guest: "Linux 6.1 (User-mode Linux), #1".into(),
        after_ns: Nanos(1_500_000_000),
        acknowledged: 400,
        disk: None,
        recovery: Recovery {
            took_ns: Nanos(9_000_000),
            judgement: Some(Judgement {
                files: 30,
                ..Judgement::default()
            }),
            clean: Some(true),
            ..Recovery::default()
        },
        images: Vec::new(),
    }
}

/// Everything that can be told of a cut.
fn lossy(contender: &str, number: u32) -> PowerCut {
    let mut cut = whole(contender, number);
    let judgement = Judgement {
        files: 30,
        lost: [(Loss::Missing, 2), (Loss::Torn, 1)].into(),
        told: vec!["a/b: missing".into()],
    };
    cut.recovery = Recovery {
        took_ns: Nanos(u64::MAX),
        corrected_by: Some("e2fsck -y".into()),
        refused: Some("bad magic".into()),
        beyond_repair: None,
        as_left: Some(judgement.clone()),
        judgement: Some(judgement),
        clean: Some(false),
        found: Some("inode 12".into()),
    };
    cut.images = vec!["/var/tmp/x y.img".into()];
    cut.disk = Some(CacheLoss {
        lost: 3,
        torn: 1,
        sectors_lost: 900,
        digest: "00ff".into(),
        ..CacheLoss::default()
    });
    cut
}

fn hopeless(contender: &str, number: u32) -> PowerCut {
    let mut cut = whole(contender, number);
    cut.recovery = Recovery {
        beyond_repair: Some("the guest died".into()),
        ..Recovery::default()
    };
    cut
}

#[test]
fn a_series_comes_back_as_it_went_in_in_the_order_of_its_cuts() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut begun = info(u64::MAX);
    begun.disk = Some(ModelDisk {
        profile: "mine".into(),
        text: "queue_depth = 1".into(),
        faults: Some("[flush]\nlies = 1.0\n".into()),
        time: fsdyno_model::DiskTime::Virtual,
    });
    store.begin_series(&mut begun).unwrap();
    let cuts = vec![
        whole("xfs", 1),
        lossy("ext2", 1),
        hopeless("xfs", 2),
        whole("ext2", 2),
    ];
    for cut in &cuts {
        store.record_cut(&begun.id, cut).unwrap();
    }
    store
        .end_series(&begun.id, StopReason::Interrupted, 99)
        .unwrap();
    begun.ended_unix_ns = Some(99);
    begun.stop = Some(StopReason::Interrupted);
    let series = Series {
        schema: Series::SCHEMA,
        info: begun.clone(),
        cuts,
    };
    assert_eq!(store.load_series(&begun.id).unwrap(), series);
    let summary = &store.series().unwrap()[0];
    assert_eq!(summary.contenders, ["ext2", "xfs"]);
    let counts = (summary.cuts_recorded, summary.cuts_planned, summary.losing);
    assert_eq!(counts, (4, 4, 2));
    // Taken over whole, and once.
    let other = WorkDir::new();
    let mut taker = other.open();
    assert_eq!(
        taker.merge(&work_dir.path()).unwrap().taken,
        [begun.id.clone()]
    );
    assert_eq!(taker.load_series(&begun.id).unwrap(), series);
    assert_eq!(
        taker.merge(&work_dir.path()).unwrap().known,
        [begun.id.clone()]
    );
    taker.record_cut(&begun.id, &whole("xfs", 3)).unwrap();
    assert_eq!(taker.merge(&work_dir.path()).unwrap().differing, [begun.id]);
}

#[test]
fn a_cut_of_nobody_and_one_that_was_recorded_are_refused_and_leave_nothing() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut begun = info(1);
    store.begin_series(&mut begun).unwrap();
    store.record_cut(&begun.id, &whole("xfs", 1)).unwrap();
    let nobody = store.record_cut(&begun.id, &whole("jfs", 1)).unwrap_err();
    assert!(matches!(nobody, StoreError::Unstorable { .. }), "{nobody}");
    assert!(store.record_cut(&begun.id, &whole("xfs", 1)).is_err());
    let unknown = store.record_cut("none", &whole("xfs", 2)).unwrap_err();
    assert!(matches!(unknown, StoreError::NoSuchRun { .. }), "{unknown}");
    assert_eq!(store.load_series(&begun.id).unwrap().cuts.len(), 1);
    let mut odd = info(1);
    odd.work_dir = std::ffi::OsString::from_vec(b"/tmp/\xff".to_vec()).into();
    let error = store.begin_series(&mut odd).unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
    assert_eq!(store.series().unwrap().len(), 1);
}

#[test]
fn runs_and_series_have_names_apart_and_last_is_what_was_begun_last_of_both() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let mut run = specimen::run("", 1);
    run.plan.name = Series::NAME.into();
    run.started_unix_ns = 60_000_000_000;
    store.begin_named(&mut run).unwrap();
    let mut series = info(61_000_000_000);
    store.begin_series(&mut series).unwrap();
    assert_eq!(series.id, format!("{}-2", run.id));
    let named = |store: &Store, name: &str| store.resolve_any(name).unwrap();
    assert_eq!(named(&store, "last"), Named::Series(series.id.clone()));
    assert_eq!(named(&store, &run.id), Named::Run(run.id.clone()));
    assert_eq!(named(&store, "crash-2"), Named::Series(series.id.clone()));
    // Only runs go on, so that only they are meant there.
    assert_eq!(store.resolve("last").unwrap(), run.id);
    assert!(store.load(&series.id).is_err() && store.load_series(&run.id).is_err());
}
