//! Reports of faults of a disk, in all formats.

use crate::wide;
use fsdyno_model::{
    Accounting, ActionOutcome, BlockRole, Bytes, Contender, DiskFault, DiskTime, DiskWork,
    FaultOutcome, FaultTest, FaultTests, FaultTestsInfo, FillSpeed, Filling, FullAction, FullDisk,
    GuestSize, InjectedFault, ModelDisk, Nanos, Provenance, QuotaUse, SlowWork, StopReason,
};
use fsdyno_report::{Format, Options, render_disk_faults};

/// One contender that returns wrong data, one that notices them and one that repairs them.
pub fn tests() -> FaultTests {
    let contenders = ["ext4", "btrfs", "btrfs@mirror2"].map(|label| Contender {
        label: label.to_owned(),
        ..Contender::plain("ext4")
    });
    let of_data = [
        [FaultOutcome::WrongData, FaultOutcome::Error],
        [FaultOutcome::Error, FaultOutcome::Error],
        [FaultOutcome::Healed, FaultOutcome::HealedByScrub],
    ];
    let of_metadata = [
        FaultOutcome::Repaired,
        FaultOutcome::Unmountable,
        FaultOutcome::NoEffect,
    ];
    let mut tests = Vec::new();
    for ((contender, [flipped, unreadable]), superblock) in
        contenders.iter().zip(of_data).zip(of_metadata)
    {
        let fault = |fault, role, outcome: FaultOutcome| InjectedFault {
            fault,
            role,
            disk: 0,
            sector: 128,
            outcome,
            found: false,
            detail: outcome
                .is_loss()
                .then(|| "`a \u{1b}[31mfile` is wrong".to_owned()),
            slow: None,
            rebuilt_ns: None,
        };
        tests.push(FaultTest {
            contender: contender.label.clone(),
            guest: "Linux 6.12 (User-mode Linux)".to_owned(),
            faults: vec![
                fault(DiskFault::BitFlip, Some(BlockRole::Data), flipped),
                fault(DiskFault::BitFlip, Some(BlockRole::Data), flipped),
                fault(DiskFault::ReadError, Some(BlockRole::Data), unreadable),
                fault(
                    DiskFault::LostWrite,
                    Some(BlockRole::Superblock),
                    superblock,
                ),
            ],
            full: Vec::new(),
        });
    }
    FaultTests {
        schema: FaultTests::SCHEMA,
        info: FaultTestsInfo {
            id: "20261128-1300-lose".to_owned(),
            started_unix_ns: 1,
            ended_unix_ns: None,
            stop: Some(StopReason::Complete),
            contenders: contenders.to_vec(),
            seed: 1,
            draws: 2,
            kinds: DiskFault::all().collect(),
            filling: None,
            guest: GuestSize {
                memory: Bytes(1 << 29),
                kernel: None,
                processors: None,
                image: None,
            },
            provenance: Provenance::default(),
            command_line: Vec::new(),
        },
        tests,
    }
}

fn text(format: Format, options: &Options) -> String {
    String::from_utf8(render_disk_faults(&tests(), format, options).unwrap()).unwrap()
}

#[test]
fn the_terminal_says_first_whose_wrong_data_nobody_notices() {
    for width in [80, 120] {
        let options = Options {
            long: false,
            ..wide(width)
        };
        let page = text(Format::Terminal, &options);
        assert!(page.lines().all(|line| line.chars().count() <= width));
        insta::assert_snapshot!(format!("disk_faults_terminal_{width}"), page);
    }
}

#[test]
fn tests_that_did_not_end_claim_nothing_of_faults_that_were_not_injected() {
    let mut tests = tests();
    tests.info.stop = Some(StopReason::Interrupted);
    for test in &mut tests.tests {
        test.faults.retain(|one| one.role != Some(BlockRole::Data));
    }
    let page = render_disk_faults(&tests, Format::Markdown, &wide(80)).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("The tests did not end"), "{page}");
    assert!(
        page.contains("not tested with flipped data blocks"),
        "{page}"
    );
    assert!(!page.contains("noticed no"), "{page}");
}

#[test]
fn longer_formats_have_each_role_and_the_figures_each_fault() {
    let page = text(Format::Markdown, &wide(80));
    assert!(page.contains("superblock: lost write"), "{page}");
    let figures = text(Format::Csv, &wide(80));
    assert_eq!(
        figures.lines().count(),
        1 + tests().faults().count(),
        "{figures}"
    );
    assert!(!figures.contains('\x1b'), "{figures}");
}

