//! Reruns and their ablations, on constructed runs.

use crate::fixture;
use crate::wide;
use fsdyno_model::{
    Bytes, CacheState, Contender, DatasetChoice, DeviceUse, DiskTime, FilesystemKind, KernelWork,
    ModelCpu, ModelDisk, Nanos, PhasePlan, Point, ResultSet, Vary, Workload,
};
use fsdyno_report::published::find;
use fsdyno_report::published_comparison::{ConclusionResult, PublishedComparison};
use fsdyno_report::reruns::AblationSummary;
use fsdyno_report::{Format, Options, render_ablation, render_comparison};

fn phase(kind: &str) -> PhasePlan {
    PhasePlan {
        label: kind.into(),
        kind: kind.into(),
        cache: CacheState::Cold,
        pattern: None,
        parameters: std::collections::BTreeMap::new(),
        judge: None,
    }
}

/// One repeat of copying and deleting a Portage tree, in virtual time: milliseconds to return by
/// phase and contender, and flushes by contender.
fn run(name: &str, contenders: &[&str], times: [&[u64]; 2], flushes: &[u64]) -> ResultSet {
    let workload = Workload {
        name: "portage".into(),
        dataset: DatasetChoice::Generated("portage".into()),
        phases: vec![phase("copy"), phase("delete")],
    };
    let mut set = fixture::with(contenders, &[workload], 6);
    let plan = &mut set.run.plan;
    name.clone_into(&mut plan.name);
    plan.scale = 0.1;
    plan.varies = Vary::ALL.to_vec();
    plan.disk = Some(ModelDisk {
        profile: "sata-2008".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::Virtual,
    });
    for contender in &mut plan.contenders {
        let known = |_: &str| Some(FilesystemKind::Block);
        *contender = Contender::parse(&contender.label, &known).unwrap();
    }
    for (block, contender) in
        (0..6).flat_map(|block| (0..contenders.len()).map(move |at| (block, at)))
    {
        let place = u32::try_from(contender).unwrap();
        let mut record = fixture::record(&set, block, place, 0, 1);
        for (sample, times) in record.samples.iter_mut().zip(times) {
            sample.return_ns = Nanos(times[contender] * 1_000_000);
            sample.durable_ns = Some(Nanos((times[contender] + 100) * 1_000_000));
            sample.device = Some(DeviceUse {
                flushes: flushes[contender],
                writes: 574,
                written_bytes: Bytes(68_900_000),
                ..DeviceUse::default()
            });
        }
        set.cells.push(record);
    }
    set
}

const FEW: [&str; 3] = ["ext2", "xfs", "btrfs"];

fn rerun() -> ResultSet {
    run(
        "rerun-btrfs-2008",
        &FEW,
        [&[24_098, 8154, 3749], &[21_065, 1719, 2947]],
        &[0, 3, 2],
    )
}

fn compared(set: &ResultSet) -> PublishedComparison {
    compare_with(set, "btrfs-2008")
}

fn compare_with(set: &ResultSet, table: &str) -> PublishedComparison {
    let table = find(table).unwrap().read().unwrap();
    let mut compared = PublishedComparison::in_each_lab(set, &table).unwrap();
    assert_eq!(compared.len(), 1);
    compared.remove(0)
}

fn terminal(compared: &PublishedComparison) -> String {
    let all = std::slice::from_ref(compared);
    String::from_utf8(render_comparison(all, Format::Terminal, &wide(80)).unwrap()).unwrap()
}

#[test]
fn a_screen_begins_with_the_answer_and_says_the_tally_once() {
    let compared = compared(&rerun());
    let all = std::slice::from_ref(&compared);
    let screen = render_comparison(all, Format::Terminal, &Options::default()).unwrap();
    let screen = String::from_utf8(screen).unwrap();
    assert!(screen.starts_with("Of 9 published conclusions"), "{screen}");
    assert!(screen.lines().count() <= 40, "{screen}");
    let more = format!("fsdyno report {} --against btrfs-2008 --long", compared.run);
    assert!(screen.contains(&more), "{screen}");
    let whole = terminal(&compared);
    assert_eq!(whole.matches("are not tested").count(), 1, "{whole}");
    assert!(!whole.contains("is not tested: 3"), "{whole}");
}

