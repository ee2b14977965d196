//! A run, a series and an exploration that set every field of the model and contain every variant.
//! The tests of the store and the fuzz target `store_rows` use them.

use fsdyno_model::disk_use::{Causes, Tallied, Work};
use fsdyno_model::profile::{
    CallPath, Content, Operation, PathRequests, PathWork, Profile, RequestSum, Sampling,
};
use fsdyno_model::provenance::DeviceFacts;
use fsdyno_model::{
    Better, Bytes, CacheEvidence, CacheLoss, CacheState, Cell, CellRecord, ClassCount,
    CommandRecord, Contender, CopyMethod, CpuUse, DatasetChoice, DeclaredPromise, DeviceChoice,
    DeviceUse, DiskFigures, DiskTime, DiskUse, Effective, ExplorationInfo, ExploredProgram,
    ExtraPromise, Failure, Figure, Finding, Fragmentation, Frequency, GuestSize, InitialState,
    Judgement, KernelWork, LabChoice, LatencyDistribution, LayoutChoice, Loss, Minimal, ModelDisk,
    Nanos, Observed, OtherIo, Outcome, PhasePlan, Plan, Point, PowerCut, Pressure, Probe,
    ProgramCost, ProgramSource, Progress, Provenance, Recovery, RunInfo, Sample, Score, Search,
    SeriesInfo, Slice, Stage, StateClass, StateCounts, StopReason, Tally, ThreadWork, Traced,
    Violation, Waits, Warning, WarningKind, WorkLoss, Workload,
};
use std::collections::BTreeMap;

const STAGES: [Stage; 10] = [
    Stage::Device,
    Stage::Make,
    Stage::Mount,
    Stage::Describe,
    Stage::Prepare,
    Stage::Cache,
    Stage::Verify,
    Stage::Unmount,
    Stage::Check,
    Stage::CleanUp,
];

const WARNINGS: [WarningKind; 15] = [
    WarningKind::TooShort,
    WarningKind::CacheUnproven,
    WarningKind::NotFromDevice,
    WarningKind::FreeCopy,
    WarningKind::NotQuiet,
    WarningKind::BackgroundLoad,
    WarningKind::Steal,
    WarningKind::Frequency,
    WarningKind::Drift,
    WarningKind::Outlier,
    WarningKind::Imprecise,
    WarningKind::SmallerThanCache,
    WarningKind::Entry,
    WarningKind::Device,
    WarningKind::Unobserved,
];

/// Text that incorrect quoting or encoding would change.
const ODD: &str = "a'b\"c\\ \n\t\0 \u{fffd} \u{1f4be} {\"$.x\": null}";

