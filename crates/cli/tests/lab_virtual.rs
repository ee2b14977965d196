//! Cells in virtual time, on model disks: the same figures to the nanosecond again, and nothing
//! left of what is ended. Skips by name where there is no lab kernel.

mod support;

use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{Home, have, lab_kernel, outcomes};

/// A small run on a model disk.
fn words(home: &Home, kernel: &Path, fs: &str, more: &[&str]) -> Vec<String> {
    let kernel = kernel.display().to_string();
    let work = home.work().display().to_string();
    let base = ["run", "--disk", "laptop-4200-2004", "--fs", fs];
    let place = ["--work-dir", &work, "--on", "loop:1G", "--repeats", "1"];
    let load = [
        "--guest-kernel",
        &kernel,
        "--dataset",
        "mixed",
        "--scale",
        "0.01",
    ];
    let all = base.iter().chain(&place).chain(&load).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

/// All that a run measured.
fn cells(home: &Home, kernel: &Path, fs: &str) -> Value {
    let said = home.fsdyno(&words(
        home,
        kernel,
        fs,
        &["--workload", "copy,grep,delete", "--json"],
    ));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut result: Value = serde_json::from_str(&said.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    let cells = result["cells"].take();
    for cell in cells.as_array().unwrap() {
        let samples = cell["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 3);
        assert!(
            samples
                .iter()
                .all(|sample| sample["return_ns"].as_u64() > Some(1_000_000))
        );
    }
    cells
}

/// The samples and what the disk tells, of all cells.
fn figures(cells: &Value) -> Vec<(Value, Value)> {
    let cells = cells.as_array().unwrap().iter();
    cells
        .map(|cell| {
            let told = cell["effective"].as_array().unwrap();
            let disk = told.iter().find(|one| one["source"] == "disk");
            (cell["samples"].clone(), disk.unwrap().clone())
        })
        .collect()
}

#[test]
fn the_same_cell_has_the_same_figures_to_the_nanosecond_in_another_place() {
    let test = "the_same_cell_has_the_same_figures_to_the_nanosecond_in_another_place";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4", "mkfs.xfs"], test)) else {
        return;
    };
    // example
    let fs = "ext2,ext4,xfs";
    let runs = [Home::new(), Home::new()].map(|home| {
        let cells = cells(&home, &kernel, fs);
        assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
        figures(&cells)
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn what_a_killed_run_left_of_its_virtual_time_is_cleaned() {
    let test = "what_a_killed_run_left_of_its_virtual_time_is_cleaned";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    // example
    let mut long = words(&home, &kernel, "ext4", &["--workload", "copy"]);
    let scale = long.iter().position(|word| word == "0.01").unwrap();
    long[scale] = "0.5".to_owned();
    let mut running = home.start(&long);
    let deadline = Instant::now() + Duration::from_secs(120);
    // Its kernel is called by where it lies.
    let place = format!("uml_dir={}", home.work().display());
    let of_guest = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        let of = |line: &Vec<u8>| String::from_utf8_lossy(line).contains(&place);
        lines.filter(of).count()
    };
    while of_guest() == 0 {
        assert!(Instant::now() < deadline, "no guest within two minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    home.assert_cleanable();
    assert_eq!(of_guest(), 0);
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
}
