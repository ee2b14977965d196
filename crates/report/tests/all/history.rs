//! Histories of several runs: points, steps, the counters that moved with them, and every format.

use crate::fixture;
use fsdyno_model::profile::{CallPath, PathWork, Profile, Sampling};
use fsdyno_model::{DeviceUse, DiskTime, FigureName, ModelDisk, ResultSet};
use fsdyno_report::charts::svg::{Appearance, Theme, render};
use fsdyno_report::history::{By, Collector, History, NoHistory, Selection, SeriesHistory, charts};
use fsdyno_report::{Format, Options, render_history};

/// A run in virtual time on a kernel: milliseconds and flushes of ext4 and xfs.
fn run(kernel: &str, day: u64, times: [u64; 2], flushes: [u64; 2]) -> ResultSet {
    let mut set = fixture::one_phase(&["ext4", "xfs"], &[&times[..1], &times[1..]]);
    set.run.id = format!("run-{day}");
    set.run.started_unix_ns += day * 86_400_000_000_000;
    kernel.clone_into(&mut set.run.provenance.kernel);
    set.run.plan.disk = Some(ModelDisk {
        profile: "any".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::Virtual,
    });
    for (record, flushes) in set.cells.iter_mut().zip(flushes) {
        record.samples[0].device = Some(DeviceUse {
            flushes,
            writes: 100,
            ..DeviceUse::default()
        });
    }
    set
}

/// Four kernels, measured out of order: with 6.9 ext4 becomes slower by flushes, and with 6.12 XFS
/// a little faster.
fn kernels() -> Vec<ResultSet> {
    vec![
        run("Linux 6.12.1 x86_64", 0, [2500, 1797], [24, 7]),
        run("Linux 6.1.3 x86_64", 1, [2000, 1800], [12, 7]),
        run("Linux 6.9.0 x86_64", 2, [2500, 1800], [24, 7]),
        run("Linux 5.10.9 x86_64", 3, [2000, 1800], [12, 7]),
    ]
}

fn history(sets: &[ResultSet], selection: Selection) -> Result<History, NoHistory> {
    let mut collector = Collector::new(selection);
    for set in sets {
        collector.add(set, &[]);
    }
    collector.finish()
}

fn by_kernel() -> History {
    history(&kernels(), Selection::default()).unwrap()
}

fn text(history: &History, format: Format, width: usize) -> String {
    let options = Options {
        width,
        ..Options::default()
    };
    String::from_utf8(render_history(history, format, &options).unwrap()).unwrap()
}

#[test]
fn a_history_by_kernel_shows_steps_and_the_counters_that_moved() {
    let history = by_kernel();
    insta::assert_snapshot!("history_80", text(&history, Format::Terminal, 80));
    insta::assert_snapshot!("history_120", text(&history, Format::Terminal, 120));
    insta::assert_snapshot!("history_markdown", text(&history, Format::Markdown, 80));
    insta::assert_snapshot!("history_csv", text(&history, Format::Csv, 80));
    insta::assert_snapshot!("history_html", text(&history, Format::Html, 80));
    let [ext4, xfs] = &history.series[..] else {
        panic!("{history:?}");
    };
    let labels: Vec<&str> = ext4.points.iter().map(|point| &*point.label).collect();
    assert_eq!(labels, ["5.10.9", "6.1.3", "6.9.0", "6.12.1"]);
    let [step] = &ext4.steps[..] else {
        panic!("{ext4:?}");
    };
    assert_eq!((step.point, &*step.from, &*step.to), (2, "6.1.3", "6.9.0"));
    assert_eq!((step.ratio, step.p), (Some(1.25), None));
    let moved: Vec<_> = step
        .moved
        .iter()
        .map(|moved| moved.metric.clone())
        .collect();
    assert_eq!(
        moved,
        [
            FigureName::new("flushes"),
            FigureName::RETURN,
            FigureName::new("requests")
        ]
    );
    // 0.17 % is a step without noise, and no other figure moved but the time to return.
    let [step] = &xfs.steps[..] else {
        panic!("{xfs:?}");
    };
    assert_eq!(&*step.to, "6.12.1");
    assert!(
        step.moved
            .iter()
            .all(|moved| moved.metric == FigureName::RETURN)
    );
}