pub(crate) fn plan() -> Plan {
    let workload = |dataset, cache, pattern: Option<&str>| Workload {
        name: format!("of {dataset}"),
        dataset,
        phases: ["grep", "copy 1", "copy 2"]
            .map(|label| PhasePlan {
                label: label.into(),
                kind: "grep".into(),
                cache,
                pattern: pattern.map(str::to_owned),
                parameters: [("command".to_owned(), ODD.to_owned())].into(),
                judge: None,
            })
            .into(),
    };
    Plan {
        name: "quick".into(),
        seed: u64::MAX,
        scale: 0.1 + 0.2,
        contenders: vec![
            Contender {
                label: "alpha".into(),
                filesystem: "alpha".into(),
                mkfs: vec!["-O".into(), "^dir_index".into()],
                mount: vec!["noatime".into()],
                layout: LayoutChoice {
                    name: "pool".into(),
                    devices: 2,
                },
                directory: None,
                state: InitialState {
                    fill_permille: Some(950),
                    fragmented: false,
                    age: 3,
                    snapshots: 0,
                    degraded: true,
                    scrubbed: true,
                    rebuilding: true,
                },
                handicap_permille: 50,
                lab: LabChoice::Uml,
                kernel: Some(kernel()),
                gives_up: Some("old data".into()),
            },
            Contender {
                label: ODD.into(),
                directory: Some("/mnt/somewhere else".into()),
                ..Contender::plain("beta")
            },
        ],
        workloads: vec![
            workload(
                DatasetChoice::Generated("mixed".into()),
                CacheState::Cold,
                None,
            ),
            workload(
                DatasetChoice::Tree("/t".into()),
                CacheState::Warm,
                Some(ODD),
            ),
            workload(DatasetChoice::Tar("/t.tar".into()), CacheState::AsIs, None),
            workload(DatasetChoice::File("/f".into()), CacheState::Cold, None),
        ],
        repeats: 3,
        budget: Some(Nanos(u64::MAX)),
        vary: Some(fsdyno_model::FormerVary::DatasetSeed),
        varies: vec![fsdyno_model::Vary::Dataset, fsdyno_model::Vary::Moment],
        cell_budget: Some(Nanos(u64::MAX - 1)),
        device: DeviceChoice::Loop {
            size: Some(Bytes(1 << 40)),
            directory: "/images".into(),
            memory: false,
        },
        copy_method: CopyMethod::Reflink,
        verify: true,
        check: false,
        count_extents: true,
        trace: true,
        profile: true,
        adaptive: Some(fsdyno_model::Adaptive {
            precision: 0.005,
            most: 40,
            fewest: 0,
        }),
        decides: Some(fsdyno_model::DecidingFigure {
            phase: "copy".into(),
            figure: fsdyno_model::FigureName::CPU,
        }),
        errors: Some(fsdyno_model::ErrorRate::Fwer),
        ends: vec![6],
        margin: 0.05,
        extent_floor: Bytes(16_385),
        guest: Some(GuestSize::default()),
        disk: Some(model_disk()),
        disk_trace: Some(disk_trace()),
        contents: [("tar:/srv/a b.tar".to_owned(), content())].into(),
        ..Plan::new(Vec::new(), Vec::new())
    }
}

fn disk_trace() -> fsdyno_model::DiskRecord {
    fsdyno_model::DiskRecord {
        directory: "/records".into(),
        payloads: true,
    }
}

fn kernel() -> fsdyno_model::ContenderKernel {
    fsdyno_model::ContenderKernel {
        name: "v6.12".into(),
        program: fsdyno_model::KernelChoice::File("/k/linux".into()),
        source: Some("git:/srv/linux#abc".into()),
    }
}

fn model_disk() -> ModelDisk {
    ModelDisk {
        faults: Some("seed = 7\n".into()),
        time: fsdyno_model::DiskTime::Real,
        profile: "null".into(),
        text: "title = \"nothing\"".into(),
    }
}

fn content() -> fsdyno_model::DatasetContent {
    fsdyno_model::DatasetContent {
        files: 1,
        directories: 0,
        bytes: Bytes(u64::MAX),
        sha256: "00".repeat(32),
    }
}

pub(crate) fn run(id: &str, started_unix_ns: u64) -> RunInfo {
    let plan = plan();
    RunInfo {
        id: id.into(),
        started_unix_ns,
        ended_unix_ns: None,
        stop: None,
        plan_hash: plan.hash(),
        plan,
        provenance: Provenance {
            fsdyno: "0.1.0".into(),
            kernel: "Linux".into(),
            kernel_build: "#1 SMP".into(),
            distribution: "Debian".into(),
            processor: ODD.into(),
            processors: u32::MAX,
            memory_bytes: u64::MAX,
            virtualisation: "none".into(),
            governor: Some("performance".into()),
            devices: vec![
                DeviceFacts::default(),
                DeviceFacts {
                    name: "sda".into(),
                    role: "image files".into(),
                    model: Some("QEMU".into()),
                    size_bytes: 1 << 50,
                    rotational: Some(false),
                    scheduler: Some("none".into()),
                    write_cache: Some("write back".into()),
                    logical_block_bytes: 4096,
                    host_filesystem: Some("somefs".into()),
                },
            ],
            programs: vec![("mkfs.alpha".into(), "1.47".into())],
            root: true,
            uid: Some(1000),
        },
        command_line: vec!["fsdyno".into(), "run".into(), ODD.into(), String::new()],
    }
}

