//! `fsdyno ci init`: the files that it writes, and the script on a git repository, with real cells in
//! virtual time.

use crate::support::{Home, Printed, have, lab_kernel, printed};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn git(repository: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org"])
        .args(words)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let words = words.join(" ");
    assert!(
        output.status.success(),
        "git {words}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// An empty repository with a branch `main`.
fn repository(home: &Home) -> PathBuf {
    let path = home.path("tree");
    fs::create_dir(&path).unwrap();
    git(&path, &["init", "--quiet", "--initial-branch=main"]);
    path
}

fn commit(repository: &Path, text: &str) -> String {
    fs::write(repository.join("source.c"), text).unwrap();
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--message", text]);
    git(repository, &["rev-parse", "HEAD"])
}

fn init(home: &Home, repository: &Path, more: &[&str]) -> Printed {
    let path = repository.display().to_string();
    home.fsdyno(&[&["ci", "init", &path], more].concat())
}

/// An executable shell script.
fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn init_writes_sound_files_and_replaces_none_without_force() {
    let name = "init_writes_sound_files_and_replaces_none_without_force";
    if !have(&["git"], name) {
        return;
    }
    let home = Home::new();
    let tree = repository(&home);
    let written = init(&home, &tree, &["--fs", "f2fs,xfs", "--base", "stable/6.12"]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    let files = [
        "ci/fsdyno.sh",
        "ci/fsdyno.toml",
        ".github/workflows/fsdyno.yml",
    ];
    for file in files {
        let path = tree.join(file);
        assert!(
            written.out.contains(&path.display().to_string()),
            "{}",
            written.out
        );
        let text = fs::read_to_string(&path).unwrap();
        for key in ["@BASE@", "@DISK@", "@CONTENDERS@", "@BRANCH@", "@PACKAGES@"] {
            assert!(!text.contains(key), "{file}: {text}");
        }
    }
    let workflow = fs::read_to_string(tree.join(files[2])).unwrap();
    assert!(workflow.contains("branches: [stable/6.12]"), "{workflow}");
    assert!(
        workflow.contains(" perl f2fs-tools xfsprogs\n"),
        "{workflow}"
    );
    assert!(!workflow.contains('\t'));
    let mode = fs::metadata(tree.join(files[0]))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0o111);
    let plan = tree.join(files[1]).display().to_string();
    let dry = home.fsdyno(&["run", "--plan", &plan, "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    assert!(dry.out.contains("mkfs.f2fs"), "{}", dry.out);
    // Nothing is replaced, not even the files that are missing are written.
    fs::remove_file(tree.join(files[2])).unwrap();
    let again = init(&home, &tree, &[]);
    assert_eq!(again.code, Some(2), "{}", again.err);
    assert!(!tree.join(files[2]).exists());
    assert_eq!(init(&home, &tree, &["--force"]).code, Some(0));
    for wrong in [["--fs", "ext9"], ["--disk", "floppy"], ["--base", "a; b"]] {
        let refused = init(&home, &tree, &[&wrong[..], &["--force"]].concat());
        assert_eq!(refused.code, Some(2), "{wrong:?}");
    }
    let nowhere = init(&home, &home.work(), &[]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    if have(&["shellcheck"], name) {
        let checked = Command::new("shellcheck")
            .arg(tree.join(files[0]))
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.success(), "{words}");
    }
}

#[test]
fn the_script_measures_both_commits_once_and_fails_beyond_a_threshold() {
    let name = "the_script_measures_both_commits_once_and_fails_beyond_a_threshold";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["git", "mkfs.ext4"], name) {
        return;
    }
    let home = Home::new();
    let tree = repository(&home);
    assert_eq!(init(&home, &tree, &["--fs", "ext4"]).code, Some(0));
    let base = commit(&tree, "base");
    git(&tree, &["checkout", "--quiet", "-b", "change"]);
    let head = commit(&tree, "change");
    // The kernel of each commit is built already.
    script(
        &home.path("kernel"),
        &format!(
            "git cat-file -e \"$1^{{commit}}\" && echo '{}'",
            kernel.display()
        ),
    );
    let program = home.command::<&str>(&[]);
    let variables: Vec<String> = program
        .get_envs()
        .filter_map(|(name, value)| {
            let value = value?.to_str()?;
            Some(format!("{}='{value}'", name.to_str()?))
        })
        .collect();
    script(
        &home.path("fsdyno"),
        &format!(
            "exec env {} '{}' --dirs-from-env \"$@\"",
            variables.join(" "),
            program.get_program().display()
        ),
    );
    let run = |thresholds: &str| {
        let output = Command::new(tree.join("ci/fsdyno.sh"))
            .env("FSDYNO", home.path("fsdyno"))
            .env("KERNEL", home.path("kernel"))
            .env("BASE", "main")
            .env("STORE", home.path("ci.db"))
            .env("SITE", home.path("site"))
            .env("FAIL_IF", thresholds)
            .env("GITHUB_STEP_SUMMARY", home.path("summary.md"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        printed(&output)
    };
    let store = home.path("ci.db").display().to_string();
    let runs = || {
        let printed = home.fsdyno(&["runs", "--json", "--store", &store]);
        let runs: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
        runs.as_array().unwrap().clone()
    };
    let output = run("*.durable > 1.02\n*.return > 1.05\n");
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.out.contains("equivalent"), "{}", output.out);
    let commits: Vec<String> = runs().iter().map(|run| run["tags"].to_string()).collect();
    assert_eq!(commits.len(), 2, "{commits:?}");
    assert!(
        commits[0].contains(&format!("commit-{head}")),
        "{commits:?}"
    );
    assert!(
        commits[1].contains(&format!("commit-{base}")),
        "{commits:?}"
    );
    assert!(home.path("site/index.html").is_file());
    let summary = fs::read_to_string(home.path("summary.md")).unwrap();
    assert!(
        summary.contains(&head[..12]) && summary.contains(&base[..12]),
        "{summary}"
    );
    // The same kernel has the same figures: no step, and no warning of a repeat that differs.
    assert!(summary.contains("No step was detected"), "{summary}");
    // The figures of both commits are in the store. Every ratio of 1 is above this threshold.
    let output = run("*.durable > 0.5");
    assert_eq!(output.code, Some(5), "{}{}", output.out, output.err);
    assert_eq!(runs().len(), 2);
    // The order of commits is that of the repository.
    let repository = tree.display().to_string();
    let words = [
        "history",
        "--store",
        &store,
        "--by",
        "commit",
        "--repo",
        &repository,
    ];
    let history = home.fsdyno(&words);
    assert_eq!(history.code, Some(0), "{}", history.err);
    let place = |commit: &str| history.out.find(&commit[..12]).unwrap();
    assert!(place(&base) < place(&head), "{}", history.out);
}