/// Tests in which each disk of a mirror and of a stripe died before and in use, and came back old.
fn whole_disks() -> FaultTests {
    let mut tests = tests();
    let outcomes = [
        (
            "ext4@mirror2",
            [FaultOutcome::Degraded, FaultOutcome::WrongData],
        ),
        (
            "btrfs@mirror2",
            [FaultOutcome::MountedDegraded, FaultOutcome::Warning],
        ),
        (
            "xfs@stripe2",
            [FaultOutcome::Unmountable, FaultOutcome::Unmountable],
        ),
    ];
    for ((one, contender), (label, [dead, old])) in tests
        .tests
        .iter_mut()
        .zip(&mut tests.info.contenders)
        .zip(outcomes)
    {
        let first = one.faults[0].clone();
        let of_disk = |fault, disk, outcome| InjectedFault {
            fault,
            role: None,
            disk,
            outcome,
            ..first.clone()
        };
        one.faults.extend([
            of_disk(DiskFault::DeadDisk, 0, dead),
            of_disk(DiskFault::DeadDisk, 1, dead),
            of_disk(DiskFault::DyingDisk, 1, FaultOutcome::Degraded),
            of_disk(DiskFault::OldDisk, 1, old),
            InjectedFault {
                rebuilt_ns: Some(Nanos(1_500_000_000)),
                ..of_disk(DiskFault::ReturnedDisk, 1, FaultOutcome::Rebuilt)
            },
        ]);
        // Each disk is slow once; btrfs reads nothing from it then.
        for disk in [0, 1] {
            let work = |seconds, reads| DiskWork {
                reading_ns: Nanos(seconds * 1_000_000_000),
                writing_ns: Nanos(2_000_000_000),
                reads,
                reads_of_all: 100,
            };
            let with = if label.starts_with("btrfs") { 0 } else { 50 };
            one.faults.push(InjectedFault {
                slow: Some(SlowWork {
                    with: work(u64::from(2 + 8 * disk), with),
                    without: work(2, 50),
                }),
                ..of_disk(DiskFault::SlowDisk, disk, FaultOutcome::Slow)
            });
            contender.layout.devices = 2;
        }
        one.contender = label.to_owned();
        label.clone_into(&mut contender.label);
    }
    tests
}

