//! Prints how long writing and reading a large run takes. Asserts nothing.

use super::{WorkDir, specimen};
use fsdyno_model::{CellRecord, DeviceUse, LatencyDistribution, Nanos, Progress, Sample, Slice};
use std::time::Instant;

/// A sample with the figures of 3,000 files.
fn sample(at: u32) -> Sample {
    let operation = "file".to_owned();
    Sample {
        phase: at % 3,
        label: format!("copy {at}"),
        device: Some(DeviceUse::default()),
        latencies: vec![LatencyDistribution {
            operation,
            count: 3000,
            sum_ns: 3_000_000,
            min_ns: 1000,
            max_ns: 130_000,
            buckets: (1..=100).map(|bucket| (bucket * 1280, 30)).collect(),
        }],
        progress: Some(Progress {
            slice_ns: Nanos(65_536),
            slices: vec![Slice::default(); 100],
        }),
        ..Sample::default()
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p fsdyno-store -- --ignored --nocapture"]
fn a_run_of_100_000_samples() {
    const CELLS: u32 = 10_000;
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    let record = |index| CellRecord {
        samples: (0..10).map(sample).collect(),
        ..specimen::bare(index, fsdyno_model::Outcome::Measured)
    };
    let cells: Vec<_> = (0..CELLS).map(record).collect();
    let start = Instant::now();
    for cell in &cells {
        store.record("r", cell).unwrap();
    }
    println!("recorded {CELLS} cells in {:?}", start.elapsed());
    let start = Instant::now();
    let run = store.load("r").unwrap();
    println!("loaded {} cells in {:?}", run.cells.len(), start.elapsed());
    assert!(run.cells == cells);
    let start = Instant::now();
    let runs = store.runs().unwrap();
    println!("listed {} run in {:?}", runs.len(), start.elapsed());
}
