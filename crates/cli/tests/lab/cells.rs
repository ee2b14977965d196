//! Cells on real kernels and loop devices. Without root, the tests are skipped by name.

use crate::support::{Home, outcomes, printed, root_and};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

const MKFS: [&str; 3] = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];

/// The arguments of a run on loop devices in the directory of the home.
fn run_args(home: &Home, more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let fixed = ["run", "--work-dir", &work, "--seed", "3"];
    fixed
        .iter()
        .chain(more)
        .map(|word| (*word).to_owned())
        .collect()
}

fn samples(result: &Value, contender: u64) -> Vec<Value> {
    let cells = result["cells"].as_array().unwrap();
    cells
        .iter()
        .filter(|cell| cell["cell"]["contender"] == contender)
        .flat_map(|cell| cell["samples"].as_array().unwrap().clone())
        .collect()
}

#[test]
fn every_file_system_runs_every_phase_cold_and_proven() {
    if !root_and(&MKFS, "every_file_system_runs_every_phase_cold_and_proven") {
        return;
    }
    let home = Home::new();
    let contenders = "ext2,ext3,ext4,xfs,btrfs,btrfs@pool2,tmpfs";
    let args = run_args(
        &home,
        &[
            "--fs",
            contenders,
            "--dataset",
            "ports",
            "--scale",
            "0.02",
            "--repeats",
            "1",
            "--verify",
        ],
    );
    let printed = home.fsdyno(&args);
    let result = home.result("last");
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert!(
        outcomes(&result)
            .iter()
            .all(|(_, outcome)| outcome == "measured")
    );
    for contender in 0..6 {
        let samples = samples(&result, contender);
        assert_eq!(
            samples.len(),
            6,
            "untar, copy, stat-walk, grep, read, delete"
        );
        for sample in samples {
            let cache = &sample["cache"];
            assert_eq!(cache["proven"], true, "{sample}");
            assert_eq!(cache["resident_pages"], 0, "{sample}");
            let device = &sample["device"];
            if sample["kind"] == "read" {
                let bytes = sample["tally"]["bytes"].as_u64().unwrap();
                assert!(device["read_bytes"].as_u64().unwrap() >= bytes, "{sample}");
            }
        }
    }
    home.assert_cleanable();
}

#[test]
fn a_refused_mount_option_fails_its_cells_with_the_reason_and_the_others_run() {
    if !root_and(
        &MKFS,
        "a_refused_mount_option_fails_its_cells_with_the_reason_and_the_others_run",
    ) {
        return;
    }
    let home = Home::new();
    let args = run_args(
        &home,
        &[
            "--fs",
            "xfs,ext4:frobnicate=7",
            "--dataset",
            "music",
            "--scale",
            "0.01",
            "--phases",
            "copy",
            "--repeats",
            "1",
        ],
    );
    let printed = home.fsdyno(&args);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    let cells = result["cells"].as_array().unwrap();
    for cell in cells {
        if cell["cell"]["contender"] == 0 {
            assert_eq!(cell["outcome"]["outcome"], "measured");
        } else {
            let message = cell["outcome"]["message"].as_str().unwrap();
            assert!(message.contains("frobnicate"), "{message}");
            assert_eq!(cell["outcome"]["stage"]["stage"], "mount");
        }
    }
    // It was refused before the first block, and named once.
    let named = printed
        .err
        .matches("its cells fail, and the other contenders run")
        .count();
    assert_eq!(named, 1, "{}", printed.err);
    assert_eq!(
        printed.err.matches("frobnicate=7: mount:").count(),
        1,
        "{}",
        printed.err
    );
    home.assert_cleanable();
}

