//! Reports of series of crash tests.

use crate::fixture;
use fsdyno_model::{
    Contender, GuestSize, Judgement, Loss, Nanos, PowerCut, Recovery, Series, SeriesInfo, WorkLoss,
};
use fsdyno_report::{Format, Options, render_crash};

/// A series of two power cuts of each contender. Those with an odd place lose a file each time.
fn series(labels: &[String]) -> Series {
    let run = fixture::run().run;
    let contenders = labels.iter().map(|label| Contender::plain(label));
    let cuts = labels.iter().enumerate().flat_map(|(place, label)| {
        (1..=2).map(move |number| PowerCut {
            contender: label.clone(),
            number,
            seed: 1,
            guest: "Linux 6.12.57, 2 processors".into(),
            after_ns: Nanos(5_000_000),
            acknowledged: 200,
            disk: None,
            recovery: Recovery {
                judgement: Some(Judgement {
                    files: 3,
                    lost: (place % 2 == 1)
                        .then_some((Loss::Missing, 1))
                        .into_iter()
                        .collect(),
                    messages: Vec::new(),
                }),
                clean: Some(true),
                ..Recovery::default()
            },
            work: None,
            images: Vec::new(),
        })
    });
    Series {
        schema: Series::SCHEMA,
        info: SeriesInfo {
            id: "20261121-1730-crash".into(),
            started_unix_ns: run.started_unix_ns,
            ended_unix_ns: None,
            stop: None,
            contenders: contenders.collect(),
            power_cuts_planned: 2,
            shard: None,
            seed: 1,
            guest: GuestSize::default(),
            disk: None,
            activities: None,
            work_dir: "/somewhere".into(),
            provenance: run.provenance,
            command_line: ["fsdyno", "crash", "--random"].map(str::to_owned).into(),
        },
        power_cuts: cuts.collect(),
    }
}

fn text(series: &Series, format: Format) -> String {
    String::from_utf8(render_crash(series, format, &Options::default()).unwrap()).unwrap()
}

#[test]
fn a_screen_begins_with_the_answer_and_fits_with_any_number_of_contenders() {
    for contenders in [2, 12, 60] {
        let labels: Vec<String> = (0..contenders)
            .map(|at| format!("ext4:mkfs=-g {at},mount=data=writeback"))
            .collect();
        let screen = text(&series(&labels), Format::Terminal);
        assert!(screen.lines().count() <= 40, "{screen}");
        let first = screen.lines().next().unwrap();
        assert!(first.contains(" lost "), "{screen}");
        assert!(
            screen.lines().all(|line| line.chars().count() <= 80),
            "{screen}"
        );
        assert!(
            screen.contains("fsdyno show 20261121-1730-crash"),
            "{screen}"
        );
    }
}

#[test]
fn a_page_begins_with_the_answer_and_the_losses_and_its_headline_is_no_command() {
    let page = text(&series(&["ext4".into(), "xfs".into()]), Format::Html);
    let places = [
        "<h1>Crash tests of ext4 and xfs</h1>",
        "2026-11-21 17:30 UTC",
        "xfs lost 2 files in 2 of 2 power cuts; ext4 lost nothing",
        "lost: 2 missing",
        "Each power cut",
        "fsdyno crash --random",
    ];
    let places: Vec<Option<usize>> = places.iter().map(|text| page.find(text)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?}"
    );
}

/// One power cut that lost a save, and one that lost nothing.
pub fn power_losses() -> Series {
    let mut series = series(&["xfs".into(), "btrfs@mirror2".into()]);
    series.info.activities = Some("[[activity]]".to_owned());
    for cut in &mut series.power_cuts {
        let lost = cut.contender == "xfs";
        let saves = WorkLoss {
            activity: "a \u{1b}[31msave".to_owned(),
            lost_ns: lost.then_some(Nanos(5_000_000_000)),
            saves: 4,
            broken_saves: lost.into(),
            first: lost.then(|| "`a` is neither old nor new".to_owned()),
            ..WorkLoss::default()
        };
        let log = WorkLoss {
            activity: "log".to_owned(),
            ..WorkLoss::default()
        };
        cut.work = Some(vec![saves, log]);
        cut.recovery.judgement = Some(Judgement::default());
    }
    series
}

#[test]
fn lost_work_is_said_first_with_the_shares_of_power_cuts() {
    let series = power_losses();
    let screen = text(&series, Format::Terminal);
    assert!(
        screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    let words: Vec<&str> = screen.split_whitespace().collect();
    let words = words.join(" ");
    for part in [
        "of 2 power cuts: xfs 5.00 s (5.00 s), btrfs@mirror2 0 ns (0 ns).",
        "Nothing that was synced is lost.",
        "neither the old nor the new file: xfs in 2 of 2 (16\u{2013}100 %).",
        "No recovery needed a person.",
        "broken saves 2/2 (16\u{2013}100 %) 0/2 (0\u{2013}84 %)",
    ] {
        assert!(words.contains(part), "{words}");
    }
    let page = text(&series, Format::Html);
    assert!(page.contains("each kind of work") && page.contains("Each power cut"));
    // A row for each activity of each power cut.
    let figures = text(&series, Format::Csv);
    assert_eq!(figures.lines().count(), 1 + 2 * 4, "{figures}");
    assert!(!figures.contains('\x1b'), "{figures}");
}

#[test]
fn a_file_system_that_cannot_be_mounted_lost_all_and_needs_a_person() {
    let mut series = power_losses();
    for cut in &mut series.power_cuts {
        cut.work = None;
        cut.recovery = Recovery {
            beyond_repair: Some("it is gone".to_owned()),
            ..Recovery::default()
        };
    }
    let screen = text(&series, Format::Terminal);
    let words: Vec<&str> = screen.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("Synced data are lost: xfs in 2 of 2"));
    assert!(words.contains("A person had to repair: xfs in 2 of 2"));
}
