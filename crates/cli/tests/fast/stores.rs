//! Unreadable stores, stores and runs of other users, and existing output files: every command
//! reacts in the same way.

use crate::support::{Home, Printed};
use fsdyno_store::Store;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

/// Creates a home with one run, and returns the path of its store.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let store = home.path("runs.db");
    let on = format!("dir:{}", home.work().display());
    let run = ["run", "--on", &on, "--dataset", "mixed", "--scale", "0.002"];
    let more = [
        "--engine",
        "null",
        "--phases",
        "stat-walk",
        "--repeats",
        "1",
    ];
    let output = at(&home, &store, &[&run[..], &more].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    (home, store)
}

fn at(home: &Home, store: &std::path::Path, words: &[&str]) -> Printed {
    let store = store.display().to_string();
    home.fsdyno(&[&["--store", &store][..], words].concat())
}

/// All commands that read runs of the store.
const READING: [&[&str]; 8] = [
    &["runs"],
    &["show", "last"],
    &["report", "last"],
    &["chart", "last"],
    &["why", "last", "a", "b"],
    &["compare", "last", "last"],
    &["run", "--resume", "last"],
    &["run", "--resume", "last", "--dry-run"],
];

#[test]
fn an_unreadable_store_gives_exit_code_1_and_stays_unchanged() {
    let (home, store) = home();
    let whole = fs::read(&store).unwrap();
    let broken = home.path("broken.db");
    let merge = ["merge", &store.display().to_string()].map(str::to_owned);
    let merge: Vec<&str> = merge.iter().map(String::as_str).collect();
    let damaged = [vec![b'x'; 4096], whole[4096..].to_vec()].concat();
    for bytes in [
        &whole[..0],
        &whole[..700],
        &whole[..8192],
        b"short",
        &damaged,
    ] {
        fs::write(&broken, bytes).unwrap();
        for words in READING.iter().copied().chain([&merge[..]]) {
            let output = at(&home, &broken, words);
            assert_eq!(
                output.code,
                Some(1),
                "{words:?}: {}{}",
                output.out,
                output.err
            );
            assert!(
                output.err.contains("broken.db"),
                "{words:?}: {}",
                output.err
            );
            assert!(fs::read(&broken).unwrap() == bytes, "{words:?} wrote to it");
        }
    }
    // A store or a run that does not exist is a usage error.
    for words in READING {
        let output = at(&home, &home.path("none.db"), words);
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.err);
        assert!(!home.path("none.db").exists(), "{words:?} made a store");
    }
    for words in READING.iter().filter(|words| words.contains(&"last")) {
        let nope = |word: &&'static str| if *word == "last" { "nope" } else { *word };
        let words: Vec<&str> = words.iter().map(nope).collect();
        let output = at(&home, &store, &words);
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.err);
    }
}

#[test]
fn runs_of_other_users_and_stores_writable_by_others_are_refused() {
    let (home, store) = home();
    {
        let mut open = Store::open(&store).unwrap();
        let mut run = open.load(&open.resolve("last").unwrap()).unwrap().run;
        for (id, uid) in [("theirs", Some(4242)), ("unknown", None)] {
            run.id = id.to_owned();
            run.provenance.uid = uid;
            open.begin(&run).unwrap();
        }
    }
    for (run, who) in [("theirs", "uid 4242"), ("unknown", "an unknown user")] {
        let output = at(&home, &store, &["run", "--resume", run]);
        assert_eq!(output.code, Some(2), "{}", output.err);
        assert!(output.err.contains(who), "{}", output.err);
    }
    fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).unwrap();
    let before = fs::read(&store).unwrap();
    let output = at(&home, &store, &["run", "--resume", "2"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(
        output.err.contains("writable by everybody"),
        "{}",
        output.err
    );
    assert_eq!(at(&home, &store, &["report"]).code, Some(0));
    assert!(before == fs::read(&store).unwrap());
}

#[test]
fn a_file_that_exists_is_replaced_only_when_forced_and_never_through_a_link() {
    let (home, store) = home();
    let (page, target) = (home.path("page"), home.path("target"));
    let named = page.display().to_string();
    let report = ["report", "last", "--format", "html", "--output", &named];
    let chart = ["chart", "last", "samples", "--output", &named];
    for words in [&report[..], &chart] {
        fs::write(&target, "precious").unwrap();
        symlink(&target, &page).unwrap();
        let output = at(&home, &store, words);
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.err);
        assert!(output.err.contains("--force"), "{}", output.err);
        let output = at(&home, &store, &[words, &["--force"]].concat());
        assert_eq!(output.code, Some(0), "{words:?}: {}", output.err);
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert!(!page.is_symlink() && page.is_file());
        let before = fs::read(&page).unwrap();
        assert_eq!(at(&home, &store, words).code, Some(2));
        assert!(before == fs::read(&page).unwrap());
        fs::remove_file(&page).unwrap();
    }
    // One chart of the directory exists, so no chart is written.
    let directory = home.path("charts");
    fs::create_dir(&directory).unwrap();
    let charts = format!("{}/", directory.display());
    let words = ["chart", "last", "--output", &charts];
    assert_eq!(at(&home, &store, &words).code, Some(0));
    let mut files: Vec<_> = fs::read_dir(&directory).unwrap().flatten().collect();
    assert!(files.len() > 1);
    fs::remove_file(files.pop().unwrap().path()).unwrap();
    assert_eq!(at(&home, &store, &words).code, Some(2));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), files.len());
    // A run does not start if its report cannot be written.
    fs::write(&page, "mine").unwrap();
    let rerun = ["rerun", "btrfs-2008", "--dry-run", "--output", &named];
    let output = at(&home, &store, &rerun);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
}

#[test]
fn runs_are_named_tagged_and_deleted() {
    let (home, store) = home();
    let id = || {
        let runs: serde_json::Value =
            serde_json::from_str(&at(&home, &store, &["runs", "--json"]).out).unwrap();
        runs[0]["id"].as_str().unwrap_or_default().to_owned()
    };
    let old = id();
    let ok = |words: &[&str]| {
        let output = at(&home, &store, words);
        assert_eq!(output.code, Some(0), "{words:?}: {}", output.err);
        output.out
    };
    ok(&["runs", "tag", "last", "kernel-6.12", "slow"]);
    ok(&["runs", "tag", "last", "slow", "--remove"]);
    ok(&["runs", "name", "kernel-6.12", "before-upgrade"]);
    assert_eq!(id(), "before-upgrade");
    assert!(ok(&["runs"]).contains("#kernel-6.12"));
    assert!(ok(&["runs", "--tag", "kernel-6.12"]).contains("before-upgrade"));
    assert!(!ok(&["runs", "--tag", "slow"]).contains("before-upgrade"));
    ok(&["report", "before-upgrade"]);
    for (words, message) in [
        (&["show", &old][..], "before-upgrade"),
        (&["runs", "rm", "before"], "the whole name"),
        (&["runs", "name", "last", "a/b"], "letters"),
    ] {
        let output = at(&home, &store, words);
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.err);
        assert!(output.err.contains(message), "{words:?}: {}", output.err);
    }
    ok(&["runs", "rm", "before-upgrade"]);
    assert_eq!(id(), "");
}
