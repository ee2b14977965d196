//! Applications in virtual time: their user, their service and their temporary files. Without the lab
//! kernel, the tests are skipped by name.

use crate::support::{Home, Printed, have, lab_kernel, outcomes};
use serde_json::Value;
use std::path::Path;

/// The cells of a run of an application in virtual time.
fn cells(home: &Home, kernel: &Path, app: &str) -> Value {
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    let output = home.fsdyno(&[
        "run",
        "--app",
        app,
        "--fs",
        "ext4,xfs",
        "--disk",
        "nvme",
        "--on",
        "loop:1G",
        "--repeats",
        "1",
        "--guest-kernel",
        &kernel,
        "--work-dir",
        &work,
        "--json",
    ]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let mut result: Value = serde_json::from_str(&output.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    result["cells"].take()
}

const SERVED: &str = r#"
title = "a service and its load as another user"
user = "nobody"
programs = { dd = "coreutils" }
settings = [
  { name = "blocks", about = "blocks", default = 20 },
  { name = "sync", about = "how writes wait", default = "none", values = ["none", "dsync"], gives_up = { none = "all blocks" } },
]
[service]
start = "echo up >/tmp/up; echo up >/dev/shm/up; exec sleep 1000"
ready = "test -s /tmp/up"
[[phases]]
name = "load"
about = "writes"
prepare = "echo $HOME >home"
load = '''
test "$(cat home)" = "$PWD" && test -s /dev/shm/up
dd if=/dev/zero of=file bs=4k count=$blocks conv=fsync 2>&1
echo "user = $(id -u)"
(setsid sleep 1000 &)
'''
judge = "rate-of-dd"
figures = [
  { name = "rate-of-dd", expression = ', ([0-9.]+ [kMG]?B/s)', unit = "B/s", direction = "higher" },
  { name = "uid", expression = "user = ([0-9]+)", direction = "none" },
]
"#;

#[test]
fn an_application_with_its_user_and_service_is_the_same_each_time() {
    let test = "an_application_with_its_user_and_service_is_the_same_each_time";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.xfs"], test) {
        return;
    }
    let home = Home::new();
    let file = home.path("served.toml").display().to_string();
    std::fs::write(&file, SERVED).unwrap();
    let first = cells(&home, &kernel, &file);
    let samples = |cells: &Value| -> Vec<Value> {
        let cells = cells.as_array().unwrap().iter();
        cells.map(|cell| cell["samples"][0].clone()).collect()
    };
    for sample in samples(&first) {
        let figure = |name: &str| {
            let mut figures = sample["figures"].as_array().unwrap().iter();
            let found = figures.find(|figure| figure["name"] == name);
            found.unwrap()["value"].as_f64().unwrap()
        };
        assert!(figure("uid") > 0.5, "{sample}");
        assert!(figure("rate-of-dd") > 1e3, "{sample}");
        let warnings = sample["warnings"].to_string();
        for warning in ["sync = none: all blocks", "left 1 process", "not-counted"] {
            assert!(warnings.contains(warning), "{warnings}");
        }
    }
    let figures = |cells| -> Vec<[Value; 3]> {
        let of = |sample: Value| ["return_ns", "durable_ns", "kernel"].map(|it| sample[it].clone());
        samples(cells).into_iter().map(of).collect()
    };
    // What else is in /tmp changes nothing.
    let others = [(); 50].map(|()| tempfile::tempdir_in("/tmp").unwrap());
    let again = cells(&home, &kernel, &file);
    drop(others);
    assert_eq!(figures(&first), figures(&again));
}

#[test]
fn sqlite_and_git_run_in_virtual_time() {
    let test = "sqlite_and_git_run_in_virtual_time";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    if !have(&["sqlite3", "git", "awk", "mkfs.ext4", "mkfs.xfs"], test) {
        return;
    }
    let home = Home::new();
    let apps = "sqlite[rows=100,transactions=5,journal_mode=wal],git[files=100,commits=3]";
    let measured = cells(&home, &kernel, apps);
    let samples = measured.as_array().unwrap().iter();
    let counts = samples.map(|cell| cell["samples"].as_array().unwrap().len());
    assert_eq!(counts.sum::<usize>(), 2 * (1 + 3));
}

/// A search of the states that a power cut leaves of an application, in few states.
fn crash(home: &Home, kernel: &Path, app: &str) -> Printed {
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    home.fsdyno(&[
        "crash",
        "--app",
        app,
        "--fs",
        "ext4",
        "--states",
        "3",
        "--no-nested",
        "--no-minimize",
        "--guest-memory",
        "256M",
        "--guest-kernel",
        &kernel,
        "--work-dir",
        &work,
    ])
}

const LOG: &str = r#"
title = "a log with a service"
user = "nobody"
programs = { sync = "coreutils" }
settings = [
  { name = "durable", about = "how writes wait", default = "yes", values = ["yes", "no"] },
  { name = "port", about = "the port", default = "free", values = ["free", "taken"] },
]
[service]
start = "test $port = free || { echo port is taken; exit 1; }; echo up >/run/up; exec sleep 1000"
ready = "test -s /run/up"
stop = "pkill -x sleep"
[[phases]]
name = "append"
about = "appends"
load = "true"
[crash]
prepare = "echo 0 >log"
work = """
for number in 1 2; do
  echo $number >>log
  test $durable = no || sync log
  echo $number
done
"""
check = """
test $(id -u) != 0 && test -s /run/up
test $(wc -l) -lt $(wc -l <log) || { echo a line is lost; exit 1; }
"""
"#;

#[test]
fn a_power_cut_takes_acknowledged_work_only_from_careless_settings_of_an_application() {
    let test = "a_power_cut_takes_acknowledged_work_only_from_careless_settings_of_an_application";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    if !have(
        &["sqlite3", "mkfs.ext4", "pkill", "setpriv", "unshare"],
        test,
    ) {
        return;
    }
    let home = Home::new();
    let file = home.path("log.toml").display().to_string();
    std::fs::write(&file, LOG).unwrap();
    let sqlite = "sqlite[journal_mode=wal,transactions=3,synchronous=full]";
    for careful in [sqlite, &file] {
        let output = crash(&home, &kernel, careful);
        assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
        let nothing = "loses nothing in the checked states";
        let printed = output.out.replace('\n', " ");
        assert!(printed.contains(nothing), "{}", output.out);
    }
    let careless = [
        (sqlite.replace("full", "off"), "transaction is"),
        (format!("{file}[durable=no]"), "a line is lost"),
    ];
    for (careless, lost) in &careless {
        let output = crash(&home, &kernel, careless);
        assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
        let name = careless.rsplit('/').next().unwrap().replace(".toml", "");
        let loses = format!("{name} loses data on ext4");
        assert!(
            output.out.replace('\n', " ").contains(&loses),
            "{}",
            output.out
        );
        let check = format!("the check of {name} fails after");
        assert!(output.err.contains(&check), "{}", output.err);
        assert!(output.err.contains(lost), "{}", output.err);
    }
    let refused = crash(&home, &kernel, &format!("{file}[port=taken]"));
    assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
    let why = "without a power cut: its command ended with exit status: 1: the service does not \
               start: port is taken";
    assert!(refused.err.contains(why), "{}", refused.err);
}