#[test]
fn draws_decide_conclusions_and_one_draw_does_not() {
    let reported = compared(&rerun());
    let of = |begin: &str| {
        let mut all = reported.conclusions.iter();
        all.find(|one| one.text.starts_with(begin)).unwrap()
    };
    // Published as slowest at copying and deleting; now in between.
    assert_eq!(of("XFS is the slowest").holding, ConclusionResult::InPart);
    let words = of("XFS is the slowest").causes[0].words();
    assert!(words.contains("xfs portage copy: 3 flushes"), "{words}");
    assert_eq!(of("ReiserFS deletes").holding, ConclusionResult::NotTested);
    assert!(of("ReiserFS deletes").causes.is_empty());
    let mut one = rerun();
    one.run.plan.repeats = 1;
    one.cells.retain(|record| record.cell.block == 0);
    let mut all = compared(&one).conclusions.into_iter();
    let xfs = all.find(|one| one.text.starts_with("XFS is the slowest"));
    assert_eq!(xfs.unwrap().holding, ConclusionResult::Undecidable);
}

#[test]
fn work_in_memory_has_figures_where_a_processor_charges_it() {
    let mut set = rerun();
    for sample in set.cells.iter_mut().flat_map(|record| &mut record.samples) {
        sample.device = Some(DeviceUse::default());
    }
    let copy = |set: &ResultSet| {
        let compared = compared(set);
        let line = compared.lines.iter().find(|l| l.label == "portage copy");
        (compared.processor.clone(), line.unwrap().entries[1].clone())
    };
    let (processor, entry) = copy(&set);
    assert_eq!(processor, None);
    assert!(entry.idle && entry.by_published.is_none());
    set.run.plan.cpu = Some(ModelCpu {
        profile: "desktop-2008".into(),
        text: String::new(),
    });
    // A kernel that counts nothing charges nothing.
    assert!(copy(&set).1.idle);
    for sample in set.cells.iter_mut().flat_map(|record| &mut record.samples) {
        sample.kernel = vec![KernelWork {
            charged_ns: Nanos(1_000_000),
            ..fixture::kernel_work(Point::Returned, 1000, 0)
        }];
    }
    let (processor, entry) = copy(&set);
    assert_eq!(processor.as_deref(), Some("desktop-2008"));
    assert!(!entry.idle && entry.by_published.is_some());
    let words = terminal(&compared(&set));
    assert!(
        words.contains("the model processor desktop-2008"),
        "{words}"
    );
}

#[test]
fn times_are_scaled_and_large_differences_are_explained() {
    let reported = compared(&rerun());
    let line = reported
        .lines
        .iter()
        .find(|line| line.label == "portage copy");
    let xfs = &line.unwrap().entries[1];
    assert!((xfs.by_published.unwrap() - 81.54 / 1013.0).abs() < 1e-12);
    let rerun = reported.rerun.as_ref().unwrap();
    assert_eq!(rerun.of_the_same_order, (3, 6));
    let departed: Vec<_> = rerun
        .departures
        .iter()
        .map(|one| &one.figures[..])
        .collect();
    assert_eq!(departed.concat().len(), 3);
    assert!(rerun.departures.iter().all(|one| one.cause.is_some()));
    let not_requested = rerun.not_run.iter().find(|one| one.contender == "ext3");
    assert!(not_requested.unwrap().why.contains("--fs"));
    // Another run of the same work is not a rerun.
    let mut other = self::rerun();
    other.run.plan.name = "classic-2008".into();
    assert_eq!(compared(&other).rerun, None);
}

