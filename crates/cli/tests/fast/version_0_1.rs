//! Data and commands of version 0.1 still work: its store, block traces, plan files, and command
//! line words. That version recorded the fixtures.

use crate::support::{Home, Printed};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

const STORE: &[u8] = include_bytes!("../fixtures/0.1/store.db.zst");
const TRACE: &[u8] = include_bytes!("../fixtures/0.1/disk.record.zst");

/// Runs of the store by a part of their names, each with two contenders if it has two.
const RUNS: [(&str, Option<[&str; 2]>); 5] = [
    ("programs", None),
    ("ports", Some(["ext4", "xfs"])),
    ("op-random", None),
    ("mixed", Some(["ext4", "ext2"])),
    (
        "rerun",
        Some(["ext3:strictatime,barrier=0", "ext3:noatime,barrier=0"]),
    ),
];

/// A home with the store of version 0.1.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let store = home.path("runs.db");
    fs::write(&store, zstd::decode_all(STORE).unwrap()).unwrap();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).unwrap();
    (home, store)
}

fn at(home: &Home, store: &std::path::Path, words: &[&str]) -> Printed {
    let store = store.display().to_string();
    let done = home.fsdyno(&[&["--store", &store][..], words].concat());
    assert_eq!(done.code, Some(0), "{words:?}: {}{}", done.out, done.err);
    done
}

fn schema_of(store: &std::path::Path) -> i64 {
    let store = rusqlite::Connection::open(store).unwrap();
    store
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

/// Collects every key and every string.
fn words_in(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                words.push(key.clone());
                words_in(value, words);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| words_in(value, words)),
        Value::String(text) => words.push(text.clone()),
        _ => {}
    }
}

/// Retired keys and values.
const OLD: [&str; 11] = [
    // retired word kept: a name of version 0.1
    "as-left",
    "as_left",
    // retired word kept: a name of version 0.1
    "jumps",
    "jumped_bytes",
    "fragments_by_size",
    "disk_record",
    // retired word kept: a name of version 0.1
    "humps",
    // retired word kept: names of version 0.1
    "told",
    "under_way",
    "as",
    "each",
];

#[test]
fn every_reading_command_reads_the_store_and_leaves_it_unchanged() {
    let (home, store) = home();
    let before = fs::read(&store).unwrap();
    let listed = at(&home, &store, &["runs"]).out;
    assert!(listed.contains("20261122-1535-ports"), "{listed}");
    for (run, pair) in RUNS {
        at(&home, &store, &["show", run]);
        at(&home, &store, &["report", run, "--long"]);
        at(&home, &store, &["compare", run, run]);
        if let Some([one, other]) = pair {
            at(&home, &store, &["why", run, one, other]);
        }
        let json = at(&home, &store, &["report", run, "--format", "json"]).out;
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&json["schema"], &json["run"]["plan"]["schema"]),
            (&3.into(), &2.into())
        );
        let mut words = Vec::new();
        words_in(&json["run"]["plan"], &mut words);
        words_in(&json["cells"], &mut words);
        for old in OLD {
            assert!(!words.iter().any(|word| word == old), "{run}: {old}");
        }
    }
    // retired word kept: a name of version 0.1
    at(&home, &store, &["show", "plug"]);
    let series = at(&home, &store, &["report", "plug", "--format", "json"]).out;
    let series: Value = serde_json::from_str(&series).unwrap();
    assert_eq!(series["schema"], 2);
    assert!(series["cuts"][0]["recovery"]["judgement"]["messages"].is_array());
    assert!(fs::read(&store).unwrap() == before, "the store was changed");
}

#[test]
fn old_data_is_read_with_the_current_names() {
    let (home, store) = home();
    let json = |run: &str| -> Value {
        let out = at(&home, &store, &["report", run, "--format", "json"]).out;
        serde_json::from_str(&out).unwrap()
    };
    let phase =
        |run: &str, phase: usize| json(run)["run"]["plan"]["workloads"][0]["phases"][phase].clone();
    assert_eq!(phase("ports", 1)["cache"], "as-is");
    let processes = &phase("programs", 0)["parameters"];
    assert_eq!(
        (&processes["worker-type"], &processes["files-per-dir"]),
        (&"process".into(), &"50".into())
    );
    assert_eq!(phase("op-random", 0)["parameters"]["lay"], "sparse");
    let mixed = json("mixed");
    assert_eq!(
        mixed["run"]["plan"]["disk_trace"]["directory"],
        "/srv/requests"
    );
    let disk = &mixed["cells"][0]["samples"][0]["disks"][0]["to_return"];
    assert!(disk["seeks"].as_u64().unwrap() > 0, "{disk}");
    let report = at(&home, &store, &["report", "mixed", "--long"]).out;
    assert!(
        // retired word kept: a name of version 0.1
        report.contains("seeks") && !report.contains("jumps"),
        "{report}"
    );
}

