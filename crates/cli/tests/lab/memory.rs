//! Image files in memory: `--on ram:SIZE`. Needs root and loop devices.

use crate::support::{Home, outcomes, root_and, until};
use std::fs;
use std::time::Duration;

/// A run of one small workload on image files in memory.
fn in_memory(home: &Home, more: &str) -> Vec<String> {
    let work = home.work().display().to_string();
    let mut words: Vec<String> = ["run", "--fs", "ext4", "--work-dir", &work]
        .map(str::to_owned)
        .to_vec();
    words.extend(more.split(' ').map(str::to_owned));
    words
}

/// The file systems that are mounted below a home.
fn mounts(home: &Home) -> Vec<String> {
    let here = home.root.path().display().to_string();
    let all = fs::read_to_string("/proc/self/mounts").unwrap();
    let ours = all.lines().filter(|line| line.contains(&here));
    ours.map(str::to_owned).collect()
}

#[test]
fn image_files_are_in_memory_and_leave_nothing() {
    let test = "image_files_are_in_memory_and_leave_nothing";
    if !root_and(&["mkfs.ext4"], test) {
        return;
    }
    let home = Home::new();
    let load = "--on ram:64M --dataset mixed --scale 0.002 -n 1 --phases";
    let copies = in_memory(&home, &format!("{load} copy,grep,delete"));
    let dry = home.fsdyno(&[&copies[..], &["--dry-run".to_owned()]].concat());
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    let order = [
        "mount -i -t tmpfs -o size=67108864",
        "truncate",
        "losetup",
        "umount",
    ];
    let places = order.map(|what| dry.out.find(what));
    assert!(places.iter().all(Option::is_some), "{}", dry.out);
    assert!(places.is_sorted(), "{}", dry.out);

    // The place of the image while a phase runs.
    let here = home.root.path().display().to_string();
    let inspect = "losetup -n -O BACK-FILE | grep {here} | xargs -r stat -f -c %T >{seen}; true";
    let inspect = inspect.replace("{here}", &here);
    let seen = home.path("seen").display().to_string();
    let mut words = in_memory(&home, "--on ram:64M -n 1 --exec-everywhere --exec");
    words.push(inspect.replace("{seen}", &seen));
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let seen = fs::read_to_string(&seen).unwrap();
    assert!(seen.contains("tmpfs"), "{seen}");

    let output = home.fsdyno(&copies);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    assert_eq!(outcomes(&result), [(0, "measured".to_owned())]);
    for sample in result["cells"][0]["samples"].as_array().unwrap() {
        assert!(sample["device"]["writes"].is_u64(), "{sample}");
        if sample["cache"]["requested"] == "cold" {
            assert_eq!(sample["cache"]["proven"], true, "{sample}");
        }
    }
    let long = home.fsdyno(&["report", "last", "--long"]).out;
    assert!(long.contains("image files in memory, 64.0 MiB"), "{long}");
    assert_eq!(mounts(&home), Vec::<String>::new());
    home.assert_cleanable();
}

#[test]
fn a_killed_run_in_memory_is_cleaned() {
    let test = "a_killed_run_in_memory_is_cleaned";
    if !root_and(&["mkfs.ext4"], test) {
        return;
    }
    let home = Home::new();
    let mut words = in_memory(&home, "--on ram:64M -n 1 --exec");
    words.push("sleep 1000".to_owned());
    let mut child = home.start(&words);
    until(Duration::from_secs(120), "both are mounted", || {
        mounts(&home).len() == 2 || child_ended(&home)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(mounts(&home).len(), 2, "{}", home.output());
    home.assert_cleanable();
    assert_eq!(mounts(&home), Vec::<String>::new());
}

/// Whether the run has printed why it ended.
fn child_ended(home: &Home) -> bool {
    home.output().contains("failed")
}

#[test]
fn memory_that_does_not_suffice_is_refused_before_the_run() {
    let home = Home::new();
    for (more, why) in [
        ("--on ram:900T", "available"),
        ("--on ram:64M --lab uml", "lab host"),
        (
            "--on ram:64M --disk laptop-4200-2004 --time real --lab host",
            "loop:SIZE",
        ),
    ] {
        let output = home.fsdyno(&in_memory(&home, more));
        assert_eq!(output.code, Some(2), "{more}: {}", output.err);
        assert!(output.err.contains(why), "{more}: {}", output.err);
        assert!(!home.path("data/fsdyno/fsdyno.db").exists(), "{more}");
    }
}
