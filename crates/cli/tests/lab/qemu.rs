//! Cells in guests of QEMU: the kernel of the distribution, on any machine, and guests that die.
//! Without QEMU, or without a kernel with its modules, the tests are skipped by name.

use crate::support::{Home, have, outcomes, until};
use std::path::Path;
use std::time::Duration;

const PROGRAM: &str = "qemu-system-x86_64";

/// Time limit of each wait; emulation on a busy machine is slow.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Whether guests can start. Prints the reason if not, so that the skip is counted.
fn guests(test: &str) -> bool {
    if !have(&[PROGRAM], test) {
        return false;
    }
    let found = fsdyno_guests::qemu::availability();
    let there = found == fsdyno_model::Availability::Available;
    if !there {
        println!("SKIP a kernel with its modules for QEMU: {test}");
    }
    there
}

/// Creates a home with the QEMU kernels of this user.
fn home() -> Home {
    let home = Home::new();
    let cache = home.path("cache/fsdyno");
    std::fs::create_dir_all(&cache).unwrap();
    let kernels = fsdyno_guests::qemu::cache().unwrap();
    std::os::unix::fs::symlink(kernels, cache.join("qemu")).unwrap();
    home
}

/// The arguments of a small run in guests.
fn small(home: &Home, fs: &str, more: &[&str]) -> Vec<String> {
    let work = home.work().display().to_string();
    let base = ["run", "--lab", "qemu", "--work-dir", &work, "--fs", fs];
    let all = base.iter().chain(&["--repeats", "1"]).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_cell_runs_in_a_guest_and_a_panic_fails_it_with_its_last_output() {
    let test = "a_cell_runs_in_a_guest_and_a_panic_fails_it_with_its_last_output";
    if !guests(test) {
        return;
    }
    let home = home();
    let plan = home.path("plan.toml");
    let phases = r#"
[[workload]]
name = "panics"
phases = [{ kind = "exec", command = "echo c > /proc/sysrq-trigger" }]

[[workload]]
name = "lives"
dataset = "mixed"
phases = ["copy"]
"#;
    std::fs::write(&plan, phases).unwrap();
    let plan = plan.display().to_string();
    let more = ["--long", "--plan", &plan, "--scale", "0.003"];
    let printed = home.fsdyno(&small(&home, "ext4@raid0x2", &more));
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    assert!(printed.out.contains("Kernel panic"), "{}", printed.out);
    let expected = "1 cell measured, 1 failed";
    assert!(printed.out.contains(expected), "{}", printed.out);
    let result = home.result("last");
    assert_eq!(outcomes(&result).len(), 2);
    let cells = result["cells"].as_array().unwrap();
    let measured = cells
        .iter()
        .find(|cell| cell["samples"] != serde_json::json!([]));
    let cell = measured.unwrap();
    let effective = cell["effective"].as_array().unwrap();
    let guest = effective
        .iter()
        .find(|one| one["source"] == "guest")
        .unwrap();
    let guest = guest["text"].as_str().unwrap();
    assert!(
        guest.starts_with("Linux ") && guest.contains("(QEMU "),
        "{guest}"
    );
    let sample = &cell["samples"][0];
    assert_eq!(sample["cache"]["proven"], true, "{sample}");
    let method = sample["cache"]["method"].as_str().unwrap();
    assert!(method.contains("the memory of the host"), "{method}");
    // A cold copy reads from the disks of the guest.
    let read = sample["device"]["read_bytes"].as_u64().unwrap();
    assert!(read > 1 << 20, "{cell}");
    let index = cell["cell"]["index"].to_string();
    let shown = home.fsdyno(&["show", "last", "--commands", &index]);
    assert!(shown.out.contains("/dev/vdb"), "{}", shown.out);
    assert!(home.left_in_work().is_empty());
    assert_eq!(home.processes_of(PROGRAM), 0);
}

/// Starts a cell that never ends, and returns once it runs.
fn running(home: &Home) -> std::process::Child {
    let child = home.start(&small(home, "ext4", &["--exec", "sleep 6000"]));
    until(TIMEOUT, "the image is made and the guest started", || {
        let there =
            |place: &Path| place.join("guest.pid").exists() && place.join("disk0.img").exists();
        home.left_in_work().iter().any(|place| there(place))
    });
    child
}

#[test]
fn a_killed_guest_fails_its_cell_and_clean_removes_a_killed_run() {
    let test = "a_killed_guest_fails_its_cell_and_clean_removes_a_killed_run";
    if !guests(test) {
        return;
    }
    let home = home();
    let mut child = running(&home);
    let places = home.left_in_work();
    let number = places.iter().find_map(|place| {
        let number = std::fs::read_to_string(place.join("guest.pid")).ok()?;
        Some(number.trim().to_owned())
    });
    let number = rustix::process::Pid::from_raw(number.unwrap().parse().unwrap());
    rustix::process::kill_process(number.unwrap(), rustix::process::Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{}", home.output());
    let result = home.result("last");
    let outcome = result["cells"][0]["outcome"].to_string();
    assert!(outcome.contains("killed by signal 9"), "{outcome}");
    assert!(home.left_in_work().is_empty());

    let mut child = running(&home);
    child.kill().unwrap();
    child.wait().unwrap();
    home.assert_cleanable();
    until(TIMEOUT, "no process of the guest is left", || {
        home.processes_of(PROGRAM) == 0
    });
}

#[test]
fn a_lab_without_a_kernel_reports_the_searched_paths_and_a_remedy() {
    let test = "a_lab_without_a_kernel_reports_the_searched_paths_and_a_remedy";
    if !have(&[PROGRAM], test) {
        return;
    }
    let home = Home::new();
    // A dry run prints the disks of the guest without starting it.
    let printed = home.fsdyno(&["run", "--dry-run", "--lab", "qemu", "--fs", "ext4"]);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert!(printed.out.contains("/dev/vda"), "{}", printed.out);
    if installed() {
        return;
    }
    let mut command = home.command(&small(&home, "ext4", &["--exec", "true"]));
    command.env("XDG_CACHE_HOME", home.root.path());
    let printed = crate::support::printed(&command.output().unwrap());
    assert_eq!(printed.code, Some(4), "{}{}", printed.out, printed.err);
    assert!(
        printed.err.contains("no kernel for a guest"),
        "{}",
        printed.err
    );
    assert!(printed.err.contains("apt-get download"), "{}", printed.err);
}

/// Whether this machine has an installed kernel outside the cache.
fn installed() -> bool {
    let names = |folder| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_kernel = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("vmlinuz") || entry.path().join("vmlinuz").exists()
    };
    names("/boot").chain(names("/lib/modules")).any(is_kernel)
}
