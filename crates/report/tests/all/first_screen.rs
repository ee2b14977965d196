//! The first screen of a run: the answer first, at most 40 lines.

use crate::fixture::{
    self, empty, many, mixed_labs, one_phase, repeated, search, single, workload,
};
use fsdyno_model::{Nanos, ResultSet};
use fsdyno_report::{Format, Options};
use unicode_width::UnicodeWidthStr;

fn screen(set: &ResultSet, width: usize) -> String {
    let options = Options {
        width,
        ..Options::default()
    };
    crate::text(set, Format::Terminal, &options)
}

/// Eight phases of three contenders in six blocks. `times` are the speeds of the contenders in a
/// block, a row for each phase.
fn eight_phases(times: impl Fn(u64, u64, u64) -> u64) -> ResultSet {
    let mut tree = workload("tree");
    tree.phases.extend(workload("more").phases);
    for (phase, label) in tree
        .phases
        .iter_mut()
        .zip(["copy", "delete", "copy 2", "delete 2"])
    {
        phase.label = label.into();
    }
    let mut ports = search("ports");
    ports.phases.extend(search("more").phases);
    for (phase, label) in ports
        .phases
        .iter_mut()
        .zip(["grep", "read", "grep 2", "read 2"])
    {
        phase.label = label.into();
    }
    let mut set = fixture::with(&["ext4", "xfs", "btrfs"], &[tree, ports], 6);
    for (block, workload, contender) in
        (0..6).flat_map(|b| (0..2).flat_map(move |w| (0..3).map(move |c| (b, w, c))))
    {
        let mut record = fixture::record(&set, block, contender, workload, 1000);
        for (at, sample) in (0_u64..).zip(&mut record.samples) {
            let time = times(u64::from(workload) * 4 + at, contender.into(), block.into());
            let time = Nanos(time * 1_000_000);
            sample.return_ns = time;
            sample.durable_ns = sample.durable_ns.map(|_| Nanos(time.0 + 1_000_000));
        }
        set.cells.push(record);
    }
    set
}

fn decided() -> ResultSet {
    eight_phases(|phase, contender, block| {
        let base = 1000 + 10 * block + 100 * phase;
        let permille = match (contender, phase) {
            (1, 0..6) => 600,
            (1, 6) => 1005,
            (1, _) => 1200,
            (2, 0..5) => 1400,
            _ => 1000,
        };
        base * permille / 1000 + (phase * 7 + contender * 3 + block * 5) % 4
    })
}

fn undecided() -> ResultSet {
    eight_phases(|phase, contender, block| {
        700 + (phase * 131 + contender * 307 + block * 211) % 600
    })
}

#[test]
fn the_answer_is_first_and_one_table_follows() {
    for (name, set) in [("decided", decided()), ("undecided", undecided())] {
        for width in [80, 120] {
            insta::assert_snapshot!(format!("first_screen_{name}_{width}"), screen(&set, width));
        }
    }
    insta::assert_snapshot!("first_screen_many", screen(&many(), 80));
    insta::assert_snapshot!("first_screen_failures", screen(&fixture::run(), 80));
    insta::assert_snapshot!("first_screen_labs", screen(&mixed_labs(), 80));
}

#[test]
fn runs_on_model_disks_follow_the_answer_within_forty_lines() {
    let options = Options {
        width: 80,
        ..Options::default()
    };
    let model_disks = |measured: &ResultSet| {
        let sets = [
            ("hard disk (sata-2008)".to_owned(), decided()),
            ("NVMe disk (nvme)".to_owned(), undecided()),
        ];
        let text = fsdyno_report::render_model_disks(measured, &sets, &options);
        String::from_utf8(text).unwrap()
    };
    insta::assert_snapshot!("first_screen_model_disks", model_disks(&decided()));
    for measured in [decided(), many(), fixture::large(8, 50, 3)] {
        let text = screen(&measured, 80) + &model_disks(&measured);
        assert!(text.lines().count() <= 40, "{text}");
    }
    assert!(fsdyno_report::render_model_disks(&decided(), &[], &options).is_empty());
}

#[test]
fn no_first_screen_has_more_than_forty_lines_or_a_line_that_is_too_wide() {
    let sets = [
        decided(),
        undecided(),
        fixture::run(),
        many(),
        single(),
        repeated(),
        empty(),
        mixed_labs(),
        fixture::large(3, 20, 4),
        fixture::large(30, 4, 3),
        fixture::large(8, 50, 3),
    ];
    for set in sets {
        for width in [60, 80, 120] {
            let text = screen(&set, width);
            assert!(text.lines().count() <= 40, "{text}");
            // The name of a run is never broken over lines.
            let wide = |line: &str| line.width() > width && !line.contains(&set.run.id);
            assert!(!text.lines().any(wide), "{width}: {text}");
        }
    }
}

#[test]
fn only_a_decided_winner_has_a_star() {
    assert!(screen(&decided(), 80).contains('*'));
    let undecided = screen(&undecided(), 80);
    assert!(!undecided.contains('*'), "{undecided}");
    // A tie is reported once, in the answer.
    let tie: Vec<u64> = (0..8).map(|n| 1000 + n).collect();
    let slow: Vec<u64> = (0..8).map(|n| 2000 + n).collect();
    let set = one_phase(&["ext4", "xfs", "btrfs"], &[&tie, &tie, &slow]);
    let text = screen(&set, 80);
    let answer = "For this work ext4 and xfs are equally fast, within 2 %.";
    assert!(text.starts_with(answer), "{text}");
    assert!(
        !text.contains('*') && text.matches("equally").count() == 1,
        "{text}"
    );
}

#[test]
fn times_below_the_resolution_have_no_ratio_and_do_not_count() {
    let labels = ["ext4", "xfs", "btrfs"];
    // Milliseconds; the fixture cannot have less.
    let mut set = one_phase(&labels, &[&[1; 6], &[1; 6], &[300; 6]]);
    for record in &mut set.cells {
        let time = [300, 100_000, 300_000_000][record.cell.contender as usize];
        record.samples[0].return_ns = Nanos(time);
        record.samples[0].durable_ns = None;
    }
    let text = screen(&set, 80);
    let line = text
        .lines()
        .find(|line| line.starts_with("copy, ms"))
        .unwrap();
    let cells: Vec<&str> = line.split_whitespace().skip(2).collect();
    assert_eq!(
        cells,
        ["0.0003", "0.100", "both", "negligible", "300", "-"],
        "{text}"
    );
    assert!(text.contains("ext4 and xfs are equally fast"), "{text}");
    set.cells.retain(|record| record.cell.contender < 2);
    let text = screen(&set, 80);
    assert!(
        text.starts_with("Every phase takes less than 1 ms"),
        "{text}"
    );
}

#[test]
fn a_file_extension_names_the_format() {
    for (file, format) in [
        ("a/report.html", Some(Format::Html)),
        ("x.HTM", Some(Format::Html)),
        ("samples.csv", Some(Format::Csv)),
        ("run.json", Some(Format::Json)),
        ("run.md", Some(Format::Markdown)),
        ("run.txt", Some(Format::Terminal)),
        ("run.pdf", None),
        ("html", None),
    ] {
        assert_eq!(Format::of_file(file.as_ref()), format, "{file}");
    }
}
