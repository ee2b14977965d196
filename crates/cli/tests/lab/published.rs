//! Suites that repeat a publication, compared with its table. Every row that a contender supports
//! has a figure in the published unit. Needs root.

use crate::support::{Home, root_and};
use serde_json::Value;

const MKFS: [&str; 3] = ["mkfs.ext2", "mkfs.ext3", "mkfs.xfs"];

/// Runs the suite of that table and returns the rows of the comparison.
fn compare(home: &Home, table: &str, contenders: &str) -> Vec<Value> {
    let work = home.work().display().to_string();
    let mut args = vec!["run", table, "--work-dir", &work, "--fs", contenders];
    args.extend(["--scale", "0.01", "--repeats", "1"]);
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let report = ["report", "last", "--against", table, "--format", "json"];
    let report = home.fsdyno(&report);
    assert_eq!(report.code, Some(0), "{}", report.err);
    let report: Value = serde_json::from_str(&report.out).unwrap();
    report["lines"].as_array().unwrap().clone()
}

#[test]
fn every_row_of_bonnie_2001_has_a_current_figure_in_its_unit() {
    if !root_and(
        &MKFS,
        "every_row_of_bonnie_2001_has_a_current_figure_in_its_unit",
    ) {
        return;
    }
    let home = Home::new();
    let lines = compare(&home, "bonnie-2001", "ext2,xfs");
    assert_eq!(lines.len(), 24, "{lines:?}");
    for line in &lines {
        let unit = |name: &str| line[name].as_str().unwrap();
        let now = match unit("unit_published") {
            "KB/s" => "KiB/s",
            "%cpu" => "%",
            "1/s" | "files/s" => "1/s",
            other => panic!("{other}"),
        };
        assert_eq!(unit("unit_now"), now, "{line}");
        assert_eq!(line["entries"].as_array().unwrap().len(), 2, "{line}");
    }
    home.assert_cleanable();
}

#[test]
fn every_row_of_mongo_2001_has_a_figure_and_extents_are_of_large_files() {
    if !root_and(
        &MKFS,
        "every_row_of_mongo_2001_has_a_figure_and_extents_are_of_large_files",
    ) {
        return;
    }
    let home = Home::new();
    let lines = compare(&home, "mongo-2001", "ext3,xfs");
    assert_eq!(lines.len(), 27, "{lines:?}");
    let label = |line: &Value| line["label"].as_str().unwrap().to_owned();
    let extents = lines.iter().filter(|l| label(l).starts_with("fragments"));
    assert_eq!(extents.count(), 6);
    for line in &lines {
        assert_eq!(line["unit_published"], line["unit_now"], "{line}");
        assert_eq!(line["entries"].as_array().unwrap().len(), 2, "{line}");
    }
    let report = home.fsdyno(&["report", "last", "--long"]);
    let heading = "\nFragmentation of files larger than 16.0 KiB\n";
    assert!(report.out.contains(heading), "{}", report.out);
    home.assert_cleanable();
}
