//! Applications in virtual time: their user, their service and their temporary files. Without the lab
//! kernel, the tests are skipped by name.

use crate::support::{Home, Printed, have, lab_kernel, outcomes};
use serde_json::Value;
use std::path::Path;

/// The cells of a run of an application in virtual time.
fn cells(home: &Home, kernel: &Path, app: &str) -> Value {
    measured(home, kernel, app, ["ext4,xfs", "1"])["cells"].take()
}

/// A run of an application in virtual time on these file systems, with so many repeats.
fn measured(home: &Home, kernel: &Path, app: &str, size: [&str; 2]) -> Value {
    measured_with(home, kernel, app, size, &[])
}

/// As [`measured`], with more options.
fn measured_with(
    home: &Home,
    kernel: &Path,
    app: &str,
    [fs, repeats]: [&str; 2],
    more: &[&str],
) -> Value {
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    let output = home.fsdyno(
        &[
            &[
                "run",
                "--app",
                app,
                "--fs",
                fs,
                "--disk",
                "nvme",
                "--on",
                "loop:1G",
                "--repeats",
                repeats,
                "--guest-kernel",
                &kernel,
                "--work-dir",
                &work,
                "--json",
            ][..],
            more,
        ]
        .concat(),
    );
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result: Value = serde_json::from_str(&output.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    result
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
    let apps = "sqlite[rows=3000,transactions=2000,journal_mode=wal],git[files=2000,commits=3]";
    let measured = measured(&home, &kernel, apps, ["ext4,xfs", "1"]);
    let samples = measured["cells"].as_array().unwrap().iter();
    let counts = samples.map(|cell| cell["samples"].as_array().unwrap().len());
    assert_eq!(counts.sum::<usize>(), 2 * (1 + 3));
    // The code of each, which virtual time does not count.
    let user_code = measured["results"][0]["user_code"].as_array().unwrap();
    assert_eq!(user_code.len(), 1 + 3);
    assert_eq!(user_code[0]["units"]["name"], "transactions");
    assert_eq!(user_code[0]["units"]["number"], 2000.0);
    assert!(user_code.iter().all(|one| one["repeats"] == 3));
    let answer = measured["results"][0]["answer"].as_str().unwrap();
    assert!(
        answer.contains("User code is not counted; it takes"),
        "{answer}"
    );
    assert!(
        answer.contains("for each of 2,000 transactions"),
        "{answer}"
    );
}

/// Runs applications once on ext4 in virtual time. Returns how many phases were measured, and the
/// figures that count units; nothing if a requirement is missing.
fn counted_units(test: &str, programs: &[&str], apps: &str) -> Option<(usize, Vec<f64>)> {
    let kernel = lab_kernel(test)?;
    if !have(&[programs, &["awk", "mkfs.ext4"]].concat(), test) {
        return None;
    }
    let home = Home::new();
    let measured = measured_with(&home, &kernel, apps, ["ext4", "1"], &["--user-code=false"]);
    let cells = measured["cells"].as_array().unwrap().iter();
    let samples: Vec<&Value> = cells
        .flat_map(|cell| cell["samples"].as_array().unwrap())
        .collect();
    let figures = samples
        .iter()
        .flat_map(|sample| sample["figures"].as_array().unwrap());
    let counted = figures.filter(|figure| figure["unit"] == "units");
    let counted = counted.map(|figure| figure["value"].as_f64().unwrap());
    Some((samples.len(), counted.collect()))
}

#[test]
fn rsync_borg_dpkg_rocksdb_and_a_build_run_in_virtual_time() {
    let test = "rsync_borg_dpkg_rocksdb_and_a_build_run_in_virtual_time";
    let programs = ["rsync", "borg", "dpkg-deb", "db_bench", "make", "gcc"];
    let apps = "rsync[files=10],borg[files=10],dpkg[packages=2],rocksdb[keys=5],build[files=2]";
    let Some((phases, units)) = counted_units(test, &programs, apps) else {
        return;
    };
    assert_eq!(phases, 3 + 3 + 3 + 2 + 3);
    // Five keys in each of four threads, written and read.
    assert_eq!(units, [20.0, 20.0]);
}

#[test]
fn ccache_apt_layers_and_an_image_run_in_virtual_time() {
    let test = "ccache_apt_layers_and_an_image_run_in_virtual_time";
    let programs = ["ccache", "gcc", "apt-get", "umoci", "qemu-io"];
    let apps = "ccache[files=1],apt[packages=1],containers[files=20,layers=2],\
                vm-image[megabytes=8,requests=10]";
    let Some((phases, units)) = counted_units(test, &programs, apps) else {
        return;
    };
    assert_eq!(phases, 3 + 4 + 3 + 3);
    // Layers, and requests of both phases of the image.
    assert_eq!(units, [2.0, 10.0, 10.0]);
}

#[test]
fn mail_and_a_web_server_run_in_virtual_time() {
    let test = "mail_and_a_web_server_run_in_virtual_time";
    let apps = "dovecot[messages=3],nginx[files=5,requests=20]";
    let Some((phases, units)) = counted_units(test, &["doveadm", "nginx", "h2load"], apps) else {
        return;
    };
    assert_eq!(phases, 3 + 2);
    // Messages delivered and read, and requests of both phases.
    assert_eq!(units, [3.0, 3.0, 20.0, 20.0]);
}

#[test]
fn mariadb_runs_in_a_directory() {
    let test = "mariadb_runs_in_a_directory";
    if !have(&["mariadbd", "mariadb-admin", "sysbench"], test) {
        return;
    }
    let home = Home::new();
    let place = home.path("place");
    std::fs::create_dir_all(&place).unwrap();
    let on = format!("dir:{}", place.display());
    let app = "mariadb[rows=20,transactions=8,innodb_flush_log_at_trx_commit=2]";
    let output = home.fsdyno(&["run", "--app", app, "--on", &on, "-n", "1", "--json"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result: Value = serde_json::from_str(&output.out).unwrap();
    let samples = result["cells"][0]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let mut figures = sample["figures"].as_array().unwrap().iter();
        let transactions = figures.find(|figure| figure["name"] == "transactions");
        assert_eq!(transactions.unwrap()["value"], 8.0);
        let warnings = sample["warnings"].to_string();
        let warning = "a power cut loses transactions of the last second";
        assert!(warnings.contains(warning), "{warnings}");
    }
}

const BUSY: &str = r#"
title = "durable writes, and a computation"
programs = { dd = "coreutils" }
settings = [{ name = "loops", about = "steps of the computation", default = 1 }]
[[phases]]
name = "write"
about = "writes"
load = """
dd if=/dev/zero of=file bs=4k count=200 oflag=dsync 2>/dev/null
i=0; while [ $i -lt $loops ]; do i=$((i+1)); done
"""
"#;

#[test]
fn a_verdict_on_an_application_holds_only_if_it_holds_with_its_own_code() {
    let test = "a_verdict_on_an_application_holds_only_if_it_holds_with_its_own_code";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    if !have(&["mkfs.ext4", "mkfs.btrfs"], test) {
        return;
    }
    let home = Home::new();
    let file = home.path("busy.toml").display().to_string();
    std::fs::write(&file, BUSY).unwrap();
    let apps = format!("{file},{file}[loops=3000000]");
    let result = measured(&home, &kernel, &apps, ["ext4,btrfs", "3"]);
    let phases = result["results"][0]["phases"].as_array().unwrap();
    let of = |workload: &str| {
        let mut phases = phases.iter();
        let line = phases.find(|line| line["workload"] == workload && line["whole"] == true);
        let btrfs = &line.unwrap()["contenders"][1];
        let ratio = |name: &str| btrfs[name].as_f64().unwrap();
        let ratios = [ratio("ratio"), ratio("ratio_with_user_code")];
        (
            btrfs["verdict"].clone(),
            btrfs["depends_on_user_code"].clone(),
            ratios,
        )
    };
    // In virtual time both are the same: the computation takes none.
    let (idle, busy) = (of("busy"), of("busy[loops=3000000]"));
    assert_eq!(
        (&idle.0, &idle.1),
        (&"slower".into(), &false.into()),
        "{idle:?}"
    );
    assert_eq!(
        (&busy.0, &busy.1),
        (&"inconclusive".into(), &true.into()),
        "{busy:?}"
    );
    assert!(busy.2[0] > 1.1 && busy.2[1] < 1.02, "{busy:?}");
    let user_code = &result["results"][0]["user_code"];
    let least = |at: usize| user_code[at]["min_ns"].as_f64().unwrap();
    assert!(least(1) > 10.0 * least(0) && least(1) > 1e8, "{user_code}");
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

#[test]
fn advice_for_an_application_has_its_sizes_its_user_code_and_its_crash_tests() {
    let test = "advice_for_an_application_has_its_sizes_its_user_code_and_its_crash_tests";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let programs = ["sqlite3", "awk", "mkfs.ext4", "mkfs.btrfs", "unshare"];
    if !have(&programs, test) {
        return;
    }
    let home = Home::new();
    let [kernel_path, work] = [&kernel, &home.work()].map(|path| path.display().to_string());
    let app = "sqlite[journal_mode=wal,synchronous=full,transactions=3]";
    let crashed = crash(&home, &kernel, app);
    assert_eq!(crashed.code, Some(0), "{}{}", crashed.out, crashed.err);
    let question = app.replace("wal", "wal,rows=100");
    let ask = |more: &[&str]| {
        let fixed = [
            "advise",
            &question,
            "--disk",
            "nvme",
            "--no-robust",
            "--budget",
            "90s",
        ];
        let place = ["--guest-kernel", &kernel_path, "--work-dir", &work];
        home.fsdyno(&[&fixed[..], &place, more].concat())
    };
    let printed = ask(&["--fs", "ext4,btrfs", "--format", "json"]);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let advice: Value = serde_json::from_str(&printed.out).unwrap();
    let amounts = advice["sizes"].as_array().unwrap().iter();
    let amounts: Vec<&str> = amounts
        .filter_map(|one| one["amount"][0].as_str())
        .collect();
    // The time limit may leave out larger ones.
    let all = ["rows 100", "rows 400", "rows 1600"];
    assert!(!amounts.is_empty() && all.starts_with(&amounts), "{advice}");
    let left_out = advice["left_out"].as_array().unwrap().iter();
    let omitted = left_out.filter(|one| one.as_str().unwrap().ends_with("times the work"));
    assert_eq!(amounts.len() + omitted.count(), all.len(), "{advice}");
    let user_code = advice["user_code"].as_str().unwrap();
    assert!(user_code.contains("for each of 3 transactions"), "{advice}");
    let contenders = advice["contenders"].as_array().unwrap();
    let tests = |name: &str| {
        let one = contenders.iter().find(|one| one["contender"] == name);
        one.unwrap()["crash_tests"].clone()
    };
    assert_eq!(tests("ext4")["violations"], 0, "{advice}");
    assert_eq!(tests("btrfs"), Value::Null);
    assert!(
        advice["choice"]["commands"][0]
            .as_str()
            .unwrap()
            .starts_with("mkfs.")
    );
    let scaled = ask(&["--scale", "2"]);
    assert_eq!(scaled.code, Some(2), "{}", scaled.err);
    home.assert_no_guest();
}

const TWO_PHASES: &str = r#"
title = "a service and two phases as another user"
user = "nobody"
programs = { dd = "coreutils" }
[service]
start = "echo up >$TMPDIR/up; while [ -e $TMPDIR/up ]; do sleep 0.1; done"
ready = "test -s $TMPDIR/up"
stop = "rm $TMPDIR/up"
[[phases]]
name = "first"
about = "writes"
prepare = "echo ready >ready"
load = "test -s ready; dd if=/dev/zero of=file bs=4k count=2 2>/dev/null"
[[phases]]
name = "second"
about = "reads"
prepare = "echo more >more"
load = "cat file ready more >/dev/null; echo $(id -u) >user"
"#;

#[test]
fn a_phase_of_an_application_is_recorded_without_what_is_before_it() {
    let test = "a_phase_of_an_application_is_recorded_without_what_is_before_it";
    if !have(&["setpriv", "strace", "dd"], test) {
        return;
    }
    let home = Home::new();
    let file = home.path("two.toml").display().to_string();
    std::fs::write(&file, TWO_PHASES).unwrap();
    let trace = home.path("load.trace").display().to_string();
    let record = |phase: &str| {
        let words = ["record", "--app", &file, "--phase", phase, "-o", &trace];
        home.fsdyno(&[&words[..], &["--recorder", "strace", "--force"]].concat())
    };
    let recorded = record("second");
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.out, recorded.err);
    let ended_well = !recorded.err.contains("ended with status");
    assert!(ended_well, "{}", recorded.err);
    let shown = home.fsdyno(&["record", "show", &trace, "--json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["tree"]["files"], 3, "{shown}");
    assert_eq!(shown["last_tree"]["files"], 4, "{shown}");
    let mistyped = record("secnd");
    assert_eq!(mistyped.code, Some(2), "{}", mistyped.err);
    assert!(mistyped.err.contains("second"), "{}", mistyped.err);
}
