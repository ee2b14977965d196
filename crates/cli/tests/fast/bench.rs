//! The command lines of the bench, at its smallest size in a plain directory.

#[path = "../../benches/peers/names.rs"]
#[allow(dead_code, reason = "the bench uses the rest")]
mod names;
#[path = "../../benches/peers/works/mod.rs"]
#[allow(dead_code, reason = "the bench uses the rest")]
mod works;

use crate::support::Home;
use names::{Names, Scale};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Creates the directory of the works, and the C baseline.
fn smallest(home: &Home) -> Names {
    let baseline = home.path("baseline");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/baseline.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-o"]).arg(&baseline).arg(source);
    assert!(compiler.status().unwrap().success());
    Names {
        scale: Scale {
            name: "smallest",
            pairs: 1,
            time: Duration::ZERO,
            files: 120,
            megabytes: 1,
            operations: 16,
            tree: 0.001,
            weighed: &[],
        },
        filesystem: String::new(),
        work_dir: home.work(),
        scratch: home.path("scratch"),
        base: PathBuf::new(),
        home: home.path("store"),
        baseline,
        mkfs: String::new(),
        peers: BTreeMap::new(),
    }
}

/// Runs shell lines as the bench does, without waiting for other measurements.
fn shell(home: &Home, work: &str, lines: &str) {
    let lines = lines.replace("phase ", "phase --no-lock ");
    let output = Command::new("sh")
        .args(["-euc", &lines])
        .env("XDG_STATE_HOME", home.path("state"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{work}: `{lines}`: {error}");
}

#[test]
fn fsdyno_and_the_baseline_run_every_work_of_the_bench_in_turn() {
    let home = Home::new();
    let names = smallest(&home);
    // Some hosts forbid rings, and `run` needs root.
    let here = |command: &str| !command.contains("--engine uring") && !command.contains(" run ");
    let mut ran = 0;
    for work in works::all().filter(|work| here(work.ours)) {
        let run = |command: &str| shell(&home, work.name, &names.fill(command));
        run(works::CLEAR);
        run(work.setup);
        for other in work.others {
            let baseline = other.command.starts_with("{baseline}");
            for _ in 0..2 {
                run(work.before);
                run(other.ours.unwrap_or(work.ours));
                if baseline {
                    run(work.before);
                    run(other.command);
                }
                ran += 1;
            }
        }
    }
    assert!(ran > 0);
}