#[test]
fn a_contender_that_did_not_rerun_is_named_with_the_reason() {
    let contenders = ["ext2", "reiserfs:barrier=none"];
    let mut set = run(
        "rerun-ufs-async-2004",
        &contenders,
        [&[1000, 2000], &[1000, 2000]],
        &[0, 0],
    );
    set.run.plan.workloads[0].name = "mixed".into();
    set.run.plan.workloads[0].dataset = DatasetChoice::Generated("mixed".into());
    let rerun = compare_with(&set, "ufs-async-2004").rerun.unwrap();
    let why = |label: &str| {
        let mut all = rerun.not_run.iter();
        all.find(|one| one.contender == label).unwrap().why.as_str()
    };
    assert!(why("ufs1 softupd.").contains("soft updates"), "{rerun:?}");
    assert!(why("ufs1 async").contains("--fs"), "{rerun:?}");
}

#[test]
fn a_rerun_fits_its_page() {
    let text = terminal(&compared(&rerun()));
    for words in [
        "now",
        "/then",
        "not rerun",
        "memory",
        "differs",
        "Cause:",
        "of another order",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for format in [Format::Markdown, Format::Html, Format::Json] {
        let reported = compared(&rerun());
        let bytes = render_comparison(std::slice::from_ref(&reported), format, &wide(80)).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("not requested (--fs)"), "{format:?}");
        assert!(text.contains("3 flushes"), "{format:?}");
    }
}

#[test]
fn the_cost_of_flushes_is_computed_from_two_runs() {
    let published = find("btrfs-2008").unwrap();
    let table = published.read().unwrap();
    let setting = published.read_rerun(&table).unwrap();
    let ablation = setting.ablation.clone().unwrap();
    let requested = ["xfs", "xfs:wsync"];
    let here = run(
        "rerun-btrfs-2008+barriers",
        &requested,
        [&[8000, 400_000], &[1900, 100_000]],
        &[3, 40_000],
    );
    let there = run(
        "rerun-btrfs-2008+barriers-ignored",
        &requested,
        [&[7990, 20_000], &[1900, 5000]],
        &[3, 40_000],
    );
    let ran = [("as it is", &here), ("that ignores flushes", &there)];
    let reported = AblationSummary::of(&setting, &ablation, &table, &ran);
    assert_eq!(reported.parts.len(), 2);
    assert_eq!(reported.parts[0].published, Some(1013.0));
    assert_eq!(reported.parts[0].rows.len(), 4);
    let waits = reported
        .read
        .iter()
        .find(|read| read.starts_with("xfs:wsync, portage copy"));
    let waits = waits.unwrap();
    assert!(
        waits.contains("95 % of it is what 40,000 flushes cost, 9.50 ms each"),
        "{waits}"
    );
    let bytes = render_ablation(&reported, Format::Terminal, &wide(80)).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.contains("portage copy (then 1013 s)"), "{text}");
    // A rerun and its ablation share a screen.
    let mut long = reported.clone();
    let all = long.read.iter().cycle().take(40).cloned().collect();
    long.read = all;
    let screen = |lines| Options {
        lines,
        ..Options::default()
    };
    let ablation = render_ablation(&long, Format::Terminal, &screen(11)).unwrap();
    let ablation = String::from_utf8(ablation).unwrap();
    assert!(ablation.lines().count() <= 11, "{ablation}");
    assert!(ablation.contains("more findings"), "{ablation}");
    let table = [compared(&rerun())];
    let above = render_comparison(&table, Format::Terminal, &screen(28)).unwrap();
    let above = String::from_utf8(above).unwrap();
    assert!(above.lines().count() <= 28, "{above}");
    for format in [Format::Markdown, Format::Json] {
        assert!(render_ablation(&reported, format, &wide(80)).is_ok());
    }
    assert!(render_ablation(&reported, Format::OpenMetrics, &wide(80)).is_err());
}
