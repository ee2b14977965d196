//! Filled and aged contenders, from the command line to the report. Without root, the tests are
//! skipped by name.

use crate::support::{Home, outcomes, root_and};

#[test]
fn filled_and_aged_contenders_run_and_every_report_shows_their_state() {
    let programs = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    if !root_and(
        &programs,
        "filled_and_aged_contenders_run_and_every_report_shows_their_state",
    ) {
        return;
    }
    let home = Home::new();
    let work = home.work().display().to_string();
    let base = ["run", "--work-dir", &work, "--on", "loop:400M"];
    let with = |more: &[&str]| home.fsdyno(&[&base[..], more].concat());
    let load = [
        "--dataset",
        "music",
        "--scale",
        "0.005",
        "--phases",
        "copy,delete",
    ];
    let states = [
        "--fs",
        "ext4,xfs,btrfs",
        "--fill",
        "0%,90%",
        "--repeats",
        "1",
    ];
    let output = with(&[&load[..], &states].concat());
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    assert!(
        outcomes(&result)
            .iter()
            .all(|(_, outcome)| outcome == "measured")
    );
    let labels: Vec<&str> = result["run"]["plan"]["contenders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contender| contender["label"].as_str().unwrap())
        .collect();
    let expected = [
        "ext4",
        "ext4 fill=90%",
        "xfs",
        "xfs fill=90%",
        "btrfs",
        "btrfs fill=90%",
    ];
    assert_eq!(labels, expected);
    for cell in result["cells"].as_array().unwrap() {
        let effective = cell["effective"].as_array().unwrap().iter();
        let effective: Vec<_> = effective.filter(|one| one["source"] == "state").collect();
        let filled = cell["cell"]["contender"].as_u64().unwrap() % 2 == 1;
        assert_eq!(effective.len(), usize::from(filled), "{cell}");
        if filled {
            // The fill is used space before the copy, and does not count as written by it.
            let used = cell["samples"][0]["space_before"].as_u64().unwrap();
            assert!(used > 300 << 20, "{used}");
        }
    }
    for format in ["terminal", "markdown", "html"] {
        let output = home.fsdyno(&["report", "last", "--long", "--format", format]);
        assert!(
            output.out.contains("filled with large files"),
            "{format}: {}",
            output.out
        );
    }
    let shown = home.fsdyno(&["show", "last"]);
    assert!(
        shown.out.contains("filled with large files"),
        "{}",
        shown.out
    );

    let aged = ["--fs", "ext4", "--age", "1", "--repeats", "1", "--long"];
    let output = with(&[&load[..], &aged].concat());
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(
        output.out.contains("ext4 fill=50% age=1: aged"),
        "{}",
        output.out
    );
    home.assert_cleanable();
}

#[test]
fn a_fill_in_memory_without_enough_room_is_refused_first() {
    if !root_and(&[], "a_fill_in_memory_without_enough_room_is_refused_first") {
        return;
    }
    let home = Home::new();
    let work = home.work().display().to_string();
    let args = [
        "run",
        "--work-dir",
        &work,
        "--fs",
        "tmpfs:size=20M",
        "--fill",
        "90%",
        "--dataset",
        "music",
        "--scale",
        "0.01",
        "--phases",
        "copy",
        "--repeats",
        "1",
    ];
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(2), "{}{}", output.out, output.err);
    assert!(
        output.err.contains("are left of 20.0 MiB"),
        "{}",
        output.err
    );
    let mut eaten = args;
    eaten[4] = "tmpfs:size=900g";
    let output = home.fsdyno(&eaten);
    assert_eq!(output.code, Some(2), "{}{}", output.out, output.err);
    assert!(output.err.contains("of memory"), "{}", output.err);
    assert_eq!(home.fsdyno(&["runs"]).out.matches("music").count(), 0);
    home.assert_cleanable();
}

#[test]
fn the_command_age_fills_a_directory_and_refuses_invalid_arguments() {
    let home = Home::new();
    let work = home.work().display().to_string();
    for (more, expected) in [
        (&["--fill", "0.9"][..], "`0.9` is no fill"),
        (&["--fill", "0%", "--age", "2"], "fill of 0%"),
        (
            &["--fill", "50%:fragmented", "--age", "2"],
            "both aged and fragmented",
        ),
    ] {
        let output = home.fsdyno(&[&["age", "--in", &work][..], more].concat());
        assert_eq!(output.code, Some(2), "{}", output.err);
        assert!(output.err.contains(expected), "{}", output.err);
    }
    let nowhere = home.fsdyno(&["age", "--in", "/no/such/place"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
}
