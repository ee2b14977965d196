//! The whole program in a plain directory: no root, no mkfs, no files left.

use crate::support::{Home, outcomes};
use std::fs;
use std::process::Child;
use std::time::Duration;

/// The arguments of a small comparison of one directory with itself.
fn small(home: &Home, more: &[&str]) -> Vec<String> {
    let on = format!("dir:{}", home.work().display());
    let fixed = [
        "run",
        "--on",
        &on,
        "--dataset",
        "mixed",
        "--scale",
        "0.002",
        "--seed",
        "7",
    ];
    fixed
        .iter()
        .chain(more)
        .map(|word| (*word).to_owned())
        .collect()
}

#[test]
fn a_run_in_a_directory_measures_every_cell_and_leaves_nothing() {
    let home = Home::new();
    let output = home.fsdyno(&small(&home, &["--repeats", "2", "--verify"]));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(
        output.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        output.out
    );
    let result = home.result("last");
    assert_eq!(
        outcomes(&result),
        [(0, "measured".to_owned()), (1, "measured".to_owned())]
    );
    for cell in result["cells"].as_array().unwrap() {
        for sample in cell["samples"].as_array().unwrap() {
            assert!(sample["return_ns"].as_u64().unwrap() > 0);
            let writes = ["copy", "delete"].contains(&sample["kind"].as_str().unwrap());
            assert_eq!(sample["durable_ns"].is_u64(), writes, "{sample}");
        }
    }
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_cell_over_its_time_limit_fails_with_that_reason_and_the_others_run() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    // The first cell waits without end; the others do not.
    let once = home.path("once").display().to_string();
    let command = format!("test -e {once} || {{ touch {once}; sleep 1000; }}");
    let output = home.fsdyno(&[
        "run",
        "--on",
        &on,
        "--exec",
        &command,
        "--exec-everywhere",
        "--repeats",
        "3",
        "--cell-budget",
        "1s",
    ]);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let result = home.result("last");
    // The load of the machine decides how the other cells end. They must run.
    let ends: Vec<String> = outcomes(&result).into_iter().map(|(_, end)| end).collect();
    assert_eq!(
        (ends.len(), ends[0].as_str()),
        (3, "failed"),
        "{}",
        output.err
    );
    let why = "ended after 0:01.0, the time a cell may take (--cell-budget)";
    assert!(output.err.contains(why), "{}", output.err);
    assert_eq!(result["cells"][0]["outcome"]["message"], why);
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
    // The limit is part of the plan, so it also applies to a resumed run.
    assert_eq!(result["run"]["plan"]["cell_budget"], 1_000_000_000);
}

#[test]
fn both_engines_do_the_same_work() {
    let home = Home::new();
    let mut tallies = Vec::new();
    for engine in ["sync", "tools"] {
        let args = [
            "--repeats",
            "1",
            "--verify",
            "--phases",
            "copy,delete",
            "--engine",
            engine,
        ];
        let output = home.fsdyno(&small(&home, &args));
        assert_eq!(
            output.code,
            Some(0),
            "{engine}: {}{}",
            output.out,
            output.err
        );
        let result = home.result("last");
        let samples = result["cells"][0]["samples"].clone();
        assert_eq!(samples[0]["engine"], engine);
        tallies.push(samples.as_array().unwrap().len());
    }
    assert_eq!(tallies, [2, 2]);
}

#[test]
fn the_null_engine_shows_the_overhead_of_the_tool() {
    let home = Home::new();
    let output = home.fsdyno(&small(&home, &["--engine", "null", "--repeats", "1"]));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    let samples = result["cells"][0]["samples"].as_array().unwrap().clone();
    assert!(!samples.is_empty());
    assert!(
        samples
            .iter()
            .all(|s| s["tally"]["calls"].as_u64().unwrap() > 0),
        "{samples:?}"
    );
}

#[test]
fn a_dry_run_prints_and_makes_nothing() {
    let home = Home::new();
    let work = home.work().display().to_string();
    let args = [
        "run",
        "classic-2008",
        "--fs",
        "ext4,btrfs@pool2",
        "--work-dir",
        &work,
        "--dry-run",
    ];
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}", output.err);
    for words in [
        "mkfs.ext4",
        "mkfs.btrfs",
        "$LOOP1",
        "mount -i -t ext4",
        "fsdyno phase copy",
    ] {
        assert!(output.out.contains(words), "{words}: {}", output.out);
    }
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
    assert!(!home.path("data").exists(), "a dry run made a store");
}

