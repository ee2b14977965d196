//! `advise` and `run --robust` on model disks in virtual time. Without the lab kernel, the tests are
//! skipped by name.

use crate::support::{Home, have, lab_kernel, until};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;
use std::{env, fs};

/// If it is set, interrupted advice also varies the models.
const ROBUST: &str = "FSDYNO_ROBUST";

/// Time limit of each wait, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

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
            "--no-robust",
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
    let answers = [
        "Choose ext",
        "No difference that you",
        "Not decided between ext",
    ];
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

/// An advice without its names and times.
fn conclusion(out: &str) -> serde_json::Value {
    let mut advice: serde_json::Value = serde_json::from_str(out).unwrap();
    let fields = advice.as_object_mut().unwrap();
    fields.remove("runs");
    fields.remove("started_unix_ns");
    for list in ["/sizes", "/robustness/variants"] {
        let list = advice
            .pointer_mut(list)
            .and_then(|list| list.as_array_mut());
        for one in list.into_iter().flatten() {
            one["run"].take();
        }
    }
    advice
}

#[test]
fn an_interrupted_advice_resumes_as_the_same_advice() {
    let test = "an_interrupted_advice_resumes_as_the_same_advice";
    let programs = ["mkfs.xfs", "mkfs.nilfs2"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let is_robust = env::var_os(ROBUST).is_some();
    let words = |home: &Home| -> Vec<String> {
        let (kernel, work) = (kernel.display().to_string(), home.work());
        let line = "--phases delete --dataset mixed --scale 0.002 --budget 1h --format json \
                    --work-dir";
        // They have few options.
        let words = ["advise", "--fs=xfs,nilfs2"].into_iter();
        let words = words.chain(line.split_whitespace()).map(str::to_owned);
        let places = [work.display().to_string(), "--guest-kernel".into(), kernel];
        let words = words.chain(places);
        words
            .chain((!is_robust).then(|| "--no-robust".to_owned()))
            .collect()
    };
    let whole = Home::new();
    let whole = whole.fsdyno(&words(&whole));
    assert_eq!(whole.code, Some(0), "{}{}", whole.out, whole.err);
    let home = Home::new();
    let mut running = home.start(&words(&home));
    until(TIMEOUT, "its first run", || {
        home.fsdyno(&["runs"]).out.contains("advise")
    });
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    let code = running.wait().unwrap().code();
    assert_eq!(code, Some(130), "{}", home.output());
    let log = home.output();
    assert!(
        log.contains("continue with: fsdyno advise --resume 2"),
        "{log}"
    );
    assert!(!log.contains("fsdyno run --resume"), "{log}");
    let changed = home.fsdyno(&["advise", "--resume", "--needs", "snapshots"]);
    assert_eq!(changed.code, Some(2), "{}", changed.err);
    let resumed = home.fsdyno(&["advise", "--resume", "--format", "json"]);
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.out, resumed.err);
    let conclusion = conclusion(&resumed.out);
    assert_eq!(conclusion, self::conclusion(&whole.out));
    let variants = conclusion["robustness"]["variants"].as_array();
    assert_eq!(variants.is_some_and(|all| all.len() > 8), is_robust);
    home.assert_no_guest();
}

#[test]
fn a_robust_run_resumes_its_variants_and_its_report_names_them() {
    let test = "a_robust_run_resumes_its_variants_and_its_report_names_them";
    let programs = ["mkfs.ext4", "mkfs.xfs"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let home = Home::new();
    let more = "--phases copy,delete --scale 0.002 --robust --jobs 2";
    let mut words = home.on_model_disks(&kernel, "ext4,xfs", more);
    let repeats = words.iter().position(|word| word == "1").unwrap();
    let refused = home.fsdyno(&words);
    assert_eq!(refused.code, Some(2), "one draw: {}", refused.err);
    words[repeats] = "6".to_owned();
    let mut running = home.start(&words);
    until(TIMEOUT, "a variant", || {
        home.output().contains("variant 2 of 8")
    });
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    assert_eq!(
        running.wait().unwrap().code(),
        Some(130),
        "{}",
        home.output()
    );
    assert_eq!(home.fsdyno(&["runs"]).out.matches("mixed").count(), 1);
    let resumed = home.fsdyno(&["run", "--resume", "last", "--no-lock"]);
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.out, resumed.err);
    assert!(!resumed.err.contains("variant 1 of 8"), "{}", resumed.err);
    let result = home.result("last");
    let robustness = &result["results"][0]["robustness"];
    assert_eq!(robustness["planned"], 8, "{robustness}");
    let variants = robustness["variants"].as_array().unwrap();
    let change = |one: &serde_json::Value| one["change"].as_str().unwrap().to_owned();
    let changes: Vec<String> = variants.iter().map(change).collect();
    assert_eq!(changes.len(), 8, "{changes:?}");
    assert_eq!(changes[0], "processor 15 % slower");
    assert!(resumed.out.contains("variant"), "{}", resumed.out);
    home.assert_no_guest();
}
