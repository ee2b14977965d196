//! Reports of faults of a disk, in all formats.

use crate::wide;
use fsdyno_model::{
    BlockRole, Bytes, Contender, DiskFault, FaultOutcome, FaultTest, FaultTests, FaultTestsInfo,
    GuestSize, InjectedFault, Provenance,
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
        };
        tests.push(FaultTest {
            contender: contender.label.clone(),
            guest: "Linux 6.12 (User-mode Linux)".to_owned(),
            faults: vec![
                fault(DiskFault::BitFlip, BlockRole::Data, flipped),
                fault(DiskFault::BitFlip, BlockRole::Data, flipped),
                fault(DiskFault::ReadError, BlockRole::Data, unreadable),
                fault(DiskFault::LostWrite, BlockRole::Superblock, superblock),
            ],
        });
    }
    FaultTests {
        schema: FaultTests::SCHEMA,
        info: FaultTestsInfo {
            id: "20261128-1300-lose".to_owned(),
            started_unix_ns: 1,
            ended_unix_ns: None,
            stop: None,
            contenders: contenders.to_vec(),
            seed: 1,
            draws: 2,
            guest: GuestSize {
                memory: Bytes(1 << 29),
                kernel: None,
                processors: None,
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
