//! Shards of a plan are joined into one run.

use super::{WorkDir, specimen};
use crate::Store;
use fsdyno_model::{
    CellRecord, DiskTime, Effective, Failure, ModelDisk, Outcome, Plan, ResultSet, RunInfo, Shard,
    Stage, StopReason,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Contenders times workloads of the specimen.
const PER_BLOCK: u32 = 8;

/// A shard of a plan with fixed repeats, on a disk in virtual or in real time.
fn run(id: &str, shard: &str, time: DiskTime) -> RunInfo {
    let plan = Plan {
        adaptive: None,
        ends: Vec::new(),
        repeats: 3,
        shard: Some(shard.parse().unwrap()),
        disk: Some(ModelDisk {
            faults: None,
            time,
            profile: "null".into(),
            text: String::new(),
        }),
        ..specimen::plan()
    };
    RunInfo {
        plan_hash: plan.hash(),
        plan,
        ..specimen::run(id, 7)
    }
}

/// The cells of a run, as this machine measured them.
fn cells(run: &RunInfo, machine: u64) -> Vec<CellRecord> {
    let all = 0..PER_BLOCK * run.plan.repeats;
    let records = all.map(|index| {
        let mut record = specimen::bare(index, Outcome::Measured);
        record.cell.block = index / PER_BLOCK;
        record.started_unix_ns = machine * 1_000_000 + u64::from(index);
        record.effective = [
            (Effective::GUEST, "Linux 6.12, #1".to_owned()),
            (Effective::DISK, format!("digest {index}")),
            (Effective::MACHINE, format!("node{machine}")),
        ]
        .map(|(source, text)| Effective {
            source: source.into(),
            text,
        })
        .into();
        record
    });
    let shard = run.plan.shard.unwrap();
    records
        .filter(|record| run.plan.shard_of(&record.cell, shard.of) == shard)
        .collect()
}

/// A store with this run and these cells.
fn store(run: &RunInfo, cells: &[CellRecord]) -> (WorkDir, PathBuf) {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(run).unwrap();
    for record in cells {
        store.record(&run.id, record).unwrap();
    }
    let path = work_dir.path();
    (work_dir, path)
}

fn shard_store(shard: &str, machine: u64, time: DiskTime) -> (WorkDir, PathBuf) {
    let run = run("s", shard, time);
    store(&run, &cells(&run, machine))
}

#[test]
fn shards_become_one_run_in_any_number_and_order() {
    for time in [DiskTime::Virtual, DiskTime::Real] {
        let shards = ["3/3", "1/3", "2/3"];
        let stores: Vec<_> = (1..)
            .zip(shards)
            .map(|(machine, shard)| shard_store(shard, machine, time))
            .collect();
        let paths: Vec<PathBuf> = stores.iter().map(|(_, path)| path.clone()).collect();
        let here = WorkDir::new();
        let mut ours = here.open();
        let first = ours.merge_all(&paths[..2]).unwrap();
        let [joined] = &first.joined[..] else {
            panic!("{first:?}");
        };
        assert_eq!((joined.recorded, joined.planned), (16, 24));
        assert_eq!(joined.missing, ["2/3".parse::<Shard>().unwrap()]);
        assert_eq!(ours.load(&joined.id).unwrap().run.stop, None);
        // The remaining cells, and again the recorded ones.
        for _ in 0..2 {
            let merged = ours.merge_all(&paths).unwrap();
            assert_eq!(merged.joined[0].missing, []);
            assert!(merged.refused.is_empty() && merged.taken.is_empty());
        }
        let whole = ours.load(&joined.id).unwrap();
        assert_eq!(whole.run.stop, Some(StopReason::Complete));
        assert_eq!(whole.run.plan.shard, None);
        let indices: Vec<u32> = whole.cells.iter().map(|record| record.cell.index).collect();
        assert_eq!(indices, (0..24).collect::<Vec<_>>());
        assert_eq!(whole.machines().len(), 3);
        let mut of_block = whole.cells.chunks(PER_BLOCK as usize);
        let alone = |block: &[CellRecord]| block.iter().all(|r| r.effective == block[0].effective);
        // In real time the cells of a block are compared, so one machine has all of them.
        assert!(
            time.is_virtual()
                || of_block.all(|block| {
                    let machine = |record: &CellRecord| record.effective[2].clone();
                    alone(&block[..1]) && block.iter().all(|r| machine(r) == machine(&block[0]))
                })
        );
        // The whole is an ordinary run.
        let third = WorkDir::new();
        let copied = third.open().merge(&here.path()).unwrap();
        assert_eq!(copied.joined[0].recorded, 24);
        assert_eq!(third.open().load(&joined.id).unwrap(), whole);
    }
}

#[test]
fn shards_of_other_systems_are_refused_by_name_and_of_other_plans_joined_apart() {
    let (_one, first) = shard_store("1/2", 1, DiskTime::Virtual);
    let mut other = run("other", "2/2", DiskTime::Virtual);
    other.plan.seed = 9;
    other.plan_hash = other.plan.hash();
    let (_two, second) = store(&other, &cells(&other, 2));
    let mut newer = run("newer", "2/2", DiskTime::Virtual);
    newer.provenance.fsdyno = "9.9".into();
    let (_three, third) = store(&newer, &cells(&newer, 3));
    let kernel = run("kernel", "2/2", DiskTime::Virtual);
    let mut records = cells(&kernel, 4);
    records[0].effective[0].text = "Linux 6.13, #2".into();
    let (_four, fourth) = store(&kernel, &records);
    let wrong = run("wrong", "1/2", DiskTime::Virtual);
    let mut records = cells(&wrong, 5);
    records[2].effective[1].text = "digest 0".into();
    let (_five, fifth) = store(&wrong, &records);
    let here = WorkDir::new();
    let nowhere = here.path().join("x");
    let paths = [first, second, third, fourth, fifth, nowhere];
    let mut ours = here.open();
    let merged = ours.merge_all(&paths).unwrap();
    let expected = [
        "runs.db/x: Not a directory",
        "another version of fsdyno (9.9; the other shards: 0.1.0)",
        "another kernel of its guests (Linux 6.13, #2; the other shards: Linux 6.12, #1)",
        "cell 4 of wrong (shard 1/2) differs from the one that is recorded",
    ];
    assert_eq!(merged.refused.len(), expected.len(), "{:?}", merged.refused);
    for part in expected {
        let mut refused = merged.refused.iter();
        assert!(
            refused.any(|why| why.contains(part)),
            "{part}: {:?}",
            merged.refused
        );
    }
    let recorded: Vec<u64> = merged.joined.iter().map(|one| one.recorded).collect();
    assert_eq!(recorded, [12, 12], "nothing of a refused shard is recorded");
}

#[test]
fn a_failed_cell_is_replaced_by_that_of_a_shard_that_measured_it() {
    let failed = run("failed", "1/1", DiskTime::Virtual);
    let mut records = cells(&failed, 1);
    records[3].outcome = Outcome::Failed(Failure {
        stage: Stage::Mount,
        message: "lost the node".into(),
        errno: None,
    });
    let (_one, first) = store(&failed, &records);
    let (_two, second) = shard_store("1/1", 2, DiskTime::Virtual);
    let here = WorkDir::new();
    let mut ours = here.open();
    let id = ours.merge(&first).unwrap().joined[0].id.clone();
    for path in [&second, &first] {
        ours.merge(path).unwrap();
        let whole = ours.load(&id).unwrap();
        assert!(
            whole
                .cells
                .iter()
                .all(|one| one.outcome == Outcome::Measured)
        );
        assert_eq!(whole.cells[3].started_unix_ns, 2_000_003);
        assert_eq!(whole.cells[2].started_unix_ns, 1_000_002);
    }
}

/// The runs of a store, without the ids of those that are no wholes: a name may be taken.
fn contents(store: &Store) -> BTreeMap<String, ResultSet> {
    let runs = store.runs().unwrap().into_iter();
    let sets = runs.map(|one| store.load(&one.id).unwrap());
    let named = sets.map(|mut set| {
        if set.run.plan.repeats != 3 {
            set.run.id = format!("begun at {}", set.run.started_unix_ns);
        }
        (set.run.id.clone(), set)
    });
    named.collect()
}

/// Stores with shards whole and in part, measured and failed, on several machines; copies of a run;
/// and another run of its name.
fn parts(time: DiskTime) -> Vec<(WorkDir, PathBuf)> {
    let shard = |id: &str, shard: &str, machine: u64, some: &dyn Fn(&mut Vec<CellRecord>)| {
        let mut run = run(id, shard, time);
        run.started_unix_ns = machine;
        let mut cells = cells(&run, machine);
        some(&mut cells);
        store(&run, &cells)
    };
    let copy = |started: u64, count: usize| {
        let mut run = run("copy", "1/1", time);
        run.started_unix_ns = started;
        run.plan.repeats = 2;
        run.plan.shard = None;
        let cells: Vec<_> = (0..16)
            .map(|index| {
                let mut record = specimen::bare(index, Outcome::Measured);
                record.cell.block = index / PER_BLOCK;
                record.started_unix_ns = started * 1000 + u64::from(index);
                record
            })
            .collect();
        store(&run, &cells[..count])
    };
    vec![
        shard("one", "1/2", 1, &|_| {}),
        shard("two", "2/2", 2, &|cells| cells.truncate(5)),
        shard("two", "2/2", 2, &|_| {}),
        shard("third", "1/3", 3, &|cells| {
            cells[1].outcome = Outcome::Failed(Failure {
                stage: Stage::Mount,
                message: "lost the node".into(),
                errno: None,
            });
        }),
        copy(50, 9),
        copy(50, 16),
        copy(60, 4),
    ]
}

#[test]
fn the_order_the_groups_and_repetitions_of_merges_do_not_matter() {
    for time in [DiskTime::Virtual, DiskTime::Real] {
        let parts = parts(time);
        let mut expected: Option<BTreeMap<String, ResultSet>> = None;
        for trial in 0..6_usize {
            // A permutation that is different in each trial.
            let mut left: Vec<&PathBuf> = parts.iter().map(|(_, path)| path).collect();
            let mut order = Vec::new();
            let mut number = trial * 857;
            while !left.is_empty() {
                order.push(left.remove(number % left.len()).clone());
                number /= 3;
            }
            let (first, second) = order.split_at(1 + trial % (order.len() - 1));
            let groups = [first, second].map(|paths| {
                let here = WorkDir::new();
                let merged = here.open().merge_all(paths).unwrap();
                assert!(merged.refused.is_empty(), "{:?}", merged.refused);
                here
            });
            let [ours, theirs] = &groups;
            let mut ours = ours.open();
            ours.merge(&theirs.path()).unwrap();
            let once = contents(&ours);
            assert_eq!(&once, expected.get_or_insert_with(|| once.clone()));
            for path in order.iter().chain([&theirs.path()]) {
                let again = ours.merge(path).unwrap();
                assert!(again.taken.is_empty() && again.refused.is_empty());
            }
            assert_eq!(contents(&ours), once);
        }
        let all = expected.unwrap();
        let cells: Vec<usize> = all.values().map(|set| set.cells.len()).collect();
        assert_eq!(cells, [16, 4, 24], "{:?}", all.keys());
    }
}

#[test]
fn a_store_is_joined_with_the_shard_that_it_holds_itself() {
    let (ours, _) = shard_store("1/2", 1, DiskTime::Virtual);
    let (theirs, path) = shard_store("2/2", 2, DiskTime::Virtual);
    let mut store = ours.open();
    let joined = store.merge(&path).unwrap().joined.remove(0);
    assert_eq!((joined.recorded, joined.missing.len()), (24, 0));
    let mut other = theirs.open();
    other.merge(&ours.path()).unwrap();
    assert_eq!(
        store.load(&joined.id).unwrap(),
        other.load(&joined.id).unwrap()
    );
    // The shard can still be resumed.
    assert_eq!(store.load("s").unwrap().cells.len(), 12);
}

#[test]
fn shards_of_a_crash_series_become_one_series() {
    let shard = |text: &str, started: u64, version: &str| {
        let mut info = specimen::series(started);
        info.provenance.fsdyno = version.into();
        info.shard = Some(text.parse().unwrap());
        let work_dir = WorkDir::new();
        let mut store = work_dir.open();
        store.begin_series(&mut info).unwrap();
        let power_cuts = (1..=info.power_cuts_planned).flat_map(|number| {
            let contenders = info.contenders.iter();
            contenders.map(move |contender| (number, contender.label.clone()))
        });
        for (number, contender) in power_cuts {
            let power_cut = specimen::power_cut_without_losses(&contender, number);
            let place = info.place(&power_cut).unwrap();
            if Some(Shard::with(place, info.shard.unwrap().of)) == info.shard {
                store.record_power_cut(&info.id, &power_cut).unwrap();
            }
        }
        let path = work_dir.path();
        (work_dir, path, info)
    };
    let (_one, first, info) = shard("1/3", 1, "0.1.0");
    let (_two, second, _) = shard("2/3", 2, "0.1.0");
    let (_three, third, _) = shard("3/3", 3, "0.1.0");
    let (_four, newer, _) = shard("3/3", 4, "9.9");
    let here = WorkDir::new();
    let mut ours = here.open();
    let merged = ours
        .merge_all(&[second.clone(), newer, first.clone()])
        .unwrap();
    assert!(merged.refused[0].contains("9.9"), "{:?}", merged.refused);
    assert_eq!(merged.joined[0].missing, ["3/3".parse::<Shard>().unwrap()]);
    for _ in 0..2 {
        let merged = ours
            .merge_all(&[third.clone(), first.clone(), second.clone()])
            .unwrap();
        let joined = &merged.joined[0];
        let whole = u64::from(info.power_cuts_planned) * info.contenders.len() as u64;
        assert_eq!((joined.recorded, joined.planned), (whole, whole));
        assert_eq!(joined.missing, []);
        let series = ours.load_series(&joined.id).unwrap();
        assert_eq!(series.info.stop, Some(StopReason::Complete));
        let places = series.power_cuts.iter().map(|one| info.place(one).unwrap());
        assert!(
            places.eq(0..u32::try_from(whole).unwrap()),
            "in order of execution"
        );
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p fsdyno-store -- --ignored --nocapture"]
fn ten_thousand_shards() {
    const SHARDS: u32 = 10_000;
    let work_dir = WorkDir::new();
    let mut paths = Vec::new();
    for number in 1..=SHARDS {
        let mut run = run("s", &format!("{number}/{SHARDS}"), DiskTime::Virtual);
        run.plan.repeats = SHARDS / PER_BLOCK;
        run.plan_hash = run.plan.hash();
        let index = number - 1;
        let mut record = specimen::bare(index, Outcome::Measured);
        record.cell.block = index / PER_BLOCK;
        record.samples = (0..8).map(specimen::sample).collect();
        let path = work_dir.path().with_file_name(format!("{number}.db"));
        let mut store = Store::open(&path).unwrap();
        store.begin(&run).unwrap();
        store.record("s", &record).unwrap();
        paths.push(path);
    }
    let mut ours = work_dir.open();
    for how in ["first", "second"] {
        let start = Instant::now();
        let merged = ours.merge_all(&paths).unwrap();
        assert_eq!(merged.joined[0].missing, []);
        println!("{how} merge of {SHARDS} shards in {:?}", start.elapsed());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
}
