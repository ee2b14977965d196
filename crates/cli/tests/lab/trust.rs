//! Root executes, signals and deletes nothing that another user controls: journals, kernels, and
//! directories from the environment. Uid 65534 is the other user. Skipped without root.

use crate::support::{Home, Printed, printed};
use fsdyno_host::journal::Journal;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

const OTHER: u32 = 65_534;

fn root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIP root: {test}");
    }
    root
}

/// Changes the owner of files and directories to the other user.
fn give(paths: &[&Path]) {
    for path in paths {
        chown(path, Some(OTHER), Some(OTHER)).unwrap();
    }
}

fn journals(home: &Home) -> PathBuf {
    home.path("state/fsdyno/journal")
}

/// Creates a directory of the victim with a file in it.
fn victim(home: &Home) -> PathBuf {
    let victim = home.path("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("kept"), "x").unwrap();
    victim
}

/// Journal lines that would delete a tree and run commands.
fn attack(victim: &Path, ran: &Path) -> String {
    format!(
        "make 1 directory {0}\nmake 2 tree {0}\nmake 3 image {0}/kept\nmake 4 mount {0}\n\
         make 5 pool {0}/mnt touch%00{1}%00 touch%00{1}%00\n",
        victim.display(),
        ran.display()
    )
}

#[test]
fn journals_of_another_user_are_refused_without_waiting() {
    if !root("journals_of_another_user_are_refused_without_waiting") {
        return;
    }
    let home = Home::new();
    let (victim, ran) = (victim(&home), home.path("ran"));
    let state = journals(&home);
    drop(Journal::open(&state).unwrap());
    let planted = state.join("1-1.journal");
    fs::write(&planted, attack(&victim, &ran)).unwrap();
    give(&[&planted]);
    let fifo = state.join("2-1.journal");
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
    std::os::unix::fs::symlink(&planted, state.join("3-1.journal")).unwrap();
    // `clean` still cleans up after a process of root.
    let left = home.work().join("fsdyno-4-1-0");
    fs::create_dir(&left).unwrap();
    let own = format!("make 1 directory {}\n", left.display());
    fs::write(state.join("4-1.journal"), own).unwrap();

    for words in [&["clean", "--dry-run"][..], &["clean"]] {
        let printed = home.fsdyno(words);
        assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
        for why in ["uid 65534", "not a regular file", "symbolic link"] {
            assert!(printed.out.contains(why), "{why}: {}", printed.out);
        }
    }
    assert!(!left.exists() && victim.join("kept").exists() && !ran.exists());

    // A directory of the other user is not read at all.
    give(&[&state, &home.path("state")]);
    let printed = home.fsdyno(&["clean"]);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    assert!(
        printed.err.contains("belongs to uid 65534"),
        "{}",
        printed.err
    );
    assert!(victim.join("kept").exists() && !ran.exists());
}

#[test]
fn a_genuine_journal_deletes_only_the_files_of_its_process() {
    if !root("a_genuine_journal_deletes_only_the_files_of_its_process") {
        return;
    }
    let home = Home::new();
    let (victim, ran) = (victim(&home), home.path("ran"));
    let state = journals(&home);
    drop(Journal::open(&state).unwrap());
    fs::write(state.join("1-1.journal"), attack(&victim, &ran)).unwrap();
    // The other user owns the work directory, and replaces a file that root created in it.
    let work = home.work();
    let mut more = String::new();
    for (number, what) in ["directory", "image"].into_iter().enumerate() {
        let own = work.join(format!("fsdyno-1-1-{number}"));
        std::os::unix::fs::symlink(&victim, &own).unwrap();
        let name = if what == "image" { "disk0.img" } else { "mnt" };
        writeln!(more, "make 1{number} {what} {}/{name}", own.display()).unwrap();
        fs::write(victim.join(name), "x").unwrap();
    }
    give(&[&work]);
    let lines = attack(&victim, &ran) + &more;
    fs::write(state.join("1-1.journal"), lines).unwrap();
    let printed = home.fsdyno(&["clean"]);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    assert!(printed.out.contains("which are not run"), "{}", printed.out);
    assert_eq!(
        printed.out.matches("NOT undone").count(),
        7,
        "{}",
        printed.out
    );
    for name in ["kept", "mnt", "disk0.img"] {
        assert!(victim.join(name).exists(), "{name}: {}", printed.out);
    }
    assert!(!ran.exists());
}

#[test]
fn root_takes_no_directory_from_the_environment_without_the_flag() {
    if !root("root_takes_no_directory_from_the_environment_without_the_flag") {
        return;
    }
    let home = Home::new();
    let foreign = home.path("foreign");
    fs::create_dir(&foreign).unwrap();
    let run = |flag: bool, words: &[&str]| -> Printed {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fsdyno"));
        for name in ["HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env(name, &foreign);
        }
        command.env("FSDYNO_STORE", foreign.join("store.db"));
        if flag {
            command.arg("--dirs-from-env");
        }
        printed(&command.args(words).output().unwrap())
    };
    let without = run(false, &["runs"]);
    assert!(
        without.err.contains("FSDYNO_STORE is ignored"),
        "{}",
        without.err
    );
    run(false, &["clean", "--dry-run"]);
    run(false, &["list"]);
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 0);
    let with = run(true, &["runs"]);
    assert!(!with.err.contains("ignored"), "{}", with.err);
}

