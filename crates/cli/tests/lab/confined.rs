//! Programs under test can write only the contender.

use crate::support::{Home, Printed, have, printed, root_and};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Tries one act on each line, and prints which of them succeed.
const ATTEMPTS: &str = r#"
script=$1 outside=$2
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1"; fi; }
try contender 'echo x >here && mkdir -p d && ln -sf here d/link && test "$(cat here)" = x'
try private-tmp 'echo x >/tmp/probe && test -e /tmp/probe'
try private-shm 'echo x >/dev/shm/probe'
try null 'echo x >/dev/null && head -c 1 /dev/zero && head -c 1 /dev/urandom'
try reads 'test -s /etc/passwd && grep -q Name /proc/self/status && test -e /sys/kernel'
try own-script 'test -s "$script"'
try outside 'echo x >"$outside/probe"'
try home 'echo x >"$HOME/probe-of-a-program"'
try system 'echo x >/etc/probe-of-a-program'
try devices 'echo x >/dev/probe'
try loop-control 'test -e /dev/loop-control'
try block-device 'test -n "$(find /dev -type b)"'
try own-device 'rm -f node && mknod node b 7 0 && head -c 1 node'
try mount 'mount --bind . d'
try remount 'mount -o remount,rw /'
try first-process 'echo x >/proc/1/root/etc/probe-of-a-program'
try namespace 'nsenter --mount=/proc/1/ns/mnt true'
try setting 'echo 0 >/proc/sys/vm/drop_caches'
true
"#;

/// What of that is for a program on the contender.
const PERMITTED: &str = "contender\nprivate-tmp\nprivate-shm\nnull\nreads\nown-script\n";

fn run(home: &Home, on: &[&str], more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let fixed = [
        "run",
        "--repeats",
        "1",
        "--dataset",
        "none",
        "--work-dir",
        &work,
    ];
    let words = fixed.iter().chain(on).chain(more);
    words.map(|word| (*word).to_owned()).collect()
}

const ON_EXT4: [&str; 4] = ["--fs", "ext4", "--on", "loop:64M"];

/// A script with the attempts, in the directory of temporary files, and the command that runs it.
fn attempts(home: &Home) -> (tempfile::NamedTempFile, String) {
    let script = tempfile::Builder::new().tempfile_in("/tmp").unwrap();
    fs::write(script.path(), ATTEMPTS).unwrap();
    let path = script.path().display();
    let command = format!("sh {path} {path} {}", home.path("").display());
    (script, command)
}

/// The output of the last command of a program.
fn listed(result: &Value, program: &str) -> String {
    let commands = result["cells"][0]["commands"].as_array().unwrap();
    let mut own = commands
        .iter()
        .rev()
        .filter(|one| one["argv"][0] == program);
    own.next().unwrap()["stdout"].as_str().unwrap().to_owned()
}

fn nothing_was_written(home: &Home) {
    for path in [
        "/etc/probe-of-a-program",
        "/tmp/probe",
        "/dev/shm/probe",
        "/dev/probe",
    ] {
        assert!(!Path::new(path).exists(), "{path}");
    }
    assert!(!home.path("probe").exists());
}

#[test]
fn a_command_of_root_writes_only_the_contender_and_private_temporary_files() {
    let test = "a_command_of_root_writes_only_the_contender_and_private_temporary_files";
    if !root_and(&["mkfs.ext4", "nsenter"], test) {
        return;
    }
    let home = Home::new();
    let (_script, command) = attempts(&home);
    // The preparing command is confined as the timed one.
    let load = ["--prepare", &command, "--exec", &command];
    let output = home.fsdyno(&run(&home, &ON_EXT4, &load));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    let commands = result["cells"][0]["commands"].as_array().unwrap();
    let shells = commands.iter().filter(|one| one["argv"][0] == "sh");
    let printed: Vec<&str> = shells.map(|one| one["stdout"].as_str().unwrap()).collect();
    assert_eq!(printed, [PERMITTED, PERMITTED]);
    nothing_was_written(&home);
    assert!(!result.to_string().contains("not-confined"));
    home.assert_cleanable();
}

