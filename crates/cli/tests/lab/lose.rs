//! Faults of disks: what is known of file systems with and without checksums of data. Without the
//! lab kernel, the tests are skipped by name.

use crate::support::{Home, Printed, have, lab_kernel, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Time limit of a wait, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// What `lose` prints in guests of this kernel.
fn lose(home: &Home, kernel: &Path, words: &[&str]) -> Printed {
    let (work, kernel) = (
        home.work().display().to_string(),
        kernel.display().to_string(),
    );
    let guests = [
        "--work-dir",
        &work,
        "--guest-memory",
        "256M",
        "--guest-kernel",
        &kernel,
    ];
    home.fsdyno(&[&["lose"][..], words, &guests, &["--json"]].concat())
}

/// The faults of a contender.
fn of(tests: &Value, contender: &str) -> Vec<Value> {
    let tests = tests["tests"].as_array().unwrap().iter();
    let mut of_contender = tests.filter(|one| one["contender"] == contender);
    of_contender.next().unwrap()["faults"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn only_checksums_of_data_notice_flipped_data_and_only_a_mirror_repairs_them() {
    let name = "only_checksums_of_data_notice_flipped_data_and_only_a_mirror_repairs_them";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.btrfs"], name) {
        return;
    }
    let home = Home::new();
    let lose = |contenders: &str| {
        let printed = lose(&home, &kernel, &["--fs", contenders, "--draws", "3"]);
        let tests: Value = serde_json::from_str(&printed.out).expect(&printed.err);
        (printed, tests)
    };
    let (printed, tests) = lose("ext4,btrfs,btrfs@mirror2");
    let outcomes = |contender: &str, fault: &str, role: &str| -> BTreeSet<String> {
        let chosen = of(&tests, contender);
        let chosen = chosen
            .iter()
            .filter(|one| one["fault"] == fault && one["role"] == role);
        chosen
            .map(|one| one["outcome"].as_str().unwrap().to_owned())
            .collect()
    };
    let only = |outcome: &str| BTreeSet::from([outcome.to_owned()]);
    assert_eq!(outcomes("ext4", "bit-flip", "data"), only("wrong-data"));
    assert_eq!(outcomes("btrfs", "bit-flip", "data"), only("error"));
    for fault in ["bit-flip", "lost-write", "read-error"] {
        let mirror = outcomes("btrfs@mirror2", fault, "data");
        assert_eq!(mirror, only("healed"), "{fault}");
    }
    assert_eq!(outcomes("ext4", "read-error", "data"), only("error"));
    // ext4 has checksums of its metadata.
    let wrong = outcomes("ext4", "bit-flip", "inode-table");
    assert!(!wrong.contains("wrong-data") && !wrong.is_empty());
    assert_eq!(printed.code, Some(1), "{}", printed.err);
    // The outcomes depend on nothing but the contender and the seed.
    let (_, again) = lose("ext4");
    assert_eq!(of(&again, "ext4"), of(&tests, "ext4"));
    // They are in the store.
    let runs = home.fsdyno(&["runs"]).out;
    assert!(runs.contains("3/3 contenders"), "{runs}");
    let report = home.fsdyno(&["report", "last"]).out;
    assert!(report.contains("ext4 silently returned wrong"), "{report}");
}

#[test]
fn a_mirror_works_without_a_disk_and_a_stripe_does_not() {
    let name = "a_mirror_works_without_a_disk_and_a_stripe_does_not";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mdadm"], name) {
        return;
    }
    let home = Home::new();
    let contenders = "ext4@mirror2,xfs@mirror2,btrfs@mirror2,ext4@stripe2";
    let printed = lose(&home, &kernel, &["--fs", contenders, "--draws", "1"]);
    let tests: Value = serde_json::from_str(&printed.out).expect(&printed.err);
    let outcome = |contender: &str, fault: &str| -> String {
        let all = of(&tests, contender);
        let mut of_disk = all
            .iter()
            .filter(|one| one["fault"] == fault && one["role"].is_null());
        of_disk.next().unwrap()["outcome"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for mirror in ["ext4@mirror2", "xfs@mirror2"] {
        assert_eq!(outcome(mirror, "dead-disk"), "degraded");
        assert_eq!(outcome(mirror, "dying-disk"), "degraded");
        // md gives what a disk returns, and does not compare it with the other one.
        let flipped = of(&tests, mirror);
        let flipped = flipped
            .iter()
            .filter(|one| one["fault"] == "bit-flip" && one["role"] == "data");
        assert!(flipped.clone().count() > 0);
        for one in flipped {
            assert_eq!(one["outcome"], "wrong-data", "{one}");
            // A scrub finds that its copies differ.
            assert_eq!(one["found"], true, "{one}");
        }
    }
    assert_eq!(outcome("btrfs@mirror2", "dead-disk"), "mounted-degraded");
    assert_eq!(outcome("btrfs@mirror2", "dying-disk"), "degraded");
    assert_eq!(outcome("ext4@stripe2", "dead-disk"), "unmountable");
    // Where a mount is refused, it works without the disk: nothing is out of reach.
    let of_btrfs = of(&tests, "btrfs@mirror2");
    assert!(of_btrfs.iter().all(|one| one["outcome"] != "unmountable"));
}

#[test]
fn a_slow_disk_is_timed_and_a_disk_that_returns_is_rebuilt() {
    let name = "a_slow_disk_is_timed_and_a_disk_that_returns_is_rebuilt";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.btrfs", "mdadm"], name) {
        return;
    }
    let home = Home::new();
    let lose = |contenders: &str| -> Value {
        let kinds = ["--kinds", "slow-disk,returned-disk", "--draws", "1"];
        let printed = lose(
            &home,
            &kernel,
            &[&["--fs", contenders], &kinds[..]].concat(),
        );
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        serde_json::from_str(&printed.out).expect(&printed.err)
    };
    let tests = lose("ext4,ext4@mirror2,btrfs@mirror2");
    let fault = |contender: &str, kind: &str| {
        let all = of(&tests, contender);
        let mut found = all.iter().filter(|one| one["fault"] == kind);
        found.next().cloned()
    };
    assert_eq!(fault("ext4", "returned-disk"), None);
    let slow = fault("ext4", "slow-disk").unwrap();
    assert_eq!(slow["outcome"], "slow", "{slow}");
    let ns = |which: &str| slow["slow"][which]["writing_ns"].as_u64().unwrap();
    // The clock of the guest has steps of 256 ns, and its work is between two moments.
    let times = 10 * ns("without")..=20 * (ns("without") + 2 * 256);
    assert!(times.contains(&ns("with")), "{slow}");
    for mirror in ["ext4@mirror2", "btrfs@mirror2"] {
        // A write waits for the slower disk.
        assert_eq!(fault(mirror, "slow-disk").unwrap()["outcome"], "slow");
        let returned = fault(mirror, "returned-disk").unwrap();
        assert_eq!(returned["outcome"], "rebuilt", "{returned}");
        assert!(returned["rebuilt_ns"].as_u64() > Some(0), "{returned}");
    }
    let again = lose("ext4@mirror2");
    assert_eq!(of(&again, "ext4@mirror2"), of(&tests, "ext4@mirror2"));
}

#[test]
fn a_power_cut_takes_unsynced_work_and_only_xfs_breaks_saves_by_rename() {
    let name = "a_power_cut_takes_unsynced_work_and_only_xfs_breaks_saves_by_rename";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"], name) {
        return;
    }
    let home = Home::new();
    let lose = |contenders: &str| {
        let words = ["power", "--fs", contenders, "--draws", "2"];
        lose(&home, &kernel, &words)
    };
    let printed = lose("ext4,xfs,btrfs@mirror2");
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let cuts: Value = serde_json::from_str(&printed.out).expect(&printed.err);
    let cuts = cuts.as_array().unwrap();
    assert_eq!(cuts.len(), 6);
    for cut in cuts {
        let contender = cut["contender"].as_str().unwrap();
        let work = cut["work"].as_array().unwrap();
        let gone = |activity: &str| {
            let mut all = work.iter().filter(|one| one["activity"] == activity);
            all.next().unwrap()["lost_ns"].as_u64()
        };
        // What is synced is there, and copied files are not for as long as 30 s.
        assert_eq!(gone("database with syncs"), None, "{cut}");
        assert!(gone("copied files").unwrap() > 5_000_000_000, "{cut}");
        let broken: u64 = work
            .iter()
            .map(|one| one["broken_saves"].as_u64().unwrap())
            .sum();
        assert_eq!(broken > 0, contender == "xfs", "{cut}");
    }
    // The losses depend on nothing but the contender and the seed.
    let again: Value = serde_json::from_str(&lose("ext4").out).unwrap();
    assert_eq!(again[0]["work"], cuts[0]["work"]);
    assert_eq!(again[0]["disk"], cuts[0]["disk"]);
    let report = home.fsdyno(&["report", "last"]).out;
    assert!(
        report.contains("Nothing that was synced is lost"),
        "{report}"
    );
}

#[test]
fn on_a_full_disk_no_synced_file_is_lost_and_deleting_makes_room() {
    let name = "on_a_full_disk_no_synced_file_is_lost_and_deleting_makes_room";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.btrfs"], name) {
        return;
    }
    let home = Home::new();
    let lose = |contenders: &str, size: &str| {
        let words = ["full", "--fs", contenders, "--draws", "1", "--size", size];
        lose(&home, &kernel, &words)
    };
    let printed = lose("ext4,btrfs", "160M");
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let tests: Value = serde_json::from_str(&printed.out).expect(&printed.err);
    for (place, contender) in ["ext4", "btrfs"].into_iter().enumerate() {
        let test = &tests["tests"][place];
        assert_eq!(test["contender"], contender);
        let life = &test["full"][0];
        assert_eq!(life["refused_with"], "ENOSPC", "{life}");
        assert_eq!((&life["lost"], &life["unsynced"]), (&0.into(), &0.into()));
        assert!(life["room_after_seconds"].is_u64(), "{life}");
        let bytes = |figure: &str| life[figure].as_u64().unwrap();
        assert!(bytes("stored") > bytes("available") * 9 / 10, "{life}");
        assert!(bytes("emptied") > bytes("available") * 9 / 10, "{life}");
        let error = |action: &str| -> Value {
            let mut actions = life["actions"].as_array().unwrap().iter();
            actions.find(|one| one["action"] == action).unwrap()["error"].clone()
        };
        // Copying on write needs new blocks to overwrite old ones; a new file needs them everywhere.
        let overwrites = error("overwrite");
        assert_eq!(overwrites == "ENOSPC", contender == "btrfs", "{life}");
        assert_eq!(error("save-by-rename"), "ENOSPC", "{life}");
        assert_eq!(error("delete"), Value::Null, "{life}");
    }
    // A life depends on nothing but the contender and the seed.
    let again: Value = serde_json::from_str(&lose("ext4", "160M").out).unwrap();
    assert_eq!(again["tests"][0]["full"], tests["tests"][0]["full"]);
    let runs = home.fsdyno(&["runs"]).out;
    assert!(runs.contains("2/2 contenders 2 full disks"), "{runs}");
    // What cannot be judged, or would fill the disk of the host, is refused before anything begins.
    for (contender, size, why) in [
        ("nilfs2", "160M", "nilfs_cleanerd"),
        ("vfat", "160M", "owners"),
        ("btrfs", "80M", "at least"),
        ("ext4", "4000000G", "free"),
    ] {
        let refused = lose(contender, size);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.to_lowercase().contains(why), "{}", refused.err);
    }
}

