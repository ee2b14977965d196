//! Tests with faulty or full disks: they round-trip, and are separate from runs.

use super::WorkDir;
use super::specimen;
use crate::{Named, StoreError};
use fsdyno_model::{
    BlockRole, DiskFault, FaultOutcome, FaultTest, FaultTests, FaultTestsInfo, FullDisk,
    InjectedFault, StopReason,
};

fn test(contender: &str, outcome: FaultOutcome) -> FaultTest {
    FaultTest {
        contender: contender.into(),
        guest: "Linux 6.12.117".into(),
        faults: vec![InjectedFault {
            fault: DiskFault::BitFlip,
            role: Some(BlockRole::Data),
            disk: 0,
            sector: 4096,
            outcome,
            found: false,
            detail: Some("`a` is wrong".into()),
            slow: None,
            rebuilt_ns: None,
        }],
        full: vec![FullDisk::default()],
    }
}

#[test]
fn tests_with_faulty_disks_round_trip_in_order() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    let series = specimen::series(1 << 62);
    let mut info = FaultTestsInfo {
        id: String::new(),
        started_unix_ns: series.started_unix_ns,
        ended_unix_ns: None,
        stop: None,
        contenders: series.contenders,
        seed: 1,
        draws: 3,
        kinds: DiskFault::untimed(),
        filling: None,
        guest: series.guest,
        provenance: series.provenance,
        command_line: series.command_line,
    };
    store.begin_fault_tests(&mut info).unwrap();
    let id = info.id.clone();
    let tests = vec![
        test("ext2", FaultOutcome::WrongData),
        test("xfs", FaultOutcome::Error),
    ];
    // The order of completion is another one.
    for one in tests.iter().rev() {
        store.record_fault_test(&id, one).unwrap();
    }
    assert!(store.record_fault_test(&id, &tests[0]).is_err());
    let nobody = store.record_fault_test(&id, &test("jfs", FaultOutcome::Error));
    assert!(matches!(nobody, Err(StoreError::Unstorable { .. })));
    store
        .end_fault_tests(&id, StopReason::Complete, 99)
        .unwrap();
    (info.ended_unix_ns, info.stop) = (Some(99), Some(StopReason::Complete));
    let recorded = FaultTests {
        schema: FaultTests::SCHEMA,
        info,
        tests,
    };
    assert_eq!(store.load_fault_tests(&id).unwrap(), recorded);
    let named = store.resolve_any("last").unwrap();
    assert_eq!(named, Named::FaultTests(id.clone()));
    let summary = &store.fault_tests().unwrap()[0];
    assert_eq!(summary.contenders, ["ext2", "xfs"]);
    assert_eq!((summary.tested, summary.faults, summary.full), (2, 2, 2));
    assert!(store.runs().unwrap().is_empty() && store.load(&id).is_err());
    // Imported whole, and only once.
    let other = WorkDir::new();
    let mut taker = other.open();
    let merged = taker.merge(&work_dir.path()).unwrap();
    assert_eq!(merged.taken, [(id.clone(), id.clone())]);
    assert_eq!(taker.load_fault_tests(&id).unwrap(), recorded);
    let merged = taker.merge(&work_dir.path()).unwrap();
    assert_eq!(merged.known, [id]);
}
