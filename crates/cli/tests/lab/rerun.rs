//! Reruns of published comparisons on model disks in virtual time: the comparison with the table,
//! and the state of each conclusion. Without the lab kernel, the tests are skipped by name.

use crate::support::{Home, have, lab_kernel};
use serde_json::Value;
use std::time::{Duration, Instant};

fn words(home: &Home, kernel: &std::path::Path, name: &str, more: &[&str]) -> Vec<String> {
    let kernel = kernel.display().to_string();
    let work = home.work().display().to_string();
    let base = ["rerun", name, "--scale", "0.002", "--no-check"];
    let place = ["--work-dir", &work, "--guest-kernel", &kernel];
    let all = base.iter().chain(&place).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_rerun_compares_its_figures_with_the_table_and_tests_each_conclusion() {
    let test = "a_rerun_compares_its_figures_with_the_table_and_tests_each_conclusion";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext3"], test)) else {
        return;
    };
    let home = Home::new();
    let table = "atime-2007";
    let fewer = ["--fs", "ext3", "--format", "json"];
    let output = home.fsdyno(&words(&home, &kernel, table, &fewer));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let report: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(report["virtual_time"], true);
    let rerun = &report["rerun"];
    assert!(
        rerun["disk"]
            .as_str()
            .unwrap()
            .contains("the first 110 GiB")
    );
    // Two of the four contenders ran; the report names the others.
    assert_eq!(rerun["not_run"].as_array().unwrap().len(), 2);
    let lines = report["lines"].as_array().unwrap();
    let cold = lines
        .iter()
        .find(|l| l["label"] == "grep cold real")
        .unwrap();
    for entry in cold["entries"].as_array().unwrap() {
        assert!(entry["now"].as_f64() > Some(0.001), "{entry}");
        assert!(entry["by_published"].as_f64() > Some(0.0), "{entry}");
        assert!(entry["published"].as_f64() > Some(500.0), "{entry}");
    }
    // The processor of its time charges the kernel's work, so conclusions about it are tested.
    let processor = rerun["processor"].as_str().unwrap();
    assert!(processor.contains("desktop-2008"), "{processor}");
    let conclusions = report["conclusions"].as_array().unwrap();
    let of = |words: &str| {
        let mut all = conclusions.iter();
        let found = |one: &&Value| one["text"].as_str().unwrap().contains(words);
        all.find(found).unwrap()
    };
    assert_eq!(of("saves system time")["holding"], "holds");
    for line in ["grep warm real", "grep warm user", "grep warm sys"] {
        let line = lines.iter().find(|one| one["label"] == line).unwrap();
        for entry in line["entries"].as_array().unwrap() {
            assert!(entry["now"].as_f64() > Some(1e-6), "{line}");
        }
    }
    assert_ne!(of("ext3 searches faster, with")["holding"], "not-tested");
    // A rerun is a normal run: it can be reported alone or compared with its table again.
    let again = ["report", "last", "--against", table, "--format", "json"];
    let again: Value = serde_json::from_str(&home.fsdyno(&again).out).unwrap();
    assert_eq!(again, report);
    let plain = home.fsdyno(&["report", "last", "--long"]);
    assert!(plain.out.contains("rerun-atime-2007"), "{}", plain.out);
    let page = home.path("page.html").display().to_string();
    let html = [
        "report",
        "last",
        "--against",
        table,
        "--format",
        "html",
        "-o",
        &page,
    ];
    assert_eq!(home.fsdyno(&html).code, Some(0));
    home.assert_cleanable();
}

