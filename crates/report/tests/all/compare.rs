//! Comparisons of runs: differences that forbid them, verdicts, and thresholds.

use crate::fixture::{self, one_phase};
use crate::{text, wide};
use fsdyno_model::{FigureName, HardwareEvent, Nanos, Point, ResultSet};
use fsdyno_report::Format;
use fsdyno_report::compare::ThresholdResult::{Beyond, Inconclusive, Kept};
use fsdyno_report::compare::{
    Comparisons, RunComparison, Threshold, ThresholdResult, check, differences,
};
use fsdyno_report::{Options, render_run_comparison};
use fsdyno_stats::Verdict;

fn run(id: &str, times: &[&[u64]]) -> ResultSet {
    let mut set = one_phase(&["ext4", "xfs"], times);
    set.run.id = id.into();
    let content = fsdyno_model::DatasetContent {
        files: 1,
        directories: 0,
        bytes: fsdyno_model::Bytes(10),
        sha256: "0".repeat(64),
    };
    let dataset = set.run.plan.workloads[0].dataset.to_string();
    set.run.plan.contents.insert(dataset, content);
    set
}

fn both() -> (ResultSet, ResultSet) {
    let was = run("was", &[&[1000, 1010, 990, 1005], &[500, 505, 495, 502]]);
    let mut now = run("now", &[&[1001, 1012, 991, 1004], &[600, 606, 594, 601]]);
    now.run.provenance.kernel = "Linux 6.12.9 x86_64".into();
    now.run.plan.repeats = 40;
    (was, now)
}

