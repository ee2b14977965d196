//! Plans with several labs: cells on this machine and in guests within one run. The run is
//! interrupted, or started without root. Without the kernel, the tests are skipped by name.

use crate::support::{Home, have, outcomes, packaged_kernel_starts, root_and};
use std::process::Command;
use std::time::{Duration, Instant};

/// The packaged kernel of guests, and the mkfs programs.
const PROGRAMS: [&str; 3] = ["linux.uml", "mkfs.ext4", "mkfs.reiserfs"];

const LIST: &str = "ext4,uml/ext4,uml/reiserfs:notail";

/// The arguments of a small run of these contenders.
fn small(home: &Home, fs: &str, repeats: &str) -> Vec<String> {
    let work = home.work().display().to_string();
    let words = ["run", "--fs", fs, "--repeats", repeats, "--work-dir", &work];
    let load = [
        "--dataset",
        "mixed",
        "--scale",
        "0.003",
        "--phases",
        "copy,delete",
    ];
    words
        .iter()
        .chain(&load)
        .map(|word| (*word).to_owned())
        .collect()
}

/// The contenders of the cells in guests, and those of the other cells.
fn by_guest(result: &serde_json::Value) -> (Vec<u64>, Vec<u64>) {
    let cells = result["cells"].as_array().unwrap().iter();
    let in_guest = |cell: &&serde_json::Value| {
        let effective = cell["effective"].as_array().unwrap();
        effective.iter().any(|one| one["source"] == "guest")
    };
    let (within, without): (Vec<_>, Vec<_>) = cells.partition(in_guest);
    let contenders = |cells: Vec<&serde_json::Value>| {
        let mut all: Vec<u64> = cells
            .iter()
            .map(|c| c["cell"]["contender"].as_u64().unwrap())
            .collect();
        all.sort_unstable();
        all
    };
    (contenders(within), contenders(without))
}

#[test]
fn a_run_with_cells_on_the_host_and_in_guests_resumes_both() {
    if !root_and(
        &PROGRAMS,
        "a_run_with_cells_on_the_host_and_in_guests_resumes_both",
    ) {
        return;
    }
    let home = Home::new();
    let mut child = home.start(&small(&home, LIST, "2"));
    let deadline = Instant::now() + Duration::from_secs(180);
    // Without a terminal, one line reports each block.
    while !home.output().contains("block 1 of 2 done") {
        assert!(Instant::now() < deadline, "{}", home.output());
        assert!(child.try_wait().unwrap().is_none(), "{}", home.output());
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    let printed = home.fsdyno(&["run", "--resume", "last", "--long"]);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    assert_eq!(outcomes(&result).len(), 6);
    assert_eq!(by_guest(&result), (vec![1, 1, 2, 2], vec![0, 0]));
    let shown = home.fsdyno(&["show", "last"]).out;
    assert!(
        shown.contains("uml: uml/ext4, uml/reiserfs:notail"),
        "{shown}"
    );
    // Reports never give a ratio between a guest and this machine.
    for heading in [
        "host: Linux",
        "uml: Linux",
        "of another kernel are not compared",
    ] {
        assert!(printed.out.contains(heading), "{heading}: {}", printed.out);
    }
    assert!(printed.out.contains("Ratio to uml/ext4"), "{}", printed.out);
    assert!(
        !printed.out.contains("Ratio to host/ext4"),
        "{}",
        printed.out
    );
    assert!(home.left_in_work().is_empty());
}

#[test]
fn without_root_host_cells_are_skipped_and_guest_cells_run() {
    let test = "without_root_host_cells_are_skipped_and_guest_cells_run";
    // The lab kernel is in a directory that other users cannot read.
    let others = || have(&["setpriv"], test) && packaged_kernel_starts(test);
    if !root_and(&PROGRAMS, test) || !others() {
        return;
    }
    let home = Home::new();
    let (nobody, place) = ("65534:65534", home.root.path());
    let owned = Command::new("chown")
        .args(["-R", nobody])
        .arg(place)
        .status();
    assert!(owned.unwrap().success());
    // The program is copied to a directory that other users can read.
    let program = place.join("fsdyno");
    std::fs::copy(env!("CARGO_BIN_EXE_fsdyno"), &program).unwrap();
    let own = home.command(&small(&home, "host/ext4,uml/ext4", "1"));
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&program).args(own.get_args()).arg("--long");
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let printed = crate::support::printed(&command.output().unwrap());
    assert_eq!(printed.code, Some(4), "{}{}", printed.out, printed.err);
    assert!(
        printed.out.contains("1 cell measured, 1 skipped"),
        "{}",
        printed.out
    );
    assert!(
        printed.out.contains("skipped, needs root"),
        "{}",
        printed.out
    );
    assert!(home.left_in_work().is_empty());
}
