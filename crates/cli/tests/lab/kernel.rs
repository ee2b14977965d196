//! Guests of the lab kernel. It runs the file systems it was built for, it is the default once it
//! is built, and a run resumes only with its first kernel. Without the kernel, the tests are
//! skipped by name.

use crate::support::{Home, Printed, have, lab_kernel, outcomes, packaged_kernel_starts};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A small run in guests.
fn run(home: &Home, fs: &str, more: &[&str]) -> Printed {
    let work = home.work().display().to_string();
    let base = ["run", "--lab", "uml", "--work-dir", &work, "--fs", fs];
    let size = ["--guest-memory", "256M"];
    let all: Vec<&str> = base.iter().chain(&size).chain(more).copied().collect();
    home.fsdyno(&all)
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

/// Installs the kernel in the cache of the home, as `lab setup` does.
fn built_here(home: &Home, program: &Path) {
    let folder = home.path("cache/fsdyno/kernels/one");
    fs::create_dir_all(&folder).unwrap();
    let linux = folder.join("linux");
    let _ = fs::remove_file(&linux);
    fs::copy(program, &linux).unwrap();
    let sum = Command::new("sha256sum").arg(&linux).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let sha256 = sum.split_whitespace().next().unwrap();
    let identity = format!(
        r#"{{ "schema": 1, "source": "linux-source-0 1", "fragment": "an older one",
        "compiler": "gcc", "release": "0", "sha256": "{sha256}", "lacks": [] }}"#
    );
    fs::write(folder.join("identity.json"), identity).unwrap();
}

#[test]
fn every_file_system_of_the_lab_kernel_runs_in_it() {
    let named = "every_file_system_of_the_lab_kernel_runs_in_it";
    let programs = [
        "mkfs.reiserfs",
        "mkfs.jfs",
        "mkfs.f2fs",
        "mkfs.nilfs2",
        "mkfs.xfs",
        "mkfs.btrfs",
        "mdadm",
    ];
    let Some(kernel) = lab_kernel(named).filter(|_| have(&programs, named)) else {
        return;
    };
    let home = Home::new();
    let kernel = kernel.display().to_string();
    let fs = "ext2,ext3,ext4,reiserfs:notail,jfs,xfs,btrfs,f2fs,nilfs2,\
              ext3@raid0x2,reiserfs@raid0x2,xfs@raid0x2,ext4@raid1x2,ext4@linear2,btrfs@pool2";
    let own = ["--guest-kernel", &kernel, "--repeats", "1"];
    let printed = run(&home, fs, &[&own[..], &TREE].concat());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    assert_eq!(outcomes(&result).len(), 15);
    for cell in result["cells"].as_array().unwrap() {
        let effective = cell["effective"].as_array().unwrap();
        let guest = effective
            .iter()
            .find(|one| one["source"] == "guest")
            .unwrap();
        let text = guest["text"].as_str().unwrap();
        assert!(text.contains("-fsdyno (User-mode Linux)"), "{text}");
        assert_eq!(cell["samples"].as_array().unwrap().len(), 2, "{cell}");
    }
    assert!(home.left_in_work().is_empty());
}

#[test]
fn a_panic_of_the_lab_kernel_fails_its_cell_with_its_last_output() {
    let named = "a_panic_of_the_lab_kernel_fails_its_cell_with_its_last_output";
    let Some(kernel) = lab_kernel(named) else {
        return;
    };
    let home = Home::new();
    let (kernel, plan) = (kernel.display().to_string(), home.path("plan.toml"));
    let text = r#"
repeats = 1

[[workload]]
name = "panics"
phases = [{ kind = "exec", command = "echo c > /proc/sysrq-trigger" }]

[[workload]]
name = "lives"
phases = [{ kind = "exec", command = "grep -c CONFIG_PSI=y /proc/config.gz; echo x > {dir}/x" }]
"#;
    fs::write(&plan, text).unwrap();
    let plan = plan.display().to_string();
    let own = ["--long", "--guest-kernel", &kernel, "--plan", &plan];
    let printed = run(&home, "ext4", &own);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    assert!(printed.out.contains("Kernel panic"), "{}", printed.out);
    assert!(
        printed.out.contains("1 cell measured, 1 failed"),
        "{}",
        printed.out
    );
    assert!(home.left_in_work().is_empty());
}

#[test]
fn a_built_kernel_is_the_default_and_a_run_keeps_its_first_kernel() {
    let named = "a_built_kernel_is_the_default_and_a_run_keeps_its_first_kernel";
    let packaged = Path::new("/usr/bin/linux.uml");
    let both = || have(&["linux.uml"], named) && packaged_kernel_starts(named);
    let Some(kernel) = lab_kernel(named).filter(|_| both()) else {
        return;
    };
    let home = Home::new();
    // No kernel is built yet.
    let printed = run(&home, "ext4", &["--guest-kernel", "lab"]);
    assert_eq!(printed.code, Some(4), "{}{}", printed.out, printed.err);
    assert!(printed.err.contains("fsdyno lab setup"), "{}", printed.err);
    built_here(&home, &kernel);
    let printed = home.fsdyno(&["lab", "list", "--json"]);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let rows: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    let about = rows[2]["about"].as_str().unwrap();
    assert!(about.contains("-fsdyno"), "{about}");
    assert!(about.contains("of another configuration"), "{about}");
    let runs = rows[2]["runs"].to_string();
    for name in ["reiserfs", "nilfs2", "@raid1", "@linear"] {
        assert!(runs.contains(name), "{name}: {runs}");
    }
    // A partial run with the default kernel.
    let part = ["--repeats", "3", "--budget", "1ms"];
    let printed = run(&home, "ext4", &[&part[..], &TREE].concat());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let text = home.result("last").to_string();
    assert!(text.contains("-fsdyno (User-mode Linux)"), "{text}");
    // A run does not resume with another kernel in the same place.
    built_here(&home, packaged);
    let printed = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(printed.code, Some(2), "{}{}", printed.out, printed.err);
    assert!(printed.err.contains("another kernel"), "{}", printed.err);
    built_here(&home, &kernel);
    let printed = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    // The packaged kernel is still available by name.
    let own = ["--repeats", "1", "--guest-kernel", "packaged"];
    let printed = run(&home, "ext4", &[&own[..], &TREE].concat());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let text = home.result("last").to_string();
    assert!(!text.contains("-fsdyno (User-mode Linux)"), "{text}");
}

#[test]
fn an_impossible_setup_names_the_missing_requirements() {
    let home = Home::new();
    let missing = home.path("linux-0.tar.xz").display().to_string();
    let printed = home.fsdyno(&["lab", "setup", "--source", &missing]);
    assert_eq!(printed.code, Some(4), "{}{}", printed.out, printed.err);
    assert!(printed.err.contains(&missing), "{}", printed.err);
    assert!(printed.out.is_empty() && !home.path("cache").exists());
    for (words, expected) in [
        (&["lab", "setup", "--jobs", "0"][..], "--jobs"),
        (&["run", "--guest-kernel", "nix"], "packaged, lab"),
        (
            &["run", "--lab", "host", "--guest-kernel", "lab", "--dry-run"],
            "no kernel can be given",
        ),
    ] {
        let printed = home.fsdyno(words);
        assert_eq!(
            printed.code,
            Some(2),
            "{words:?}: {}{}",
            printed.out,
            printed.err
        );
        assert!(printed.err.contains(expected), "{words:?}: {}", printed.err);
    }
}
