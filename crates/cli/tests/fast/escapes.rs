//! Control characters of foreign data never reach standard output or standard error: not from
//! arguments, plans, hostile stores, or programs that fsdyno runs.

use crate::support::{Home, Printed, printed};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;

/// A title, a colour, a C1 control sequence, reversed text, and characters that no terminal shows.
const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[32m\u{9b}2J\u{202e}\u{200b}\r\u{7f}";

/// Asserts that the output is not empty and contains none of these characters.
fn assert_harmless(what: &str, printed: &Printed) {
    assert!(
        !(printed.out.is_empty() && printed.err.is_empty()),
        "{what}"
    );
    for (stream, text) in [("stdout", &printed.out), ("stderr", &printed.err)] {
        // CSV ends lines with CR LF (RFC 4180).
        let text = text.replace("\r\n", "\n");
        let bad = |c: char| {
            c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202e}' | '\u{200b}')
        };
        assert!(!text.contains(bad), "{what}: {stream}: {text:?}");
    }
}

#[test]
fn arguments_with_escapes_are_printed_without_them() {
    let home = Home::new();
    let named = |before: &str| format!("{before}{HOSTILE}");
    for args in [
        vec![named("")],
        vec!["run".into(), named("--")],
        vec!["run".into(), "--fs".into(), named("ext4:")],
        vec!["run".into(), "--fs".into(), named("")],
        vec!["run".into(), "--repeats".into(), named("")],
        vec!["run".into(), "--plan".into(), named("/no/")],
        vec!["run".into(), "--on".into(), named("dir:/no/")],
        vec!["run".into(), "--dataset".into(), named("tar:/no/")],
        vec!["show".into(), named("")],
        vec!["report".into(), named(""), "--against".into(), named("")],
        vec!["--store".into(), named("/no/"), "runs".into()],
        vec!["disk".into(), "show".into(), named("")],
        vec!["disk".into(), "trace".into(), named("/no/")],
        vec!["make".into(), "--in".into(), "/".into(), named("")],
        vec!["make".into(), "--in".into(), named("/no/"), "mixed".into()],
        vec!["published".into(), "show".into(), named("")],
        vec!["why".into(), named(""), named(""), named("")],
        vec!["phase".into(), named(""), "--in".into(), named("/no/")],
    ] {
        let printed = home.fsdyno(&args);
        assert_ne!(printed.code, Some(0), "{args:?}");
        assert_harmless(&format!("{args:?}"), &printed);
    }
    let mut help = home.command(&["--help"]);
    help.arg0(HOSTILE).env("FSDYNO_STORE", HOSTILE);
    assert_harmless("--help", &printed(&help.output().unwrap()));
}

#[test]
fn a_plan_with_escapes_is_refused_without_them() {
    let home = Home::new();
    let plan = home.path(&format!("{HOSTILE}.toml").replace('/', ""));
    for text in [
        format!("suite = \"{HOSTILE}\""),
        format!("\"{}\" = 1", r"\u001b]0;x\u0007\u009b2J\u202e"),
        r#"suite = "\u001b]0;x\u0007\u009b2J\u202e""#.to_owned(),
        r#"contenders = ["no\u001b[2J\u009b2J"]"#.to_owned(),
        format!("# {HOSTILE}\nsuite = 1"),
        format!("suite = {HOSTILE}"),
    ] {
        fs::write(&plan, &text).unwrap();
        let printed = home.fsdyno(&["run".as_ref(), "--plan".as_ref(), plan.as_os_str()]);
        assert_eq!(printed.code, Some(2), "{text:?}: {}", printed.err);
        assert_harmless(&text, &printed);
    }
}