#[test]
fn bad_input_gets_one_clear_message_and_its_exit_code() {
    let home = Home::new();
    let dir = format!("dir:{}", home.work().display());
    let missing = format!("tree:{}", home.path("nowhere").display());
    let cases: [(&[&str], i32, &str); 17] = [
        (&["run", "--fs", "ext4,xsf"], 2, "xfs"),
        (&["run", "qick"], 2, "quick"),
        (&["run", "--fs", "ext4:noatmie"], 2, "noatime"),
        (&["run", "--on", &dir, "--dataset", "portge"], 2, "portage"),
        (&["run", "--on", &dir, "--dataset", &missing], 2, "nowhere"),
        (&["run", "--on", &dir, "--phases", "cpoy"], 2, "copy"),
        (&["run", "--on", &dir, "--fs", "ext4"], 2, "dir:"),
        (&["run", "--on", "dir:/nonexistent"], 2, "/nonexistent"),
        (&["run", "--on", "floppy"], 2, "loop"),
        (&["run", "--on", &dir, "--engine", "snyc"], 2, "sync"),
        (
            &["run", "--on", &dir, "--dataset", "iso", "--phases", "untar"],
            2,
            "archive",
        ),
        (&["run", "--on", &dir, "--scale", "-1"], 2, "scale"),
        (&["run", "--repeats", "0"], 2, "--repeats"),
        (&["report", "last"], 2, "store"),
        (&["schema", "reprt"], 2, "did you mean report?"),
        (&["run", "--on", &dir, "--cell-budget", "0s"], 2, "20m"),
        (&["run", "--on", &dir, "--vary", "datset"], 2, "dataset"),
    ];
    for (args, code, words) in cases {
        let output = home.fsdyno(args);
        assert_eq!(
            output.code,
            Some(code),
            "{args:?}: {}{}",
            output.out,
            output.err
        );
        assert!(output.err.contains(words), "{args:?}: {}", output.err);
        assert!(!output.err.contains("panicked"), "{args:?}: {}", output.err);
    }
}

