//! The search of `crash`: programs on model disks, all states of a power cut, stored, merged,
//! resumed and checked again. Without the lab kernel, the tests are skipped by name.

use crate::support::{Home, Printed, have, lab_kernel};
use serde_json::Value;
use std::path::Path;

/// A contender that never flushes the cache of its disk.
const CARELESS: &str = "ext4:barrier=0";

/// The same contender with flushes.
const CAREFUL: &str = "ext4";

const PROGRAMS: &str = "\
mkdir A
---
create A/foo
write A/foo 0 8192
fsync A/foo
===
mkdir A
create A/foo
---
rename A/foo A/bar
fsync A
===
create foo
---
unlink foo
sync
";

fn explore(home: &Home, kernel: &Path, more: &[&str]) -> Printed {
    let path = |path: &Path| path.display().to_string();
    let (work, kernel) = (path(&home.work()), path(kernel));
    let programs = home.work().join("programs");
    std::fs::write(&programs, PROGRAMS).unwrap();
    let programs = path(&programs);
    let base = ["crash", "--work-dir", &work, "--guest-memory", "256M"];
    let search = [
        "--guest-kernel",
        &kernel,
        "--ops",
        &programs,
        "--states",
        "6",
    ];
    home.fsdyno(&[&base[..], &search, more].concat())
}

fn json(output: &Printed) -> Value {
    serde_json::from_str(&output.out)
        .unwrap_or_else(|e| panic!("{e}: {}{}", output.out, output.err))
}

/// The digest of the last exploration.
fn digest(home: &Home) -> String {
    let report = home.fsdyno(&["report", "last", "--long"]);
    let mut lines = report.out.lines();
    let line = lines.find(|line| line.starts_with("digest "));
    line.unwrap_or_else(|| panic!("{}{}", report.out, report.err))
        .to_owned()
}