#[test]
fn a_run_without_a_contender_that_can_be_made_ends_before_its_first_block() {
    let test = "a_run_without_a_contender_that_can_be_made_ends_before_its_first_block";
    if !root_and(&MKFS, test) {
        return;
    }
    let home = Home::new();
    let contenders = "ext4[-O frobnicate],xfs:frobnicate=7";
    let args = run_args(&home, &["--fs", contenders, "--unchecked-options"]);
    let printed = home.fsdyno(&args);
    assert_eq!(printed.code, Some(2), "{}{}", printed.out, printed.err);
    for cause in ["nothing was measured", "make: ", "mount: ", "frobnicate"] {
        assert!(printed.err.contains(cause), "{cause}: {}", printed.err);
    }
    let runs = home.fsdyno(&["runs", "--json"]);
    assert!(!runs.out.contains("quick"), "{}", runs.out);
    home.assert_cleanable();
}

#[test]
fn an_option_that_needs_a_large_device_is_tried_on_the_whole_size() {
    let test = "an_option_that_needs_a_large_device_is_tried_on_the_whole_size";
    if !root_and(&MKFS, test) {
        return;
    }
    let home = Home::new();
    // Each allocation group needs 64 MiB.
    let contenders = "ext4,xfs[-d agcount=16]";
    let more = "--on loop:2G --dataset music --scale 0.01 --phases copy --repeats 1";
    let more: Vec<&str> = ["--fs", contenders]
        .into_iter()
        .chain(more.split(' '))
        .collect();
    let printed = home.fsdyno(&run_args(&home, &more));
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    home.assert_cleanable();
}

#[test]
fn a_full_disk_fails_its_cell_by_name_and_the_rest_runs() {
    if !root_and(&MKFS, "a_full_disk") {
        return;
    }
    let home = Home::new();
    let args = run_args(
        &home,
        &[
            "--fs",
            "tmpfs:size=40M,xfs",
            "--dataset",
            "music",
            "--scale",
            "0.15",
            "--phases",
            "copy",
            "--repeats",
            "1",
        ],
    );
    let printed = home.fsdyno(&args);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        if cell["cell"]["contender"] == 0 {
            assert_eq!(cell["outcome"]["errno"], "ENOSPC", "{}", cell["outcome"]);
        } else {
            assert_eq!(cell["outcome"]["outcome"], "measured");
        }
    }
    home.assert_cleanable();
}

#[test]
fn reading_with_strictatime_writes_more_than_with_noatime() {
    if !root_and(&MKFS, "strictatime") {
        return;
    }
    let home = Home::new();
    let args = run_args(&home, &["atime", "--scale", "0.03", "--repeats", "1"]);
    let printed = home.fsdyno(&args);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    let written = |contender| -> u64 {
        let samples = samples(&result, contender);
        assert!(samples.len() >= 2, "cold and warm");
        let cells = result["cells"].as_array().unwrap();
        let cell = cells
            .iter()
            .find(|cell| cell["cell"]["contender"] == contender)
            .unwrap();
        cell["samples"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["device"]["written_bytes"].as_u64().unwrap())
            .sum()
    };
    assert!(written(0) > written(1), "{} {}", written(0), written(1));
}