/// The run of [`run`], ended.
pub(crate) fn ended(id: &str, started_unix_ns: u64) -> RunInfo {
    RunInfo {
        ended_unix_ns: Some(started_unix_ns + 1),
        stop: Some(StopReason::Budget),
        ..run(id, started_unix_ns)
    }
}

/// A sample in which all numbers are different, so that no two columns can be swapped.
pub(crate) fn sample(phase: u32) -> Sample {
    let mut last = u64::from(phase) * 1000;
    let mut next = move || {
        last += 1;
        last
    };
    Sample {
        phase,
        label: format!("copy {phase}"),
        kind: "copy".into(),
        engine: "sync".into(),
        method: "read-write".into(),
        cache: CacheEvidence {
            requested: CacheState::ALL[phase as usize % 3],
            proven: phase.is_multiple_of(2),
            method: "remount, drop_caches".into(),
            checked_by: "cachestat".into(),
            files_checked: next(),
            bytes_checked: next(),
            resident_pages: Some(next()),
            reason: Some(ODD.into()),
        },
        return_ns: Nanos(next()),
        durable_ns: Some(Nanos(next())),
        tally: Tally {
            files: next(),
            directories: next(),
            bytes: Bytes(next()),
            calls: next(),
            matches: next(),
        },
        cpu: CpuUse {
            user_ns: Nanos(next()),
            system_ns: Nanos(next()),
            machine_busy_ns: Nanos(next()),
            steal_ns: Nanos(next()),
        },
        device: Some(DeviceUse {
            reads: next(),
            read_bytes: Bytes(next()),
            writes: next(),
            written_bytes: Bytes(next()),
            discards: next(),
            discarded_bytes: Bytes(next()),
            flushes: next(),
            busy_ns: Nanos(next()),
            busy_unknown: true,
            waits: Some(Waits::from_parts(std::array::from_fn(|_| next()))),
        }),
        disks: (0..2)
            .map(|disk| DiskFigures {
                disk: disk * 3,
                to_return: did(&mut next),
                to_durable: did(&mut next),
            })
            .collect(),
        space_before: Bytes(next()),
        space_after: Bytes((1 << 50) - next()),
        fragmentation: Some(Fragmentation {
            floor: Bytes(next()),
            files: next(),
            fragmented: next(),
            extents: next(),
            bytes: Bytes(next()),
            extents_by_size: vec![next(), 0, next()],
            unavailable: Some(ODD.into()),
        }),
        figures: vec![
            Figure {
                name: ODD.into(),
                value: 0.1,
                unit: "KiB/s".into(),
                better: Better::Higher,
            },
            Figure {
                name: String::new(),
                value: -1e300,
                unit: String::new(),
                better: Better::Lower,
            },
        ],
        latencies: ["file", ODD].map(|name| latencies(name, &mut next)).into(),
        progress: Some(Progress {
            slice_ns: Nanos(next()),
            slices: (0..3).map(|_| slice(&mut next)).collect(),
        }),
        kernel: kernel_work(),
        observed: Some(observed(&mut next)),
        probe: Some(Probe {
            system_ns: Nanos(next()),
            device_ns: Some(Nanos(next())),
        }),
        profile: Some(profile()),
        warnings: vec![Warning::new(WarningKind::TooShort, ODD, "make it longer")],
    }
}

/// A function that calls itself.
pub(crate) fn profile() -> Profile {
    let path = |caller, blocks| CallPath {
        caller,
        function: usize::from(caller.is_some()),
        own: PathWork {
            blocks,
            samples: 2 * blocks,
            slept_ns: 3 * blocks,
            ..PathWork::default()
        },
    };
    Profile {
        functions: vec!["processes".to_owned(), "ext4_mkdir".to_owned()],
        sources: vec![String::new(), "fs/ext4/namei".to_owned()],
        paths: vec![path(None, 0), path(Some(0), 7), path(Some(1), 5)],
        requests: Some(vec![PathRequests {
            path: 1,
            operation: Operation::Write,
            content: Some(Content::Journal),
            sum: RequestSum {
                requests: 3,
                bytes: 8192,
                seeks: 2,
            },
        }]),
        lost: 1,
        sampled: Some(Sampling {
            hertz: 997,
            passes: 2,
            elapsed_ns: Nanos(3_000_000),
            others: 4,
            profiler: 5,
        }),
    }
}

