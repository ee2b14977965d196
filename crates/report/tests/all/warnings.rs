//! Warnings that no single cell can raise: about series of figures, and about the environment.

use crate::advice::question;
use crate::fixture::{self, one_phase};
use crate::{text, wide};
use fsdyno_model::{DatasetChoice, DeviceChoice, ResultSet, Warning, WarningKind};
use fsdyno_report::advice::Recommendation;
use fsdyno_report::compare::RunComparison;
use fsdyno_report::comparison::{Comparisons, WarningSummary};
use fsdyno_report::history::{Collector, Selection};
use fsdyno_report::why::Why;
use fsdyno_report::{
    Format, Options, render_advice, render_history, render_run_comparison, render_why,
};

/// The warning of that kind; there is at most one.
fn of_kind(set: &ResultSet, kind: WarningKind) -> Option<WarningSummary> {
    let warning_summaries = Comparisons::of(set).warning_summaries;
    let mut found = warning_summaries
        .into_iter()
        .filter(|warning_summary| warning_summary.kind == kind);
    let first = found.next();
    assert_eq!(found.next(), None);
    first
}

#[test]
fn a_rising_series_is_reported_once_with_the_largest_drift() {
    let rising: &[u64] = &[1000, 1050, 1100, 1150, 1200];
    let steep: &[u64] = &[1000, 1200, 1400, 1600, 1800];
    let level: &[u64] = &[2000, 1990, 2010, 2005, 1995];
    let set = one_phase(&["ext4", "xfs", "btrfs"], &[rising, steep, level]);
    let warning_summary = of_kind(&set, WarningKind::Drift).unwrap();
    // Both times of the phase rise: they are one series of blocks.
    assert_eq!((warning_summary.count, warning_summary.varies), (2, true));
    assert_eq!(warning_summary.places, ["xfs copy", "ext4 copy"]);
    let expected = "copy at xfs: time to return rose by 57 % of its median from the first to the \
                    last of 5 blocks";
    assert_eq!(warning_summary.message, expected);
    let comparison = Comparisons::of(&set).labs.remove(0);
    let line = comparison.lines().last().unwrap();
    let marked: Vec<bool> = line.values.iter().flatten().map(|v| v.doubted).collect();
    assert_eq!(marked, [true, true, false]);
}

#[test]
fn an_outlier_is_reported_with_its_block() {
    let one_off: &[u64] = &[1000, 1010, 990, 3000, 1005];
    let level: &[u64] = &[2000, 1990, 2010, 2005, 1995];
    let set = one_phase(&["ext4", "xfs"], &[one_off, level]);
    let warning_summary = of_kind(&set, WarningKind::Outlier).unwrap();
    assert_eq!((warning_summary.count, warning_summary.varies), (1, false));
    assert_eq!(warning_summary.places, ["ext4 copy"]);
    let expected = "copy at ext4, block 4: 1500 ms to return, where the median is 502 ms";
    assert_eq!(warning_summary.message, expected);
    assert_eq!(of_kind(&set, WarningKind::Drift), None);
}

#[test]
fn distant_but_inconclusive_leaders_need_more_repeats() {
    let wide: &[u64] = &[700, 1000, 1500];
    let other: &[u64] = &[800, 1300, 1400];
    let set = one_phase(&["ext4", "xfs"], &[wide, other]);
    let warning_summary = of_kind(&set, WarningKind::Imprecise).unwrap();
    let expected =
        "copy: the median of xfs is 30 % above that of ext4, yet the spread hides who is faster";
    assert_eq!(warning_summary.message, expected);
    assert_eq!(warning_summary.places, ["copy"]);
    assert_eq!(
        warning_summary.advice,
        "more repeats may decide: --repeats 6"
    );
    // Separated, equal, or too few for a verdict, which the conclusion mentions: no warning.
    for other in [&[9000, 12_500, 19_000][..], &[710, 1010, 1490], &[1300]] {
        let set = one_phase(&["ext4", "xfs"], &[wide, other]);
        assert_eq!(of_kind(&set, WarningKind::Imprecise), None, "{other:?}");
    }
}

