//! Runs on datasets of the user. A dataset that changed since the start of the run is refused by
//! name.

use crate::support::{Home, Printed, outcomes};
use std::fs;
use std::path::Path;

/// A small run on a tree in a directory. The engine `null` never waits for a disk.
fn run(home: &Home, tree: &Path, more: &[&str]) -> Printed {
    let on = format!("dir:{}", home.work().display());
    let dataset = format!("tree:{}", tree.display());
    let fixed = [
        "run",
        "--on",
        &on,
        "--dataset",
        &dataset,
        "--phases",
        "copy",
    ];
    home.fsdyno(&[&fixed, more].concat())
}

fn tree(home: &Home, files: usize) -> std::path::PathBuf {
    let tree = home.path("tree");
    fs::create_dir_all(&tree).unwrap();
    for n in 0..files {
        fs::write(tree.join(format!("{n}")), "content").unwrap();
    }
    tree
}

#[test]
fn a_run_resumes_only_with_the_recorded_dataset_content() {
    let home = Home::new();
    let tree = tree(&home, 3);
    // The first block always runs; the budget prevents any other.
    let output = run(
        &home,
        &tree,
        &["--engine", "null", "--repeats", "2", "--budget", "1ms"],
    );
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert_eq!(outcomes(&home.result("last")).len(), 1);
    fs::write(tree.join("more"), "content").unwrap();
    let output = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(output.code, Some(2), "{}{}", output.out, output.err);
    assert!(output.err.contains("tree:"), "{}", output.err);
    assert!(
        output.err.contains("3 files, 0 dirs, 21 bytes"),
        "{}",
        output.err
    );
    assert!(
        output.err.contains("now 4 files, 0 dirs, 28 bytes"),
        "{}",
        output.err
    );
    fs::remove_file(tree.join("more")).unwrap();
    let output = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert_eq!(outcomes(&home.result("last")).len(), 2);
}

#[test]
fn runs_over_other_content_have_other_hashes_and_are_not_compared() {
    let home = Home::new();
    let tree = tree(&home, 3);
    assert_eq!(
        run(&home, &tree, &["--engine", "null", "--repeats", "1"]).code,
        Some(0)
    );
    let first = home.result("last");
    assert_eq!(
        run(&home, &tree, &["--engine", "null", "--repeats", "1"]).code,
        Some(0)
    );
    let same = home.result("last");
    fs::write(tree.join("0"), "CONTENT").unwrap();
    assert_eq!(
        run(&home, &tree, &["--engine", "null", "--repeats", "1"]).code,
        Some(0)
    );
    let other = home.result("last");
    let hash = |result: &serde_json::Value| result["run"]["plan_hash"].clone();
    assert_eq!(hash(&first), hash(&same));
    assert_ne!(hash(&first), hash(&other));
    let id = |result: &serde_json::Value| result["run"]["id"].as_str().unwrap().to_owned();
    let output = home.fsdyno(&["compare", &id(&first), &id(&same)]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let output = home.fsdyno(&["compare", &id(&first), &id(&other)]);
    assert_eq!(output.code, Some(2), "{}{}", output.out, output.err);
    assert!(
        output.err.contains("content of the dataset: tree:"),
        "{}",
        output.err
    );
    let output = home.fsdyno(&["compare", "--force", &id(&first), &id(&other)]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
}

#[test]
fn a_cell_during_which_its_dataset_changed_fails_by_name_and_has_no_figures() {
    let home = Home::new();
    let tree = tree(&home, 3);
    let change = format!("rm {}", tree.join("0").display());
    let output = run(
        &home,
        &tree,
        &["--repeats", "2", "--exec", &change, "--exec-everywhere"],
    );
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        let message = cell["outcome"]["message"].as_str().unwrap();
        assert!(message.contains("changed during the run"), "{cell}");
        assert!(message.contains("it held 3 files"), "{cell}");
        assert_eq!(cell["samples"].as_array().unwrap().len(), 0, "{cell}");
    }
}
