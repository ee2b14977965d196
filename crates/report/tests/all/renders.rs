//! Formats as their consumers parse them: Markdown, CSV, `OpenMetrics`, Bencher's JSON.

use crate::fixture::{self, many, mixed_labs, repeated, single};
use crate::{text, wide};
use fsdyno_model::{FigureName, ResultSet};
use fsdyno_report::Format;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};

/// Runs, some with names that contain markup or separators.
fn runs() -> Vec<ResultSet> {
    let mut hostile = fixture::run();
    hostile.run.plan.contenders[0].label = "a|b`c*d_e[f](g)<h>\\".into();
    hostile.run.plan.contenders[1].label = "=1+1|\"x\",\ny".into();
    hostile.run.plan.workloads[0].name = "@SUM(A1)|w".into();
    vec![
        fixture::run(),
        many(),
        repeated(),
        single(),
        mixed_labs(),
        hostile,
    ]
}

#[test]
fn markdown_tables_have_equal_rows_and_no_html() {
    for set in runs() {
        let page = text(&set, Format::Markdown, &wide(80));
        let (mut tables, mut columns, mut cells) = (0, 0, 0);
        for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Table(of)) => {
                    tables += 1;
                    columns = of.len();
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => cells = 0,
                Event::Start(Tag::TableCell) => cells += 1,
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => assert_eq!(cells, columns),
                Event::Html(html) | Event::InlineHtml(html) => {
                    assert!(!html.contains("<h>"), "{html}");
                }
                Event::Start(Tag::Link { dest_url, .. }) => assert_ne!(&*dest_url, "g"),
                _ => {}
            }
        }
        // Markdown parsers truncate or extend rows of a different length without a warning.
        let bars = |line: &str| {
            line.replace("\\\\", "")
                .replace("\\|", "")
                .matches('|')
                .count()
        };
        let rows: Vec<&str> = page.lines().map(str::trim).collect();
        for pair in rows
            .windows(2)
            .filter(|p| p.iter().all(|l| l.starts_with('|')))
        {
            assert_eq!(bars(pair[0]), bars(pair[1]), "{}\n{}", pair[0], pair[1]);
        }
        assert!(tables > 2, "{page}");
    }
}

#[test]
fn csv_has_units_and_no_formulas() {
    for set in runs() {
        let page = text(&set, Format::Csv, &wide(80));
        let mut reader = csv::Reader::from_reader(page.as_bytes());
        let heads = reader.headers().unwrap().clone();
        assert_eq!(heads.iter().collect::<BTreeSet<_>>().len(), heads.len());
        let times = heads.iter().filter(|head| head.ends_with("_ns")).count();
        let sizes = heads.iter().filter(|head| head.ends_with("_bytes")).count();
        assert!(times > 5 && sizes > 5, "{heads:?}");
        let mut rows = 0;
        for row in reader.records() {
            let row = row.unwrap();
            assert_eq!(row.len(), heads.len());
            for cell in &row {
                assert!(
                    !cell.starts_with(['=', '+', '-', '@', '\t', '\r']),
                    "{cell:?}"
                );
            }
            for (head, cell) in heads.iter().zip(&row) {
                let number = head.ends_with("_ns") || head.ends_with("_bytes");
                let fits = !number || cell.is_empty() || cell.parse::<u64>().is_ok();
                assert!(fits, "{head}: {cell:?}");
            }
            rows += 1;
        }
        assert!(rows >= set.cells.len());
        assert!(page.lines().count() >= rows && page.contains("\r\n"));
    }
}

