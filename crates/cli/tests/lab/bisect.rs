//! `bisect` on cells of real guests. The repository has a Makefile that makes a program which starts
//! the lab kernel with the options of the commit, so that a build takes no time.

use crate::support::kills::{
    INTERRUPTED, SIGNALS, assert_nothing_left, moments, rounds, signal_at,
};
use crate::support::{Home, Printed, have, lab_kernel, printed, until};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const MAKEFILE: &str = "allnoconfig:\n\tcp $(KCONFIG_ALLCONFIG) $(O)/.config\nlinux:\n\
    \t@test ! -e broken || { echo 'source.c:1: error: no such thing' >&2; exit 1; }\n\
    \t@{ echo '#!/bin/sh'; echo \"exec $$(cat program) $$(cat options) \\\"\\$$@\\\"\"; } > $(O)/linux\n\
    \t@chmod +x $(O)/linux\n";

/// The commit that lets the disk have one request in flight.
const CHANGED: usize = 7;

/// The commits that do not compile.
const BROKEN: [usize; 2] = [4, 5];

const LAST: usize = 9;

/// A repository with its history, and a home.
struct History {
    home: Home,
    commits: Vec<String>,
}

impl History {
    fn new(kernel: &Path) -> Self {
        let mut history = Self {
            home: Home::new(),
            commits: Vec::new(),
        };
        let folder = history.repository();
        fs::create_dir(&folder).unwrap();
        history.git(&["init", "-q"]);
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("Makefile", MAKEFILE);
        write("Kconfig", "config HOSTFS\n");
        fs::create_dir_all(folder.join("arch/um")).unwrap();
        write("arch/um/Makefile", "");
        write("program", kernel.to_str().unwrap());
        for number in 0..=LAST {
            write("source.c", &format!("{number}\n"));
            let options = if number < CHANGED {
                "quiet"
            } else {
                "virtio_blk.queue_depth=1"
            };
            write("options", options);
            let broken = folder.join("broken");
            if BROKEN.contains(&number) {
                fs::write(&broken, "").unwrap();
            } else {
                let _ = fs::remove_file(&broken);
            }
            history.git(&["add", "-A"]);
            history.git(&["commit", "-q", "-m", &format!("change {number}")]);
            let commit = history.git(&["rev-parse", "HEAD"]);
            history.commits.push(commit.trim().to_owned());
        }
        history
    }

    fn repository(&self) -> PathBuf {
        self.home.path("linux")
    }

    fn git(&self, words: &[&str]) -> String {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-C"];
        let mut command = Command::new("git");
        command.args(identity).arg(self.repository()).args(words);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        let printed = printed(&command.output().unwrap());
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        printed.out
    }

    /// A command with the cell of all searches, and a cache of its own.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.command(&["bisect"]);
        if !words.contains(&"--resume") {
            let is_own = words.contains(&"--work");
            let cell = if is_own {
                "--fs ext4 --cpu free --guest-memory 256M"
            } else {
                "--fs ext4 --phase copy --scale 0.01 --cpu free --guest-memory 256M"
            };
            command
                .args(cell.split(' '))
                .arg("--repo")
                .arg(self.repository());
        }
        command.arg("--work-dir").arg(self.home.work()).args(words);
        command.env("XDG_CACHE_HOME", self.home.path("cache"));
        command
    }

    fn bisect(&self, words: &[&str]) -> Printed {
        printed(&self.command(words).output().unwrap())
    }

    fn ends(&self, good: usize, bad: usize) -> Vec<&str> {
        vec!["--good", &self.commits[good], "--bad", &self.commits[bad]]
    }

    /// The number of recorded commits of all searches.
    fn recorded(&self) -> usize {
        let searches = fs::read_dir(self.home.path("data/fsdyno/bisects"));
        let files = searches
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|search| fs::read_dir(search.path()).into_iter().flatten().flatten());
        let is_commit = |name: &OsStr| name.to_string_lossy().starts_with("commit-");
        files.filter(|file| is_commit(&file.file_name())).count()
    }
}

/// The history; none if it cannot be measured here.
fn history(test: &str) -> Option<History> {
    let kernel = lab_kernel(test).filter(|_| have(&["git", "make", "gcc", "mkfs.ext4"], test))?;
    Some(History::new(&kernel))
}

