//! An exploration of three contenders: one clean and complete, one with sampled windows and two
//! findings, and one with an extra promise and a fault of its disk only.

use crate::fixture;
use fsdyno_model::{
    ClassCount, Contender, DeclaredPromise, DiskTime, Exploration, ExplorationInfo,
    ExploredProgram, ExtraPromise, Finding, GuestSize, Minimal, ModelDisk, Nanos, ProgramCost,
    ProgramSource, Search, StateClass, StateCounts, StopReason, Violation,
};
use std::collections::BTreeMap;

const GUEST: &str = "Linux 6.1.176 (User-mode Linux), #1 SMP, 1 processor, 512 MiB";

/// The programs: kinds and text.
const PROGRAMS: [(&[&str], &str); 3] = [
    (&["create", "fsync"], "create a\nfsync a"),
    (
        &["fsync", "open", "unlink"],
        "setup write a 0 4096\nopen a d\nunlink a\nfsync @d",
    ),
    (
        &["fsync", "rename", "symlink"],
        "setup mkdir A\nsymlink x A/l\nfsync A\nrename A/l A/m\nfsync A",
    ),
];

fn counts(of: &[(StateClass, Option<u64>, u64)], distinct: u64) -> StateCounts {
    let count = |(class, legal, checked): &(StateClass, Option<u64>, u64)| {
        let (legal, checked) = (*legal, *checked);
        let found = BTreeMap::new();
        let count = ClassCount {
            legal,
            checked,
            found,
        };
        (*class, count)
    };
    StateCounts {
        windows: 4,
        skipped_windows: 0,
        classes: of.iter().map(count).collect(),
        distinct,
        recovered: distinct / 2,
        equivalent: distinct - distinct / 2,
        nested: 12,
        nested_checks: 8,
        trees: 3,
    }
}

fn explored(contender: &str, number: u32, states: StateCounts) -> ExploredProgram {
    let (kinds, program) = PROGRAMS[number as usize];
    ExploredProgram {
        contender: contender.into(),
        number,
        program: program.into(),
        kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(),
        guest: GUEST.into(),
        failed: None,
        states,
        cost: ProgramCost {
            operations: 4,
            took_ns: Nanos(1_900_000),
            flushes: 6 + 3 * u64::from(number),
            bytes_written: 61_440,
            bytes_requested: 8192,
        },
        findings: Vec::new(),
    }
}

fn finding(signature: &str, violation: Violation, class: StateClass, message: &str) -> Finding {
    Finding {
        signature: signature.into(),
        violation,
        class,
        message: message.into(),
        state: "7:2/c2/17".to_owned(),
        count: 12,
        minimal: None,
        kernel: Vec::new(),
        checker: None,
    }
}

fn info() -> ExplorationInfo {
    let run = fixture::run().run;
    ExplorationInfo {
        id: "20261123-1000-explore".into(),
        started_unix_ns: 1_795_428_000_000_000_000,
        ended_unix_ns: Some(1_795_429_800_000_000_000),
        stop: Some(StopReason::Budget),
        contenders: ["ext4", "btrfs", "xfs:nobarrier"]
            .map(Contender::plain)
            .to_vec(),
        search: Search {
            programs: ProgramSource::Generated {
                operations: 2,
                sampled: 400,
            },
            class: StateClass::C5,
            states: 5000,
            nested: true,
            seed: 7,
            extra: BTreeMap::from([(
                "ext4".to_owned(),
                vec![DeclaredPromise {
                    promise: ExtraPromise::OrderedMetadata,
                    source: "a document of 2024".to_owned(),
                }],
            )]),
        },
        programs_planned: 4,
        budget: Some(Nanos(1_800_000_000_000)),
        shard: None,
        guest: GuestSize::default(),
        disk: ModelDisk {
            profile: "sata-2008".into(),
            text: String::new(),
            faults: None,
            time: DiskTime::Virtual,
        },
        work_dir: "/var/tmp/fsdyno".into(),
        provenance: run.provenance,
        command_line: [
            "/usr/bin/fsdyno",
            "crash",
            "--fs",
            "ext4,btrfs,xfs:nobarrier",
            "--disk",
            "sata-2008",
            "--budget=30m",
            "--jobs",
            "2",
            "--class",
            "C5",
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}

/// A finding with every field set.
fn returned() -> Finding {
    Finding {
        minimal: Some(Minimal {
            signature: "unlinked file returned: remove file1 from dir1; fsync file1".into(),
            program: "setup write a 0 4096\nopen a d\nunlink a\nfsync @d".into(),
            operations: 3,
            state: "2/c2/3".into(),
            requests: [
                "request 11, write, 32 sectors at 75776: kept; completed at event 9",
                "request 12, write, 32 sectors at 75808: dropped; completed at event 10",
                "request 13, flush: submitted at event 11, in flight",
            ]
            .map(str::to_owned)
            .to_vec(),
            image: Some("/var/tmp/fsdyno/btrfs-1.img".into()),
            script: Some("/var/tmp/fsdyno/btrfs-1.sh".into()),
        }),
        kernel: vec![
            "BTRFS info (device vda): start tree-log replay".into(),
            "BTRFS warning (device vda): orphan <inode> 257 \x1b[31m".into(),
        ],
        checker: Some("[5/7] checking fs roots\nroot 5 inode 257 errors 2001".into()),
        ..finding(
            "returned:unlink",
            Violation::Returned,
            StateClass::C2,
            "a: it was unlinked, then fsynced through its open descriptor, and is back after the \
             power cut",
        )
    }
}

pub fn exploration() -> Exploration {
    let info = info();
    let whole = |states| {
        counts(
            &[
                (StateClass::C0, Some(30), 30),
                (StateClass::C2, Some(states), states),
            ],
            states,
        )
    };
    let sampled = |legal| {
        counts(
            &[
                (StateClass::C0, Some(60), 60),
                (StateClass::C2, legal, 5000),
            ],
            4321,
        )
    };
    let mut programs = Vec::new();
    for number in 0..3 {
        programs.push(explored("ext4", number, whole(340)));
        let legal = (number != 1).then_some(98_304);
        programs.push(explored("btrfs", number, sampled(legal)));
        programs.push(explored("xfs:nobarrier", number, whole(96)));
    }
    let returned = returned();
    // Another program shows the same.
    programs[4].findings = vec![returned.clone()];
    programs[7].findings = vec![
        Finding {
            count: 30,
            minimal: None,
            ..returned
        },
        finding(
            "missing:rename",
            Violation::Missing,
            StateClass::C0,
            "A/m: the symbolic link was renamed and its directory fsynced; the old name A/l is \
             there instead",
        ),
    ];
    programs[5].findings = vec![Finding {
        count: 9,
        ..finding(
            "missing:flush",
            Violation::Missing,
            StateClass::C5,
            "a: it was fsynced, and is gone",
        )
    }];
    programs[8].findings = vec![Finding {
        count: 2,
        ..finding(
            "order:rename",
            Violation::Extra,
            StateClass::C2,
            "A/m: the rename is durable before the creation of another file that was first",
        )
    }];
    programs.push(ExploredProgram {
        contender: "btrfs".into(),
        number: 3,
        failed: Some("the guest ended: killed by signal 9".into()),
        ..ExploredProgram::default()
    });
    Exploration {
        schema: Exploration::SCHEMA,
        info,
        programs,
    }
}
