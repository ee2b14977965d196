//! Extent counts: shown if they were counted, and otherwise unknown or absent.

use crate::fixture;
use crate::{text, wide};
use fsdyno_model::{Bytes, Fragmentation, ResultSet};
use fsdyno_report::Format;
use unicode_width::UnicodeWidthStr;

/// The run of the fixture, counted after its copies; counting fails for the last contender.
fn counted() -> ResultSet {
    let mut set = fixture::run();
    for record in &mut set.cells {
        let contender = record.cell.contender;
        let block = u64::from(record.cell.block);
        let copies = record.samples.iter_mut().filter(|s| s.kind == "copy");
        for sample in copies {
            let mut sizes = vec![0; 24];
            (sizes[12], sizes[16], sizes[23]) = (20_000 + block, 5_000, 3);
            sample.fragmentation = Some(if contender == 2 {
                let reason = "the file system does not report\x1b[2J <b>where</b> its files are";
                Fragmentation::not_available(Bytes(0), reason)
            } else {
                Fragmentation {
                    files: 24_690,
                    fragmented: 300 * u64::from(contender) + block,
                    extents: 25_003 + block,
                    bytes: Bytes(68 << 20),
                    extents_by_size: sizes,
                    ..Fragmentation::default()
                }
            });
        }
    }
    set
}

#[test]
fn terminal_and_markdown_show_extents_after_counted_phases() {
    let section = |format, heading: &str, next: &str| {
        let text = text(&counted(), format, &wide(80));
        let (_, rest) = text.split_once(heading).unwrap();
        rest.split_once(next).unwrap().0.to_owned()
    };
    insta::assert_snapshot!(
        "extents_terminal",
        section(Format::Terminal, "\nFragmentation\n", "\nCache states")
    );
    insta::assert_snapshot!(
        "extents_markdown",
        section(Format::Markdown, "\n## Fragmentation\n", "\n## ")
    );
    insta::assert_snapshot!(
        "extents_html",
        section(Format::Html, "<section id=\"fragments\">", "</section>")
    );
}

#[test]
fn a_count_of_large_files_is_labelled() {
    let mut set = counted();
    let samples = set.cells.iter_mut().flat_map(|record| &mut record.samples);
    for fragmentation in samples.filter_map(|s| s.fragmentation.as_mut()) {
        fragmentation.floor = Bytes(16_385);
    }
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let output = text(&set, format, &wide(80)).replace('\n', " ");
        let heading = "Fragmentation of files larger than 16.0 KiB";
        assert!(output.contains(heading), "{format}");
        let about = "over the files larger than 16.0 KiB that stood then, and no others.";
        assert!(output.contains(about), "{format}");
        let of_all = text(&counted(), format, &wide(80));
        assert!(!of_all.contains("larger than"), "{format}");
    }
    let csv = text(&set, Format::Csv, &wide(80));
    assert!(csv.contains(",16385,"), "{csv}");
}

#[test]
fn no_line_of_extents_is_wider_than_the_terminal() {
    for width in [60, 72, 80, 120] {
        for line in text(&counted(), Format::Terminal, &wide(width)).lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn unknown_values_are_never_printed_as_numbers() {
    let set = counted();
    let csv = text(&set, Format::Csv, &wide(80));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let mut seen = [0; 3];
    for row in reader.records().map(Result::unwrap) {
        let extents = &row[at("extents")];
        if &row[at("phase_kind")] != "copy" {
            assert_eq!(extents, "");
            seen[0] += 1;
        } else if row[at("contender")].starts_with("btrfs") {
            assert_eq!((extents, &row[at("extent_files")]), ("", ""));
            assert!(row[at("extents_unavailable")].contains("does not report"));
            seen[1] += 1;
        } else {
            assert!(extents.starts_with("2500"), "{extents}");
            assert_eq!(&row[at("extent_files")], "24690");
            seen[2] += 1;
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let output = text(&set, format, &wide(80));
        assert!(output.contains("not available"), "{format}");
        assert!(!output.contains('\x1b'), "{format}");
        let marked = output.contains("<b>where");
        assert_eq!(marked, format == Format::Terminal, "{format}");
        let without = text(&fixture::run(), format, &wide(80));
        assert!(!without.contains("Fragmentation"), "{format}");
    }
}