#[test]
fn a_command_that_writes_outside_fails_with_the_remedy_which_is_in_the_plan() {
    let test = "a_command_that_writes_outside_fails_with_the_remedy_which_is_in_the_plan";
    if !root_and(&["mkfs.ext4"], test) {
        return;
    }
    let home = Home::new();
    let probe = home.path("probe");
    let command = format!("echo x >{}", probe.display());
    let output = home.fsdyno(&run(&home, &ON_EXT4, &["--exec", &command]));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let result = home.result("last");
    let message = result["cells"][0]["outcome"]["message"].as_str().unwrap();
    for part in ["Read-only file system", "--exec-everywhere"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!probe.exists());

    let load = ["--exec", &command, "--exec-everywhere"];
    let output = home.fsdyno(&run(&home, &ON_EXT4, &load));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    assert_eq!(fs::read_to_string(&probe).unwrap(), "x\n");
    let method = result["cells"][0]["samples"][0]["method"].as_str().unwrap();
    assert!(method.ends_with("may write everywhere"), "{method}");
    let plan = &result["run"]["plan"]["workloads"][0]["phases"][0];
    assert_eq!(plan["parameters"]["everywhere"], "yes", "{plan}");
    home.assert_cleanable();
}

/// Runs a job of fio on ext4, and returns the exit code and the message of the cell.
fn run_job(home: &Home, lines: &str) -> (Option<i32>, String) {
    let job = home.path("job.fio");
    fs::write(&job, format!("[job]\nrw=write\nsize=1m\n{lines}\n")).unwrap();
    let set = format!("fio.job={}", job.display());
    let load = ["--phases", "fio", "--set", &set];
    let output = home.fsdyno(&run(home, &ON_EXT4, &load));
    let result = home.result("last");
    let message = result["cells"][0]["outcome"]["message"].as_str();
    (output.code, message.unwrap_or_default().to_owned())
}

#[test]
fn the_names_of_a_fio_job_are_below_the_directory_on_the_contender() {
    let test = "the_names_of_a_fio_job_are_below_the_directory_on_the_contender";
    if !root_and(&["mkfs.ext4", "fio"], test) {
        return;
    }
    let home = Home::new();
    let outside = home.path("outside");
    let included = home.path("included");
    fs::write(&included, format!("directory={}\n", outside.display())).unwrap();
    let lines = format!(
        "filename_format=/var/tmp/fsdyno-probe\ninclude {}",
        included.display()
    );
    assert_eq!(run_job(&home, &lines), (Some(0), String::new()));
    assert!(!outside.exists() && !Path::new("/var/tmp/fsdyno-probe").exists());
    home.assert_cleanable();
}

#[test]
fn a_fio_job_that_leaves_the_contender_fails_its_cell_with_the_reason() {
    let test = "a_fio_job_that_leaves_the_contender_fails_its_cell_with_the_reason";
    if !root_and(&["mkfs.ext4", "fio"], test) {
        return;
    }
    let home = Home::new();
    let outside = home.path("outside");
    let log = home.path("io.log");
    let name = outside.display();
    let requests = format!("fio version 2 iolog\n{name} add\n{name} open\n{name} write 0 4096\n");
    fs::write(&log, requests).unwrap();
    let (code, message) = run_job(&home, "read_iolog=io.log");
    assert_eq!(code, Some(1), "{message}");
    for part in [
        "fio:",
        "Read-only file system",
        "only its directory on the contender",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!outside.exists());
    home.assert_cleanable();
}

/// Runs fsdyno as another user, to whom everything of the home belongs.
fn as_another_user(home: &Home, words: &[String]) -> Printed {
    let chown = ["-R", "65534:65534"];
    let owned = Command::new("chown")
        .args(chown)
        .arg(home.path(""))
        .status();
    assert!(owned.unwrap().success());
    // The program is copied to a directory that other users can read.
    let program = home.path("fsdyno");
    fs::copy(env!("CARGO_BIN_EXE_fsdyno"), &program).unwrap();
    let own = home.command(words);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&program).args(own.get_args());
    command.envs(
        own.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    printed(&command.output().unwrap())
}

#[test]
fn without_privileges_a_command_is_confined_in_a_user_namespace() {
    let test = "without_privileges_a_command_is_confined_in_a_user_namespace";
    if !root_and(&["setpriv"], test) || !have(&["nsenter"], test) {
        return;
    }
    let home = Home::new();
    let (script, command) = attempts(&home);
    fs::set_permissions(
        script.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    let on = format!("dir:{}", home.work().display());
    let output = as_another_user(&home, &run(&home, &["--fs", &on], &["--exec", &command]));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    if result.to_string().contains("not-confined") {
        println!("SKIP user namespaces: {test}");
        return;
    }
    assert_eq!(listed(&result, "sh"), PERMITTED);
    nothing_was_written(&home);

    // Without the namespace this user could write there.
    let outside = format!("echo x >{}", home.path("probe").display());
    let words = run(&home, &["--fs", &on], &["--exec", &outside]);
    let output = as_another_user(&home, &words);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    assert!(output.err.contains("--exec-everywhere"), "{}", output.err);
}