#[test]
fn a_comparison_of_runs_has_this_text() {
    let (was, now) = both();
    let comparison = RunComparison::of(&was, &now, 0.02, &[]);
    let thresholds = ["copy.durable > 1.05", "*.return > 0.9"].map(|t| t.parse().unwrap());
    let checked = check(&comparison, &thresholds).unwrap();
    let render = |format| {
        let bytes = render_run_comparison(&comparison, &checked, format, &Options::default());
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let shown = render(Format::Terminal);
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    insta::assert_snapshot!("across_terminal", shown);
    let checked = checked.iter().map(Into::into).collect();
    let printed = Comparisons::of(&[(comparison.clone(), checked)]);
    let json = serde_json::to_string_pretty(&printed).unwrap();
    insta::assert_snapshot!("across_json", json);
}

#[test]
fn a_comparison_begins_with_its_answer_and_fits_on_a_screen() {
    // Nine contenders: one is slower, and eight are as they were.
    let labels: Vec<String> = (0..9).map(|at| format!("fs{at}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let of = |id: &str, slow: u64| {
        let times: Vec<Vec<u64>> = (0..9_u64)
            .map(|at| {
                [0, 3, 1, 2]
                    .map(|n| (1000 + n) * if at == 7 { slow } else { 2 })
                    .into()
            })
            .collect();
        let times: Vec<&[u64]> = times.iter().map(Vec::as_slice).collect();
        let mut set = one_phase(&labels, &times);
        set.run.id = id.into();
        set
    };
    let (was, now) = (of("was", 2), of("now", 3));
    let comparison = RunComparison::of(&was, &now, 0.02, &[]);
    let shown = |long| {
        let options = Options {
            long,
            ..Options::default()
        };
        let bytes = render_run_comparison(&comparison, &[], Format::Terminal, &options);
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let (brief, long) = (shown(false), shown(true));
    assert!(brief.lines().count() <= 40, "{brief}");
    assert!(!brief.contains("fs8"), "{brief}");
    assert!(long.contains("fs8") && !long.contains("--long"), "{long}");
    let words = brief.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = "Of 18 times, now compared with was is slower in 2 (most: fs7 in tree / copy: 1.50 \
                  times the time).";
    assert!(words.contains(answer), "{brief}");
    assert!(brief.find("compared with was is").unwrap() < brief.find("Medians").unwrap());
    let same = RunComparison::of(&was, &was, 0.02, &[]);
    let bytes = render_run_comparison(&same, &[], Format::Terminal, &Options::default()).unwrap();
    let same = String::from_utf8(bytes).unwrap();
    assert!(same.contains("No difference of more than 2"), "{same}");
}

#[test]
fn another_kernel_is_comparable_and_another_dataset_is_not() {
    let (was, now) = both();
    let forbids = |was: &ResultSet, now: &ResultSet| -> Vec<&'static str> {
        let all = differences(was, now).into_iter();
        all.filter(|one| one.forbids).map(|one| one.what).collect()
    };
    assert_eq!(forbids(&was, &now), Vec::<&str>::new());
    assert!(
        differences(&was, &now)
            .iter()
            .any(|one| one.what == "kernel")
    );
    assert_eq!(differences(&was, &was), []);
    let check = |change: &dyn Fn(&mut ResultSet), what| {
        let mut other = now.clone();
        change(&mut other);
        assert_eq!(forbids(&was, &other), [what]);
    };
    check(&|set| set.run.plan.seed += 1, "seed");
    check(&|set| set.run.plan.scale *= 2.0, "scale");
    check(
        &|set| set.run.plan.workloads[0].phases[0].kind = "untar".into(),
        "plan",
    );
    check(
        &|set| set.run.plan.contenders[0].mount = vec!["noatime".into()],
        "plan",
    );
    check(
        &|set| set.run.plan.contenders[0].label = "ext3".into(),
        "contenders",
    );
    check(
        &|set| {
            let other = fsdyno_model::DatasetChoice::Generated("music".into());
            set.run.plan.workloads[0].dataset = other;
        },
        "dataset",
    );
}

#[test]
fn other_input_content_forbids_a_comparison_and_unknown_content_is_reported() {
    let (was, now) = both();
    let with = |set: &ResultSet, files: Option<u64>| {
        let mut set = set.clone();
        let dataset = fsdyno_model::DatasetChoice::Tar("/srv/ports.tar".into());
        if let Some(files) = files {
            let content = fsdyno_model::DatasetContent {
                files,
                directories: 0,
                bytes: fsdyno_model::Bytes(files * 10),
                sha256: format!("{files:064}"),
            };
            set.run.plan.contents.insert(dataset.to_string(), content);
        }
        set.run.plan.workloads[0].dataset = dataset;
        set
    };
    let first = was.clone();
    let content = |was: Option<u64>, now_has: Option<u64>| {
        let all = differences(&with(&first, was), &with(&now, now_has));
        let found = all
            .into_iter()
            .find(|one| one.what == "content of the dataset");
        found.map(|one| (one.base, one.run, one.forbids))
    };
    assert_eq!(content(Some(3), Some(3)), None);
    let (then, other, forbids) = content(Some(3), Some(303)).unwrap();
    assert_eq!(
        then,
        "tar:/srv/ports.tar: 3 files, 0 dirs, 30 bytes, 0000000000000000"
    );
    assert!(other.starts_with("303 files") && forbids, "{other}");
    for (was, now) in [(None, Some(3)), (Some(3), None), (None, None)] {
        let (then, other, forbids) = content(was, now).unwrap();
        assert!(format!("{then}{other}").contains("not recorded"));
        assert!(!forbids);
    }
    // Other differences are still found.
    let mut other = with(&now, None);
    other.run.plan.verify = !other.run.plan.verify;
    let all = differences(&with(&was, None), &other);
    assert!(all.iter().any(|one| one.what == "plan" && one.forbids));
}

#[test]
fn only_significant_ratios_exceed_a_threshold() {
    let (was, now) = both();
    let comparison = RunComparison::of(&was, &now, 0.02, &[]);
    let holds = |text: &str| -> Vec<ThresholdResult> {
        let threshold = [text.parse::<Threshold>().unwrap()];
        let checked = check(&comparison, &threshold).unwrap();
        checked.iter().map(|one| one.holds).collect()
    };
    assert_eq!(holds("copy.durable > 1.05"), [Kept, Beyond]);
    assert_eq!(holds("copy > 1.05"), [Kept, Beyond]);
    assert_eq!(
        holds("* > 1.19"),
        [Kept, Inconclusive],
        "1.2 and 1.19 are too near"
    );
    assert_eq!(holds("copy.return < 0.95"), [Kept, Kept]);
    assert_eq!(holds("tree/copy.return < 1.1"), [Beyond, Kept]);
    let error = |text: &str| {
        let threshold = [text.parse::<Threshold>().unwrap()];
        check(&comparison, &threshold).unwrap_err().to_string()
    };
    assert!(
        error("untar > 1.1")
            .ends_with("they have copy, each with .durable, .return behind it, or none of them")
    );
    assert!(
        error("copy.blocks > 1.01").contains("no phase and figure that the runs have in common")
    );
    for wrong in ["copy", "copy > ", "> 1", "copy > -1", "copy > x"] {
        assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
    }
}

/// This number of draws in virtual time, with counted work: blocks of ext4 and of xfs.
fn draws(id: &str, blocks: [u64; 2], draws: usize) -> ResultSet {
    let mut set = run(id, &[&vec![1000; draws], &vec![500; draws]]);
    set.run.plan.varies = fsdyno_model::Vary::ALL.to_vec();
    set.run.plan.repeats = u32::try_from(draws).unwrap();
    set.run.plan.disk = Some(fsdyno_model::ModelDisk {
        profile: "mine".into(),
        text: String::new(),
        faults: None,
        time: fsdyno_model::DiskTime::Virtual,
    });
    for record in &mut set.cells {
        // Draws differ by more than the margin.
        let blocks = blocks[record.cell.contender as usize];
        let blocks = blocks + blocks / 10 * u64::from(record.cell.block);
        let until = |until, part| fixture::kernel_work(until, blocks / part, 0);
        record.samples[0].kernel = vec![until(Point::Returned, 2), until(Point::Durable, 1)];
    }
    set
}

fn counted(id: &str, blocks: [u64; 2]) -> ResultSet {
    draws(id, blocks, 6)
}

#[test]
fn runs_of_one_draw_decide_no_difference_and_other_draws_are_not_paired() {
    let of = |n| [10_000, 12_000].map(|blocks| draws("run", [blocks, 9000], n));
    let verdicts = |one: &ResultSet, other: &ResultSet| {
        let comparison = RunComparison::of(one, other, 0.02, &[]);
        let counts = comparison.lines_of(false);
        let verdicts: Vec<_> = counts.map(|line| line.verdict).collect();
        (verdicts, comparison.paired)
    };
    let [was, now] = of(1);
    assert_eq!(verdicts(&was, &now), (vec![None; 2], true));
    let [was, mut now] = of(6);
    let slower = vec![Some(Verdict::Slower), Some(Verdict::Equivalent)];
    assert_eq!(verdicts(&was, &now), (slower, true));
    // The spread of other draws hides the difference.
    now.run.plan.seed += 1;
    let (of_others, paired) = verdicts(&was, &now);
    assert_eq!((of_others[0], paired), (Some(Verdict::Inconclusive), false));
}

#[test]
fn a_count_that_grows_by_more_than_one_percent_is_seen() {
    let was = counted("was", [10_000, 20_000]);
    let now = counted("now", [10_150, 20_100]);
    let comparison = RunComparison::of(&was, &now, 0.02, &[]);
    let counts: Vec<_> = comparison.lines_of(false).collect();
    assert!(counts.iter().all(|line| line.figure == FigureName::BLOCKS));
    let verdicts: Vec<_> = counts.iter().map(|line| line.verdict).collect();
    let same = Some(Verdict::Equivalent);
    assert_eq!(verdicts, [Some(Verdict::Slower), same]);
    // The margin of times does not hide it, and no time changed.
    let mut times = comparison.lines_of(true);
    assert!(times.all(|line| line.verdict == same));
    let holds = |text: &str| -> Vec<ThresholdResult> {
        let threshold = [text.parse::<Threshold>().unwrap()];
        let checked = check(&comparison, &threshold).unwrap();
        checked.iter().map(|one| one.holds).collect()
    };
    assert_eq!(holds("copy.blocks > 1.01"), [Beyond, Kept]);
    assert_eq!(holds("*.blocks > 1.004"), [Beyond, Beyond]);
    assert_eq!(holds("copy > 1.001"), [Kept, Kept], "without a name: times");
    let render = |format| {
        let bytes = render_run_comparison(&comparison, &[], format, &Options::default());
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let shown = render(Format::Terminal);
    assert!(
        shown.contains("tree / copy, blocks  12,500  12,688  1.01x") && shown.contains("more"),
        "{shown}"
    );
    let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).unwrap();
    let lines = json["compared"][0]["lines"].as_array().unwrap().iter();
    let counts: Vec<_> = lines.filter(|line| line["figure"] == "blocks").collect();
    assert_eq!(counts[0]["verdict"], "worse");
    assert_eq!(counts[1]["verdict"], "equivalent");
    let bencher = text(&was, Format::Bencher, &wide(80));
    let bencher: serde_json::Value = serde_json::from_str(&bencher).unwrap();
    assert_eq!(
        bencher["ext4/tree/copy"]["kernel-blocks"]["value"],
        12_500.0
    );
    let metrics = text(&was, Format::OpenMetrics, &wide(80));
    assert!(
        metrics.contains("fsdyno_phase_median_kernel_blocks{run=\"was\"")
            && metrics.contains("phase=\"copy\"} 25000\n"),
        "{metrics}"
    );
    let csv = text(&was, Format::Csv, &wide(80));
    assert!(csv.contains(",kernel_process_blocks,"), "{csv}");
    let report = text(&was, Format::Json, &wide(80));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let figures = report["results"][0]["figures"].as_array().unwrap();
    let blocks = figures.iter().find(|one| one["figure"] == "blocks");
    assert_eq!(blocks.unwrap()["median"], 12_500.0, "as in the comparison");
}

#[test]
fn instructions_are_compared_and_shown_as_a_cost() {
    let with = |id: &str, kernel: u64| {
        let mut set = run(id, &[&[1000, 1010, 990, 1005], &[500, 505, 495, 502]]);
        for (at, record) in (0..).zip(&mut set.cells) {
            record.samples[0].figures = vec![
                HardwareEvent::UserInstructions.figure(1_000_000),
                HardwareEvent::KernelInstructions.figure(kernel + at),
                HardwareEvent::UserCycles.figure(2_000_000),
                HardwareEvent::KernelCycles.figure(3_000_000),
            ];
        }
        set
    };
    let (was, now) = (with("was", 9_000_000), with("now", 9_900_000));
    let comparison = RunComparison::of(&was, &now, 0.2, &[]);
    let counts: Vec<_> = comparison.lines_of(false).collect();
    assert_eq!(counts.len(), 2);
    for line in counts {
        assert_eq!(line.figure, FigureName::INSTRUCTIONS);
        assert_eq!(line.verdict, Some(Verdict::Slower));
    }
    let threshold = ["*.instructions > 1.05".parse::<Threshold>().unwrap()];
    let checked = check(&comparison, &threshold).unwrap();
    let holds: Vec<ThresholdResult> = checked.iter().map(|one| one.holds).collect();
    assert_eq!(holds, [Beyond, Beyond]);
    let report = text(&was, Format::Markdown, &wide(200));
    assert!(
        report.contains("user instr") && report.contains("1,000,000"),
        "{report}"
    );
    assert!(!report.contains("What the programs report"), "{report}");
    assert!(!report.contains("no hardware counters"), "{report}");
    // A run without them reports that.
    let (without, _) = both();
    let report = text(&without, Format::Markdown, &wide(200));
    assert!(
        report.contains("no hardware counters (fsdyno doctor)") && !report.contains("user instr"),
        "{report}"
    );
}

#[test]
fn negligible_times_have_no_ratio_and_exceed_no_threshold() {
    let short = |id: &str, ns: [u64; 2]| {
        let mut set = counted(id, [1000, 1000]);
        for record in &mut set.cells {
            let time = Nanos(ns[record.cell.contender as usize]);
            let sample = &mut record.samples[0];
            (sample.return_ns, sample.durable_ns) = (time, Some(time));
        }
        set
    };
    // 300 times as long, but both below 1 ms; and one below 1 ms.
    let was = short("was", [300, 500_000]);
    let now = short("now", [90_000, 50_000_000]);
    let comparison = RunComparison::of(&was, &now, 0.02, &[]);
    let threshold = ["copy.durable > 1.05".parse::<Threshold>().unwrap()];
    let checked = check(&comparison, &threshold).unwrap();
    let holds: Vec<ThresholdResult> = checked.iter().map(|one| one.holds).collect();
    assert_eq!(holds, [Kept, Beyond]);
    let bytes = render_run_comparison(&comparison, &checked, Format::Terminal, &Options::default());
    let shown = String::from_utf8(bytes.unwrap()).unwrap();
    assert!(
        !shown.contains("300x") && !shown.contains("100x"),
        "{shown}"
    );
    assert!(shown.contains("both negligible"), "{shown}");
    assert!(
        shown.contains("Times\nbelow 1 ms have no ratio.")
            && shown.contains("less than 1 ms in one run: EXCEEDED"),
        "{shown}"
    );
    let json = Comparisons::of(&[(comparison, Vec::new())]);
    let lines = json.compared[0].lines.iter();
    let lines: Vec<_> = lines.filter(|line| line.figure.is_time()).collect();
    assert!(lines.iter().all(|line| line.ratio.is_none()));
    let negligible: Vec<bool> = lines.iter().map(|line| line.negligible).collect();
    assert_eq!(negligible, [true, true, false, false]);
}

#[test]
fn times_are_exported() {
    let (was, _) = both();
    insta::assert_snapshot!("bencher", text(&was, Format::Bencher, &wide(80)));
    let mut hostile = was;
    hostile.run.plan.contenders[0].label = "a\"b\\c\nd".into();
    let metrics = text(&hostile, Format::OpenMetrics, &wide(80));
    assert!(metrics.ends_with("# EOF\n"));
    assert!(metrics.contains(r#"contender="a\"b\\c\nd""#), "{metrics}");
    insta::assert_snapshot!("openmetrics", metrics);
}
