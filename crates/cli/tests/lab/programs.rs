//! Commands and external programs as workloads, on real kernels and loop devices. Without root, the
//! tests are skipped by name.

use crate::support::{Home, outcomes, root_and};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const MKFS: [&str; 3] = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];

fn run_args(home: &Home, more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let fixed = ["run", "--work-dir", &work, "--seed", "3"];
    let words = fixed.iter().chain(more);
    words.map(|word| (*word).to_owned()).collect()
}

/// A small C project as an archive: a Makefile and some source files that depend on each other.
fn project(home: &Home) -> String {
    const FILES: u32 = 6;
    let folder = home.path("project");
    std::fs::create_dir(&folder).unwrap();
    let write = |name: String, text: String| std::fs::write(folder.join(name), text).unwrap();
    let mut objects = String::from("main.o");
    let mut calls = String::new();
    for n in 0..FILES {
        write(
            format!("part{n}.c"),
            format!("int part{n}(int x) {{ return x + {n}; }}\n"),
        );
        write!(objects, " part{n}.o").unwrap();
        write!(
            calls,
            "int part{n}(int);\nstatic int call{n}(void) {{ return part{n}(0); }}\n"
        )
        .unwrap();
    }
    let sum: Vec<String> = (0..FILES).map(|n| format!("call{n}()")).collect();
    let main = format!(
        "{calls}int main(void) {{ return {} != 15; }}\n",
        sum.join(" + ")
    );
    write("main.c".into(), main);
    write(
        "Makefile".into(),
        format!("program: {objects}\n\tcc -o $@ {objects}\n"),
    );
    let archive = home.path("project.tar");
    let tar = Command::new("tar")
        .args([
            "cf".as_ref(),
            archive.as_os_str(),
            "-C".as_ref(),
            folder.as_os_str(),
            ".".as_ref(),
        ])
        .status();
    assert!(tar.unwrap().success());
    archive.display().to_string()
}

#[test]
fn a_build_runs_on_three_file_systems_and_its_program_works() {
    let needs = [&MKFS[..], &["cc", "make", "tar"]].concat();
    if !root_and(
        &needs,
        "a_build_runs_on_three_file_systems_and_its_program_works",
    ) {
        return;
    }
    let home = Home::new();
    let prepare = format!("tar xf {} -C {{dir}}", project(&home));
    let args = run_args(
        &home,
        &[
            "--fs",
            "ext4,xfs,btrfs",
            "--repeats",
            "1",
            "--prepare",
            &prepare,
            "--exec",
            "make -j2",
            "--exec",
            "./program && ls {dir}",
        ],
    );
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        let samples = cell["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 2, "{cell}");
        let build = &samples[0];
        assert_eq!(build["method"], "sh -c 'make -j2'");
        assert_eq!(build["engine"], "tools");
        assert_eq!(build["cache"]["proven"], true, "{build}");
        assert!(
            build["cache"]["files_checked"].as_u64().unwrap() >= 8,
            "{build}"
        );
        // make waits for seven compilers and a linker.
        assert!(
            build["cpu"]["user_ns"].as_u64().unwrap() > 10_000_000,
            "{build}"
        );
        assert!(build["durable_ns"].as_u64() >= build["return_ns"].as_u64());
        assert!(
            build["device"]["written_bytes"].as_u64().unwrap() > 16_384,
            "{build}"
        );
        let commands = cell["commands"].as_array().unwrap();
        let listed = commands.last_listing();
        assert!(
            listed.contains("program\n") && listed.contains("part5.o"),
            "{listed}"
        );
    }
    home.assert_cleanable();
}

trait Listing {
    fn last_listing(&self) -> String;
}

