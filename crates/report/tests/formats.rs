//! Every format on one fixed run, and on the odd ones: what a reader would see, or could be
//! harmed by.

mod fixture;

use fsdyno_model::ResultSet;
use fsdyno_report::{Format, Options, render};

fn text(set: &ResultSet, format: Format, options: &Options) -> String {
    String::from_utf8(render(set, format, options).unwrap()).unwrap()
}

fn wide(width: usize) -> Options {
    Options {
        width,
        ..Options::default()
    }
}

/// Six contenders with long labels, figures of 3 blocks.
fn many() -> ResultSet {
    let labels = [
        "ext4",
        "ext4:noatime,data=writeback",
        "xfs",
        "btrfs@pool2:compress=zstd",
        "ext3[-O ^dir_index]",
        "dir:/mnt/日本語の長い名前の場所",
    ];
    let workloads = [fixture::workload("classic"), fixture::search("search")];
    let mut set = fixture::with(&labels, &workloads, 3);
    for (block, workload, contender) in
        (0..3).flat_map(|b| (0..2).flat_map(move |w| (0..6).map(move |c| (b, w, c))))
    {
        let speed = 70_000 + 13_311 * u64::from(contender);
        let record = fixture::record(&set, block, contender, workload, speed);
        set.cells.push(record);
    }
    set
}

fn single() -> ResultSet {
    let mut set = fixture::with(&["ext4", "xfs"], &[fixture::workload("tree")], 1);
    for contender in 0..2 {
        let record = fixture::record(&set, 0, contender, 0, 900 + u64::from(contender));
        set.cells.push(record);
    }
    set
}

fn empty() -> ResultSet {
    fixture::with(&["ext4", "xfs"], &[fixture::workload("tree")], 3)
}

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
fn csv_shows_the_run() {
    insta::assert_snapshot!(text(&fixture::run(), Format::Csv, &wide(80)));
}

#[test]
fn json_shows_the_run() {
    insta::assert_snapshot!(text(&fixture::run(), Format::Json, &wide(80)));
}

#[test]
fn a_single_sample_and_an_empty_run_claim_nothing() {
    insta::assert_snapshot!(
        "terminal_single",
        text(&single(), Format::Terminal, &wide(80))
    );
    insta::assert_snapshot!(
        "terminal_empty",
        text(&empty(), Format::Terminal, &wide(80))
    );
    for format in Format::ALL {
        for set in [single(), empty()] {
            let text = text(&set, format, &wide(80));
            assert!(!text.contains("less time"), "{format}: {text}");
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    use unicode_width::UnicodeWidthStr;
    for set in [fixture::run(), many(), single(), empty()] {
        for width in [60, 72, 80, 100, 120, 200] {
            for clock in [false, true] {
                let options = Options {
                    width,
                    clock,
                    color: false,
                };
                for line in text(&set, Format::Terminal, &options).lines() {
                    assert!(line.width() <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = Options {
        color: true,
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
fn control_characters_of_others_reach_no_format_but_json_and_csv() {
    for format in [Format::Terminal, Format::Markdown] {
        let text = text(&fixture::run(), format, &wide(80));
        assert!(!text.contains('\x1b'), "{format}");
        assert!(
            text.contains(r"\u{1b}[2J") || text.contains(r"\\u{1b}\[2J"),
            "{format}"
        );
    }
}

#[test]
fn csv_reads_back_with_a_row_for_every_sample_and_every_cell_not_measured() {
    let set = fixture::run();
    let bytes = render(&set, Format::Csv, &wide(80)).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let count = |kind: &str| rows.iter().filter(|row| &row[0] == kind).count();
    let samples: usize = set.cells.iter().map(|r| r.samples.len()).sum();
    assert_eq!(count("sample"), samples);
    assert_eq!(count("outcome"), set.unmeasured().count());
    assert_eq!(rows.len(), samples + set.unmeasured().count());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let first = &set.cells[0].samples[0];
    assert_eq!(rows[0][at("return_ns")], first.return_ns.0.to_string());
    assert_eq!(
        rows[0][at("durable_ns")],
        first.durable_ns.unwrap().0.to_string()
    );
}

#[test]
fn json_reads_back_to_the_same_result_set() {
    let set = fixture::run();
    let bytes = render(&set, Format::Json, &wide(80)).unwrap();
    assert_eq!(serde_json::from_slice::<ResultSet>(&bytes).unwrap(), set);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for format in Format::ALL {
        let once = render(&fixture::run(), format, &wide(80)).unwrap();
        assert_eq!(once, render(&fixture::run(), format, &wide(80)).unwrap());
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let error = "pdf".parse::<Format>().unwrap_err().to_string();
    assert!(
        error.contains("terminal, csv, json, markdown"),
        "{error}"
    );
}