/// The work of a kernel until return and until durable.
fn kernel_work() -> Vec<KernelWork> {
    let until = |until| KernelWork {
        until,
        process_blocks: 1000,
        kthread_blocks: 200,
        interrupt_blocks: 30,
        system_calls: 40,
        copied: Bytes(4096),
        cleared: Bytes(8192),
        checksummed: Bytes(512),
        disk_requests: 7,
        waits: 5,
        charged_ns: Nanos(1234),
        threads: vec![ThreadWork {
            name: "kworker".to_owned(),
            blocks: 200,
        }],
    };
    [Point::Returned, Point::Durable].map(until).into()
}

fn observed(next: &mut impl FnMut() -> u64) -> Observed {
    Observed {
        over_ns: Nanos(next()),
        processors: 7,
        frequency: Some(Frequency {
            least_khz: next(),
            mean_khz: next(),
            most_khz: next(),
        }),
        throttled: Some(next()),
        pressure: Some(Pressure::from_parts([0; 5].map(|_| next()))),
        kernel_threads_ns: Some(Nanos(next())),
        others_ns: Some(Nanos(next())),
        other_io: Some(OtherIo {
            requests: next(),
            bytes: Bytes((1 << 50) - next()),
            busiest: ODD.into(),
            busiest_ns: Nanos(next()),
            below_bytes: Some(Bytes(next())),
        }),
        traced: Some(Traced::from_parts([0; 7].map(|_| next()))),
        unobserved: vec![ODD.into(), "throttling: none".into()],
    }
}

fn latencies(operation: &str, next: &mut impl FnMut() -> u64) -> LatencyDistribution {
    LatencyDistribution {
        operation: operation.into(),
        count: next(),
        sum_ns: (1 << 50) - next(),
        min_ns: next(),
        max_ns: next(),
        buckets: vec![(next(), next()), ((1 << 60) - next(), next())],
    }
}

fn slice(next: &mut impl FnMut() -> u64) -> Slice {
    Slice {
        operations: next(),
        bytes: Bytes((1 << 50) - next()),
    }
}

/// Disk figures that are all different.
fn did(next: &mut impl FnMut() -> u64) -> DiskUse {
    let mut kind = || Tallied {
        requests: next(),
        bytes: next(),
        failed: next(),
    };
    let [reads, writes, discards, flushes] = std::array::from_fn(|_| kind());
    DiskUse {
        reads,
        writes,
        discards,
        flushes,
        seeks: next(),
        seek_distance: Bytes(next()),
        causes: Causes::from_parts(std::array::from_fn(|_| next())),
        slowest: Nanos(next()),
        waits: Some(Waits::from_parts(std::array::from_fn(|_| next()))),
        busy: Some(Nanos(next())),
        work: Work::from_parts(std::array::from_fn(|_| next())),
    }
}