#[test]
fn what_works_without_a_disk_is_said_and_a_lost_disk_is_no_metadata() {
    let tests = whole_disks();
    let page = render_disk_faults(&tests, Format::Terminal, &wide(80)).unwrap();
    let page = String::from_utf8(page).unwrap();
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ");
    for said in [
        "ext4@mirror2 worked without one of its disks (3 of 3 tests).",
        "btrfs@mirror2 worked without one of its disks (3 of 3 tests, 2 of them once mounted as degraded).",
        "xfs@stripe2 failed without one of its disks (2 of 3 tests).",
        "ext4@mirror2 silently returned wrong data in 1 of 1 (2–100 %) tests with old contents of a disk.",
        "btrfs@mirror2 had all data in 1 tests with old contents of a disk.",
        "xfs@stripe2 lost data in 1 of 1 (2–100 %) tests with old contents of a disk.",
        "dead disk degraded 2 degraded-mount 2 unmountable 2",
        "each survived the loss of another disk in 1 of 1 (2–100 %) tests after a disk had died, returned and been rebuilt or scrubbed.",
        "are multiplied by: ext4@mirror2 1.00 to 5.00 and 1.00;",
        "Neither an error nor a message of the kernel showed it.",
        "btrfs@mirror2 read less from the slow disk.",
        "ext4@mirror2 and xfs@stripe2 kept reading from the slow disk.",
        "the kernel stopped: ext4@mirror2 0 of 1 (0\u{2013}97 %); btrfs@mirror2 1 of 1",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let figures = render_disk_faults(&tests, Format::Csv, &wide(80)).unwrap();
    let figures = String::from_utf8(figures).unwrap();
    assert!(
        figures.contains("\next4@mirror2,dead disk,,0,128,degraded,"),
        "{figures}"
    );
}

/// A life in which these actions fail.
fn life(seed: u64, stored: u64, failing: &[FullAction]) -> FullDisk {
    let bands = FullDisk::BANDS.map(|from_percent| FillSpeed {
        from_percent,
        bytes: Bytes(1 << 20),
        ns: Nanos(1 + u64::from(from_percent) / 99),
    });
    let actions = FullAction::ALL.map(|action| {
        let error = failing.contains(&action).then(|| "ENOSPC".to_owned());
        ActionOutcome {
            content_gone: error.is_some() && action == FullAction::SaveInPlace,
            action,
            error,
        }
    });
    FullDisk {
        seed,
        capacity: Bytes(1000),
        available: Bytes(950),
        stored: Bytes(stored),
        refused_by: "write".to_owned(),
        refused_with: "ENOSPC".to_owned(),
        speed: bands.to_vec(),
        actions: actions.to_vec(),
        deleted_percent: 1,
        room_after_seconds: Some(0),
        clean: Some(true),
        emptied: Some(Bytes(950)),
        ..FullDisk::default()
    }
}

/// One contender without losses, one that loses and does not delete, one whose kernel crashes.
fn full() -> FaultTests {
    let mut tests = tests();
    tests.info.filling = Some(Filling {
        quota: None,
        size: Bytes(1000),
        disk: ModelDisk {
            profile: "sata-2008".to_owned(),
            text: String::new(),
            faults: None,
            time: DiskTime::default(),
        },
    });
    let delete = [FullAction::Delete, FullAction::Overwrite];
    let lives = [
        vec![life(1, 900, &[]), life(2, 910, &[FullAction::SaveInPlace])],
        vec![
            FullDisk {
                lost: 2,
                lost_first: Some("`a`: 0 bytes, not \u{1b}[31m4096".to_owned()),
                room_after_seconds: None,
                ..life(1, 800, &delete)
            },
            FullDisk {
                room_after_seconds: None,
                ..life(2, 800, &delete)
            },
        ],
        vec![
            FullDisk {
                crashed: Some("the guest: kernel panic".to_owned()),
                ..FullDisk::default()
            },
            FullDisk {
                deleted_percent: 5,
                ..life(2, 850, &[])
            },
        ],
    ];
    for (test, lives) in tests.tests.iter_mut().zip(lives) {
        test.faults.clear();
        test.full = lives;
    }
    tests
}

#[test]
fn a_report_of_full_disks_says_first_what_is_lost_and_how_often() {
    let render = |format, options: &Options| {
        String::from_utf8(render_disk_faults(&full(), format, options).unwrap()).unwrap()
    };
    for width in [80, 120] {
        let page = render(Format::Terminal, &wide(width));
        assert!(page.lines().all(|line| line.chars().count() <= width));
        insta::assert_snapshot!(format!("full_disks_terminal_{width}"), page);
    }
    let figures = render(Format::Csv, &wide(80));
    assert_eq!(figures.lines().count(), 1 + 6, "{figures}");
    assert!(!figures.contains('\x1b'), "{figures}");
}

/// One contender with right quotas, one with wrong ones, one that lost them.
pub fn quotas() -> FaultTests {
    let mut tests = full();
    let filling = tests.info.filling.as_mut().unwrap();
    filling.quota = Some(Bytes(1000));
    let right = Accounting {
        charged: Bytes(900),
        used: Bytes(900),
        charged_files: 3,
        used_files: 3,
    };
    let wrong = Accounting {
        charged: Bytes(5096),
        used: Bytes(1000),
        charged_files: 2,
        used_files: 3,
    };
    let used = |after, refused: Option<&str>| QuotaUse {
        before: Some(right),
        after,
        refused_with: refused.map(str::to_owned),
    };
    let quotas = [
        used(Some(right), Some("EDQUOT")),
        used(Some(wrong), Some("EDQUOT")),
        used(None, None),
    ];
    for (test, quota) in tests.tests.iter_mut().zip(quotas) {
        test.full = vec![FullDisk {
            refused_with: "EDQUOT".to_owned(),
            said_available: Bytes(3000),
            quota: Some(quota),
            ..life(1, 900, &[FullAction::SaveByRename])
        }];
    }
    tests
}

#[test]
fn a_report_of_quotas_says_what_fails_at_them_and_whether_they_are_right_after_a_stop() {
    let tests = quotas();
    for width in [80, 120] {
        let page = render_disk_faults(&tests, Format::Terminal, &wide(width)).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.lines().all(|line| line.chars().count() <= width));
        for part in ["EDQUOT", "+4.00 KiB, -1 file", "NOT KEPT", "NONE", "right"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("and enforced"), "{page}");
        // A charge above the quota is no use above it.
        assert!(!page.contains("more than their quota"), "{page}");
    }
    let mut right = tests;
    right.tests.truncate(1);
    let page = render_disk_faults(&right, Format::Terminal, &wide(120)).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("and enforced"), "{page}");
    // The disk may fail.
    right.tests[0].full[0].quota.as_mut().unwrap().refused_with = Some("EIO".to_owned());
    let page = render_disk_faults(&right, Format::Terminal, &wide(120)).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("and enforced"), "{page}");
}

#[test]
fn a_report_of_full_disks_claims_nothing_of_files_and_checkers_that_were_not_read() {
    let mut tests = full();
    tests.tests.truncate(1);
    let page = |life: FullDisk| {
        let mut tests = tests.clone();
        tests.tests[0].full = vec![life];
        let page = render_disk_faults(&tests, Format::Terminal, &wide(80)).unwrap();
        String::from_utf8(page).unwrap()
    };
    let unread = page(FullDisk {
        unmountable: Some("EUCLEAN".to_owned()),
        clean: None,
        ..life(1, 900, &[])
    });
    assert!(!unread.contains("no synced file was lost"), "{unread}");
    assert!(
        !unread.contains("none") && !unread.contains("clean "),
        "{unread}"
    );
    assert!(unread.contains("Cannot be mounted"), "{unread}");
    let unchecked = page(FullDisk {
        clean: None,
        ..life(1, 900, &[])
    });
    assert!(unchecked.contains("no synced file was lost"), "{unchecked}");
    let checker = unchecked.lines().find(|line| line.starts_with("checker"));
    assert!(
        checker.is_some_and(|line| line.ends_with('-')),
        "{unchecked}"
    );
}
