//! `run --resume` on runs that have ended: more repeats, another time limit, and failed cells again.

use crate::support::{Home, outcomes, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The directories that are compared.
const TWO: [&str; 2] = ["one", "two"];

/// A home in memory: these runs measure nothing that needs a disk.
fn home() -> Home {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return Home::new();
    }
    let root = tempfile::Builder::new()
        .prefix("fsdyno-test-")
        .tempdir_in(memory)
        .unwrap();
    fs::create_dir(root.path().join("work")).unwrap();
    Home { root }
}

/// A run of a command in directories of these names, with caches as they are.
fn in_directories(home: &Home, names: &[&str], command: &str, more: &str) -> Vec<String> {
    let plan = home.path("plan.toml");
    let phase = format!(
        "{{ kind = \"exec\", cache = \"as-is\", command = '{command}', everywhere = \"yes\" }}"
    );
    let text = format!("[[workload]]\nname = \"commands\"\nphases = [{phase}]\n");
    fs::write(&plan, text).unwrap();
    let mut words = vec!["run".to_owned(), "--plan".to_owned()];
    words.push(plan.display().to_string());
    for name in names {
        let directory = home.work().join(name);
        fs::create_dir_all(&directory).unwrap();
        words.extend(["--on".to_owned(), format!("dir:{}", directory.display())]);
    }
    words.extend(more.split_whitespace().map(str::to_owned));
    words
}

/// A command that is slow in every second block of a directory, by turns: neither of both is faster.
fn alternating(home: &Home) -> String {
    for (name, count) in TWO.iter().zip(["0", "1"]) {
        fs::write(home.path(name), count).unwrap();
    }
    let [one, two] = TWO.map(|name| home.path(name).display().to_string());
    format!(
        "case {{dir}} in */one/*) c={one};; *) c={two};; esac; n=$(cat $c); echo $((n+1)) >$c; \
         test $((n%2)) = 0 || sleep 0.05"
    )
}

fn cells(result: &Value) -> &[Value] {
    result["cells"].as_array().unwrap()
}

#[test]
fn a_run_with_fixed_repeats_is_extended_and_keeps_its_cells() {
    let home = home();
    let output = home.fsdyno(&in_directories(&home, &TWO, "true", "--repeats 2"));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let first = home.result("last");
    let resume = |more: &str| {
        let words = format!("run --resume last {more}");
        home.fsdyno(&words.split_whitespace().collect::<Vec<_>>())
    };
    for (refused, why) in [
        ("--repeats 1", "fewer than the 2 that the run has"),
        ("--max-repeats 9", "fixed, at 2"),
        ("--repeats 0", "out of range"),
        ("--repeats 4 --fs tmpfs", "cannot be used with"),
        ("--margin 5%", "cannot be used with"),
    ] {
        let output = resume(refused);
        assert_eq!(output.code, Some(2), "{refused}: {}", output.err);
        assert!(output.err.contains(why), "{refused}: {}", output.err);
    }
    let dry = resume("--repeats 4 --dry-run");
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    assert!(
        dry.out.contains("block 3") && !dry.out.contains("block 2"),
        "{}",
        dry.out
    );
    assert_eq!(
        home.result("last"),
        first,
        "refusals and dry runs change nothing"
    );
    let same = resume("--repeats 2");
    assert!(same.err.contains("nothing to resume"), "{}", same.err);

    let output = resume("--repeats 4");
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let longer = home.result("last");
    assert_eq!(cells(&longer).len(), 8);
    assert_eq!(cells(&longer)[..4], *cells(&first));
    let plan = &longer["run"]["plan"];
    assert_eq!(
        (&plan["repeats"], &plan["ends"]),
        (&4.into(), &vec![2].into())
    );
    assert_eq!(longer["run"]["plan_hash"], first["run"]["plan_hash"]);
    assert_eq!(longer["run"]["stop"], "complete");
    let long = home.fsdyno(&["report", "last", "--long"]).out;
    let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4 repeats, extended after 2"), "{long}");
}