#[test]
fn a_planted_kernel_is_neither_listed_nor_executed() {
    if !root("a_planted_kernel_is_neither_listed_nor_executed") {
        return;
    }
    let home = Home::new();
    let ran = home.path("ran");
    let cache = home.path("planted");
    let folder = cache.join("fsdyno/kernels/planted");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("linux");
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch {}\necho 6.1\n", ran.display()),
    )
    .unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let identity = |sha256: &str| {
        let text = format!(
            "{{\"schema\":1,\"source\":\"s\",\"fragment\":\"f\",\"compiler\":\"c\",\
             \"release\":\"6.1\",\"sha256\":\"{sha256}\",\"lacks\":[]}}"
        );
        fs::write(folder.join("identity.json"), text).unwrap();
    };
    let output_of = |words: &[&str]| {
        let mut command = home.command(words);
        printed(&command.env("XDG_CACHE_HOME", &cache).output().unwrap())
    };
    let guest = [
        "run",
        "--lab",
        "uml",
        "--guest-kernel",
        "lab",
        "--fs",
        "tmpfs",
    ];
    let refused = |why: &str| {
        for words in [&["lab", "list"][..], &["doctor", "--long"], &guest] {
            let printed = output_of(words);
            let all = printed.out + &printed.err;
            assert!(
                all.split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .contains(why),
                "{all}"
            );
            assert!(!ran.exists(), "{words:?} executed it");
        }
    };
    // The kernel belongs to root, but its hash differs from the recorded one.
    identity("00");
    refused("SHA-256");
    identity("");
    refused("SHA-256");
    // The kernel belongs to another user and is refused even with the right hash.
    give(&[&folder]);
    refused("uid 65534");
}

#[test]
fn root_makes_nothing_in_a_directory_that_another_user_can_change() {
    if !root("root_makes_nothing_in_a_directory_that_another_user_can_change") {
        return;
    }
    let home = Home::new();
    let (own, foreign) = (home.work(), home.path("foreign"));
    fs::create_dir(&foreign).unwrap();
    // Sticky, as `/tmp` is.
    fs::set_permissions(&own, Permissions::from_mode(0o1777)).unwrap();
    let (own, there) = (own.display().to_string(), foreign.display().to_string());
    let run = ["run", "--phases", "op-create", "--set", "op.files=8"];
    let run = [&run[..], &["--repeats", "1"]].concat();
    let on = |place: &str| format!("dir:{place}");
    let in_memory = [&run[..], &["--fs", "tmpfs:size=20M"]].concat();
    for more in [&["--work-dir", &own][..], &["--on", &on(&own)]] {
        let words = if more[0] == "--on" { &run } else { &in_memory };
        let printed = home.fsdyno(&[&words[..], more].concat());
        assert_eq!(printed.code, Some(0), "{}", printed.err);
    }
    let link = home.path("link");
    std::os::unix::fs::symlink(&foreign, &link).unwrap();
    let (link, charts) = (link.display().to_string(), format!("{there}/charts/"));
    let [dir, led] = [&there, &link].map(|place| on(place));
    let commands = [
        [&in_memory[..], &["--work-dir", &there]].concat(),
        [&in_memory[..], &["--work-dir", &link]].concat(),
        [&run[..], &["--on", &dir]].concat(),
        [&run[..], &["--on", &led]].concat(),
        vec![
            "crash",
            "--fs",
            "ext4",
            "--random",
            "1",
            "--work-dir",
            &there,
        ],
        vec!["lab", "shell", "--work-dir", &there],
        vec!["make", "mixed", "--scale", "0.001", "--in", &there],
        vec!["age", "--fill", "1%", "--in", &there],
        vec!["phase", "op-create", "--in", &there],
        vec!["chart", "last", "--output", &charts],
    ];
    for (mode, owner, why) in [
        (0o755, OTHER, "belongs to uid 65534"),
        (0o777, 0, "chmod go-w"),
    ] {
        chown(&foreign, Some(owner), None).unwrap();
        fs::set_permissions(&foreign, Permissions::from_mode(mode)).unwrap();
        for words in &commands {
            let printed = home.fsdyno(words);
            assert_ne!(printed.code, Some(0), "{words:?}");
            assert!(printed.err.contains(why), "{words:?}: {}", printed.err);
            let left = fs::read_dir(&foreign).unwrap().count();
            assert_eq!(left, 0, "{words:?}");
        }
    }
    assert!(home.left_in_work().is_empty());
}