#[test]
fn a_dataset_larger_than_its_device_is_refused_before_anything_is_made() {
    let home = Home::new();
    let work = home.work().display().to_string();
    let output = home.fsdyno(&[
        "run",
        "classic-2008",
        "--on",
        "loop:1G",
        "--work-dir",
        &work,
    ]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("--scale"), "{}", output.err);
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_error_in_a_plan_shows_its_position() {
    let home = Home::new();
    let plan = home.path("plan.toml");
    for (text, words) in [
        ("name = \"x\"\nrepeats = \"three\"\n", "plan.toml:2:"),
        ("name = \"x\"\n[[workload]\n", "plan.toml:2:"),
        (
            "name = \"x\"\n\n[[workload]]\nname = \"w\"\ndataset = \"portge\"\nphases = [\"copy\"]\n",
            "plan.toml:5:",
        ),
    ] {
        fs::write(&plan, text).unwrap();
        let output = home.fsdyno(&["run", "--plan", plan.to_str().unwrap(), "--dry-run"]);
        assert_eq!(output.code, Some(2), "{text}: {}", output.err);
        assert!(output.err.contains(words), "{text}: {}", output.err);
    }
}

#[test]
fn a_store_of_a_newer_schema_is_refused_and_untouched() {
    let home = Home::new();
    assert_eq!(
        home.fsdyno(&small(&home, &["--repeats", "1"])).code,
        Some(0)
    );
    let path = home.path("data/fsdyno/fsdyno.db");
    let mut bytes = fs::read(&path).unwrap();
    // `user_version` of SQLite: a big-endian number at offset 60 of the header.
    bytes[60..64].copy_from_slice(&9999_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let output = home.fsdyno(&small(&home, &["--repeats", "1"]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("newer"), "{}", output.err);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn the_runs_of_another_store_are_merged_once() {
    let home = Home::new();
    assert_eq!(
        home.fsdyno(&small(&home, &["--repeats", "1"])).code,
        Some(0)
    );
    let other = home.path("data/fsdyno/fsdyno.db");
    let ours = home.path("ours.db");
    for words in [
        "Runs: 1 copied.\ncopied: ",
        "Runs: 1 already in this store.\nskipped, already in this store: ",
    ] {
        let output = home.fsdyno(&[
            "--store",
            ours.to_str().unwrap(),
            "merge",
            other.to_str().unwrap(),
        ]);
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert!(output.out.starts_with(words), "{}", output.out);
    }
    let there = home.fsdyno(&["report", "last", "--format", "json"]).out;
    let here = home.fsdyno(&[
        "--store",
        ours.to_str().unwrap(),
        "report",
        "last",
        "--format",
        "json",
    ]);
    assert_eq!(here.out, there);
}

#[test]
fn ctrl_c_ends_cleanly_and_resume_finishes_the_run() {
    let home = Home::new();
    let mut child = home.start(&small(&home, &["--repeats", "20"]));
    wait_for_cells(&home, &mut child, 2);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
    let before = outcomes(&home.result("last")).len();
    assert!((2..20).contains(&before), "{before}");
    let output = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let after = outcomes(&home.result("last"));
    assert_eq!(
        after.iter().map(|(n, _)| *n).collect::<Vec<_>>(),
        (0..20).collect::<Vec<_>>()
    );
}

#[test]
fn after_sigkill_clean_leaves_nothing_and_resume_finishes_the_run() {
    let home = Home::new();
    let mut child = home.start(&small(&home, &["--repeats", "6"]));
    wait_for_cells(&home, &mut child, 2);
    assert!(home.fsdyno(&["runs"]).out.contains("running"));
    child.kill().unwrap();
    child.wait().unwrap();
    for words in ["runs", "show"] {
        let shown = home.fsdyno(&[words]).out;
        let shown: Vec<&str> = shown.split_whitespace().collect();
        assert!(shown.join(" ").contains("unfinished"), "{shown:?}");
    }
    home.assert_cleanable();
    let output = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert_eq!(outcomes(&home.result("last")).len(), 6);
}

#[test]
fn every_list_and_format_prints_output() {
    let home = Home::new();
    assert_eq!(
        home.fsdyno(&small(&home, &["--repeats", "2"])).code,
        Some(0)
    );
    let lists = [
        "filesystems",
        "suites",
        "phases",
        "datasets",
        "layouts",
        "engines",
    ];
    for what in lists {
        let output = home.fsdyno(&["list", what]);
        assert_eq!(output.code, Some(0), "{what}: {}", output.err);
        assert!(output.out.lines().count() >= 2, "{what}: {}", output.out);
        let output = home.fsdyno(&["list", what, "--json"]);
        assert!(
            serde_json::from_str::<serde_json::Value>(&output.out).is_ok(),
            "{what}"
        );
    }
    let (all, json) = (home.fsdyno(&["list"]), home.fsdyno(&["list", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    for what in lists {
        assert!(all.out.lines().any(|line| line == what), "{}", all.out);
        assert!(json[what][0]["name"].is_string(), "{what}");
    }
    for format in ["terminal", "html", "csv", "json", "markdown"] {
        let output = home.fsdyno(&["report", "last", "--long", "--format", format]);
        assert_eq!(output.code, Some(0), "{format}: {}", output.err);
        assert!(output.out.contains("copy"), "{format}");
    }
    for args in [
        &["doctor"][..],
        &["runs"],
        &["show"],
        &["show", "--commands", "0"],
        &["doctor", "--long"],
        &["man"],
    ] {
        let output = home.fsdyno(args);
        assert_eq!(output.code, Some(0), "{args:?}: {}", output.err);
        assert!(!output.out.is_empty(), "{args:?}");
    }
    // `doctor` fits one screen here; a unit test has machines on which nothing or all is missing.
    assert!(home.fsdyno(&["doctor"]).out.lines().count() <= 40);
    let output = home.fsdyno(&["--quiet", "report", "--color", "always"]);
    assert!(output.out.contains("\u{1b}["), "{}", output.out);
    let output = home.fsdyno(&small(&home, &["-n", "1", "-q", "--engine", "null"]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let output = home.fsdyno(&small(&home, &["-n", "1", "-v", "--engine", "null"]));
    assert!(output.err.contains("phase copy"), "{}", output.err);
    let output = home.fsdyno(&["show", "--latencies"]);
    assert!(
        output.out.contains(" file "),
        "{}{}",
        output.out,
        output.err
    );
}

#[test]
fn doctor_reports_whether_and_where_each_state_works() {
    let home = Home::new();
    let output = home.fsdyno(&["doctor", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    for (state, typed) in [
        ("plain", "--fill"),
        ("fragmented", ":fragmented"),
        ("aged", "--age"),
    ] {
        let name = format!("state {state}");
        let mut findings = all.as_array().unwrap().iter();
        let found = findings.find(|one| one["requirement"] == *name).unwrap();
        assert!(
            found["unlocks"][0].as_str().unwrap().contains(typed),
            "{found}"
        );
        let availability = &found["availability"];
        match availability["state"].as_str().unwrap() {
            "available" => assert!(
                found["unlocks"][1].as_str().unwrap().starts_with("on "),
                "{found}"
            ),
            _ => assert!(
                availability["remedy"]
                    .as_str()
                    .unwrap()
                    .contains("fsdyno age"),
                "{found}"
            ),
        }
    }
}

#[test]
fn a_typo_in_a_name_is_a_usage_error_with_suggestions() {
    let home = Home::new();
    let work_dir = home.path("ground");
    std::fs::create_dir(&work_dir).unwrap();
    let store = home.path("nowhere/runs.db");
    let (work_dir, store_name) = (work_dir.to_str().unwrap(), store.to_str().unwrap());
    let phase = ["phase", "bonnie-write", "--in", work_dir];
    for (args, words) in [
        (vec!["run", "--resume", "typo", "--store", store_name], ""),
        (vec!["schema", "crsh"], "did you mean crash"),
        (
            vec!["run", "--disk", "laptop-4200-204", "--dry-run"],
            "laptop-4200-2004",
        ),
        (vec!["report", "--format", "htm"], "did you mean html"),
        ([&phase[..], &["--engine", "snyc"]].concat(), "sync"),
        ([&phase[..], &["--set", "syze=1M"]].concat(), "did you mean"),
        ([&phase[..], &["--set", "size"]].concat(), "NAME=VALUE"),
    ] {
        let output = home.fsdyno(&args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.err);
        assert!(output.err.contains(words), "{args:?}: {}", output.err);
    }
    assert!(!store.parent().unwrap().exists());
    assert_eq!(std::fs::read_dir(work_dir).unwrap().count(), 0);
}

#[test]
fn a_phase_alone_works_on_trees_that_fsdyno_made_and_leaves_others_alone() {
    let home = Home::new();
    let work_dir = home.path("ground");
    for name in [
        "photographs",
        "copy-7/holiday",
        "bonnie/files",
        "testdir1-0-0",
    ] {
        std::fs::create_dir_all(work_dir.join(name)).unwrap();
    }
    let delete = ["phase", "delete", "--in", work_dir.to_str().unwrap()];
    let output = home.fsdyno(&delete);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("fsdyno make"), "{}", output.err);
    let make = ["make", "music", "--scale", "0.001", "--in"];
    let output = home.fsdyno(&[&make[..], &[work_dir.to_str().unwrap()]].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let output = home.fsdyno(&delete);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(work_dir.join("photographs").exists() && !work_dir.join("source").exists());
    // No command deletes or overwrites a user's tree with a name that fsdyno also uses.
    assert_eq!(home.fsdyno(&delete).code, Some(2));
    std::fs::create_dir(work_dir.join("source")).unwrap();
    assert_eq!(home.fsdyno(&delete).code, Some(2));
    for kind in ["bonnie-create", "bonnie-delete", "mongo-delete"] {
        let output = home.fsdyno(&["phase", kind, "--in", work_dir.to_str().unwrap()]);
        assert_eq!(output.code, Some(2), "{kind}: {}", output.err);
        assert!(
            output.err.contains("was not made by fsdyno"),
            "{}",
            output.err
        );
    }
    for name in [
        "photographs",
        "copy-7/holiday",
        "bonnie/files",
        "testdir1-0-0",
        "source",
    ] {
        assert!(work_dir.join(name).is_dir(), "{name}");
    }
}

#[test]
fn a_fill_without_consent_writes_nothing_and_names_the_command() {
    let home = Home::new();
    let directory = home.path("ground");
    std::fs::create_dir_all(&directory).unwrap();
    let at = directory.to_str().unwrap();
    let output = home.fsdyno(&["age", "--in", at, "--fill", "99%"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    for words in [
        "will be written in about",
        "age wrote nothing",
        &format!("age --in {at} --fill 99% --yes"),
    ] {
        assert!(output.err.contains(words), "{words}: {}", output.err);
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn copies_take_unused_numbers_and_phases_reuse_their_trees() {
    let home = Home::new();
    let work_dir = home.path("ground");
    std::fs::create_dir_all(work_dir.join("copy-7")).unwrap();
    let at = work_dir.to_str().unwrap();
    let make = ["make", "music", "--scale", "0.001", "--in", at];
    assert_eq!(home.fsdyno(&make).code, Some(0));
    for words in [
        &["phase", "copy", "--in", at][..],
        &["phase", "bonnie-write", "--in", at, "--set", "size=1M"],
        &["phase", "bonnie-read", "--in", at, "--set", "size=1M"],
        &["phase", "delete", "--in", at],
        &["phase", "delete", "--in", at],
    ] {
        let output = home.fsdyno(words);
        assert_eq!(output.code, Some(0), "{words:?}: {}", output.err);
        if words[1] == "copy" {
            assert!(work_dir.join("copy-8").is_dir());
        }
    }
    assert!(work_dir.join("copy-7").is_dir() && work_dir.join("bonnie").is_dir());
    assert!(!work_dir.join("copy-8").exists() && !work_dir.join("source").exists());
}

#[test]
fn published_tables_are_listed_shown_and_compared_with_a_run() {
    let home = Home::new();
    let output = home.fsdyno(&["published", "list"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let json = home.fsdyno(&["published", "list", "--json"]);
    let tables: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    for table in tables.as_array().unwrap() {
        let name = table["name"].as_str().unwrap();
        assert!(output.out.contains(name), "{name}: {}", output.out);
        for format in ["terminal", "html", "csv", "json", "markdown"] {
            let output = home.fsdyno(&["published", "show", name, "--format", format]);
            assert_eq!(output.code, Some(0), "{name} {format}: {}", output.err);
            let figures = output.out.contains("create") || output.out.contains("copy");
            assert!(figures || name == "atime-2007", "{name}: {}", output.out);
            let wide = output.out.lines().any(|line| line.chars().count() > 80);
            assert!(format != "terminal" || !wide, "{}", output.out);
        }
    }
    for (args, words) in [
        (&["published", "show", "btrfs-2009"][..], "btrfs-2008"),
        (
            &["published", "show", "x"],
            "there are bonnie-2001, mongo-2001",
        ),
    ] {
        let output = home.fsdyno(args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.err);
        assert!(output.err.contains(words), "{args:?}: {}", output.err);
    }
    let plain = home.fsdyno(&small(&home, &["--repeats", "1"]));
    assert_eq!(plain.code, Some(0), "{}", plain.err);
    // No contender of the table is a directory, so the error prints a command that matches.
    for (table, words) in [
        ("ufs-async-2004", "fsdyno run classic-2004 --fs ext2"),
        (
            "btrfs-2008",
            "fsdyno run classic-2008 --fs btrfs,zfs,ext2,ext3,reiserfs:notail,xfs,zfs@pool2,\
             reiserfs@raid0x2,xfs@raid0x2",
        ),
        (
            "atime-2007",
            "fsdyno run atime-2007 --fs reiserfs:strictatime,reiserfs:noatime,ext3:strictatime,\
             ext3:noatime",
        ),
        ("btrfs-2009", "did you mean btrfs-2008"),
    ] {
        let output = home.fsdyno(&["report", "last", "--against", table]);
        assert_eq!(
            output.code,
            Some(2),
            "{table}: {}{}",
            output.out,
            output.err
        );
        assert!(output.err.contains(words), "{table}: {}", output.err);
    }
}

/// Waits until the store of a running run holds this number of cells, on any disk.
fn wait_for_cells(home: &Home, run: &mut Child, cells: u64) {
    while run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
        let output = home.fsdyno(&["runs", "--json"]);
        let runs: serde_json::Value = serde_json::from_str(&output.out).unwrap_or_default();
        if runs[0]["cells_recorded"]
            .as_u64()
            .is_some_and(|n| n >= cells)
        {
            return;
        }
    }
    panic!("ended before {cells} cells: {}", home.output());
}

#[test]
fn a_run_does_not_suggest_clean_for_a_parallel_run() {
    let home = Home::new();
    let mut other = home.start(&small(&home, &["--repeats", "50"]));
    while home.left_in_work().is_empty() {
        assert!(other.try_wait().unwrap().is_none(), "{}", home.output());
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = home.fsdyno(&small(&home, &["--engine", "null", "--repeats", "1"]));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(!output.err.contains("left something"), "{}", output.err);
    home.assert_cleanable();
}