#[test]
fn dates_and_commits_are_other_axes() {
    let by = |by| Selection {
        by,
        ..Selection::default()
    };
    let dates = history(&kernels(), by(By::Date)).unwrap();
    let runs: Vec<&str> = dates.series[0]
        .points
        .iter()
        .map(|one| &*one.runs[0])
        .collect();
    assert_eq!(runs, ["run-0", "run-1", "run-2", "run-3"]);
    assert_eq!(
        history(&kernels(), by(By::Commit)),
        Err(NoHistory::NoCommits)
    );
    let mut collector = Collector::new(Selection {
        commits: ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"]
            .map(str::to_owned)
            .into(),
        ..by(By::Commit)
    });
    let tags = ["commit-cccccccc", "commit-aaaaaaaaaaaa", "commit-bbbbbbbb"];
    for (set, tag) in kernels().iter().zip(tags) {
        collector.add(set, &["other".to_owned(), tag.to_owned()]);
    }
    collector.add(&kernels()[3], &[]);
    let commits = collector.finish().unwrap();
    let labels: Vec<&str> = commits.series[0]
        .points
        .iter()
        .map(|one| &*one.label)
        .collect();
    assert_eq!(labels, ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"]);
    assert_eq!(commits.warnings.len(), 1, "{:?}", commits.warnings);
    assert!(
        commits.warnings[0].contains("run-3"),
        "{:?}",
        commits.warnings
    );
}

#[test]
fn figures_of_different_work_are_in_different_series() {
    let mut sets = kernels();
    sets[3].run.plan.scale = 0.5;
    let history = history(&sets, Selection::default()).unwrap();
    let names: Vec<String> = history.series.iter().map(SeriesHistory::name).collect();
    assert_eq!(
        names,
        [
            "ext4 (scale 0.05)",
            "xfs (scale 0.05)",
            "ext4 (scale 0.5)",
            "xfs (scale 0.5)"
        ]
    );
    assert_eq!(history.series[0].points.len(), 3);
}

#[test]
fn repeats_that_differ_in_virtual_time_are_reported() {
    let mut sets = kernels();
    sets.push(run("Linux 6.1.3 x86_64", 9, [2001, 1800], [12, 7]));
    let history = history(&sets, Selection::default()).unwrap();
    let [warning] = &history.warnings[..] else {
        panic!("{:?}", history.warnings);
    };
    assert!(
        warning.starts_with("ext4, copy, 6.1.3: run-1 and run-9 differ"),
        "{warning}"
    );
}

#[test]
fn runs_in_real_time_have_a_step_only_from_ten_on() {
    // Noise of 1 %.
    let in_real_time = |kernel: &str, day: u64, level: u64| {
        let times = [level + 7 * (day * 5 % 7), 1800 + day % 3];
        let mut set = run(kernel, day, times, [1, 1]);
        set.run.plan.disk = None;
        set
    };
    // Two kernels with seven runs each.
    let old = (0..7).map(|day| in_real_time("Linux 6.1.3", day, 2000));
    let new = (7..14).map(|day| in_real_time("Linux 6.12.1", day, 2300));
    let sets: Vec<ResultSet> = old.chain(new).collect();
    let found = history(&sets, Selection::default()).unwrap();
    let steps = &found.series[0].steps;
    assert_eq!(steps.len(), 1, "{found:?}");
    assert_eq!((&*steps[0].from, &*steps[0].to), ("6.1.3", "6.12.1"));
    assert!(steps[0].p.unwrap() <= 0.01);
    assert!(found.series[1].steps.is_empty());
    insta::assert_snapshot!("history_real_time", text(&found, Format::Terminal, 80));
    // Runs are compared, also those of one kernel.
    let level: Vec<ResultSet> = (0..14)
        .map(|day| in_real_time("Linux 6.1.3", day, 2000))
        .collect();
    let level = history(&level, Selection::default()).unwrap();
    assert_eq!(level.series[0].points.len(), 1);
    let shown = text(&level, Format::Terminal, 80);
    assert!(shown.contains("No step was detected in 14 runs"), "{shown}");
    let few = history(&sets[3..11], Selection::default()).unwrap();
    assert!(few.series[0].steps.is_empty());
    let note = few.series[0].note.as_deref().unwrap();
    assert!(
        note.contains("8 runs") && note.contains("10 or more"),
        "{note}"
    );
    let shown = text(&few, Format::Terminal, 80);
    assert!(
        shown.contains("No step can be detected in 8 runs"),
        "{shown}"
    );
}

#[test]
fn names_select_contenders_and_phases_and_wrong_ones_are_refused() {
    let select = |fs: &str, phase: &str| Selection {
        contenders: vec![fs.to_owned()],
        phases: vec![phase.to_owned()],
        ..Selection::default()
    };
    for (fs, phase) in [("xfs", "copy"), ("x*", "tree/copy"), ("xfs", "*")] {
        let history = history(&kernels(), select(fs, phase)).unwrap();
        let names: Vec<&str> = history.series.iter().map(|one| &*one.contender).collect();
        assert_eq!(names, ["xfs"], "{fs} {phase}");
    }
    let error = history(&kernels(), select("jfs", "copy")).unwrap_err();
    assert!(error.to_string().contains("ext4 and xfs"), "{error}");
    let error = history(&kernels(), select("xfs", "untar")).unwrap_err();
    assert!(error.to_string().contains("tree/copy"), "{error}");
    let blocks = Selection {
        metric: Some(FigureName::new("blocks")),
        ..Selection::default()
    };
    let error = history(&kernels(), blocks).unwrap_err();
    assert!(
        error.to_string().contains("no figure of `blocks`"),
        "{error}"
    );
}

#[test]
fn the_blocks_of_a_function_have_a_history_in_the_runs_with_its_profile() {
    let mut sets = kernels();
    // Only the last run has no profile; the first one, of 6.12, has no such function.
    for (set, blocks) in sets.iter_mut().zip([None, Some(100), Some(150)]) {
        let path = |caller, function, blocks| CallPath {
            caller,
            function,
            own: PathWork {
                blocks,
                ..PathWork::default()
            },
        };
        let mut profile = Profile {
            functions: ["processes", "ext4_mkdir", "find"]
                .map(str::to_owned)
                .into(),
            sources: vec![String::new(); 3],
            paths: vec![path(None, 0, 7)],
            ..Profile::default()
        };
        if let Some(blocks) = blocks {
            profile.paths.push(path(Some(0), 1, blocks));
            profile.paths.push(path(Some(1), 2, 11));
        }
        set.cells[0].samples[0].profile = Some(profile);
    }
    let selection_of = |function, all| Selection {
        metric: Some(FigureName::of_function(function, all)),
        ..Selection::default()
    };
    let followed = |function, all| history(&sets, selection_of(function, all));
    let figures = |history: &History| -> Vec<(String, f64)> {
        let [ext4] = &history.series[..] else {
            panic!("{history:?}");
        };
        let points = ext4.points.iter();
        points
            .map(|point| (point.label.clone(), point.figure))
            .collect()
    };
    let own = followed("ext4_mkdir", false).unwrap();
    let at = |label: &str, figure| (label.to_owned(), figure);
    assert_eq!(
        figures(&own),
        [at("6.1.3", 100.0), at("6.9.0", 150.0), at("6.12.1", 0.0)]
    );
    let shown = text(&own, Format::Terminal, 80);
    assert!(
        shown.contains("6.1.3 -> 6.9.0") && shown.contains("the kernel blocks of ext4_mkdir"),
        "{shown}"
    );
    assert!(
        own.series[0].exact && own.series[0].steps.len() == 2,
        "{own:?}"
    );
    let name = &charts(&own)[0].name;
    assert_eq!(name, "history-blocks-in-ext4-mkdir-kernel-1");
    let all = followed("ext4_mkdir", true).unwrap();
    assert_eq!(
        figures(&all),
        [at("6.1.3", 111.0), at("6.9.0", 161.0), at("6.12.1", 0.0)]
    );
    // A sampled profile is not compared with exact ones.
    let profile = sets[2].cells[0].samples[0].profile.as_mut().unwrap();
    profile.sampled = Some(Sampling {
        hertz: 1000,
        passes: 2,
        ..Sampling::default()
    });
    for path in &mut profile.paths {
        path.own.samples = std::mem::take(&mut path.own.blocks);
    }
    let exact = history(&sets, selection_of("ext4_mkdir", false)).unwrap();
    assert_eq!(exact.runs, 2);
    let warning = exact.warnings.iter().find(|one| one.contains("sampled"));
    assert!(warning.is_some(), "{:?}", exact.warnings);
    let alone = history(&sets[2..], selection_of("ext4_mkdir", false)).unwrap();
    assert_eq!(
        (&*alone.unit, alone.series[0].points[0].figure),
        ("ns", 75e6)
    );
    assert!(
        text(&alone, Format::Terminal, 80).contains("the sampled processor time of ext4_mkdir")
    );
    let error = history(&sets[..2], selection_of("ext4_rmdir", false));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("has the function `ext4_rmdir`"), "{error}");
    for set in &mut sets {
        set.cells[0].samples[0].profile = None;
    }
    let selection = Selection {
        metric: Some(FigureName::of_function("ext4_mkdir", false)),
        ..Selection::default()
    };
    let error = history(&sets, selection).unwrap_err().to_string();
    assert!(error.contains("have no profile: fsdyno why"), "{error}");
}

