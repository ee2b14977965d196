//! Workloads as text: what they draw, and what is refused where.

use super::*;
use crate::engines::sync::SystemCalls;
use crate::job::Job;
use crate::phases::work::{Planned, WorkPhase, prepare};
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::PhasePlan;

const VARMAIL: &str = r#"
title = "mail server"

[[files]]
name = "mail"
count = 50
size = "gamma(16K, 1.5)"
present = "80%"
width = 10

[[files]]
name = "log"
count = 1

[[workers]]
count = 3
operations = 3000
begin = ["open log as log"]
steps = [
  "unlink mail",
  "create mail as new",
  "append @new uniform(1, 16K)",
  "fsync @new",
  "close new",
  "open mail as old",
  "read @old",
  "append @old uniform(1, 16K)",
  "close old",
  { do = "append @log 100", repeat = 2 },
  { steps = [{ do = "stat mail:zipf", weight = 3 }, { do = "list mail/", weight = 1 }] },
]
"#;

fn work(text: &str) -> Work {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A phase of a workload.
fn planned(text: &str, phase: &str, settings: &Settings) -> Planned {
    let pairs = [
        ("text", text.to_owned()),
        ("phase", phase.to_owned()),
        ("seed", settings.seed.to_string()),
        ("permille", settings.permille.to_string()),
        (
            "operations",
            settings
                .operations
                .map_or_else(String::new, |many| many.to_string()),
        ),
    ];
    let plan = PhasePlan {
        label: "work".to_owned(),
        kind: "work".to_owned(),
        cache: CacheState::default(),
        pattern: None,
        parameters: (pairs.into_iter())
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        judge: None,
    };
    let planned = crate::phases::work::planned(&plan, 1, NameRule::BYTES);
    planned.unwrap_or_else(|error| panic!("{error}")).unwrap()
}

/// Runs a workload in a directory; returns the tally of its operations and bytes.
fn run(text: &str, settings: &Settings) -> (tempfile::TempDir, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let stop = CancelToken::new();
    let job = Job::bare(folder.path(), &stop);
    let planned = planned(text, "", settings);
    prepare(&planned, &job).unwrap();
    let mut phase = WorkPhase::new(&planned.work().unwrap(), &planned);
    let tally = phase.run(&mut SystemCalls::default(), &job);
    let tally = tally.unwrap_or_else(|error| panic!("{error}"));
    (folder, tally.files, tally.bytes.0)
}

/// The names and sizes of all files below a directory.
fn tree(root: &std::path::Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut rest = vec![root.to_owned()];
    while let Some(directory) = rest.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if meta.is_dir() {
                rest.push(path);
            }
            found.push((name, if meta.is_dir() { 0 } else { meta.len() }));
        }
    }
    found.sort();
    found
}

#[test]
fn the_operations_are_those_that_were_counted_whatever_the_order_of_workers() {
    let settings = Settings::default();
    let summary = Summary::of(&work(VARMAIL), &settings);
    let (folder, operations, bytes) = run(VARMAIL, &settings);
    assert_eq!(
        (operations, bytes),
        (summary.operations(), summary.bytes().0)
    );
    assert!((3000..3040).contains(&operations), "{operations}");
    let mail = tree(&folder.path().join("work/mail"));
    assert_eq!(
        mail.iter().filter(|(name, _)| name.contains('/')).count(),
        40
    );
    let log = tree(&folder.path().join("work/log"));
    let appends = &summary.groups[0][10];
    assert_eq!(
        (appends.text.as_str(), appends.bytes.0),
        ("append @log 100", log[0].1)
    );
    let used: u64 = mail.iter().map(|(_, size)| size).sum();
    assert!(used <= summary.space.0, "{used} {}", summary.space.0);
    let (again, ..) = run(VARMAIL, &settings);
    assert_eq!(tree(folder.path()), tree(again.path()));
    let other = Settings {
        seed: 2,
        ..settings
    };
    assert_ne!(tree(run(VARMAIL, &other).0.path()), tree(folder.path()));
}

