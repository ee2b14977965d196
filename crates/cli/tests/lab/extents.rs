//! Extent counts of a run. They are counted if the file system maps extents, and reported as
//! unknown if not. Every report contains them. Needs root.

use crate::support::{Home, root_and};

const MKFS: [&str; 3] = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];

#[test]
fn a_run_reports_extents_or_why_they_are_unknown() {
    if !root_and(&MKFS, "a_run_reports_extents_or_why_they_are_unknown") {
        return;
    }
    let home = Home::new();
    let work = home.work().display().to_string();
    let mut args: Vec<&str> = vec!["run", "--long", "--work-dir", &work];
    args.extend(["--fs", "ext4,xfs,btrfs,tmpfs"]);
    args.extend(["--dataset", "music", "--scale", "0.01", "--repeats", "1"]);
    args.extend(["--phases", "copy,read as-is,delete as-is", "--fragments"]);
    let script = home.fsdyno(&[&args[..], &["--dry-run"]].concat());
    // Each contender counts once after the copy and once after the deletion.
    assert_eq!(script.out.matches("-exec filefrag").count(), 8);
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    for command in [
        "e2freefrag",
        "xfs_spaceman -c 'freesp -s'",
        "dump-tree -t free_space_tree",
    ] {
        assert_eq!(script.out.matches(command).count(), 1, "{command}");
    }
    assert!(output.out.contains("\nFragmentation\n"), "{}", output.out);
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        let counted = |phase: usize| cell["samples"][phase]["fragmentation"].clone();
        let effective = cell["effective"].as_array().unwrap();
        let free = |of: &&serde_json::Value| {
            let source = of["source"].as_str().unwrap();
            source.starts_with("free space")
        };
        let shapes: Vec<_> = effective.iter().filter(free).collect();
        if cell["cell"]["contender"].as_u64().unwrap() < 3 {
            let shape = shapes[0]["text"].as_str().unwrap();
            assert!(shape.to_lowercase().contains("extent"), "{shape}");
        } else {
            assert!(shapes.is_empty(), "{shapes:?}");
        }
        let (copied, deleted) = (counted(0), counted(2));
        assert!(counted(1).is_null(), "a phase that reads: {cell}");
        // Only the phase directly after a count records it in its cache method.
        let follows_count = |phase: usize| {
            let method = cell["samples"][phase]["cache"]["method"].as_str().unwrap();
            method.contains("count of extents")
        };
        assert_eq!(
            (follows_count(1), follows_count(2)),
            (true, false),
            "{cell}"
        );
        if cell["cell"]["contender"] == 3 {
            let reason = copied["unavailable"].as_str().unwrap();
            assert!(reason.contains("FIEMAP"), "{reason}");
            continue;
        }
        assert!(copied["unavailable"].is_null(), "{copied}");
        let number = |of: &serde_json::Value, name: &str| of[name].as_u64().unwrap();
        let files = cell["samples"][0]["tally"]["files"].as_u64().unwrap();
        assert_eq!(number(&copied, "files"), 2 * files, "the tree and its copy");
        assert!(number(&copied, "extents") >= 2 * files, "{copied}");
        assert_eq!(number(&deleted, "files"), files);
        assert_eq!(number(&deleted, "bytes") * 2, number(&copied, "bytes"));
    }
    for format in ["csv", "html", "markdown"] {
        let report = home.fsdyno(&["report", "last", "--long", "--format", format]);
        assert!(report.out.contains("FIEMAP"), "{format}");
    }
    home.assert_cleanable();
}
