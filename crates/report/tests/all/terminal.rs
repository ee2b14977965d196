//! What a terminal must bear: any width, no colour, hostile text.

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
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let text = text(&fixture::run(), format, &wide(80));
        assert!(!text.contains('\x1b'), "{format}");
        assert!(
            text.contains(r"\u{1b}[2J") || text.contains(r"\\u{1b}\[2J"),
            "{format}"
        );
    }
}
