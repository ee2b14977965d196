//! Prints how long writing and reading a large run takes. Asserts nothing.

use super::{WorkDir, specimen};
use fsdyno_model::CellRecord;
use std::time::Instant;

#[test]
#[ignore = "a measurement: cargo test --release -p fsdyno-store -- --ignored --nocapture"]
fn a_run_of_100_000_samples() {
    const CELLS: u32 = 10_000;
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    let record = |index| CellRecord {
        samples: (0..10).map(|at| specimen::sample(at % 3)).collect(),
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