/// A measured cell with every field set.
pub(crate) fn measured(index: u32) -> CellRecord {
    let bare = Sample {
        cache: CacheEvidence::default(),
        durable_ns: None,
        device: None,
        disks: Vec::new(),
        fragmentation: None,
        figures: Vec::new(),
        latencies: Vec::new(),
        progress: None,
        kernel: Vec::new(),
        observed: None,
        probe: None,
        profile: None,
        warnings: Vec::new(),
        ..sample(1)
    };
    let command = |stage: &Stage, status| CommandRecord {
        stage: stage.clone(),
        argv: vec!["mkfs".into(), ODD.into()],
        by_system_call: status == Some(0),
        status,
        took_ns: Nanos(5),
        stdout: ODD.repeat(2000),
        stderr: String::new(),
    };
    let mut commands: Vec<_> = STAGES.iter().map(|stage| command(stage, Some(0))).collect();
    commands.push(command(&Stage::Phase(ODD.into()), None));
    commands.push(command(&Stage::Phase(String::new()), Some(-1)));
    CellRecord {
        cell: Cell {
            index,
            block: 2,
            contender: 1,
            workload: 0,
        },
        outcome: Outcome::Measured,
        started_unix_ns: 1_795_000_000_000_000_000,
        took_ns: Nanos(7),
        samples: vec![sample(0), bare, sample(2)],
        commands,
        effective: vec![
            Effective {
                source: "mountinfo".into(),
                text: ODD.into(),
            },
            Effective {
                source: "mountinfo".into(),
                text: String::new(),
            },
        ],
        warnings: WARNINGS
            .iter()
            .map(|kind| Warning::new(*kind, ODD, ""))
            .collect(),
    }
}

/// A cell with this outcome and nothing else.
pub(crate) fn bare(index: u32, outcome: Outcome) -> CellRecord {
    CellRecord {
        outcome,
        samples: Vec::new(),
        commands: Vec::new(),
        effective: Vec::new(),
        warnings: Vec::new(),
        ..measured(index)
    }
}

/// Cells of every kind, in the order of their index.
pub(crate) fn cells() -> Vec<CellRecord> {
    let mut cells = vec![
        measured(0),
        bare(1, Outcome::Measured),
        bare(
            2,
            Outcome::Skipped {
                requirement: "root".into(),
                reason: ODD.into(),
                remedy: String::new(),
            },
        ),
    ];
    let stages = STAGES.iter().cloned();
    let phases = ["copy", "", ODD].map(|label| Stage::Phase(label.into()));
    for (index, stage) in (3_u32..).zip(stages.chain(phases)) {
        let errno = index.is_multiple_of(2).then(|| "ENOSPC".to_owned());
        cells.push(bare(
            index,
            Outcome::Failed(Failure {
                stage,
                message: ODD.into(),
                errno,
            }),
        ));
    }
    cells
}

/// A series of power cuts at its start.
pub(crate) fn series(started_unix_ns: u64) -> SeriesInfo {
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
        power_cuts_planned: 2,
        shard: None,
        seed: u64::MAX,
        guest: GuestSize {
            memory: Bytes(256 << 20),
            kernel: Some(fsdyno_model::KernelChoice::Lab),
            processors: Some(2),
            image: None,
        },
        disk: None,
        activities: Some("[[activity]]".into()),
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

/// A power cut that lost nothing.
pub(crate) fn power_cut_without_losses(contender: &str, number: u32) -> PowerCut {
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
        work: None,
        images: Vec::new(),
    }
}

/// A power cut with every field set.
pub(crate) fn power_cut_with_losses(contender: &str, number: u32) -> PowerCut {
    let mut power_cut = power_cut_without_losses(contender, number);
    let judgement = Judgement {
        files: 30,
        lost: [(Loss::Missing, 2), (Loss::Torn, 1)].into(),
        messages: vec!["a/b: missing".into()],
    };
    power_cut.work = Some(vec![WorkLoss {
        activity: "save, rename".into(),
        lost_ns: Some(Nanos(3_000_000_000)),
        files: 4,
        missing: 1,
        empty: 1,
        damaged: 1,
        saves: 4,
        broken_saves: 3,
        deleted: 2,
        returned: 1,
        first: Some("`notes/1` is empty".into()),
    }]);
    power_cut.recovery = Recovery {
        took_ns: Nanos(1 << 50),
        corrected_by: Some("e2fsck -y".into()),
        refused: Some("bad magic".into()),
        beyond_repair: None,
        before_check: Some(judgement.clone()),
        judgement: Some(judgement),
        clean: Some(false),
        found: Some("inode 12".into()),
    };
    power_cut.images = vec!["/var/tmp/x y.img".into()];
    power_cut.disk = Some(CacheLoss {
        lost: 3,
        torn: 1,
        sectors_lost: 900,
        digest: "00ff".into(),
        ..CacheLoss::default()
    });
    power_cut
}

