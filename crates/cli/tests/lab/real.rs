//! Cells on model disks in real time: on the host with FUSE and a loop device, and in guests. Tests
//! without root, FUSE or a guest kernel are skipped by name.

use crate::support::{Home, have, lab_kernel, loops_backed_under, outcomes, root_and, until};
use fsdyno_host::probe::probe;
use fsdyno_model::{Availability, Need};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit of each wait, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(600);

/// One rotation of the disk of 2004 in nanoseconds.
const TURN_NS: u64 = 60_000_000_000 / 4200;

/// The arguments of a small run on model disks of that profile.
fn words(home: &Home, profile: &str, more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let base = ["run", "--disk", profile, "--work-dir", &work];
    let size = ["--on", "loop:512M", "--repeats", "1"];
    let data = ["--dataset", "mixed", "--scale", "0.003"];
    let all = base.iter().chain(&size).chain(&data).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

/// Whether cells can run on this machine itself.
fn here(test: &str) -> bool {
    if !root_and(&["mkfs.ext4"], test) {
        return false;
    }
    let fuse = std::path::Path::new("/dev/fuse").exists();
    if !fuse {
        println!("SKIP /dev/fuse: {test}");
    }
    fuse
}

/// The result of a successful run, and the disk output of its first cell.
fn measured(home: &Home, words: &[String]) -> (Value, String) {
    let mut words = words.to_vec();
    words.push("--json".to_owned());
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result: Value = serde_json::from_str(&output.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    let effective = result["cells"][0]["effective"].as_array().unwrap();
    let disk = effective
        .iter()
        .find(|one| one["source"] == "disk")
        .unwrap();
    let disk = disk["text"].as_str().unwrap().to_owned();
    (result, disk)
}

/// Number of running model disk servers of this home.
fn servers(home: &Home) -> usize {
    home.processes_of("fuse-server")
}

#[test]
fn a_host_cell_takes_the_time_of_its_model_disk_and_leaves_nothing() {
    let test = "a_host_cell_takes_the_time_of_its_model_disk_and_leaves_nothing";
    if !here(test) {
        return;
    }
    let home = Home::new();
    let two = Need::KernelFilesystem("btrfs".to_owned());
    let two = probe(&two) == Availability::Available && have(&["mkfs.btrfs"], test);
    let fs = if two { "ext4,btrfs@pool2" } else { "ext4" };
    let record = home.path("record");
    let more = ["--lab", "host", "--fs", fs, "--phases", "copy,grep"];
    let recorded = ["--disk-trace", &record.display().to_string()];
    let more: Vec<&str> = more.into_iter().chain(recorded).collect();
    let (result, disk) = measured(&home, &words(&home, "laptop-4200-2004", &more));
    assert!(
        disk.starts_with("laptop-4200-2004 (model), real time"),
        "{disk}"
    );
    assert!(
        !disk.contains("digest") && !disk.contains("failed"),
        "{disk}"
    );
    for cell in result["cells"].as_array().unwrap() {
        let samples = cell["samples"].as_array().unwrap();
        let copy = &samples[0];
        // A durable copy needs flushes to a rotating medium: the journal, its commit block and the
        // data.
        assert!(copy["durable_ns"].as_u64().unwrap() > 2 * TURN_NS, "{copy}");
        assert_eq!(copy["cache"]["proven"], true, "{copy}");
        // A cold read includes seeks.
        let grep = &samples[1];
        assert!(
            grep["device"]["read_bytes"].as_u64().unwrap() > 1 << 20,
            "{grep}"
        );
        assert!(grep["return_ns"].as_u64().unwrap() > TURN_NS, "{grep}");
        // The recorded requests of the disks by phase, and their time by cause.
        let devices = if cell["cell"]["contender"] == 0 { 1 } else { 2 };
        assert_eq!(copy["disks"].as_array().unwrap().len(), devices, "{copy}");
        let durable = &copy["disks"][0]["to_durable"];
        let number = |at: &Value| at.as_u64().unwrap();
        assert!(number(&durable["flushes"]["requests"]) > 0, "{copy}");
        assert!(
            number(&durable["work"]["medium_written_bytes"]) > 0,
            "{copy}"
        );
        let read = &grep["disks"][0]["to_return"];
        assert!(number(&read["reads"]["bytes"]) > 1 << 18, "{grep}");
        assert!(number(&read["work"]["rotation_ns"]) > 0, "{grep}");
    }
    // The block trace holds every request and the marks of the workload.
    let requests = record.join("cell-0-disk-0.trace").display().to_string();
    let output = home.fsdyno(&["disk", "trace", &requests]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    for word in ["phase 0 begins", "phase 1 durable", "flush"] {
        assert!(output.out.contains(word), "{word}: {}", output.out);
    }
    assert_eq!(result["run"]["plan"]["disk"]["time"], "real");
    assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
    assert_eq!(servers(&home), 0);
    assert_eq!(loops_backed_under(home.root.path()), Vec::<String>::new());
}

#[test]
fn a_fault_fails_its_cell_by_name_and_heads_the_report() {
    let test = "a_fault_fails_its_cell_by_name_and_heads_the_report";
    if !here(test) {
        return;
    }
    let home = Home::new();
    let faults = home.path("faults.toml");
    let lost = "[[error]]\nat = \"1M\"\nlength = \"511M\"\non = [\"read\", \"write\"]\n";
    std::fs::write(&faults, lost).unwrap();
    let faults = faults.display().to_string();
    let more = [
        "--lab",
        "host",
        "--fs",
        "ext4",
        "--disk-faults",
        &faults,
        "--phases",
        "copy",
    ];
    let output = home.fsdyno(&words(&home, "sata-ssd", &more));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    assert!(
        output.out.contains("choose nothing by its figures"),
        "{}",
        output.out
    );
    let result = home.result("last");
    let outcome = result["cells"][0]["outcome"].to_string();
    assert!(outcome.contains("by injected faults"), "{outcome}");
    assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
    assert_eq!(servers(&home), 0);
}

/// Starts a cell that never ends, and returns once its commands run on the mounted disk.
fn running(home: &Home) -> std::process::Child {
    let busy = "while dd if=/dev/zero of={dir}/x bs=64k count=64 conv=fsync; do :; done; exit 1";
    let more = ["--lab", "host", "--fs", "ext4", "--exec", busy];
    let child = home.start(&words(home, "sata-ssd", &more));
    until(
        TIMEOUT,
        "the disk is mounted, and a file system on it",
        || {
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
            let here = home.root.path().display().to_string();
            mounts.lines().filter(|line| line.contains(&here)).count() >= 2
        },
    );
    child
}

#[test]
fn a_killed_server_fails_its_cell_and_clean_removes_a_killed_run() {
    let test = "a_killed_server_fails_its_cell_and_clean_removes_a_killed_run";
    if !here(test) {
        return;
    }
    let home = Home::new();
    let mut child = running(&home);
    let server = home.first_process_of("fuse-server").unwrap();
    let server = rustix::process::Pid::from_raw(server).unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{}", home.output());
    let outcome = home.result("last")["cells"][0]["outcome"].to_string();
    let named = "the server of the model disk was killed by signal 9";
    assert!(outcome.contains(named), "{outcome}");
    assert_eq!(servers(&home), 0);
    home.assert_cleanable();

    // The server is killed during the work.
    let mut child = running(&home);
    child.kill().unwrap();
    child.wait().unwrap();
    home.assert_cleanable();
    until(TIMEOUT, "no server is left", || servers(&home) == 0);
}

#[test]
fn a_guest_of_user_mode_linux_runs_in_real_time_on_request() {
    let test = "a_guest_of_user_mode_linux_runs_in_real_time_on_request";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let kernel = kernel.display().to_string();
    let more = [
        "--guest-kernel",
        &kernel,
        "--time",
        "real",
        "--phases",
        "copy",
    ];
    let more: Vec<&str> = more.into_iter().chain(["--fs", "ext4"]).collect();
    let (result, disk) = measured(&home, &words(&home, "laptop-4200-2004", &more));
    assert!(
        disk.contains("real time") && !disk.contains("digest"),
        "{disk}"
    );
    let copy = &result["cells"][0]["samples"][0];
    assert!(copy["durable_ns"].as_u64().unwrap() > TURN_NS, "{copy}");
    let disk = &copy["disks"][0];
    let written = |stretch: &str| disk[stretch]["writes"]["bytes"].as_u64().unwrap();
    assert!(
        written("to_return") + written("to_durable") > 1 << 18,
        "{copy}"
    );
    assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
}

#[test]
fn a_guest_of_qemu_works_on_a_model_disk() {
    let test = "a_guest_of_qemu_works_on_a_model_disk";
    if !have(&["qemu-system-x86_64", "mkfs.ext4"], test) {
        return;
    }
    let found = fsdyno_guests::qemu::availability();
    if found != Availability::Available {
        println!("SKIP a kernel with its modules for QEMU: {test}");
        return;
    }
    let home = Home::new();
    let cache = home.path("cache/fsdyno");
    std::fs::create_dir_all(&cache).unwrap();
    let kernels = fsdyno_guests::qemu::cache().unwrap();
    std::os::unix::fs::symlink(kernels, cache.join("qemu")).unwrap();
    let more = [
        "--lab",
        "qemu",
        "--fs",
        "ext4",
        "--phases",
        "copy",
        "--no-check",
    ];
    let (result, disk) = measured(&home, &words(&home, "laptop-4200-2004", &more));
    assert!(disk.contains("real time"), "{disk}");
    let cell = &result["cells"][0];
    let copy = &cell["samples"][0];
    assert!(copy["durable_ns"].as_u64().unwrap() > TURN_NS, "{copy}");
    assert_eq!(copy["cache"]["proven"], true, "{copy}");
    assert!(
        copy["device"]["written_bytes"].as_u64().unwrap() > 1 << 20,
        "{copy}"
    );
    assert!(home.left_in_work().is_empty());
    assert_eq!(home.processes_of("qemu-system-x86_64"), 0);
}