#[test]
fn a_search_finds_what_a_disk_loses_without_flushes_and_nothing_with_them() {
    let test = "a_search_finds_what_a_disk_loses_without_flushes_and_nothing_with_them";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let careful = explore(&home, &kernel, &["--fs", CAREFUL, "--json"]);
    assert_eq!(careful.code, Some(0), "{}{}", careful.out, careful.err);
    let careful = json(&careful);
    let programs = careful["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 3);
    for program in programs {
        assert_eq!(program["failed"], Value::Null, "{program}");
        assert!(
            program["states"]["recovered"].as_u64() > Some(2),
            "{program}"
        );
        let c0 = &program["states"]["classes"]["c0"];
        assert!(c0["checked"].as_u64() > Some(2), "{program}");
    }

    let careless = explore(&home, &kernel, &["--fs", CARELESS, "--json"]);
    assert_eq!(careless.code, Some(1), "{}", careless.err);
    let careless = json(&careless);
    let findings = careless["programs"][0]["findings"].as_array().unwrap();
    let acknowledged = |one: &&Value| {
        let message = one["message"].as_str().unwrap();
        message.contains("(fsync A/foo) had returned")
    };
    let finding = findings.iter().find(acknowledged);
    let finding = finding.unwrap_or_else(|| panic!("{findings:?}"));
    let minimal = &finding["minimal"];
    assert!(minimal["operations"].as_u64() <= Some(3), "{minimal}");
    let image = Path::new(minimal["image"].as_str().unwrap());
    assert!(image.is_file());
    let script = std::fs::read_to_string(minimal["script"].as_str().unwrap()).unwrap();
    assert!(script.contains(&image.display().to_string()), "{script}");

    // The state of the report fails again; one that does not exist is refused.
    let state = finding["state"].as_str().unwrap();
    let again = explore(&home, &kernel, &["--fs", CARELESS, "--again", state]);
    assert_eq!(again.code, Some(1), "{}{}", again.out, again.err);
    let message = finding["message"].as_str().unwrap();
    assert!(again.out.contains(message), "{}", again.out);
    let wrong = explore(&home, &kernel, &["--fs", CARELESS, "--again", "0:99/c2/0"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);

    // A disk without a volatile cache loses no completed write.
    let kept = explore(&home, &kernel, &["--fs", CARELESS, "--disk", "gp3"]);
    assert_eq!(kept.code, Some(0), "{}{}", kept.out, kept.err);
    home.assert_no_guest();
}

#[test]
fn shards_and_a_resumed_search_find_the_same() {
    let test = "shards_and_a_resumed_search_find_the_same";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let whole = Home::new();
    let both = ["--fs", CAREFUL, "--fs", CARELESS];
    let at_once = explore(&whole, &kernel, &[&both[..], &["--jobs", "2"]].concat());
    assert_eq!(at_once.code, Some(1), "{}", at_once.err);

    let parts = Home::new();
    let stores = ["1/2", "2/2"].map(|shard| {
        let store = parts.path(&format!("{}.db", &shard[..1]));
        let store = store.display().to_string();
        let words = [&both[..], &["--shard", shard, "--store", &store]].concat();
        let explored = explore(&parts, &kernel, &words);
        assert!(matches!(explored.code, Some(0 | 1)), "{}", explored.err);
        store
    });
    let output = parts.fsdyno(&["merge", &stores[0], &stores[1]]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(digest(&parts), digest(&whole));

    // Without time no program begins; a resume explores them.
    let late = Home::new();
    let stopped = explore(&late, &kernel, &[&both[..], &["--budget", "0s"]].concat());
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    let memory = ["--guest-memory", "256M"];
    let resumed = late.fsdyno(&[&["crash", "--resume", "last"][..], &memory].concat());
    assert_eq!(resumed.code, Some(1), "{}", resumed.err);
    assert_eq!(digest(&late), digest(&whole));
}

/// An application that acknowledges one file which it made durable, and one which it did not.
const APPLICATION: &str = "\
echo data | dd of=durable conv=fsync 2>/dev/null && echo durable
echo data > careless && echo careless";

/// Each acknowledged file has its data.
const CHECK: &str = "\
while read name; do [ \"$(cat $name)\" = data ] || { echo \"$name is lost\"; exit 1; }; done";

#[test]
fn an_application_that_acknowledges_too_early_is_found() {
    let test = "an_application_that_acknowledges_too_early_is_found";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let (work, kernel) = (
        home.work().display().to_string(),
        kernel.display().to_string(),
    );
    let explore = |more: &[&str]| {
        let place = ["crash", "--fs", CAREFUL, "--work-dir", &work];
        let guest = ["--guest-memory", "256M", "--guest-kernel", &kernel];
        let application = ["--exec", APPLICATION, "--check", CHECK, "--states", "4"];
        home.fsdyno(&[&place[..], &guest, &application, more].concat())
    };
    let found = explore(&["--json"]);
    assert_eq!(found.code, Some(1), "{}{}", found.out, found.err);
    let found = json(&found);
    let findings = found["programs"].as_array().unwrap().iter();
    let findings: Vec<&Value> = findings
        .flat_map(|part| part["findings"].as_array().unwrap())
        .collect();
    assert!(!findings.is_empty());
    for finding in &findings {
        assert_eq!(finding["violation"], "application");
        let message = finding["message"].as_str().unwrap();
        assert!(
            message.starts_with("the check of the application fails after 2 acknowledged lines")
                && message.ends_with("careless is lost"),
            "{message}"
        );
    }
    let minimal = findings
        .iter()
        .find(|one| one["minimal"].is_object())
        .unwrap();
    let script = std::fs::read_to_string(minimal["minimal"]["script"].as_str().unwrap());
    assert!(script.unwrap().contains("while read name"));
    let state = findings[0]["state"].as_str().unwrap();
    let again = explore(&["--again", state]);
    assert_eq!(again.code, Some(1), "{}{}", again.out, again.err);
    assert!(again.out.contains("careless is lost"), "{}", again.out);

    // An application that fails is no finding, and its error is reported.
    let place = [
        "crash",
        "--fs",
        CAREFUL,
        "--work-dir",
        &work,
        "--guest-memory",
        "256M",
    ];
    let failing = [
        "--guest-kernel",
        &kernel,
        "--exec",
        "ls /absent",
        "--check",
        "true",
        "--again",
        "0:1/c0/0",
    ];
    let failed = home.fsdyno(&[&place[..], &failing].concat());
    assert_eq!(failed.code, Some(2), "{}{}", failed.out, failed.err);
    assert!(failed.err.contains("No such file"), "{}", failed.err);
    home.assert_no_guest();
}

#[test]
fn an_application_or_a_check_that_fails_without_a_power_cut_is_refused_at_once() {
    let test = "an_application_or_a_check_that_fails_without_a_power_cut_is_refused_at_once";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let (work, kernel) = (
        home.work().display().to_string(),
        kernel.display().to_string(),
    );
    let two = "echo one > f && echo one && echo two > f && echo two";
    let cases = [
        // It fails on the empty file system, at a line, and at the end.
        (two, "cat f", "before the application began"),
        (two, "! grep -s one f", "after 1 acknowledged line, `one`"),
        (
            "echo x > f",
            "! ls f 2>/dev/null",
            "after the application ended",
        ),
        ("ls /absent", "true", "No such file"),
    ];
    for (application, check, expected) in cases {
        let place = ["crash", "--fs", CAREFUL, "--work-dir", &work];
        let guest = ["--guest-memory", "256M", "--guest-kernel", &kernel];
        let commands = ["--exec", application, "--check", check];
        let refused = home.fsdyno(&[&place[..], &guest, &commands].concat());
        assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
        assert!(
            refused.err.contains(expected),
            "{application}: {}",
            refused.err
        );
    }
    // Nothing of it is stored.
    assert!(!home.fsdyno(&["runs"]).out.contains("explore"));
    home.assert_no_guest();
}

/// A file system that preallocates blocks behind the end of a file.
const PREALLOCATING: &str = "xfs";

#[test]
fn preallocated_blocks_are_no_promise_and_a_name_that_is_back_is_found() {
    let test = "preallocated_blocks_are_no_promise_and_a_name_that_is_back_is_found";
    let needs = ["mkfs.xfs", "mkfs.btrfs"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&needs, test)) else {
        return;
    };
    let home = Home::new();
    let appended = "create f\n---\nappend f 65536\nfsync f\nappend f 65536\nfsync f\n";
    let found = explored(&home, &kernel, PREALLOCATING, appended);
    assert_eq!(found.code, Some(0), "{}{}", found.out, found.err);
    let unlinked = "mkdir B\ncreate B/bar\n---\nopen B/bar as h\nunlink B/bar\nfsync @h\n";
    let found = explored(&home, &kernel, "btrfs", unlinked);
    assert_eq!(found.code, Some(1), "{}{}", found.out, found.err);
    let message = "`B/bar` is back after it was deleted";
    assert!(found.out.contains(message), "{}", found.out);
    // States count once, and a text in a title is no JSON.
    let found = json(&home.fsdyno(&["report", "last", "--format", "json"]));
    let program = &found["programs"][0];
    let count = |value: &Value| value.as_u64().unwrap();
    let distinct = count(&program["states"]["distinct"]);
    for finding in program["findings"].as_array().unwrap() {
        assert!(count(&finding["count"]) <= distinct);
        assert!(!finding["message"].as_str().unwrap().contains('{'));
    }
}

fn explored(home: &Home, kernel: &Path, contender: &str, program: &str) -> Printed {
    let file = home.work().join("program.ops");
    std::fs::write(&file, program).unwrap();
    let path = |path: &Path| path.display().to_string();
    let (work, kernel, file) = (path(&home.work()), path(kernel), path(&file));
    let place = [
        "crash",
        "--fs",
        contender,
        "--work-dir",
        &work,
        "--ops",
        &file,
    ];
    let guest = ["--guest-memory", "256M", "--guest-kernel", &kernel];
    let search = ["--no-nested", "--no-minimize", "--states", "8"];
    home.fsdyno(&[&place[..], &guest, &search].concat())
}

/// Programs after published crash tests; the last two are known faults.
const PUBLISHED: &str = include_str!("published.ops");

/// How many of them are explored, if not [`FEW`].
const NUMBER: &str = "FSDYNO_PUBLISHED";

/// Programs of a short test.
const FEW: usize = 4;

#[test]
fn published_crash_tests_accuse_only_the_file_system_with_the_known_faults() {
    let test = "published_crash_tests_accuse_only_the_file_system_with_the_known_faults";
    let needs = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&needs, test)) else {
        return;
    };
    let number = std::env::var(NUMBER).ok();
    let number = number.map_or(FEW, |number| number.parse().unwrap());
    let programs: Vec<&str> = PUBLISHED.split("===\n").collect();
    let first = programs.len().saturating_sub(number);
    let home = Home::new();
    let found = explored(&home, &kernel, "ext4,xfs", &programs[first..].join("===\n"));
    assert_eq!(found.code, Some(0), "{}{}", found.out, found.err);
    let known = programs[programs.len() - 2..].join("===\n");
    let found = explored(&home, &kernel, "btrfs", &known);
    assert_eq!(found.code, Some(1), "{}{}", found.out, found.err);
    let found = json(&home.fsdyno(&["report", "last", "--format", "json"]));
    for program in found["programs"].as_array().unwrap() {
        assert!(program["failed"].is_null(), "{program}");
        let findings = program["findings"].as_array().unwrap();
        assert!(!findings.is_empty(), "{program}");
    }
}