#[test]
fn a_command_that_writes_migrates_the_store_with_all_its_rows() {
    let (home, store) = home();
    let reported = |store: &std::path::Path| -> Vec<String> {
        let of = |run: &str| {
            let run = format!("20261122-1535-{run}");
            at(&home, store, &["report", &run, "--format", "json"]).out
        };
        RUNS.iter().map(|(run, _)| of(run)).collect()
    };
    let before = reported(&store);
    let on = format!("dir:{}", home.work().display());
    let run = "run --engine null --dataset mixed --scale 0.002 --repeats 1 --phases stat-walk --on";
    let words: Vec<&str> = run.split(' ').chain([&*on]).collect();
    at(&home, &store, &words);
    assert_eq!(schema_of(&store), 18);
    assert_eq!(reported(&store), before);
    let query = "SELECT count(*) FROM figure WHERE cache_requested = 'as-is'";
    let connection = rusqlite::Connection::open(&store).unwrap();
    let count: i64 = connection.query_row(query, [], |row| row.get(0)).unwrap();
    assert!(count >= 12, "{count}");
}

#[test]
fn an_old_block_trace_is_printed() {
    let home = Home::new();
    let trace = home.path("cell-1-disk-0.record");
    fs::write(&trace, zstd::decode_all(TRACE).unwrap()).unwrap();
    let trace = trace.display().to_string();
    let shown = home.fsdyno(&["disk", "trace", &trace]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(
        shown.out.contains("phase 0 begins"),
        "{}",
        &shown.out[..2000]
    );
    let before = home.fsdyno(&["disk", "requests", &trace]);
    assert_eq!((before.code, before.out), (Some(0), shown.out));
}

#[test]
fn old_names_on_the_command_line_and_in_plan_files_are_accepted() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let dry = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let done = home.fsdyno(&words);
        assert_eq!(done.code, Some(0), "{words:?}: {}{}", done.out, done.err);
        done.out
    };
    let run = |words: &str| dry(&format!("run --dry-run --repeats 1 --on {on} {words}"));
    let old =
        // retired word kept: a name of version 0.1
        "--workload op-create,op-stat --set op.each=50 --set op.as=processes --set op.files=100";
    let new = "--phases op-create,op-stat --set op.files-per-dir=50 --set op.worker-type=process \
               --set op.files=100";
    assert_eq!(run(old), run(new));
    // retired word kept: a name of version 0.1
    let old = "--workload op-random-write --set op.size=4M --set op.lay=hole";
    let new = "--phases op-random-write --set op.size=4M --set op.lay=sparse";
    assert_eq!(run(old), run(new));
    let of_tree = "--dataset mixed --scale 0.002";
    // retired word kept: a name of version 0.1
    let [old, new] = ["as-left", "as-is"].map(|cache| {
        run(&format!("{of_tree} --phases copy,delete")) + &run_with_state(&home, &on, cache)
    });
    assert_eq!(old, new);
    for (old, new) in [
        ("list workloads", "list phases"),
        // retired word kept: a name of version 0.1
        ("schema plug", "schema crash"),
        ("plug --help", "crash --help"),
        ("newfs --help", "ufs make --help"),
        ("fsck --help", "ufs check --help"),
    ] {
        // An old name has no examples.
        let usage = |text: &str| {
            let (usage, _) = text.split_once("Examples:").unwrap_or((text, ""));
            let usage = usage.trim_end();
            usage
                // retired word kept: a name of version 0.1
                .replace("fsdyno ufs make", "fsdyno newfs")
                .replace("fsdyno ufs check", "fsdyno fsck")
        };
        assert_eq!(usage(&dry(old)), usage(&dry(new)));
    }
    // retired word kept: a name of version 0.1
    for words in ["--inquiry", "--no-inquiry"] {
        let done = home.fsdyno(&["rerun", words, "--dry-run"]);
        assert!(done.err.contains("<NAME>"), "{words}: {}", done.err);
    }
    let record = home.fsdyno(&["run", "--on", &on, "--disk-record", "x", "--dry-run"]);
    assert!(record.err.contains("no model disk"), "{}", record.err);
}

/// A dry run of a plan file with that cache state.
fn run_with_state(home: &Home, on: &str, cache: &str) -> String {
    let plan = home.path("plan.toml");
    let text = format!(
        "repeats = 1\nscale = 0.002\n[[workload]]\nname = \"w\"\ndataset = \"mixed\"\n\
         phases = [\"copy\", \"delete {cache}\"]\n\
         [[workload]]\nname = \"v\"\n\
         phases = [{{ kind = \"op-stat\", cache = \"{cache}\", files = 9, {each} = 3 }}]\n",
        // retired word kept: a name of version 0.1
        each = if cache == "as-left" {
            "each"
        } else {
            "files-per-dir"
        },
    );
    fs::write(&plan, text).unwrap();
    let plan = plan.display().to_string();
    let done = home.fsdyno(&["run", "--dry-run", "--on", on, "--plan", &plan]);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.out
}
