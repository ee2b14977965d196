//! Crash tests on model disks with a volatile cache, in virtual time. A seed reproduces a power cut
//! exactly, and only unflushed data is lost. Without the lab kernel, the tests are skipped by name.

use crate::support::{Home, Printed, have, lab_kernel};
use serde_json::Value;
use std::path::Path;

/// A contender that never flushes the cache of its disk.
const CARELESS: &str = "ext4:barrier=0";

/// The same contender with flushes.
const CAREFUL: &str = "ext4";

/// Runs `fsdyno crash` on the disk of 2004.
fn crash(home: &Home, kernel: &Path, more: &[&str]) -> Printed {
    let (work, kernel) = (
        home.work().display().to_string(),
        kernel.display().to_string(),
    );
    let base = ["crash", "--work-dir", &work, "--guest-memory", "256M"];
    let disk = ["--guest-kernel", &kernel, "--disk", "laptop-4200-2004"];
    home.fsdyno(&[&base[..], &disk, more].concat())
}

fn json(output: &Printed) -> Value {
    serde_json::from_str(&output.out)
        .unwrap_or_else(|e| panic!("{e}: {}{}", output.out, output.err))
}

/// Number of files lost in a power cut.
fn losses(power_cut: &Value) -> u64 {
    let lost = power_cut["recovery"]["judgement"]["lost"].as_object();
    let lost = lost.unwrap_or_else(|| panic!("it was not judged: {power_cut}"));
    lost.values().filter_map(Value::as_u64).sum()
}

#[test]
fn the_same_seed_repeats_a_power_cut_to_the_nanosecond() {
    let test = "the_same_seed_repeats_a_power_cut_to_the_nanosecond";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let power_cuts: Vec<Value> = (0..2)
        .map(|_| {
            let home = Home::new();
            let words = ["--fs", CARELESS, "--random", "1", "--seed", "4", "--json"];
            let output = crash(&home, &kernel, &words);
            let mut power_cut = json(&output)[0].take();
            assert!(power_cut["acknowledged"].as_u64() > Some(20), "{power_cut}");
            // Only the paths of the kept images differ.
            power_cut["images"].take();
            home.assert_no_guest();
            power_cut
        })
        .collect();
    assert_eq!(power_cuts[0], power_cuts[1]);
    assert!(power_cuts[0]["disk"]["digest"].as_str().unwrap().len() == 64);
}

#[test]
fn only_unflushed_data_is_lost() {
    let test = "only_unflushed_data_is_lost";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let words = ["--fs", CAREFUL, "--fs", CARELESS, "--random", "3", "--json"];
    let output = crash(&home, &kernel, &words);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let power_cuts = json(&output).as_array().unwrap().clone();
    let of = |label: &str| -> Vec<&Value> {
        let of = |power_cut: &&Value| power_cut["contender"] == label;
        power_cuts.iter().filter(of).collect()
    };
    let (careful, careless) = (of(CAREFUL), of(CARELESS));
    assert_eq!((careful.len(), careless.len()), (3, 3));
    for power_cut in &careful {
        assert_eq!(losses(power_cut), 0, "{power_cut}");
        assert_eq!(power_cut["recovery"]["clean"], true, "{power_cut}");
        assert_eq!(power_cut["recovery"]["refused"], Value::Null, "{power_cut}");
    }
    assert!(
        careless.iter().any(|power_cut| losses(power_cut) > 0),
        "{careless:?}"
    );
    assert!(
        careless
            .iter()
            .all(|power_cut| power_cut["disk"]["lost"].as_u64() > Some(0)),
        "{careless:?}"
    );
    // The images are kept, and the printed command gives the same result again.
    let lossy = careless
        .iter()
        .find(|power_cut| losses(power_cut) > 0)
        .unwrap();
    let shown = home.fsdyno(&["show", "last"]);
    let image = lossy["images"][0].as_str().unwrap();
    let again = shown.out.lines().find(|line| line.contains(image)).unwrap();
    let words: Vec<&str> = again.split_whitespace().skip(1).collect();
    assert!(
        again.contains("--disk laptop-4200-2004"),
        "the disk of its recovery is printed: {again}"
    );
    let output = home.fsdyno(&words);
    let recovery = json(&output);
    assert_eq!(recovery, lossy["recovery"], "{again}");
    let report = home.fsdyno(&["report", "last", "--long"]);
    for part in [
        "Disk: laptop-4200-2004, virtual time",
        "not\nyet written to its medium",
    ] {
        assert!(report.out.contains(part), "{part}: {}", report.out);
    }
    home.assert_no_guest();
}

#[test]
fn disks_and_guests_without_time_are_refused_by_name() {
    let home = Home::new();
    for (words, expected) in [
        (&["--disk", "null"][..], "its requests take no time"),
        (&["--disk", "nothing"], "`nothing` is no disk profile"),
        (
            &["--disk", "sata-2008", "--lab", "qemu"],
            "--disk: guests of qemu have no time-travel mode",
        ),
    ] {
        let output = home.fsdyno(&[&["crash", "--fs", CAREFUL], words].concat());
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.err);
        assert!(output.err.contains(expected), "{words:?}: {}", output.err);
    }
}