/// A file system that its checker recovers.
const CHECKED: &str = "ext2";

#[test]
fn a_long_program_is_explored_in_sampled_windows_and_its_checker_is_interrupted() {
    let test = "a_long_program_is_explored_in_sampled_windows_and_its_checker_is_interrupted";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext2"], test)) else {
        return;
    };
    let home = Home::new();
    let (work, kernel) = (
        home.work().display().to_string(),
        kernel.display().to_string(),
    );
    let place = ["crash", "--fs", CHECKED, "--work-dir", &work, "--json"];
    let guest = ["--guest-memory", "256M", "--guest-kernel", &kernel];
    let program = ["--ops", "random:1:3", "--windows", "4", "--states", "4"];
    let found = home.fsdyno(&[&place[..], &guest, &program, &["--no-minimize"]].concat());
    assert!(
        matches!(found.code, Some(0 | 1)),
        "{}{}",
        found.out,
        found.err
    );
    let found = json(&found);
    let parts = found["programs"].as_array().unwrap();
    assert_eq!(parts.len(), 16);
    let sum = |name: &str| -> u64 {
        let of = |part: &Value| part["states"][name].as_u64().unwrap_or_default();
        parts.iter().map(of).sum()
    };
    assert!(parts.iter().all(|part| part["failed"].is_null()), "{found}");
    assert_eq!(sum("windows"), 4);
    assert!(
        sum("skipped_windows") > 0 && sum("nested_checks") > 4,
        "{found}"
    );
    home.assert_no_guest();
}