impl Listing for Vec<serde_json::Value> {
    /// The output of the last shell command.
    fn last_listing(&self) -> String {
        let mut shells = self.iter().rev().filter(|one| one["argv"][0] == "sh");
        shells.next().unwrap()["stdout"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

#[test]
fn a_failing_command_fails_its_cell_with_its_last_output_and_leaves_nothing() {
    if !root_and(
        &MKFS[..1],
        "a_failing_command_fails_its_cell_with_its_last_output_and_leaves_nothing",
    ) {
        return;
    }
    let home = Home::new();
    let command = "setsid sleep 1234 & echo begun; echo 'no rule to make it' >&2; exit 2";
    let args = run_args(
        &home,
        &["--fs", "ext4", "--repeats", "1", "--exec", command],
    );
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let result = home.result("last");
    let outcome = &result["cells"][0]["outcome"];
    let message = outcome["message"].as_str().unwrap();
    assert!(
        message.contains("status: 2") && message.contains("no rule"),
        "{message}"
    );
    assert_eq!(outcome["stage"]["phase"], "exec");
    let commands = result["cells"][0]["commands"].as_array().unwrap();
    assert_eq!(commands.last_listing(), "begun\n");
    home.assert_cleanable();
}

#[test]
fn an_interrupted_command_ends_with_all_its_processes() {
    if !root_and(
        &MKFS[..1],
        "an_interrupted_command_ends_with_all_its_processes",
    ) {
        return;
    }
    let home = Home::new();
    let begun = home.path("begun");
    let command = format!(
        "setsid sleep 4321 & echo $! > {}; sleep 4321",
        begun.display()
    );
    let args = run_args(
        &home,
        &[
            "--fs",
            "ext4",
            "--repeats",
            "1",
            "--exec-everywhere",
            "--exec",
            &command,
        ],
    );
    let mut child = home.start(&args);
    let late = Instant::now() + Duration::from_secs(60);
    let stray = loop {
        match std::fs::read_to_string(&begun) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => assert!(Instant::now() < late, "{}", home.output()),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", home.output());
    assert!(!Path::new("/proc").join(stray).exists());
    assert!(home.left_in_work().is_empty());
    let result = home.result("last");
    assert!(outcomes(&result).is_empty());
}

/// The process id that the command wrote to a file.
fn written_pid(home: &Home, file: &Path) -> String {
    let late = Instant::now() + Duration::from_secs(60);
    loop {
        match std::fs::read_to_string(file) {
            Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => assert!(Instant::now() < late, "{}", home.output()),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn after_sigkill_all_processes_of_a_command_end_under_any_user() {
    let test = "after_sigkill_all_processes_of_a_command_end_under_any_user";
    if !root_and(&[MKFS[0], "setpriv"], test) {
        return;
    }
    let home = Home::new();
    let [stray, own] = ["stray", "own"].map(|name| home.path(name));
    // One process has its own session. The command itself changes its user, so the kernel clears
    // its parent-death signal (prctl(2)).
    let command = format!(
        "setsid sleep 4321 & echo $! > {}; echo $$ > {}; \
         exec setpriv --reuid=65534 --regid=65534 --clear-groups sleep 4321",
        stray.display(),
        own.display()
    );
    for phase in ["--exec", "--prepare"] {
        let mut words = vec!["--fs", "ext4", "--repeats", "1", "--exec-everywhere"];
        words.extend([phase, command.as_str()]);
        if phase == "--prepare" {
            words.extend(["--exec", "true"]);
        }
        let mut child = home.start(&run_args(&home, &words));
        let started = [&stray, &own].map(|file| written_pid(&home, file));
        child.kill().unwrap();
        child.wait().unwrap();
        let late = Instant::now() + Duration::from_secs(60);
        let lives = |pid: &String| {
            let line = std::fs::read(Path::new("/proc").join(pid).join("cmdline"));
            line.is_ok_and(|line| line.starts_with(b"sleep"))
        };
        while started.iter().any(lives) {
            assert!(Instant::now() < late, "{phase}: {started:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        home.assert_cleanable();
        for file in [&stray, &own] {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn parallel_programs_report_their_figures_or_the_reason_for_none() {
    let needs = [&MKFS[..2], &["dbench", "postmark", "sysbench", "bonnie++"]].concat();
    if !root_and(
        &needs,
        "parallel_programs_report_their_figures_or_the_reason_for_none",
    ) {
        return;
    }
    let home = Home::new();
    let mut words = vec!["--fs", "ext4,xfs", "--repeats", "1"];
    words.extend(["--phases", "dbench,postmark,sysbench-fileio,bonnie++"]);
    for set in [
        "dbench.time=3",
        "dbench.clients=2",
        "postmark.number=100",
        "postmark.transactions=200",
        "postmark.subdirectories=3",
        "sysbench-fileio.time=1",
        "sysbench-fileio.file-total-size=16M",
        "bonnie++.size=16M",
        "bonnie++.files=1",
        "bonnie++.made=symlinks",
    ] {
        words.extend(["--set", set]);
    }
    let output = home.fsdyno(&run_args(&home, &words));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(
        output.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        output.out
    );
    let result = home.result("last");
    let programs = result["run"]["provenance"]["programs"].to_string();
    for version in ["dbench 4", "postmark 1", "sysbench 1", "bonnie++ 2"] {
        assert!(programs.contains(version), "{version}: {programs}");
    }
    for cell in result["cells"].as_array().unwrap() {
        let samples = cell["samples"].as_array().unwrap();
        let names = |sample: &serde_json::Value| -> Vec<String> {
            let figures = sample["figures"].as_array().into_iter().flatten();
            figures
                .map(|one| one["name"].as_str().unwrap().to_owned())
                .collect()
        };
        for (sample, figure) in [
            (&samples[0], "throughput"),
            (&samples[0], "NTCreateX latency max"),
            (&samples[2], "latency p99.9"),
            (&samples[2], "fsyncs"),
            (&samples[3], "sequential create latency max"),
        ] {
            let names = names(sample);
            assert!(
                names.iter().any(|name| name == figure),
                "{figure}: {names:?}"
            );
        }
        // The time is far below the one-second resolution of the program.
        // What the machine counts is a figure of every phase.
        let mut own = names(&samples[1]);
        let counted = ["instructions", "cycles", "context-switches"];
        own.retain(|name| !counted.iter().any(|end| name.ends_with(end)));
        assert!(own.is_empty(), "{}", samples[1]);
        let warnings = samples[1]["warnings"].to_string();
        assert!(
            warnings.contains("postmark counts whole seconds"),
            "{warnings}"
        );
        let commands = cell["commands"].as_array().unwrap();
        let mut postmark = commands.iter().filter(|one| one["argv"][0] == "postmark");
        let printed = postmark.next().unwrap()["stdout"].as_str().unwrap();
        assert!(
            printed.contains("3 subdirectories will be used"),
            "{printed}"
        );
        let lines: Vec<String> = commands.iter().map(|one| one["argv"].to_string()).collect();
        for part in [
            "\"prepare\"",
            "\"--file-total-size=16777216\"",
            "\"1:-2:0:1\"",
        ] {
            assert!(
                lines.iter().any(|line| line.contains(part)),
                "{part}: {lines:?}"
            );
        }
    }
    home.assert_cleanable();
}

#[test]
fn figures_of_fio_are_in_every_report() {
    let needs = [&MKFS[..2], &["fio"]].concat();
    if !root_and(&needs, "figures_of_fio_are_in_every_report") {
        return;
    }
    let home = Home::new();
    let args = run_args(
        &home,
        &[
            "--fs",
            "ext4,xfs",
            "--repeats",
            "1",
            "--phases",
            "fio",
            "--set",
            "fio.size=4M",
            "--long",
        ],
    );
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(
        output.out.contains("What the programs report"),
        "{}",
        output.out
    );
    assert!(
        output.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        output.out
    );
    let result = home.result("last");
    let programs = &result["run"]["provenance"]["programs"];
    assert!(programs.to_string().contains("fio-3"), "{programs}");
    for cell in result["cells"].as_array().unwrap() {
        let sample = &cell["samples"][0];
        let figures = sample["figures"].as_array().unwrap();
        // Processors may add counts of their own.
        let of_fio = figures.iter().filter(|one| one["unit"] != "count");
        assert_eq!(of_fio.count(), 14, "{sample}");
        assert!(
            figures
                .iter()
                .all(|one| one["value"].as_f64().unwrap() > 0.0),
            "{sample}"
        );
        assert!(
            sample["warnings"].to_string().contains("fit into"),
            "{sample}"
        );
    }
    for format in ["html", "markdown", "csv"] {
        let report = home.fsdyno(&["report", "last", "--long", "--format", format]);
        assert!(report.out.contains("read latency p99.9"), "{format}");
    }
    home.assert_cleanable();
}