#[test]
fn a_dataset_that_stayed_in_memory_has_a_warning() {
    let mut set = fixture::run();
    let warning_summary = of_kind(&set, WarningKind::SmallerThanCache).unwrap();
    assert!(
        warning_summary
            .message
            .contains("the data (34.0 MiB) fit into memory (8.00 GiB)"),
        "{}",
        warning_summary.message
    );
    set.run.provenance.memory_bytes = 34 << 20;
    assert_eq!(of_kind(&set, WarningKind::SmallerThanCache), None);
    set.run.provenance.memory_bytes = 8 << 30;
    for sample in set.cells.iter_mut().flat_map(|c| &mut c.samples) {
        // Not proven for another reason, for example without root: the dataset is not in memory.
        sample.cache.resident_pages = Some(0);
    }
    assert_eq!(of_kind(&set, WarningKind::SmallerThanCache), None);
}

#[test]
fn a_phase_that_did_not_start_warm_has_a_warning() {
    let workloads = [fixture::search("search")];
    let mut set = fixture::with(&["ext4", "xfs"], &workloads, 1);
    for contender in 0..2 {
        let record = fixture::record(&set, 0, contender, 0, 900);
        set.cells.push(record);
    }
    assert_eq!(of_kind(&set, WarningKind::CacheUnproven), None);
    let cache = &mut set.cells[1].samples[1].cache;
    cache.proven = false;
    cache.reason = Some("after the pass only 0 of at least 313 pages were in memory".into());
    let warning_summary = of_kind(&set, WarningKind::CacheUnproven).unwrap();
    assert_eq!(warning_summary.places, ["xfs grep warm"]);
    let comparison = Comparisons::of(&set).labs.remove(0);
    let marked: Vec<bool> = comparison
        .lines()
        .flat_map(|line| line.values.iter().flatten().map(|v| v.doubted))
        .collect();
    assert_eq!(marked, [false, false, false, true]);
}

#[test]
fn warnings_about_processors_and_image_files_need_a_reason() {
    let mut set = fixture::single();
    let of =
        |set: &ResultSet, kind| of_kind(set, kind).map(|warning_summary| warning_summary.message);
    for calm in [None, Some("performance".to_owned())] {
        set.run.provenance.governor = calm;
        assert_eq!(of(&set, WarningKind::Frequency), None);
    }
    assert_eq!(of(&set, WarningKind::Device), None);
    // A measurement is stronger than a setting: processors that ran much slower in one sample.
    for (at, khz) in [(0, 3_600_000), (1, 3_100_000)] {
        let observed = set.cells[at].samples[0].observed.get_or_insert_default();
        (observed.frequency.get_or_insert_default()).most_khz = khz;
    }
    assert_eq!(of(&set, WarningKind::Frequency), None);
    let slow = set.cells[1].samples[0].observed.as_mut().unwrap();
    slow.frequency.as_mut().unwrap().most_khz = 2_000_000;
    let message = of(&set, WarningKind::Frequency).unwrap();
    assert_eq!(
        message,
        "the fastest processor ran at 2.00 GHz in one sample and at 3.60 in another"
    );
    set.cells[1].samples[0].observed = None;
    set.run.provenance.governor = Some("powersave".into());
    set.run.provenance.devices[0].size_bytes = 0;
    set.run.provenance.devices[0].host_filesystem = Some("tmpfs".into());
    let frequency = "the frequency governor is powersave: processors change their speed";
    assert_eq!(of(&set, WarningKind::Frequency).unwrap(), frequency);
    let device = "the image files are on tmpfs, which has no block device of its own";
    assert_eq!(of(&set, WarningKind::Device).unwrap(), device);
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let text = text(&set, format, &wide(200));
        assert!(
            text.contains(frequency) && text.contains(device),
            "{format}"
        );
        assert!(
            !text.contains("; at \n") && !text.contains("1×, at <"),
            "{format}"
        );
        assert!(!text.contains("(image files), 0 B"), "{format}");
    }
    // Without image files, their location raises no warning.
    set.run.plan.device = DeviceChoice::None;
    assert_eq!(of(&set, WarningKind::Device), None);
}