/// Puts hostile text into every text of a store that is not a key and not from a fixed set.
fn poison(home: &Home) {
    let store = Connection::open(home.path("data/fsdyno/fsdyno.db")).unwrap();
    let change = |table: &str, change: &dyn Fn(&mut Value)| {
        let query = format!("SELECT rowid, document FROM {table}");
        let mut query = store.prepare(&query).unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows: Vec<(i64, String)> = rows.unwrap().map(Result::unwrap).collect();
        for (row, text) in &rows {
            let mut document = serde_json::from_str(text).unwrap();
            change(&mut document);
            let sql = format!("UPDATE {table} SET document = ?2 WHERE rowid = ?1");
            store.execute(&sql, (row, document.to_string())).unwrap();
        }
        assert!(!rows.is_empty());
    };
    change("record", &|run| {
        for contender in run["plan"]["contenders"].as_array_mut().unwrap() {
            poison_texts(&mut contender["label"]);
        }
        for workload in run["plan"]["workloads"].as_array_mut().unwrap() {
            poison_texts(&mut workload["name"]);
            for phase in workload["phases"].as_array_mut().unwrap() {
                poison_texts(&mut phase["label"]);
            }
        }
        for field in ["provenance", "command_line"] {
            poison_texts(&mut run[field]);
        }
        poison_texts(&mut run["plan"]["name"]);
    });
    change("part", &|cell| {
        let samples = cell["samples"].as_array_mut().unwrap();
        assert!(!samples.is_empty());
        for sample in samples {
            for text in ["label", "method"] {
                poison_texts(&mut sample[text]);
            }
            poison_texts(&mut sample["cache"]["method"]);
        }
        for command in cell["commands"].as_array_mut().unwrap() {
            for text in ["stdout", "stderr", "argv"] {
                poison_texts(&mut command[text]);
            }
        }
        let effective = cell["effective"].as_array_mut().unwrap();
        effective.push(json!({"source": HOSTILE, "text": HOSTILE}));
        let warnings = cell["warnings"].as_array_mut().unwrap();
        warnings.push(json!({"kind": "entry", "message": HOSTILE, "advice": HOSTILE}));
        if cell["cell"]["block"] == 1 {
            let stage = json!({"stage": "prepare"});
            cell["outcome"] =
                json!({"outcome": "failed", "stage": stage, "message": HOSTILE, "errno": null});
        }
    });
}

/// Appends hostile text to every text of a value.
fn poison_texts(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(HOSTILE),
        Value::Array(values) => values.iter_mut().for_each(poison_texts),
        Value::Object(values) => values.values_mut().for_each(poison_texts),
        _ => {}
    }
}

/// Creates a store with one measured run.
fn store(home: &Home) {
    let on = format!("dir:{}", home.work().display());
    let args = ["run", "--on", &on, "--dataset", "mixed", "--scale", "0.002"];
    let printed = home.fsdyno(&[&args[..], &["--repeats", "2"]].concat());
    assert_eq!(printed.code, Some(0), "{}", printed.err);
}

#[test]
fn a_hostile_store_reaches_no_terminal() {
    let home = Home::new();
    store(&home);
    poison(&home);
    let listed = home.fsdyno(&["report", "last", "--long"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    for line in [
        "runs",
        "runs --json",
        "show last",
        "show last --json",
        "show last --commands",
        "report last",
        "report last --format json",
        "report last --format csv",
        "report last --format markdown",
        "report last --format html",
        "chart last",
        "run --resume last",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let printed = home.fsdyno(&args);
        assert_harmless(line, &printed);
        if printed.code == Some(0) && line.ends_with("json") {
            serde_json::from_str::<serde_json::Value>(&printed.out).unwrap();
        }
    }
}

#[test]
fn standard_error_of_a_program_is_printed_without_escapes() {
    let home = Home::new();
    let bin = home.path("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' '{HOSTILE}' >&2\nexit 1\n");
    let path = std::env::var("PATH").unwrap_or_default();
    for program in ["mkfs.ext4", "mke2fs", "cp"] {
        let program = bin.join(program);
        fs::write(&program, &script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let on = format!("dir:{}", home.work().display());
    let fixed = [
        "run",
        "--dataset",
        "mixed",
        "--scale",
        "0.002",
        "--repeats",
        "1",
    ];
    for more in [
        &["--on", &on, "--engine", "tools"][..],
        &["--fs", "ext4", "--on", "loop:64M"],
    ] {
        let mut command = home.command(&[&fixed[..], more].concat());
        let path = format!("{}:{path}", bin.display());
        let printed = printed(&command.env("PATH", path).output().unwrap());
        assert_harmless(&format!("{more:?}"), &printed);
    }
}