#[test]
fn a_pool_has_its_figures_on_one_disk_and_on_two() {
    let test = "a_pool_has_its_figures_on_one_disk_and_on_two";
    let programs = ["zpool", "zfs", "zfs-fuse"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let home = Home::new();
    let table = "zfs-two-disks-2008";
    let pools = ["--fs", "zfs,zfs@pool2", "--repeats", "1"];
    let mut running = home.start(&words(&home, &kernel, table, &pools));
    let deadline = Instant::now() + Duration::from_secs(900);
    let status = loop {
        if let Some(status) = running.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            running.kill().unwrap();
            running.wait().unwrap();
            panic!("{}", home.output());
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(status.code(), Some(0), "{}", home.output());
    let report = ["report", "last", "--against", table, "--format", "json"];
    let report: Value = serde_json::from_str(&home.fsdyno(&report).out).unwrap();
    let lines = report["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 10);
    for line in lines {
        let entries = line["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 2, "{line}");
        assert!(
            entries.iter().all(|one| one["now"].as_f64() > Some(0.0)),
            "{line}"
        );
    }
    let conclusions = report["conclusions"].as_array().unwrap();
    let faster = &conclusions[0];
    assert!(faster["holding"].is_string(), "{faster}");
    home.assert_cleanable();
}

#[test]
fn the_ablation_of_a_rerun_runs_on_two_disks_that_differ_in_flushes() {
    let test = "the_ablation_of_a_rerun_runs_on_two_disks_that_differ_in_flushes";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.xfs"], test)) else {
        return;
    };
    let home = Home::new();
    let more = ["--ablation", "--format", "json"];
    let output = home.fsdyno(&words(&home, &kernel, "btrfs-2008", &more));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let report: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(report["disks"].as_array().unwrap().len(), 2);
    let part = &report["parts"][1];
    assert_eq!(part["label"], "portage delete");
    let waiting = report["contenders"].as_array().unwrap();
    let waiting = waiting
        .iter()
        .position(|one| one[0] == "xfs:wsync")
        .unwrap();
    let on = |disk: usize| {
        let mut rows = part["rows"].as_array().unwrap().iter();
        let row = rows.find(|row| row["contender"] == waiting && row["disk"] == disk);
        let row = row.unwrap();
        assert!(row["flushes"].as_u64() > Some(100), "{row}");
        row["return_ns"].as_u64().unwrap()
    };
    assert!(on(0) > 3 * on(1), "{part}");
    home.assert_cleanable();
}

#[test]
fn reruns_are_listed_and_other_tables_are_refused_with_a_remedy() {
    let home = Home::new();
    let listed: Value =
        serde_json::from_str(&home.fsdyno(&["rerun", "--list", "--format", "json"]).out).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 6);
    let plain = home.fsdyno(&["rerun"]);
    assert!(plain.out.contains("laptop-4200-2004"), "{}", plain.out);
    assert!(plain.out.lines().all(|line| line.chars().count() <= 80));
    for (args, words) in [
        (&["rerun", "btrfs-2009"][..], "did you mean btrfs-2008"),
        (
            &["rerun", "atime-2007", "--fs", "xfs"],
            "is not a contender of this rerun",
        ),
        (&["rerun", "atime-2007", "--ablation"], "has no ablation"),
    ] {
        let output = home.fsdyno(args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.err);
        assert!(output.err.contains(words), "{args:?}: {}", output.err);
    }
}

#[test]
fn every_rerun_is_a_plan_of_its_suite_on_its_disk() {
    let home = Home::new();
    let listed: Value =
        serde_json::from_str(&home.fsdyno(&["rerun", "--list", "--format", "json"]).out).unwrap();
    for one in listed.as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        let args = [
            "rerun",
            name,
            "--scale",
            "0.01",
            "--no-ablation",
            "--dry-run",
        ];
        let output = home.fsdyno(&args);
        assert_eq!(output.code, Some(0), "{name}: {}", output.err);
        for contender in one["contenders"].as_array().unwrap() {
            let cell = format!(": {} at ", contender.as_str().unwrap());
            assert!(output.out.contains(&cell), "{name}: {cell}");
        }
    }
}

#[test]
fn the_memory_of_zfs_is_limited_in_virtual_time_only() {
    let home = Home::new();
    let disk = ["--fs", "zfs", "--dry-run"];
    let rerun = [
        &["rerun", "zfs-two-disks-2008", "--scale", "0.1"],
        &disk[..],
    ]
    .concat();
    let real = "run quick --lab uml --disk sata-2008 --time real";
    let real: Vec<&str> = real.split(' ').chain(disk).collect();
    for (args, limited) in [(rerun, true), (real, false)] {
        let output = home.fsdyno(&args);
        assert_eq!(output.code, Some(0), "{args:?}: {}", output.err);
        assert!(output.out.contains("zfs-fuse --no-kstat-mount"), "{args:?}");
        for option in ["--max-arc-size 32", "UMEM_OPTIONS=nomagazines"] {
            assert_eq!(output.out.contains(option), limited, "{args:?}");
        }
    }
}