#[test]
fn settings_replace_the_end_and_scale_the_numbers() {
    let half = Settings {
        permille: 500,
        ..Settings::default()
    };
    let summary = Summary::of(&work(VARMAIL), &half);
    assert_eq!(summary.files[0].1, 20);
    assert!((1500..1540).contains(&summary.operations()));
    let few = Settings {
        operations: Some(30),
        ..Settings::default()
    };
    assert!((30..70).contains(&Summary::of(&work(VARMAIL), &few).operations()));
}

#[test]
fn the_lines_of_a_worker_leave_the_tree_that_it_leaves() {
    let text = r#"
[[files]]
name = "tmp"
count = 0
size = "lognormal(2000, 1)"

[[files]]
name = "new"
count = 0

[[files]]
name = "links"
count = 0

[[workers]]
loops = 20
steps = [
  "create tmp all as f", "fsync @f", "close f", "rename tmp:newest new:same", "fsync new:same/",
  "create tmp 4096", "link tmp:same links", "mkdir tmp/", "write new random 4K", "truncate new 8192",
  "fdatasync new", "stat new:newest", { do = "write new:zipf 0 100", dsync = true },
]

[[workers]]
loops = 6
steps = ["create tmp", "rmdir tmp/", "create tmp"]
"#;
    let settings = Settings::default();
    let (folder, ..) = run(text, &settings);
    let shadow = tempfile::tempdir().unwrap();
    for directory in ["tmp", "new", "links"] {
        std::fs::create_dir(shadow.path().join(directory)).unwrap();
    }
    for lines in lines(&work(text), &settings, usize::MAX) {
        let program = fsdyno_crash::Program {
            setup: Vec::new(),
            operations: lines.clone(),
        };
        let text = program.to_string();
        assert_eq!(text.parse::<fsdyno_crash::Program>().unwrap(), program);
        let performed = crate::crash::perform(shadow.path(), &program, &mut |_| Ok(())).unwrap();
        assert_eq!(performed.failed, None, "{text}");
    }
    assert_eq!(tree(shadow.path()), tree(&folder.path().join("work")));
}

const LOOPS: &str = r#"
parameters = [{ name = "files", about = "files", default = 40, scaled = 1 }]
directories = ["d{group}/old", "d{group}/new"]

[[files]]
name = "file"
count = "files"
size = "uniform(1, 9K)"
of = { group = "random(7)" }
names.old = "d{group}/old/f{file}"
names.new = "d{group}/new/f{file}"

[[files]]
name = "request"
count = "2 * files"
of = { file = "zipf(files)" }

[[phases]]
name = "make"
about = "makes them"
[[phases.workers]]
count = 3
steps = [{ each = "file", transaction = ["create old all"] }]

[[phases]]
name = "use"
about = "uses them"
after = ["make"]
[[phases.workers]]
steps = [
  { each = "group", steps = [
    "list old/",
    { each = "file[::2]", transaction = ["read old", "rename old new"] },
    { each = "file", steps = [{ on = "file[-1:]", do = "fsync new/" }] },
  ] },
  { each = "request", transaction = [
    { do = "lookup new", found = ["append new all*2"] },
    { do = "lookup new", absent = ["stat old"] },
  ] },
]
"#;

