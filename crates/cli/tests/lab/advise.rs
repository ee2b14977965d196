//! `advise` on model disks in virtual time. Without the lab kernel, the test is skipped by name.

use crate::support::{Home, have, lab_kernel};
use std::fs;

#[test]
fn the_advice_names_a_choice_with_its_commands_and_both_runs_are_in_the_store() {
    let test = "the_advice_names_a_choice_with_its_commands_and_both_runs_are_in_the_store";
    let programs = ["mkfs.ext4", "mkfs.ext3", "mkfs.ext2"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let home = Home::new();
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let (work, page) = (work.display().to_string(), home.path("advice.html"));
    let page = page.display().to_string();
    let words = |more: &[&str]| -> Vec<String> {
        let fixed = ["advise", "--guest-kernel", &kernel, "--work-dir", &work];
        let load = [
            "--phases",
            "copy,delete",
            "--dataset",
            "mixed",
            "--scale",
            "0.002",
        ];
        let words = fixed.iter().chain(&load).chain(more);
        words.map(|word| (*word).to_owned()).collect()
    };
    let none = home.fsdyno(&words(&["--fs", "ext4,ext2", "--needs", "snapshots"]));
    assert_eq!(none.code, Some(2), "{}{}", none.out, none.err);
    assert!(none.err.contains("ext4: no snapshots"), "{}", none.err);
    let more = ["--fs", "ext4,ext3,ext2", "--needs", "journal", "-o", &page];
    let printed = home.fsdyno(&words(&more));
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let out = &printed.out;
    let answers = ["Choose ext", "No difference that you", "Not decided: ext"];
    let is_decided = answers.iter().any(|answer| out.contains(answer));
    assert!(is_decided && out.contains("ext3"), "{out}");
    assert!(out.contains("ext2: no journal"), "{out}");
    assert!(
        out.contains("mkfs.ext") && out.contains(">> /etc/fstab"),
        "{out}"
    );
    assert!(out.contains("ext4:noatime"), "{out}");
    assert!(
        !out.contains("has_journal"),
        "a variant lacks the need: {out}"
    );
    assert!(out.lines().count() <= 40, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    assert!(fs::read_to_string(&page).unwrap().contains("ext4:noatime"));
    let runs = home.fsdyno(&["runs"]).out;
    let count = runs.matches("advise").count();
    assert!((4..=5).contains(&count), "{runs}");
    // A budget that the first run uses up leaves out all options.
    let more = ["--fs", "ext4,ext2", "--budget", "1ms", "--format", "json"];
    let printed = home.fsdyno(&words(&more));
    let advice: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    let left_out = advice["left_out"].as_array().unwrap();
    let is_noatime = |one: &serde_json::Value| one.as_str().unwrap().ends_with(":noatime");
    assert!(left_out.iter().any(is_noatime), "{advice}");
    assert_eq!(advice["runs"].as_array().unwrap().len(), 1, "{advice}");
    home.assert_no_guest();
}
