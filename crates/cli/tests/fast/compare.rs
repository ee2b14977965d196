//! `fsdyno compare`: its errors, its thresholds, and runs with a variable number of repeats.

use crate::support::{Home, Printed};

/// A small run on one directory.
fn run(home: &Home, more: &[&str]) -> Printed {
    let on = format!("dir:{}", home.work().display());
    let fixed = [
        "run",
        "--on",
        &on,
        "--dataset",
        "mixed",
        "--scale",
        "0.002",
        "--engine",
        "null",
    ];
    home.fsdyno(&[&fixed, more].concat())
}

#[test]
fn a_threshold_sets_the_exit_code_and_incomparable_runs_are_refused() {
    let home = Home::new();
    let copies = ["--phases", "copy", "--repeats", "3"];
    for _ in 0..2 {
        assert_eq!(run(&home, &copies).code, Some(0));
    }
    assert_eq!(
        run(&home, &[&copies[..], &["--seed", "9"]].concat()).code,
        Some(0)
    );
    let runs = home.fsdyno(&["runs", "--json"]).out;
    let runs: serde_json::Value = serde_json::from_str(&runs).unwrap();
    let runs = runs.as_array().unwrap().iter().rev();
    let names: Vec<String> = runs
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    let [first, second, other] = &names[..] else {
        panic!("{names:?}")
    };
    let compare = |more: &[&str]| {
        let fixed = ["compare", first, second];
        home.fsdyno(&[&fixed, more].concat())
    };
    // No ratio is above 10000, and every ratio is above a threshold near zero.
    let output = compare(&["--fail-if", "copy.durable > 10000"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    // The null engine copies in less than 1 ms, which has no ratio.
    let output = compare(&["--fail-if", "copy > 0.00001"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.out.contains("both negligible"), "{}", output.out);
    for _ in 0..2 {
        let on = format!("dir:{}", home.work().display());
        let slow = ["--exec", "sleep 0.01", "--repeats", "3", "--scale", "0.002"];
        let slow = home.fsdyno(&[&["run", "--on", &on, "--dataset", "mixed"], &slow[..]].concat());
        assert_eq!(slow.code, Some(0), "{}{}", slow.out, slow.err);
    }
    let newest = home.result("last")["run"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let output = home.fsdyno(&["runs", "--json"]).out;
    let runs: serde_json::Value = serde_json::from_str(&output).unwrap();
    let before = runs[1]["id"].as_str().unwrap();
    let output = home.fsdyno(&["compare", before, &newest, "--fail-if", "* > 0.00001"]);
    assert_eq!(output.code, Some(5), "{}{}", output.out, output.err);
    assert!(output.out.contains("EXCEEDED"), "{}", output.out);
    assert!(
        output.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        output.out
    );
    let output = compare(&["--fail-if", "untar > 1"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    let output = home.fsdyno(&["compare", first, other]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(
        output.err.contains("seed: 1 -> 9") && output.err.contains("--force"),
        "{}",
        output.err
    );
    let output = home.fsdyno(&["compare", first, other, "--force"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(
        output.out.contains("their figures are not comparable"),
        "{}",
        output.out
    );
}

#[test]
fn a_run_with_variable_repeats_is_complete_and_reports_its_precision() {
    let home = Home::new();
    let there = |name: &str| {
        let path = home.path(name);
        std::fs::create_dir(&path).unwrap();
        format!("dir:{}", path.display())
    };
    let both = format!("{},{}", there("one"), there("two"));
    let output = home.fsdyno(&[
        "run",
        "--engine",
        "null",
        "--fs",
        &both,
        "--dataset",
        "mixed",
        "--scale",
        "0.002",
        "--phases",
        "stat-walk",
        "--repeats",
        "3",
        "--max-repeats",
        "6",
        "--margin",
        "5%",
        "--long",
    ]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.err.contains("after 3 blocks"), "{}", output.err);
    assert!(
        output.out.contains("Requested: each ratio"),
        "{}",
        output.out
    );
    let plan = &home.result("last")["run"]["plan"];
    assert_eq!(plan["adaptive"]["most"], 6);
    assert_eq!(plan["margin"], 0.05);
    let again = home.fsdyno(&["run", "--resume", "last"]);
    assert!(again.err.contains("nothing to resume"), "{}", again.err);
    let output = home.fsdyno(&[
        "run",
        "--on",
        "dir:.",
        "--repeats",
        "9",
        "--max-repeats",
        "4",
    ]);
    assert_eq!(output.code, Some(2), "{}", output.err);
}