#[test]
fn csv_has_one_value_in_a_cell() {
    let mut set = fixture::run();
    set.cells[0].samples[0].figures = vec![fsdyno_model::Figure {
        name: "write".into(),
        value: 12.5,
        unit: "KiB/s".into(),
        better: fsdyno_model::Better::Higher,
    }];
    let page = text(&set, Format::Csv, &wide(80));
    let mut reader = csv::Reader::from_reader(page.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let column = |row: &csv::StringRecord, name: &str| {
        let at = heads.iter().position(|head| head == name).unwrap();
        row[at].to_owned()
    };
    let of_kind = |kind: &str| {
        rows.iter()
            .filter(|row| &row[0] == kind)
            .collect::<Vec<_>>()
    };
    let samples: usize = set.cells.iter().map(|record| record.samples.len()).sum();
    assert_eq!(of_kind("sample").len(), samples);
    let warnings = set.cells.iter().map(|record| {
        let of_samples = record.samples.iter().map(|sample| sample.warnings.len());
        record.warnings.len() + of_samples.sum::<usize>()
    });
    assert_eq!(of_kind("warning").len(), warnings.sum::<usize>());
    let phases: BTreeSet<_> = of_kind("warning")
        .into_iter()
        .map(|row| (column(row, "warning"), column(row, "phase")))
        .collect();
    let expected = [("not-quiet", ""), ("too-short", "delete")];
    assert_eq!(
        phases,
        expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into()
    );
    let [figure] = of_kind("figure")[..] else {
        panic!("{page}");
    };
    let value = ["figure", "figure_value", "figure_unit"].map(|name| column(figure, name));
    assert_eq!(value, ["write", "12.5", "KiB/s"]);
    assert_eq!(column(figure, "return_ns"), "");
}

/// A sample line of `OpenMetrics`: name, unparsed labels, value.
fn sample(line: &str) -> (&str, String, f64) {
    let (name, rest) = line.split_once('{').unwrap();
    let mut labels = BTreeMap::new();
    let mut rest = rest;
    loop {
        let (key, after) = rest.split_once("=\"").unwrap();
        assert!(
            key.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "{key}"
        );
        let (mut value, mut escaped, mut end) = (String::new(), false, None);
        for (at, c) in after.char_indices() {
            match (escaped, c) {
                (true, '\\' | '"' | 'n') => (escaped, value) = (false, value + &c.to_string()),
                (true, other) => panic!("no escape: {other:?}"),
                (false, '\\') => escaped = true,
                (false, '"') => {
                    end = Some(at);
                    break;
                }
                (false, c) => value.push(c),
            }
        }
        assert!(labels.insert(key, value).is_none(), "{key} twice");
        let after = &after[end.unwrap() + 1..];
        let Some(next) = after.strip_prefix(',') else {
            let value = after.strip_prefix("} ").unwrap();
            return (name, format!("{labels:?}"), value.parse().unwrap());
        };
        rest = next;
    }
}

#[test]
fn openmetrics_has_types_unique_series_and_an_end() {
    for set in runs() {
        let page = text(&set, Format::OpenMetrics, &wide(80));
        assert!(page.ends_with("\n# EOF\n") && page.matches("# EOF").count() == 1);
        let (mut family, mut seen, mut families) = ("", BTreeSet::new(), BTreeSet::new());
        for line in page.lines().filter(|line| *line != "# EOF") {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                (family, _) = kind.split_once(" gauge").unwrap();
                assert!(families.insert(family.to_owned()), "{family} begins twice");
            } else if let Some(unit) = line.strip_prefix("# UNIT ") {
                assert_eq!(unit, format!("{family} seconds"));
                assert!(family.ends_with("_seconds"));
            } else if let Some(help) = line.strip_prefix("# HELP ") {
                assert!(help.starts_with(&format!("{family} ")));
            } else {
                let (name, labels, value) = sample(line);
                assert_eq!(name, family);
                assert!(value.is_finite());
                assert!(seen.insert((name.to_owned(), labels)), "twice: {line}");
            }
        }
        assert!(families.len() > 4 && seen.len() > 4);
    }
}

#[test]
fn bencher_json_has_three_numbers_for_each_measure() {
    for set in runs() {
        let page = text(&set, Format::Bencher, &wide(80));
        let all: BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>> =
            serde_json::from_str(&page).unwrap();
        assert!(!all.is_empty());
        for (benchmark, measures) in all {
            assert!(!benchmark.is_empty() && !measures.is_empty());
            for (measure, metric) in measures {
                let figure = measure.strip_prefix("time-to-").unwrap_or(&measure);
                assert!(
                    figure == "kernel-blocks" || FigureName::defined().any(|one| one == figure)
                );
                let keys: Vec<&str> = metric.keys().map(String::as_str).collect();
                assert_eq!(keys, ["lower_value", "upper_value", "value"]);
                assert!(metric["lower_value"] <= metric["value"]);
                assert!(metric["value"] <= metric["upper_value"]);
            }
        }
    }
}
