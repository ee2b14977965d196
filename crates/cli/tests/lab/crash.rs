//! Crash tests of guests: the recovered files, and the accuracy of the check itself. Without the
//! kernel, the tests are skipped by name.

use crate::support::{Home, Printed, have};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The packaged kernel of guests.
const KERNEL: &str = "linux.uml";

/// Runs `fsdyno crash` in a home.
fn crash(home: &Home, more: &[&str]) -> Printed {
    let work = home.work().display().to_string();
    let base = ["crash", "--work-dir", &work, "--guest-memory", "256M"];
    home.fsdyno(&[&base, more].concat())
}

fn json(output: &Printed) -> Value {
    serde_json::from_str(&output.out)
        .unwrap_or_else(|e| panic!("{e}: {}{}", output.out, output.err))
}

/// The power cuts of a series. Each of them has acknowledged operations.
fn power_cuts(output: &Printed) -> Vec<Value> {
    let power_cuts = json(output).as_array().unwrap().clone();
    for power_cut in &power_cuts {
        assert!(
            power_cut["acknowledged"].as_u64().unwrap() > 0,
            "{power_cut}"
        );
        let recovery = &power_cut["recovery"];
        assert!(
            recovery["judgement"]["files"].as_u64().unwrap() > 0,
            "{power_cut}"
        );
        assert!(recovery["took_ns"].as_u64().unwrap() > 0, "{power_cut}");
        assert_eq!(recovery["refused"], Value::Null, "{power_cut}");
        assert_eq!(recovery["clean"], true, "{power_cut}");
    }
    power_cuts
}

