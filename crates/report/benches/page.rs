//! The time and the size of the page of a run with 100,000 samples: `cargo bench -p fsdyno-report`.
//! The benchmark asserts the size and prints the time.

#[path = "../tests/all/fixture.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod fixture;

use fsdyno_report::{Format, Options, render};
use std::time::Instant;

fn main() {
    for (workloads, repeats) in [(5, 1000), (10, 500), (25, 200)] {
        let set = fixture::large(10, workloads, repeats);
        let samples: usize = set.cells.iter().map(|cell| cell.samples.len()).sum();
        for format in [Format::Json, Format::Markdown, Format::Html] {
            let began = Instant::now();
            let page = render(&set, format, &Options::default()).expect("a run has every format");
            let (elapsed, size) = (began.elapsed(), page.len());
            println!(
                "{samples} samples, 10 contenders, {} phases, {repeats} repeats: {format:8} \
                 {size:>9} bytes, {elapsed:.2?}",
                2 * workloads
            );
            assert!(format != Format::Html || size < 2_000_000, "{size} bytes");
        }
    }
}