#[test]
fn an_extension_that_is_interrupted_or_killed_is_resumed() {
    let home = home();
    let output = home.fsdyno(&in_directories(&home, &["one"], "sleep 0.3", "-n 1"));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    // `last` is never a running one.
    let run = home.result("last")["run"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let recorded = || outcomes(&home.result(&run)).len();
    for (command, signal) in [
        ("run --resume last --repeats 16", Signal::INT),
        ("run --resume last", Signal::KILL),
    ] {
        let before = recorded();
        let words: Vec<&str> = command.split(' ').collect();
        let mut child = home.start(&words);
        until(Duration::from_secs(60), "a cell is recorded", || {
            recorded() > before
        });
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        assert!((before + 1..16).contains(&recorded()));
    }
    let clean = home.fsdyno(&["clean"]);
    assert_eq!(clean.code, Some(0), "{}{}", clean.out, clean.err);
    let output = home.fsdyno(&["run", "--resume", "last"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    let cells = outcomes(&result).into_iter();
    let indices: Vec<u64> = cells.map(|(index, _)| index).collect();
    assert_eq!(indices, (0..16).collect::<Vec<_>>());
    // Neither the interruption nor the kill was an end.
    assert_eq!(result["run"]["plan"]["ends"], Value::from(vec![1]));
}

#[test]
fn an_adaptive_run_is_extended_beyond_its_maximum_and_its_time_limit() {
    let home = home();
    let command = alternating(&home);
    let args = "--repeats 2 --max-repeats 3 --precision 0.01% --seed 7";
    let output = home.fsdyno(&in_directories(&home, &TWO, &command, args));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let first = home.result("last");
    assert_eq!(cells(&first).len(), 6);
    let output = home.fsdyno(&["run", "--resume", "last", "--repeats", "5"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("--max-repeats"), "{}", output.err);
    let output = home.fsdyno(&["run", "--resume", "last", "--max-repeats", "4"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let longer = home.result("last");
    assert_eq!(cells(&longer).len(), 8);
    assert_eq!(cells(&longer)[..6], *cells(&first));
    assert_eq!(longer["run"]["plan"]["ends"], Value::from(vec![3]));

    // A run that ended by its time limit.
    let args = "--repeats 2 --max-repeats 500 --precision 0.01% --seed 7 --budget 1s";
    let output = home.fsdyno(&in_directories(&home, &TWO, &command, args));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let first = home.result("last");
    assert_eq!(first["run"]["stop"], "budget");
    let last = cells(&first).last().unwrap()["cell"]["block"]
        .as_u64()
        .unwrap();
    let blocks = last + 1;
    let most = (blocks + 1).to_string();
    let extended = [
        "run",
        "--resume",
        "last",
        "--budget",
        "1h",
        "--max-repeats",
        &most,
    ];
    let output = home.fsdyno(&extended);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let longer = home.result("last");
    assert_eq!(longer["run"]["stop"], "complete");
    assert_eq!(cells(&longer).len() as u64, 2 * (blocks + 1));
    let plan = &longer["run"]["plan"];
    assert_eq!(plan["ends"], Value::from(vec![blocks]));
    assert_eq!(plan["budget"], 3_600_000_000_000_u64);
}

#[test]
fn failed_cells_run_again_and_no_other() {
    let home = home();
    let once = home.path("once").display().to_string();
    let command = format!("test -e {once} || {{ touch {once}; exit 3; }}");
    let output = home.fsdyno(&in_directories(&home, &TWO, &command, "--repeats 2"));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let first = home.result("last");
    let ends: Vec<String> = outcomes(&first).into_iter().map(|(_, end)| end).collect();
    assert_eq!(ends, ["failed", "measured", "measured", "measured"]);

    // A retry that fails keeps the run as it is, with a note.
    fs::remove_file(&once).unwrap();
    let retry = ["run", "--resume", "last", "--retry-failed"];
    let output = home.fsdyno(&retry);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let output = home.fsdyno(&retry);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.err.contains("1 of 4 cells to do"), "{}", output.err);
    let result = home.result("last");
    assert!(outcomes(&result).iter().all(|(_, end)| end == "measured"));
    assert_eq!(cells(&result)[1..], cells(&first)[1..]);
    let warnings = cells(&result)[0]["warnings"].to_string();
    assert_eq!(warnings.matches("\"retried\"").count(), 2, "{warnings}");
    assert_eq!(
        result["run"]["ended_unix_ns"],
        first["run"]["ended_unix_ns"]
    );
    assert_eq!(result["run"]["plan"], first["run"]["plan"]);
    let output = home.fsdyno(&retry);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains("nothing to retry"), "{}", output.err);
    let output = home.fsdyno(&["run", "--retry-failed"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
}