#[test]
fn loops_go_through_the_files_of_their_groups_and_the_earlier_phases_make_them() {
    let folder = tempfile::tempdir().unwrap();
    let stop = CancelToken::new();
    let job = Job::bare(folder.path(), &stop);
    let half = Settings {
        permille: 500,
        ..Settings::default()
    };
    let used = planned(LOOPS, "use", &half);
    prepare(&used, &job).unwrap();
    let files = |part: &str| {
        let all = tree(&folder.path().join("work")).into_iter();
        let all = all.filter(|(name, _)| name.contains(part));
        all.collect::<Vec<_>>()
    };
    let made = files("/old/f");
    assert_eq!((made.len(), files("/new/f").len()), (20, 0));
    let mut phase = WorkPhase::new(&used.work().unwrap(), &used);
    let tally = phase.run(&mut SystemCalls::default(), &job).unwrap();
    let (old, new) = (files("/old/f"), files("/new/f"));
    assert_eq!(old.len() + new.len(), 20);
    // Of each group every second file, beginning with the first.
    let mut groups = std::collections::BTreeMap::<&str, (usize, usize)>::new();
    for (name, _) in &made {
        let (group, _) = name.split_once("/old/").unwrap();
        let (all, renamed) = groups.entry(group).or_default();
        *all += 1;
        *renamed += usize::from(!old.iter().any(|(one, _)| one == name));
    }
    assert!(
        groups
            .values()
            .all(|(all, renamed)| all.div_ceil(2) == *renamed),
        "{groups:?}"
    );
    assert_eq!(tally.files, new.len() as u64 + 40);
    let size = |files: &[(String, u64)]| files.iter().map(|(_, size)| size).sum::<u64>();
    assert!(size(&new) + size(&old) > size(&made));
}

#[test]
fn a_mistake_in_a_loop_is_explained_with_its_place() {
    LOOPS.parse::<Work>().unwrap();
    for (from, to, place, message) in [
        (
            "each = \"group\"",
            "each = \"grop\"",
            "\"grop\"",
            "did you mean `group`?",
        ),
        ("file[::2]", "file[::0]", "\"file[::0]\"", "is no slice"),
        (
            "file[-1:]",
            "request[1:]",
            "\"request[1:]\"",
            "no loop around this step",
        ),
        (
            "list old/",
            "read old",
            "\"read old\"",
            "`file` has no value here",
        ),
        (
            "{group}/old/f{file}",
            "{grop}/old/f{file}",
            "\"create old all\"",
            "`grop` has no value",
        ),
        (
            "[\"d{group}/old\"",
            "[\"d{grop}/old\"",
            "\"d{grop}/old\"",
            "is a relation of one set",
        ),
        ("random(7)", "random 7", "\"random 7\"", "is no relation"),
        (
            "2 * files",
            "2 * fils",
            "\"2 * fils\"",
            "`fils` is no parameter; parameters are files",
        ),
        (
            "after = [\"make\"]",
            "after = [\"made\"]",
            "\"made\"",
            "did you mean `make`?",
        ),
        (
            "lookup new\", found",
            "stat new\", found",
            "{ do",
            "only a step `lookup`",
        ),
        ("all*2", "all*x", "\"append", "as `all*3`"),
        (
            "default = 40",
            "default = true",
            "true",
            "the default value is no number",
        ),
    ] {
        let text = LOOPS.replacen(from, to, 1);
        let error = text.parse::<Work>().expect_err(&text);
        assert!(error.to_string().contains(message), "{to}: {error}");
        let at = &text[error.span.clone()];
        assert!(at.starts_with(place), "{to}: {at}: {error}");
    }
}

#[test]
fn a_workload_is_a_program_of_a_crash_test() {
    let program = program(&work(VARMAIL), &Settings::default(), 500);
    assert_eq!(program.check(), Ok(()));
    assert_eq!(program.operations.len(), 500);
    let creates = |one: &&fsdyno_crash::Operation| one.word() == "create";
    assert_eq!(program.setup.iter().filter(creates).count(), 41);
    // Workers take turns.
    let first: Vec<&str> = program.operations[..6]
        .iter()
        .map(fsdyno_crash::Operation::word)
        .collect();
    assert_eq!(
        first,
        ["open", "open", "open", "unlink", "unlink", "unlink"]
    );
}

#[test]
fn files_that_are_used_up_end_a_worker() {
    let text = "[[files]]\nname = 'a'\ncount = 100\n[[workers]]\ncount = 3\nsteps = ['stat a', \
                'unlink a:in-order']\n";
    let (folder, operations, _) = run(text, &Settings::default());
    // A `stat` finds no file at the end either.
    assert_eq!(operations, 200);
    assert_eq!(tree(&folder.path().join("work/a")), []);
}

