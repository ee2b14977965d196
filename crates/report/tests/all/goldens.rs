//! Every format on one fixed run, character by character.

use crate::fixture::{self, empty, many, repeated, single};
use crate::{table_of, text, wide};
use fsdyno_report::{Format, Options, render};

#[test]
fn the_terminal_shows_the_run() {
    insta::assert_snapshot!(text(&fixture::run(), Format::Terminal, &wide(80)));
    insta::assert_snapshot!(
        "terminal_120",
        text(&fixture::run(), Format::Terminal, &wide(120))
    );
    insta::assert_snapshot!("terminal_many", text(&many(), Format::Terminal, &wide(80)));
}

#[test]
fn the_clock_form_shows_minutes_and_seconds() {
    let options = Options {
        clock: true,
        ..Options::default()
    };
    insta::assert_snapshot!(text(&many(), Format::Terminal, &options));
}

#[test]
fn markdown_shows_the_run() {
    insta::assert_snapshot!(text(&fixture::run(), Format::Markdown, &wide(80)));
}

#[test]
fn html_shows_the_run() {
    let page = text(&fixture::run(), Format::Html, &wide(80));
    insta::assert_snapshot!(table_of(&page, "times"));
}

#[test]
fn csv_shows_the_run() {
    insta::assert_snapshot!(text(&fixture::run(), Format::Csv, &wide(80)));
}

#[test]
fn json_shows_the_run() {
    let report = text(&fixture::run(), Format::Json, &wide(80));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&report["results"][0]["phases"]).unwrap());
}

#[test]
fn a_single_sample_and_an_empty_run_have_no_verdicts() {
    insta::assert_snapshot!(
        "terminal_single",
        text(&single(), Format::Terminal, &wide(80))
    );
    insta::assert_snapshot!(
        "terminal_empty",
        text(&empty(), Format::Terminal, &wide(80))
    );
    // A run without a phase of bonnie has no output in that format.
    let formats = Format::ALL.into_iter().filter(|f| *f != Format::BonnieCsv);
    assert!(render(&single(), Format::BonnieCsv, &wide(80)).is_err());
    for format in formats {
        for set in [single(), empty()] {
            let text = text(&set, format, &wide(80));
            assert!(!text.contains("less time"), "{format}: {text}");
        }
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for format in Format::ALL {
        let bytes = || render(&fixture::run(), format, &wide(80)).ok();
        assert_eq!(bytes().is_none(), format == Format::BonnieCsv);
        assert_eq!(bytes(), bytes());
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let error = "pdf".parse::<Format>().unwrap_err().to_string();
    assert!(
        error.contains("terminal, html, csv, json, markdown, bonnie-csv, bencher, openmetrics"),
        "{error}"
    );
}

#[test]
fn enough_repeats_give_intervals_of_ratios() {
    let set = repeated();
    insta::assert_snapshot!("terminal_repeated", text(&set, Format::Terminal, &wide(80)));
    let markdown = text(&set, Format::Markdown, &wide(80));
    assert!(markdown.contains(r"0.46x \[0.44-0.49x\]"), "{markdown}");
    let page = text(&set, Format::Html, &wide(80));
    assert!(page.contains(r#"<span class="interval">0."#));
    assert!(page.contains("interval at 95 % or more"));
}

#[test]
fn an_adaptive_run_reports_the_requested_and_the_reached_precision() {
    let mut set = repeated();
    set.run.plan.adaptive = Some(fsdyno_model::Adaptive {
        precision: 0.005,
        most: 8,
        fewest: 0,
    });
    set.run.plan.repeats = 3;
    let terminal = text(&set, Format::Terminal, &wide(80));
    let words = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    let requested =
        "Requested: each ratio to ext4 decided, or known to 0.5 % either way, by 3 to 8 blocks.";
    assert!(words.contains(requested), "{terminal}");
    let reached = "Reached: intervals of 2.8 % to 5.5 % either way. Open: copy at btrfs@pool2 (1.00x \
                   so far; about 41 repeats, 6:55.8 more), delete at btrfs@pool2 (1.00x so far; \
                   about 41 repeats, 6:55.8 more).";
    assert!(words.contains(reached), "{terminal}");
    assert!(words.contains("3 to 8 repeats, until a ratio is known to 0.5 %"));
    assert!(words.contains("although repeats ended when enough was known"));
    // The time limit may end a run before its first analysis.
    set.cells.retain(|record| record.cell.block < 2);
    let terminal = text(&set, Format::Terminal, &wide(80));
    let words = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("There are too few repeats to decide."),
        "{terminal}"
    );
    assert!(!words.contains("All are decided"), "{terminal}");
}
