//! The figures of model disks: shown as sums and disk by disk, and only in runs on model disks.

use crate::fixture;
use crate::{text, wide};
use fsdyno_model::disk_use::{Causes, DiskFigures, DiskUse, Tallied, Work};
use fsdyno_model::{Bytes, DiskTime, ModelDisk, Nanos, ResultSet};
use fsdyno_report::Format;
use unicode_width::UnicodeWidthStr;

/// This number of requests with this number of sectors each.
fn requests(requests: u64, sectors: u64) -> Tallied {
    Tallied {
        requests,
        bytes: requests * sectors * 512,
        failed: 0,
    }
}

fn did(times: u64) -> DiskUse {
    DiskUse {
        reads: requests(100 * times, 64),
        writes: requests(7 * times, 700),
        flushes: requests(times, 0),
        seeks: 20 * times,
        seek_distance: Bytes(20 * times * (3 << 20)),
        causes: Causes {
            seek: 400_000_000 * times,
            rotation: 399_000_000,
            transfer: 200_000_000,
            queue: 1_000,
            flush: 80_000_000,
            ..Causes::default()
        },
        slowest: Nanos(30_000_000 + times),
        work: Work {
            seeks: 18 * times,
            seek_ns: 390_000_000,
            medium_written: 38 << 20,
            ..Work::default()
        },
        ..DiskUse::default()
    }
}

/// The run of the fixture on model disks; the last contender has two, and one has an error.
fn on_disks() -> ResultSet {
    let mut set = fixture::run();
    set.run.plan.disk = Some(ModelDisk {
        profile: "mine\x1b[2J".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::default(),
    });
    for record in &mut set.cells {
        let contender = u64::from(record.cell.contender);
        for sample in &mut record.samples {
            let figures = |disk| DiskFigures {
                disk,
                to_return: did(contender + 1),
                to_durable: did(1),
            };
            sample.disks = (0..=u32::from(contender == 2)).map(figures).collect();
            if let [_, second] = &mut sample.disks[..] {
                second.to_return.writes.failed = 1;
                second.to_durable = DiskUse::default();
            }
        }
    }
    set
}

#[test]
fn every_format_shows_the_disk_requests() {
    let section = |format, heading: &str, next: &str| {
        let text = text(&on_disks(), format, &wide(80));
        let (_, rest) = text.split_once(heading).unwrap();
        rest.split_once(next).unwrap().0.to_owned()
    };
    insta::assert_snapshot!(
        "disks_terminal",
        section(Format::Terminal, "\nOn the model disk", "\nCache states")
    );
    insta::assert_snapshot!(
        "disks_markdown",
        section(Format::Markdown, "\n## On the model disk", "\n## ")
    );
    insta::assert_snapshot!(
        "disks_html",
        section(Format::Html, "<section id=\"disks\">", "</section>")
    );
}

#[test]
fn csv_has_a_row_for_each_of_several_disks_and_their_sum() {
    let csv = text(&on_disks(), Format::Csv, &wide(80));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let number = |row: &csv::StringRecord, name: &str| row[at(name)].parse::<u64>().unwrap();
    let mut sums = 0;
    for (place, row) in rows.iter().enumerate() {
        match (&row[0], &row[at("contender")]) {
            ("sample", contender) if contender.starts_with("btrfs") => {
                let disks = &rows[place + 1..place + 3];
                for (disk, of) in disks.iter().enumerate() {
                    assert_eq!((&of[0], number(of, "disk")), ("disk", disk as u64));
                    assert_eq!(of[at("phase")], row[at("phase")]);
                    assert_eq!(&of[at("return_ns")], "");
                }
                for name in ["disk_reads", "disk_seek_ns", "disk_writes_failed"] {
                    let both: u64 = disks.iter().map(|of| number(of, name)).sum();
                    assert_eq!(number(row, name), both, "{name}");
                }
                assert_eq!(number(row, "disk_reads"), 700);
                assert_eq!(number(row, "disk_requests_until_return"), 2 * 3 * 108);
                let kinds = ["reads", "writes", "discards", "flushes"];
                let until_return = kinds.map(|kind| number(row, &format!("return_disk_{kind}")));
                assert_eq!(until_return.iter().sum::<u64>(), 2 * 3 * 108);
                assert_eq!(number(row, "disk_slowest_ns"), 30_000_003);
                sums += 1;
            }
            ("sample", _) => assert_eq!(&row[at("disk")], ""),
            ("disk", contender) => assert!(contender.starts_with("btrfs")),
            _ => assert_eq!(&row[at("disk_reads")], ""),
        }
    }
    assert!(sums > 0);
}

#[test]
fn no_line_of_disks_is_wider_than_the_terminal() {
    for width in [60, 72, 80, 120] {
        for line in text(&on_disks(), Format::Terminal, &wide(width)).lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn runs_without_recorders_have_no_disk_section() {
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let output = text(&on_disks(), format, &wide(80));
        assert!(output.contains("On the model disk mine"), "{format}");
        assert!(!output.contains('\x1b'), "{format}");
        let without = text(&fixture::run(), format, &wide(80));
        assert!(!without.contains("On the model disk"), "{format}");
    }
    let without = text(&fixture::run(), Format::Csv, &wide(80));
    assert!(!without.contains("disk_reads"), "{without}");
}