#[test]
fn warnings_of_several_workloads_name_the_workload() {
    let workloads = ["tree", "ports"].map(fixture::workload);
    let mut set = fixture::with(&["ext4", "xfs"], &workloads, 5);
    set.run.plan.workloads[1].dataset = DatasetChoice::Generated("ports".into());
    for (block, contender) in (0..5).flat_map(|b| [(b, 0), (b, 1)]) {
        for workload in 0..2 {
            let speed = 1000 + u64::from(workload * contender * block) * 200;
            let record = fixture::record(&set, block, contender, workload, speed);
            set.cells.push(record);
        }
    }
    let warning_summary = of_kind(&set, WarningKind::Drift).unwrap();
    assert!(
        warning_summary
            .places
            .contains(&"xfs ports / copy".to_owned())
    );
}

#[test]
fn multimodal_dependent_and_slow_first_repeats_are_reported() {
    let checkpoint: &[u64] = &[1000, 1010, 1500, 990, 1020, 1520, 1000, 1010, 1490];
    let level: &[u64] = &[2000, 1990, 2010, 2005, 1995, 2003, 1997, 2001, 1999];
    let set = one_phase(&["ext4", "xfs"], &[level, checkpoint]);
    let warning_summary = of_kind(&set, WarningKind::Multimodal).unwrap();
    assert_eq!(warning_summary.places, ["xfs copy"]);
    let expected = "copy at xfs: 3 of 9 times to return are near 752 ms, the others near 502 ms";
    assert_eq!(warning_summary.message, expected);
    assert_eq!(of_kind(&set, WarningKind::WarmUp), None);

    let slow_first: &[u64] = &[5000, 1010, 1000, 990, 1020, 1005];
    let set = one_phase(&["ext4", "xfs"], &[slow_first, slow_first]);
    let warning_summary = of_kind(&set, WarningKind::WarmUp).unwrap();
    assert!(
        warning_summary
            .message
            .contains("at 2 of 2 contenders, up to 5.0 times"),
        "{}",
        warning_summary.message
    );
    assert_eq!(of_kind(&set, WarningKind::Multimodal), None);

    let wave: Vec<u64> = (0..20).map(|k| 1000 + 10 * (10_u64.abs_diff(k))).collect();
    let flat = [1000; 20];
    let set = one_phase(&["ext4", "xfs"], &[&flat, &wave]);
    let warning_summary = of_kind(&set, WarningKind::Dependent).unwrap();
    assert_eq!(warning_summary.places, ["xfs copy"]);
}

#[test]
fn a_phase_that_was_skipped_is_shown_with_its_reason() {
    let mut set = fixture::run();
    set.run.plan.skipped = vec![fixture::skipped_delete()];
    for cell in &mut set.cells {
        if cell.cell.contender == 1 {
            cell.samples.retain(|sample| sample.label != "delete");
        }
    }
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let shown = text(&set, format, &wide(120));
        for part in ["xfs, tree / delete: skipped", "xfs has no hard links"] {
            assert!(shown.contains(part), "{format:?}: {part}: {shown}");
        }
    }
}

#[test]
fn a_warning_about_the_work_is_in_each_report_of_the_run() {
    let mut set = one_phase(&["ext4", "xfs"], &[&[1000, 1010], &[2000, 2010]]);
    let warning = Warning::new(
        WarningKind::IncompleteRecording,
        "12 operations were lost",
        "record again",
    );
    set.cells[0].samples[0].warnings.push(warning);
    let expected = "incomplete-recording: 12 operations were lost (";
    let why = Why::of(&set, ["ext4", "xfs"], None, &|_, _| None).unwrap();
    assert!(why.warnings[0].starts_with(expected), "{why:?}");
    let compared = RunComparison::of(&set, &set, 0.02, &[]);
    let advice = Recommendation::of(&question(&set));
    let mut collector = Collector::new(Selection::default());
    collector.add(&set, &[]);
    let history = collector.finish().unwrap();
    let (format, options) = (Format::Terminal, Options::default());
    for report in [
        render_why(&why, format, &options),
        render_run_comparison(&compared, &[], format, &options),
        render_advice(&advice, format, &options),
        render_history(&history, format, &options),
    ] {
        let text = String::from_utf8(report.unwrap()).unwrap();
        let place = text.find("incomplete-recording").expect(&text);
        // Only the answer is before it, in two lines.
        assert!(text[..place].lines().count() < 7, "{text}");
    }
    assert_eq!(history.only(&history.series).warnings, history.warnings);
}