/// An exploration at its start.
pub(crate) fn exploration(started_unix_ns: u64) -> ExplorationInfo {
    let series = series(started_unix_ns);
    ExplorationInfo {
        id: String::new(),
        started_unix_ns,
        ended_unix_ns: None,
        stop: None,
        contenders: series.contenders,
        search: Search {
            programs: ProgramSource::Generated {
                operations: 2,
                sampled: 7,
            },
            class: StateClass::C3,
            states: 5000,
            nested: true,
            seed: u64::MAX,
            extra: BTreeMap::from([(
                "ext4".to_owned(),
                vec![DeclaredPromise {
                    promise: ExtraPromise::ReplaceByRename,
                    source: "a document".to_owned(),
                }],
            )]),
        },
        programs_planned: 4,
        budget: Some(Nanos(60_000_000_000)),
        shard: None,
        guest: series.guest,
        disk: ModelDisk {
            profile: "sata-2008".into(),
            text: "queue_depth = 1".into(),
            faults: None,
            time: DiskTime::Virtual,
        },
        work_dir: series.work_dir,
        provenance: series.provenance,
        command_line: series.command_line,
    }
}

/// A program that found nothing.
pub(crate) fn explored_clean(contender: &str, number: u32) -> ExploredProgram {
    let count = |legal, checked| ClassCount {
        legal,
        checked,
        found: Score::ALL.into_iter().zip(1..).collect(),
    };
    ExploredProgram {
        contender: contender.into(),
        number,
        program: "create a\nfsync a\n".into(),
        kinds: vec!["create".into(), "fsync".into()],
        guest: "Linux 6.1 (User-mode Linux), #1, 2 processors".into(),
        failed: None,
        states: StateCounts {
            windows: 3,
            skipped_windows: 2,
            classes: [
                (StateClass::C0, count(Some(9), 9)),
                (StateClass::C2, count(None, 40)),
            ]
            .into(),
            distinct: 41,
            recovered: 30,
            equivalent: 11,
            nested: 5,
            nested_checks: 4,
            trees: 4,
        },
        cost: ProgramCost {
            operations: 2,
            took_ns: Nanos(1 << 50),
            flushes: 3,
            bytes_written: 40_960,
            bytes_requested: 4096,
        },
        findings: Vec::new(),
    }
}

/// A program with two findings, one of them with every field set.
pub(crate) fn explored_with_findings(contender: &str, number: u32) -> ExploredProgram {
    let missing = Finding {
        signature: "missing a".into(),
        violation: Violation::Missing,
        class: StateClass::C2,
        message: format!("a: fsynced, and gone {ODD}"),
        state: "3/2/c2/17".into(),
        count: 12,
        minimal: Some(Minimal {
            signature: "name missing: make file1 in dir1; fsync file1".into(),
            program: "create a\nfsync a\n".into(),
            operations: 2,
            state: "0/1/c2/1".into(),
            requests: vec!["request 4, write, 8 sectors at 2048: dropped".into()],
            image: Some("/var/tmp/a b.img".into()),
            script: Some("/var/tmp/a b.sh".into()),
        }),
        kernel: vec!["EXT2-fs: error".into()],
        checker: Some("inode 12".into()),
    };
    let extra = Finding {
        signature: "extra order".into(),
        violation: Violation::Extra,
        class: StateClass::C5,
        count: 1 << 50,
        minimal: None,
        kernel: Vec::new(),
        checker: None,
        ..missing.clone()
    };
    ExploredProgram {
        findings: vec![missing, extra],
        ..explored_clean(contender, number)
    }
}

/// A program that could not be explored.
pub(crate) fn explored_in_vain(contender: &str, number: u32) -> ExploredProgram {
    ExploredProgram {
        contender: contender.into(),
        number,
        failed: Some("the guest died".into()),
        ..ExploredProgram::default()
    }
}