#[test]
fn journaling_file_systems_recover_without_a_checker() {
    let test = "journaling_file_systems_recover_without_a_checker";
    if !have(&[KERNEL, "mkfs.ext4"], test) {
        return;
    }
    let home = Home::new();
    let output = crash(&home, &["--fs", "ext4", "--random", "2", "--json"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let power_cuts = power_cuts(&output);
    assert_eq!(power_cuts.len(), 2);
    for power_cut in power_cuts {
        let recovery = &power_cut["recovery"];
        assert_eq!(recovery["corrected_by"], Value::Null, "{power_cut}");
        assert_eq!(recovery["before_check"], Value::Null, "{power_cut}");
        assert_eq!(
            recovery["judgement"]["lost"],
            serde_json::json!({}),
            "{power_cut}"
        );
    }
    // No image, process or directory is left.
    assert!(home.left_in_work().is_empty());
    home.assert_cleanable();
}

#[test]
fn a_series_is_in_the_store_and_its_table_is_printed_again() {
    let test = "a_series_is_in_the_store_and_its_table_is_printed_again";
    if !have(&[KERNEL, "mkfs.ext4", "mkfs.xfs"], test) {
        return;
    }
    let home = Home::new();
    let output = crash(&home, &["--fs", "ext4,uml/xfs", "--random", "1", "--keep"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let report = home.fsdyno(&["report", "last"]);
    assert!(
        report.out.ends_with(&output.out),
        "{}\n{}",
        report.out,
        output.out
    );
    let report = home.fsdyno(&["report", "last", "--format", "json"]);
    let series: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(series["info"]["stop"], "complete");
    let guests = series["cuts"].as_array().unwrap().iter();
    let guests: Vec<_> = guests
        .map(|power_cut| power_cut["guest"].as_str().unwrap())
        .collect();
    assert!(
        guests.len() == 2 && guests.iter().all(|g| g.starts_with("Linux ")),
        "{guests:?}"
    );
    let shown = home.fsdyno(&["show", "crash"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    // `show` prints the command that checks a kept image again.
    let again = shown
        .out
        .lines()
        .filter(|line| line.contains("--again"))
        .count();
    assert_eq!(again, 2, "{}", shown.out);
    let runs = home.fsdyno(&["runs"]);
    assert!(
        runs.out.contains("2/2 cuts") && runs.out.contains("complete"),
        "{}",
        runs.out
    );
    for (arguments, expected) in [
        (
            &["report", "last", "--format", "bonnie-csv"][..],
            "cannot write the series",
        ),
        (
            &["report", "last", "--against", "btrfs-2008"],
            "a series of crash tests",
        ),
        (&["show", "last", "--commands", "0"], "no cells"),
        (&["run", "--resume", "last"], "no run"),
    ] {
        let output = home.fsdyno(arguments);
        assert_eq!(output.code, Some(2), "{arguments:?}: {}", output.err);
        assert!(
            output.err.contains(expected),
            "{arguments:?}: {}",
            output.err
        );
    }
}

#[test]
fn file_systems_without_a_journal_lose_data_only_by_their_checker() {
    let test = "file_systems_without_a_journal_lose_data_only_by_their_checker";
    if !have(&[KERNEL, "mkfs.ext2", "e2fsck"], test) {
        return;
    }
    let home = Home::new();
    let output = crash(&home, &["--fs", "ext2", "--random", "1", "--json"]);
    let power_cuts = power_cuts(&output);
    let recovery = &power_cuts[0]["recovery"];
    let by = recovery["corrected_by"].as_str().unwrap();
    assert!(by.starts_with("e2fsck -y"), "{by}");
    assert!(recovery["before_check"]["files"].as_u64().unwrap() > 0);
    assert_eq!(
        recovery["before_check"]["lost"],
        serde_json::json!({}),
        "{recovery}"
    );
    // The checker may remove intact files. That is a loss, and the image is kept.
    let lost = recovery["judgement"]["lost"].as_object().unwrap();
    assert_eq!(
        output.code,
        Some(i32::from(!lost.is_empty())),
        "{}",
        output.err
    );
    assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
    let kept = power_cuts[0]["images"].as_array().unwrap();
    assert_eq!(kept.len(), usize::from(!lost.is_empty()));
}

#[test]
fn a_kept_image_gives_the_same_result_and_missing_data_is_reported() {
    let test = "a_kept_image_gives_the_same_result_and_missing_data_is_reported";
    if !have(&[KERNEL, "mkfs.ext4"], test) {
        return;
    }
    let home = Home::new();
    let power_cut = ["--fs", "ext4", "--random", "1", "--seed", "5"];
    let output = crash(&home, &[&power_cut[..], &["--keep", "--json"]].concat());
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let power_cut = &json(&output)[0];
    let image = power_cut["images"][0].as_str().unwrap();
    let before = std::fs::read(image).unwrap();
    let acknowledged = power_cut["acknowledged"].as_u64().unwrap();
    // The output has the command that repeats the check.
    let printed = format!("--seed 5 --acknowledged {acknowledged} --again {image}");
    assert!(output.err.contains(&printed), "{}", output.err);
    let again = |acknowledged: u64| {
        let acknowledged = acknowledged.to_string();
        let words = [
            "--fs",
            "ext4",
            "--seed",
            "5",
            "--acknowledged",
            &acknowledged,
        ];
        crash(&home, &[&words[..], &["--again", image]].concat())
    };
    for _ in 0..2 {
        let same = again(acknowledged);
        assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);
        assert_eq!(json(&same)["judgement"], power_cut["recovery"]["judgement"]);
    }
    // The check reports a loss if more operations count as acknowledged than were written.
    let more = again(acknowledged + 50);
    assert_eq!(more.code, Some(1), "{}{}", more.out, more.err);
    let lost = &json(&more)["judgement"]["lost"];
    assert!(lost["missing"].as_u64().unwrap() > 0, "{lost}");
    assert!(
        std::fs::read(image).unwrap() == before,
        "the image was written to"
    );
    assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
    // It is listed, does not fit into a smaller budget, and goes with its series.
    let begins = |line: &str| {
        Some(
            line.strip_prefix("series ")?
                .strip_suffix(" begins")?
                .to_owned(),
        )
    };
    let series = output.err.lines().find_map(begins).unwrap();
    let listed = home.fsdyno(&["clean", "--dry-run"]);
    let kept = format!("kept: images of {series}");
    assert!(listed.out.contains(&kept), "{}", listed.out);
    let small = ["--keep", "--kept-budget", "4K"];
    let output = crash(
        &home,
        &[&["--fs", "ext4", "--random", "1"], &small[..]].concat(),
    );
    assert!(output.err.contains("is not kept"), "{}", output.err);
    assert!(Path::new(image).exists());
    let removed = home.fsdyno(&["runs", "rm", &series]);
    assert!(removed.err.contains("kept images"), "{}", removed.err);
    assert!(!Path::new(image).exists());
    assert_eq!(
        home.fsdyno(&["clean", "--dry-run"]).out,
        "Nothing to clean.\n"
    );
}

#[test]
fn a_contender_that_cannot_crash_is_refused_by_name() {
    let home = Home::new();
    for (fs, expected) in [
        ("tmpfs", "tmpfs: this test needs a file system on disks"),
        (
            "ext4@raid0x2",
            "ext4@raid0x2: a search explores the states of one disk",
        ),
        ("ext5", "ext5"),
        (
            "host/ext4",
            "host/ext4: this contender names the lab host, but all contenders run in uml",
        ),
        ("ext4,xfs,ext4", "ext4 is named twice"),
    ] {
        let output = crash(&home, &["--fs", fs]);
        assert_eq!(output.code, Some(2), "{fs}: {}{}", output.out, output.err);
        assert!(output.err.contains(expected), "{fs}: {}", output.err);
    }
}