#[test]
fn time_ends_a_worker_whose_operations_have_no_end() {
    let text =
        "[[files]]\nname = 'a'\ncount = 10\n[[workers]]\ntime = '50ms'\nsteps = ['stat a']\n";
    let began = std::time::Instant::now();
    let (_, operations, _) = run(text, &Settings::default());
    assert!(operations > 100, "{operations}");
    assert!(began.elapsed().as_millis() >= 50);
}

#[test]
fn transfers_are_within_their_files() {
    let text = r#"
[[files]]
name = "big"
count = 2
size = "1M"
[[workers]]
loops = 50
steps = [
  "open big as f", "read @f random 64K", "read @f next 300K", "read @f next 300K", "close f",
  "read big 1000K 64K",
]
"#;
    let mut expected = 0;
    for operation in lines(&work(text), &Settings::default(), usize::MAX).concat() {
        if let fsdyno_crash::Operation::Read {
            range: Some((offset, length)),
            ..
        } = operation
        {
            assert!(offset + length <= 1 << 20, "{offset} {length}");
            expected += length;
        }
    }
    let (_, _, bytes) = run(text, &Settings::default());
    assert_eq!(bytes, expected);
}

#[test]
fn a_mistake_is_explained_with_its_place() {
    let valid =
        "[[files]]\nname = \"a\"\ncount = 10\n[[workers]]\nloops = 1\nsteps = [\"stat a\"]\n";
    work(valid);
    for (from, to, place, message) in [
        ("stat a", "stta a", "\"stta a\"", "did you mean `stat`?"),
        (
            "stat a",
            "stat b",
            "\"stat b\"",
            "no files are named `b`: did you mean `a`?",
        ),
        (
            "stat a",
            "stat a:old",
            "\"stat a:old\"",
            "`old` picks no file: write random, in-order",
        ),
        (
            "stat a",
            "stat",
            "\"stat\"",
            "no TARGET: the form is `stat TARGET`",
        ),
        ("stat a", "stat a b", "\"stat a b\"", "`b` is too much"),
        (
            "stat a",
            "stat a:new",
            "\"stat a:new\"",
            "`stat` needs a file that exists",
        ),
        (
            "stat a",
            "stat @f",
            "\"stat @f\"",
            "no step before it has opened `f`",
        ),
        ("stat a", "read a/", "\"read a/\"", "takes no directory"),
        (
            "stat a",
            "append a big",
            "\"append a big\"",
            "write `all` (the size of the file), SIZE",
        ),
        (
            "stat a",
            "open a as f",
            "[\"open",
            "`f` is opened or closed in only one",
        ),
        (
            "stat a",
            "rename a a:same",
            "[\"rename",
            "give it present = \"0%\"",
        ),
        ("count = 10", "cuont = 10", "cuont", "did you mean `count`?"),
        ("count = 10", "count = -1", "-1", "-1 is out of range"),
        ("\"a\"", "\"a/b\"", "\"a/b\"", "no part of a file name"),
        (
            "loops = 1\n",
            "",
            "[\"stat a\"]",
            "these workers have no end",
        ),
        (
            "loops = 1",
            "loops = 1\ntime = '5 parsecs'",
            "'5 parsecs'",
            "not a duration",
        ),
        ("loops = 1", "loops = 1\nbytes = 'x'", "'x'", "not a size"),
        ("[\"stat a\"]", "[]", "[]", "there are no steps"),
        (
            "\"stat a\"",
            "{ do = \"stat a\", block = \"1T\" }",
            "\"1T\"",
            "1 to 64M",
        ),
        (
            "\"stat a\"",
            "{ weight = 2 }",
            "{ weight",
            "neither one step nor a list",
        ),
    ] {
        let text = valid.replacen(from, to, 1);
        let error = text.parse::<Work>().expect_err(&text);
        assert!(error.to_string().contains(message), "{text}: {error}");
        let at = &text[error.span.clone()];
        assert!(
            at.starts_with(place.trim_end_matches('.')),
            "{text}: {at}: {error}"
        );
    }
}
