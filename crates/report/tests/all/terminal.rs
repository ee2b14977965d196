//! Terminal output: any width, no colour, hostile text.

use crate::fixture::{self, empty, many, mixed_labs, repeated, single};
use crate::{text, wide};
use fsdyno_report::{Format, Options};

#[test]
fn no_line_is_wider_than_the_terminal() {
    use unicode_width::UnicodeWidthStr;
    for set in [
        fixture::run(),
        many(),
        repeated(),
        single(),
        empty(),
        mixed_labs(),
    ] {
        for width in [60, 72, 80, 100, 120, 200] {
            for clock in [false, true] {
                let options = Options {
                    width,
                    clock,
                    color: false,
                    ..Options::default()
                };
                for line in text(&set, Format::Terminal, &options).lines() {
                    assert!(line.width() <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn many_contenders_with_long_names_fit_completely() {
    use unicode_width::UnicodeWidthStr;
    for count in [2, 5, 9, 20] {
        let labels: Vec<String> = (0..count)
            .map(|at| format!("ext4[-O ^has_journal]@raid0:noatime,data=writeback,commit={at}"))
            .collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let times: Vec<[u64; 7]> = (0..count)
            .map(|at| [1, 2, 3, 5, 6, 8, 9].map(|block| 100_000 * (at + 1) + 37 * block))
            .collect();
        let times: Vec<&[u64]> = times.iter().map(|of| &of[..]).collect();
        let set = fixture::one_phase(&labels, &times);
        let mut lengths = Vec::new();
        for width in [80, 132, 200] {
            let page = text(&set, Format::Terminal, &wide(width));
            for line in page.lines() {
                assert!(line.width() <= width, "{count}, {width}: {line}");
            }
            // The legend has the full text of truncated names.
            let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
            for at in 0..count {
                assert!(
                    words.contains(&format!("commit={at}")),
                    "{at} of {count}: {page}"
                );
            }
            lengths.push(page.lines().count());
        }
        assert!(
            lengths.is_sorted_by(|a, b| a >= b),
            "a wider terminal is used: {lengths:?}"
        );
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = Options {
        color: true,
        long: true,
        ..Options::default()
    };
    let mut plain = String::new();
    let text_in_colour = text(&fixture::run(), Format::Terminal, &coloured);
    let mut rest = text_in_colour.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain += before;
        rest = after.split_once('m').unwrap().1;
    }
    plain += rest;
    let trimmed =
        |text: &str| -> Vec<String> { text.lines().map(|l| l.trim_end().to_owned()).collect() };
    assert_eq!(
        trimmed(&plain),
        trimmed(&text(&fixture::run(), Format::Terminal, &wide(80)))
    );
    assert!(text_in_colour.len() > plain.len());
}

#[test]
fn control_characters_are_kept_only_in_json_and_csv() {
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let text = text(&fixture::run(), format, &wide(80));
        assert!(!text.contains('\x1b'), "{format}");
        assert!(
            text.contains(r"\u{1b}[2J") || text.contains(r"\\u{1b}\[2J"),
            "{format}"
        );
    }
}

#[test]
fn ratios_of_costs_are_medians_of_the_ratios_of_samples() {
    use fsdyno_model::{Bytes, Nanos};
    let mut set = fixture::one_phase(&["ext4", "xfs"], &[&[1000; 3], &[1000; 3]]);
    let figures = [
        ([10, 80], [10, 80], 100, 100),
        ([50, 10], [50, 10], 300, 100),
        ([90, 20], [90, 20], 800, 400),
    ];
    for record in &mut set.cells {
        let (cpu, requests, space, data) = figures[record.cell.block as usize];
        let sample = &mut record.samples[0];
        sample.cpu.user_ns = Nanos(cpu[0] * 1_000_000_000);
        sample.cpu.system_ns = Nanos(cpu[1] * 1_000_000_000);
        let device = sample.device.get_or_insert_default();
        (device.reads, device.writes, device.discards) = (requests[0], requests[1], 0);
        device.written_bytes = Bytes(space);
        (sample.space_before, sample.space_after) = (Bytes(0), Bytes(space));
        sample.tally.bytes = Bytes(data);
    }
    // The samples have 1, 3 and 2 times the data; the ratio of the medians is 3.
    let report = text(&set, Format::Terminal, &wide(200));
    let (_, costs) = report.split_once("\nCost\n").unwrap();
    let line = costs
        .lines()
        .find(|line| line.starts_with("  ext4"))
        .unwrap();
    let cells: Vec<&str> = line
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    assert_eq!(cells[1], "50.0 s", "{line}");
    assert!(cells.contains(&"2.00x"), "{line}");
    let page = text(&set, Format::Html, &wide(80));
    assert!(
        page.contains("2.00\u{d7}") || page.contains("2.00x"),
        "written / data"
    );
}