#[test]
fn a_killed_search_resumes_and_names_the_commit() {
    let Some(history) = history("a_killed_search_resumes_and_names_the_commit") else {
        return;
    };
    let mut child = history.command(&history.ends(0, LAST)).spawn().unwrap();
    until(Duration::from_secs(300), "the second commit", || {
        history.recorded() >= 2
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let before = history.recorded();
    assert!(before < LAST, "the search had ended");
    let found = history.bisect(&["--resume"]);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(
        found.out.contains(&history.commits[CHANGED]),
        "{}",
        found.out
    );
    for part in [
        "change 7",
        "durable",
        "fsdyno lab build",
        "#regzbot introduced",
    ] {
        assert!(found.out.contains(part), "{part}: {}", found.out);
    }
    assert!(found.err.contains("error: no such thing"), "{}", found.err);
    assert!(found.err.contains("skipped"), "{}", found.err);
    // The repository is as it was.
    assert_eq!(history.git(&["status", "--porcelain"]), "");
    history.home.assert_cleanable();
    // A search that is complete measures nothing again.
    let recorded = history.recorded();
    let again = history.bisect(&history.ends(0, LAST));
    assert_eq!(
        (again.code, &again.out),
        (Some(0), &found.out),
        "{}",
        again.err
    );
    assert_eq!(history.recorded(), recorded);
}

#[test]
fn a_search_that_is_ended_by_signals_keeps_each_commit_and_ends_in_the_same_answer() {
    let test = "a_search_that_is_ended_by_signals_keeps_each_commit";
    let Some(history) = history(test) else {
        return;
    };
    let fresh = history.command(&history.ends(0, LAST));
    let fresh: Vec<String> = words(&fresh);
    let resume = words(&history.command(&["--resume"]));
    let mut before = 0;
    let signals = SIGNALS.into_iter().cycle();
    let signals = signals.take(usize::try_from(rounds(5)).unwrap());
    for (signal, moment) in signals.zip(moments(18, 12_000)) {
        let words = if before > 0 { &resume } else { &fresh };
        let code = signal_at(&history.home, words, moment, signal);
        assert!(
            matches!(code, None | Some(0 | INTERRUPTED)),
            "{code:?}: {}",
            history.home.output()
        );
        assert_nothing_left(&history.home);
        let now = history.recorded();
        assert!(now >= before, "{before} commits were recorded, now {now}");
        before = now;
    }
    let found = if before > 0 {
        history.bisect(&["--resume"])
    } else {
        history.bisect(&history.ends(0, LAST))
    };
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(
        found.out.contains(&history.commits[CHANGED]),
        "{}",
        found.out
    );
    assert_eq!(history.git(&["status", "--porcelain"]), "");
}

/// The words of a command, without those that every test has.
fn words(command: &Command) -> Vec<String> {
    let words = command
        .get_args()
        .map(|word| word.to_str().unwrap().to_owned());
    words
        .filter(|word| !["--dirs-from-env", "--no-lock"].contains(&word.as_str()))
        .collect()
}

#[test]
fn a_commit_is_found_for_the_workload_file_as_it_was_when_the_search_began() {
    let name = "a_commit_is_found_for_the_workload_file_as_it_was_when_the_search_began";
    let Some(history) = history(name) else {
        return;
    };
    let file = history.home.path("logs.toml");
    let text = "[[files]]\nname = \"log\"\ncount = 40\nsize = \"128K\"\n\
                [[workers]]\ncount = 4\noperations = 40\nsteps = [\"read log\"]\n";
    fs::write(&file, text).unwrap();
    let mut words = history.ends(CHANGED - 1, CHANGED + 1);
    let named = file.to_str().unwrap();
    words.extend(["--work", named]);
    let found = history.bisect(&words);
    assert_eq!(found.code, Some(0), "{}", found.err);
    let commit = &history.commits[CHANGED];
    for part in [commit.as_str(), "logs of ext4: durable", "/logs.toml", text] {
        assert!(found.out.contains(part), "{part}: {}", found.out);
    }
    let recorded = history.recorded();
    fs::write(&file, text.replace("40", "4x")).unwrap();
    let again = history.bisect(&["--resume"]);
    assert_eq!((again.code, again.out), (Some(0), found.out));
    let mistaken = history.bisect(&words);
    assert_eq!(mistaken.code, Some(2), "{}", mistaken.err);
    assert!(mistaken.err.contains("logs.toml:3"), "{}", mistaken.err);
    assert_eq!(history.recorded(), recorded);
}

#[test]
fn a_step_judges_the_commit_that_is_checked_out() {
    let Some(history) = history("a_step_judges_the_commit_that_is_checked_out") else {
        return;
    };
    for (commit, code) in [(CHANGED, 1), (CHANGED - 1, 0), (BROKEN[0], 125)] {
        history.git(&["checkout", "-q", &history.commits[commit]]);
        let judged = history.bisect(&["--step", "--good", &history.commits[0]]);
        assert_eq!(judged.code, Some(code), "commit {commit}: {}", judged.err);
    }
    let unknown = history.bisect(&["--step", "--good", "no-such-tag"]);
    assert_eq!(unknown.code, Some(255), "{}", unknown.err);
    assert!(unknown.err.contains("no-such-tag"), "{}", unknown.err);
    // Ends that do not differ decide nothing; their figures are known.
    let equal = history.bisect(&history.ends(0, CHANGED - 1));
    assert_eq!(equal.code, Some(7), "{}", equal.err);
    assert!(equal.err.contains("do not differ"), "{}", equal.err);
    let reversed = history.bisect(&history.ends(3, 1));
    assert_eq!(reversed.code, Some(2), "{}", reversed.err);
    assert!(
        reversed.err.contains("exchange the two"),
        "{}",
        reversed.err
    );
    let empty = history.git(&["hash-object", "-w", "-t", "tree", "/dev/null"]);
    let empty = history.git(&["commit-tree", "-m", "no kernel", empty.trim()]);
    let unsuited = history.bisect(&["--good", empty.trim(), "--bad", "HEAD"]);
    assert_eq!(unsuited.code, Some(2), "{}", unsuited.err);
    assert!(
        unsuited.err.contains("repository of kernel sources"),
        "{}",
        unsuited.err
    );
}

#[test]
fn a_run_on_several_kernels_names_the_one_that_is_not_built_and_compares_the_others() {
    let named = "a_run_on_several_kernels_names_the_one_that_is_not_built_and_compares_the_others";
    let Some(history) = history(named) else {
        return;
    };
    let repository = history.repository().display().to_string();
    let [first, broken, changed] =
        [0, BROKEN[0], CHANGED].map(|number| history.commits[number].as_str());
    let kernels = [first, broken, changed].map(|commit| format!("git:{repository}#{commit}"));
    let cell = "run --fs ext4 --phases copy --dataset mixed --scale 0.01 --disk sata-ssd";
    let place = "--cpu free --guest-memory 256M --repeats 2 --no-check --kernel";
    let work = history.home.work().display().to_string();
    let kernels = kernels.join(",");
    let mut words: Vec<&str> = cell.split(' ').chain(place.split(' ')).collect();
    words.extend([&kernels, "--work-dir", &work]);
    let mut command = history.home.command(&words);
    command.env("XDG_CACHE_HOME", history.home.path("cache"));
    let run = printed(&command.output().unwrap());
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    let [first, broken, changed] = [first, broken, changed].map(|commit| &commit[..12]);
    assert!(
        run.err.contains(&format!("kernel {broken}: ")),
        "{}",
        run.err
    );
    assert!(run.out.contains(&format!("ext4@{changed}")), "{}", run.out);
    let json = history.home.fsdyno(&["report", "last", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let cells = json["cells"].as_array().unwrap();
    let outcomes = |at: u64| {
        let of = |cell: &&serde_json::Value| cell["cell"]["contender"].as_u64() == Some(at);
        let cells = cells.iter().filter(of);
        cells
            .map(|cell| cell["outcome"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!((outcomes(0).len(), outcomes(2).len()), (2, 2), "{json}");
    for failed in outcomes(1) {
        assert!(
            failed.contains("cannot be built") || failed.contains("no such thing"),
            "{failed}"
        );
    }
    // Both kernels are points of one history; the change is a step of the same series.
    let history_of = history
        .home
        .fsdyno(&["history", "--by", "commit", "--format", "csv"]);
    for commit in [first, changed] {
        assert!(history_of.out.contains(commit), "{}", history_of.out);
    }
    assert!(!history_of.out.contains("ext4@"), "{}", history_of.out);
    history.home.assert_cleanable();
}