#[test]
fn a_device_with_content_is_refused_and_the_remedy_works() {
    if !root_and(
        &["mkfs.ext4", "losetup"],
        "a_device_with_content_is_refused_and_the_remedy_works",
    ) {
        return;
    }
    let home = Home::new();
    let image = home.path("disk.img");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(600 << 20)
        .unwrap();
    let tool = |argv: &[&str]| {
        let output = Command::new(argv[0]).args(&argv[1..]).output().unwrap();
        assert!(output.status.success(), "{argv:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let path = image.to_str().unwrap();
    tool(&["mkfs.ext4", "-q", "-F", path]);
    let device = tool(&["losetup", "--find", "--show", path]);
    let base = [
        "--on",
        &device,
        "--fs",
        "ext4,xfs",
        "--dataset",
        "music",
        "--scale",
        "0.01",
    ];
    let args = run_args(
        &home,
        &[&base[..], &["--phases", "copy", "--repeats", "1"]].concat(),
    );
    let before = tool(&["sha256sum", path]);
    let refused = home.fsdyno(&args);
    let after = tool(&["sha256sum", path]);
    // The refusal prints the flag that releases the device, and the flag works.
    let flag = refused.err.rsplit_once("add --erase ").map(|(_, rest)| {
        rest.split_whitespace()
            .next()
            .unwrap()
            .trim_matches('\'')
            .to_owned()
    });
    let mut released = args.clone();
    released.extend(["--erase".to_owned(), flag.clone().unwrap_or_default()]);
    let accepted = home.fsdyno(&released);
    tool(&["losetup", "--detach", &device]);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(refused.err.contains("ext4"), "{}", refused.err);
    assert_eq!(before, after, "a refused device was written to");
    assert_eq!(
        accepted.code,
        Some(0),
        "{flag:?}: {}{}",
        accepted.out,
        accepted.err
    );
    // Two contenders cannot exist on one device.
    let result = home.result("last");
    let orders = crate::in_turn::orders(&result);
    let why = "one contender after another: all contenders use the same devices (--on)";
    assert_eq!(orders, [why, why]);
    home.assert_cleanable();
}

#[test]
fn a_checker_that_finds_its_device_in_use_runs_again_with_a_warning() {
    let test = "a_checker_that_finds_its_device_in_use_runs_again_with_a_warning";
    if !root_and(&["mkfs.ext4", "e2fsck"], test) {
        return;
    }
    let home = Home::new();
    // A checker that is refused every other time, before the real one in the search path. The trial
    // of the contender runs it too.
    let (programs, mark) = (home.path("programs"), home.path("refused"));
    fs::create_dir(&programs).unwrap();
    let script = format!(
        "#!/bin/sh\necho >> {0}\nif test $(($(wc -l < {0}) % 2)) = 1; then\n\
         echo \"$2 is in use: Device or resource busy\" >&2; exit 8; fi\n\
         PATH=/usr/sbin:/sbin exec e2fsck \"$@\"\n",
        mark.display()
    );
    let checker = programs.join("e2fsck");
    fs::write(&checker, script).unwrap();
    fs::set_permissions(&checker, fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["--fs", "ext4", "--dataset", "ports", "--scale", "0.002"];
    let more = ["--phases", "copy", "--repeats", "1", "--verify"];
    let args = run_args(&home, &[&words[..], &more[..]].concat());
    let mut command = home.command(&args);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", programs.display()));
    let output = printed(&command.output().unwrap());
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(mark.exists(), "the checker in the search path did not run");
    let result = home.result("last");
    assert_eq!(outcomes(&result), [(0, "measured".to_owned())]);
    let warnings = result["cells"][0]["warnings"].to_string();
    assert!(warnings.contains("EBUSY"), "{warnings}");
}

#[test]
fn a_checker_waits_for_copies_of_the_mount_in_other_namespaces() {
    let test = "a_checker_waits_for_copies_of_the_mount_in_other_namespaces";
    if !root_and(&["mkfs.xfs", "xfs_repair", "unshare", "sleep"], test) {
        return;
    }
    let home = Home::new();
    // Each namespace begins with a copy of all mounts, and keeps it for a while. `xfs_repair -n`
    // reads a device that is in use, and finds damage in it.
    let (stop, ended) = std::sync::mpsc::channel::<()>();
    let copies = std::thread::spawn(move || {
        let mut started = Vec::new();
        while ended.try_recv().is_err() {
            let copy = Command::new("unshare").args(["-m", "sleep", "0.7"]).spawn();
            started.push(copy.unwrap());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        for mut copy in started {
            copy.wait().unwrap();
        }
    });
    let words = ["--fs", "xfs", "--dataset", "ports", "--scale", "0.01"];
    let more = ["--phases", "copy,delete", "--repeats", "3", "--verify"];
    let mut run = home.command(&run_args(&home, &[&words[..], &more[..]].concat()));
    let output = printed(&run.output().unwrap());
    stop.send(()).unwrap();
    copies.join().unwrap();
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
}
