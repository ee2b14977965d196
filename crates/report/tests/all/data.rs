//! CSV and JSON round trips.

use crate::fixture;
use crate::wide;
use fsdyno_model::ResultSet;
use fsdyno_report::formats::csv::Rows;
use fsdyno_report::run_report::{Samples, Seen};
use fsdyno_report::{Format, render};

#[test]
fn csv_reads_back_with_a_row_for_every_sample_and_every_cell_not_measured() {
    let set = fixture::run();
    let bytes = render(&set, Format::Csv, &wide(80)).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let count = |kind: &str| rows.iter().filter(|row| &row[0] == kind).count();
    let samples: usize = set.cells.iter().map(|r| r.samples.len()).sum();
    assert_eq!(count("sample"), samples);
    assert_eq!(count("outcome"), set.unmeasured().count());
    let warnings = count("warning");
    assert_eq!(rows.len(), samples + set.unmeasured().count() + warnings);
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let first = &set.cells[0].samples[0];
    assert_eq!(rows[0][at("return_ns")], first.return_ns.0.to_string());
    assert_eq!(
        rows[0][at("durable_ns")],
        first.durable_ns.unwrap().0.to_string()
    );
}

#[test]
fn csv_that_is_written_cell_by_cell_is_that_of_the_whole_run() {
    for set in [fixture::run(), fixture::mixed_labs(), fixture::repeated()] {
        let mut seen = Seen::default();
        for record in &set.cells {
            seen.note(record);
        }
        let mut bytes = Vec::new();
        let samples = Samples::of(set.run.clone(), seen);
        let mut rows = Rows::new(&samples.columns(), &mut bytes).unwrap();
        for row in set.cells.iter().flat_map(|record| samples.rows(record)) {
            rows.row(&row).unwrap();
        }
        rows.end().unwrap();
        assert_eq!(bytes, render(&set, Format::Csv, &wide(80)).unwrap());
    }
}

#[test]
fn json_reads_back_to_the_same_result_set() {
    let set = fixture::run();
    let bytes = render(&set, Format::Json, &wide(80)).unwrap();
    let read: ResultSet = serde_json::from_slice(&bytes).unwrap();
    let schema = fsdyno_report::run_json::RunReport::SCHEMA;
    assert_eq!(
        (read.schema, read.run, read.cells),
        (schema, set.run, set.cells)
    );
}
