//! Comparisons of runs: differences that forbid them, verdicts, and thresholds.

use crate::fixture::one_phase;
use crate::{text, wide};
use fsdyno_model::ResultSet;
use fsdyno_report::Format;
use fsdyno_report::compare::Holds::{No, Open, Yes};
use fsdyno_report::compare::{Comparisons, Holds, RunComparison, Threshold, check, differences};
use fsdyno_report::{Options, render_run_comparison};

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
    let comparison = RunComparison::of(&was, &now, 0.02);
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
    let comparison = RunComparison::of(&was, &now, 0.02);
    let holds = |text: &str| -> Vec<Holds> {
        let threshold = [text.parse::<Threshold>().unwrap()];
        let checked = check(&comparison, &threshold).unwrap();
        checked.iter().map(|one| one.holds).collect()
    };
    assert_eq!(holds("copy.durable > 1.05"), [Yes, No]);
    assert_eq!(holds("copy > 1.05"), [Yes, No]);
    assert_eq!(holds("* > 1.19"), [Yes, Open], "1.2 and 1.19 are too near");
    assert_eq!(holds("copy.return < 0.95"), [Yes, Yes]);
    assert_eq!(holds("tree/copy.return < 1.1"), [No, Yes]);
    let error = |text: &str| {
        let threshold = [text.parse::<Threshold>().unwrap()];
        check(&comparison, &threshold).unwrap_err().to_string()
    };
    assert!(
        error("untar > 1.1")
            .ends_with("they have copy, each with .return or .durable behind it, or neither")
    );
    for wrong in ["copy", "copy > ", "> 1", "copy > -1", "copy > x"] {
        assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
    }
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