#[test]
fn at_a_quota_nothing_is_lost_and_its_charge_is_right_after_a_stop() {
    let name = "at_a_quota_nothing_is_lost_and_its_charge_is_right_after_a_stop";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.xfs", "mkfs.f2fs"], name) {
        return;
    }
    let home = Home::new();
    let lose = |contenders: &str, size: &str| {
        let words = ["quota", "--fs", contenders, "--draws", "1", "--size", size];
        lose(&home, &kernel, &words)
    };
    let printed = lose("ext4,xfs,f2fs", "320M");
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let tests: Value = serde_json::from_str(&printed.out).expect(&printed.err);
    for place in 0..3 {
        let life = &tests["tests"][place]["full"][0];
        assert_eq!(life["refused_with"], "EDQUOT", "{life}");
        assert_eq!((&life["lost"], &life["unsynced"]), (&0.into(), &0.into()));
        assert!(life["room_after_seconds"].is_u64(), "{life}");
        let used = &life["quota"];
        for accounting in ["before", "after"] {
            let one = &used[accounting];
            assert!(one["charged"].as_u64() > Some(0), "{life}");
            assert_eq!(one["charged"], one["used"], "{life}");
            assert_eq!(one["charged_files"], one["used_files"], "{life}");
        }
        assert_eq!(used["refused_with"], "EDQUOT", "{life}");
    }
    // A life depends on nothing but the contender and the seed.
    let again: Value = serde_json::from_str(&lose("ext4", "320M").out).unwrap();
    assert_eq!(again["tests"][0]["full"], tests["tests"][0]["full"]);
    for (contender, size, why) in [("btrfs", "320M", "no quotas"), ("ext4", "160M", "at least")] {
        let refused = lose(contender, size);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.to_lowercase().contains(why), "{}", refused.err);
    }
}

#[test]
fn an_interrupted_test_of_full_disks_keeps_the_lives_that_ended() {
    let name = "an_interrupted_test_of_full_disks_keeps_the_lives_that_ended";
    let Some(kernel) = lab_kernel(name).filter(|_| have(&["mkfs.ext4"], name)) else {
        return;
    };
    let home = Home::new();
    let (work, kernel) = (home.work(), kernel.display().to_string());
    let line = "lose full --fs ext4 --draws 1000 --size 160M --guest-memory 256M --work-dir";
    let words: Vec<&str> = line.split(' ').collect();
    let places = [work.to_str().unwrap(), "--guest-kernel", &kernel];
    let mut running = home.start(&[&words[..], &places].concat());
    until(TIMEOUT, "a life", || {
        home.output().contains("ext4: 1 of 1000 lives")
    });
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    assert_eq!(
        running.wait().unwrap().code(),
        Some(130),
        "{}",
        home.output()
    );
    let report = home.fsdyno(&["report", "last"]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    assert!(report.out.contains("ext4"), "{}", report.out);
    assert!(home.fsdyno(&["runs"]).out.contains("interrupted"));
    home.assert_no_guest();
}
