//! Cells in guests of User-mode Linux: file systems that the host kernel lacks, runs without root,
//! and guests that die. Without the kernel, the tests are skipped by name.

mod stopped;

use crate::support::{Home, have, outcomes, packaged_kernel_starts, until};
use std::time::Duration;

/// The packaged kernel of guests.
const KERNEL: &str = "linux.uml";

/// Time limit of each wait on a guest.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The arguments of a small run in guests.
fn small(home: &Home, fs: &str, more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let base = ["run", "--lab", "uml", "--work-dir", &work, "--fs", fs];
    let load = ["--repeats", "1", "--guest-memory", "256M"];
    let all = base.iter().chain(&load).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

/// Arguments for phases on a tree of a few files.
const TREE: [&str; 6] = [
    "--dataset",
    "mixed",
    "--scale",
    "0.003",
    "--phases",
    "copy,delete",
];

#[test]
fn file_systems_that_the_host_lacks_are_compared_in_guests() {
    let programs = [
        KERNEL,
        "mkfs.reiserfs",
        "mkfs.jfs",
        "mkfs.f2fs",
        "mkfs.nilfs2",
    ];
    if !have(
        &programs,
        "file_systems_that_the_host_lacks_are_compared_in_guests",
    ) {
        return;
    }
    let home = Home::new();
    let fs = "ext2,reiserfs:notail,jfs,f2fs,nilfs2";
    let output = home.fsdyno(&small(&home, fs, &TREE));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    assert_eq!(outcomes(&result).len(), 5);
    for cell in result["cells"].as_array().unwrap() {
        let effective = cell["effective"].as_array().unwrap();
        let guest = effective
            .iter()
            .find(|one| one["source"] == "guest")
            .unwrap();
        assert!(
            guest["text"].as_str().unwrap().starts_with("Linux "),
            "{guest}"
        );
        for sample in cell["samples"].as_array().unwrap() {
            assert_eq!(sample["cache"]["proven"], true, "{sample}");
            let method = sample["cache"]["method"].as_str().unwrap();
            assert!(method.contains("the memory of the host"), "{method}");
            // The host counts the time of the guest's kernel.
            let figures = sample["figures"].as_array().unwrap();
            let mut names = figures.iter().map(|one| &one["name"]);
            assert!(names.any(|name| name == "guest kernel time"), "{sample}");
        }
        // A cold copy reads from the disks of the guest.
        let read = &cell["samples"][0]["device"]["read_bytes"];
        assert!(read.as_u64().unwrap() > 1 << 20, "{cell}");
    }
    for format in ["terminal", "markdown", "html"] {
        let output = home.fsdyno(&["report", "last", "--long", "--format", format]);
        assert!(
            output.out.contains("User-mode Linux"),
            "{format}: {}",
            output.out
        );
    }
    assert!(home.left_in_work().is_empty());
    assert_eq!(home.processes_of(KERNEL), 0);
}

#[test]
fn devices_are_joined_below_a_file_system() {
    if !have(&[KERNEL, "mdadm"], "devices_are_joined_below_a_file_system") {
        return;
    }
    let home = Home::new();
    let fs = "ext4@raid0x2,ext4@raid1x2,ext4@linear3";
    let output = home.fsdyno(&small(&home, fs, &TREE));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    // A mirror writes all data twice.
    let written = |contender: usize| {
        let cells = result["cells"].as_array().unwrap();
        let of = cells
            .iter()
            .find(|one| one["cell"]["contender"] == contender);
        let device = &of.unwrap()["samples"][0]["device"];
        device["written_bytes"].as_u64().unwrap()
    };
    let (striped, mirrored) = (written(0), written(1));
    assert!(mirrored > striped * 3 / 2, "{mirrored} {striped}");
    let shown = home.fsdyno(&["show", "last", "--commands", "0"]);
    assert!(shown.out.contains("mdadm --create"), "{}", shown.out);
    assert!(shown.out.contains("mdadm --stop"), "{}", shown.out);
}

#[test]
fn a_guest_panic_fails_its_cell_with_its_last_output_and_the_others_run() {
    if !have(
        &[KERNEL],
        "a_guest_panic_fails_its_cell_with_its_last_output_and_the_others_run",
    ) {
        return;
    }
    let home = Home::new();
    let plan = home.path("plan.toml");
    let text = r#"
[[workload]]
name = "panics"
phases = [{ kind = "exec", command = "echo c > /proc/sysrq-trigger" }]

[[workload]]
name = "lives"
phases = [{ kind = "exec", command = "echo x > {dir}/x" }]
"#;
    std::fs::write(&plan, text).unwrap();
    let plan = plan.display().to_string();
    let output = home.fsdyno(&small(&home, "ext4", &["--long", "--plan", &plan]));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    assert!(output.out.contains("Kernel panic"), "{}", output.out);
    assert!(
        output.out.contains("1 cell measured, 1 failed"),
        "{}",
        output.out
    );
    assert!(home.left_in_work().is_empty());
    assert_eq!(home.processes_of(KERNEL), 0);
}

#[test]
fn a_guest_that_lost_an_alarm_of_its_timer_goes_on_and_its_phase_does_not_count() {
    let name = "a_guest_that_lost_an_alarm_of_its_timer_goes_on_and_its_phase_does_not_count";
    if !have(&[KERNEL], name) {
        return;
    }
    let home = Home::new();
    let words = small(&home, "ext2", &["--verbose", "--exec", "sleep 10"]);
    let mut child = home.start(&words);
    until(TIMEOUT, "the phase begins", || {
        home.output().contains("phase exec")
    });
    stopped::disarm_timer(home.first_process_of("uml_dir=").unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(1), "{}", home.output());
    let lost = "lost an alarm of its timer while it measured";
    assert!(home.output().contains(lost), "{}", home.output());
    assert!(home.left_in_work().is_empty());
}

#[test]
fn clean_removes_the_guest_of_a_killed_run() {
    if !have(&[KERNEL], "clean_removes_the_guest_of_a_killed_run") {
        return;
    }
    let home = Home::new();
    let forever = ["--exec", "sleep 600"];
    let mut child = home.start(&small(&home, "ext4", &forever));
    until(TIMEOUT, "the image is made and the guest started", || {
        let there = |place: &std::path::Path| {
            place.join("guest/pid").exists() && place.join("disk0.img").exists()
        };
        home.left_in_work().iter().any(|place| there(place))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    home.assert_cleanable();
    until(TIMEOUT, "no process of the guest is left", || {
        home.processes_of(KERNEL) == 0
    });
}

#[test]
fn a_lab_lists_its_capabilities_and_refuses_unsuitable_contenders() {
    let home = Home::new();
    let test = "a_lab_lists_its_capabilities_and_refuses_unsuitable_contenders";
    if have(&[KERNEL], test) && packaged_kernel_starts(test) {
        let output = home.fsdyno(&["lab", "list", "--json"]);
        assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
        let rows: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        let runs = rows[1]["runs"].to_string();
        assert!(runs.contains("ext2") && runs.contains("xfs"), "{runs}");
    }
    for (arguments, expected) in [
        (&["--lab", "umll"][..], "did you mean uml?"),
        (
            &["--lab", "uml", "--on", "/dev/null"],
            "a guest works on image files",
        ),
        (
            &["--lab", "uml", "--on", "dir:/tmp"],
            "directory of this machine",
        ),
        (
            &["--lab", "uml", "--guest-memory", "1M"],
            "does not start in",
        ),
        (&["--lab", "host", "--guest-memory", "1G"], "--lab uml"),
    ] {
        let output = home.fsdyno(&[&["run", "--dry-run"], arguments].concat());
        assert_eq!(
            output.code,
            Some(2),
            "{arguments:?}: {}{}",
            output.out,
            output.err
        );
        assert!(
            output.err.contains(expected),
            "{arguments:?}: {}",
            output.err
        );
    }
    let output = home.fsdyno(&["guest"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
}