#[test]
fn a_chart_has_levels_points_and_the_names_of_kernels() {
    let charts = charts(&by_kernel());
    let [chart] = &charts[..] else {
        panic!("{charts:?}");
    };
    let appearance = Appearance {
        width: 800,
        theme: Theme::Light,
    };
    insta::assert_snapshot!("history_chart", render(chart, appearance));
    for text in ["5.10.9", "6.12.1", "+25 % at 6.9.0"] {
        assert!(render(chart, appearance).contains(text), "{text}");
    }
}

#[test]
fn long_names_of_kernels_are_turned_and_none_is_cut() {
    let names = (1..9).map(|patch| format!("6.12.{patch}-custom-scheduler-amd64"));
    let names: Vec<String> = names.collect();
    let sets = names.iter().zip(0..);
    let sets =
        sets.map(|(name, day)| run(&format!("Linux {name} x86_64"), day, [2000, 1800], [12, 7]));
    let history = history(&sets.collect::<Vec<_>>(), Selection::default()).unwrap();
    for width in [380, 800] {
        let appearance = Appearance {
            width,
            theme: Theme::Light,
        };
        let svg = render(&charts(&history)[0], appearance);
        for name in &names {
            assert!(
                svg.contains(&format!(">{name}<")),
                "{name} at {width}: {svg}"
            );
        }
        assert!(svg.contains("rotate("), "{svg}");
    }
}

#[test]
fn two_builds_of_a_version_are_two_points_with_one_name_in_all_series() {
    let mut sets = vec![
        run("Linux 6.12.1 x86_64", 0, [2000, 1800], [12, 7]),
        run("Linux 6.12.1 x86_64", 1, [2000, 1800], [12, 7]),
    ];
    sets[1].run.provenance.kernel_build = "#2 other".to_owned();
    // The first build has no figure of ext4.
    sets[0].cells.remove(0);
    let history = history(&sets, Selection::default()).unwrap();
    assert_eq!(history.axis, ["6.12.1", "6.12.1 build 2"]);
    let labels = |contender: &str| -> Vec<&str> {
        let mut series = history.series.iter();
        let series = series.find(|one| one.contender == contender).unwrap();
        series.points.iter().map(|point| &*point.label).collect()
    };
    assert_eq!(labels("ext4"), ["6.12.1 build 2"]);
    assert_eq!(labels("xfs"), ["6.12.1", "6.12.1 build 2"]);
}
