//! A run on disks with configured faults is marked in every format.

use crate::fixture;
use crate::{text, wide};
use fsdyno_model::{DiskTime, ModelDisk, ResultSet, Warning, WarningKind};
use fsdyno_report::Format;

/// A run on model disks, with the warning that labs raise in each cell of such a run.
fn faulty() -> ResultSet {
    let mut set = fixture::run();
    set.run.plan.disk = Some(ModelDisk {
        profile: "mine".into(),
        text: String::new(),
        faults: Some("[flush]\nignored = 0.25\n".into()),
        time: DiskTime::default(),
    });
    for cell in &mut set.cells {
        cell.warnings.push(Warning::new(
            WarningKind::Device,
            "the model disk has injected faults",
            "choose nothing by these figures",
        ));
    }
    set
}

#[test]
fn a_run_on_disks_with_faults_is_marked_in_every_format() {
    let set = faulty();
    for format in Format::ALL.into_iter().filter(|f| *f != Format::BonnieCsv) {
        let shown = text(&set, format, &wide(80));
        let marked = match format {
            Format::Json => shown.contains("ignored = 0.25"),
            Format::Csv => {
                let mut reader = csv::Reader::from_reader(shown.as_bytes());
                let heads = reader.headers().unwrap().clone();
                let at = heads.iter().position(|head| head == "faulty_disks");
                let mut rows = reader.records().map(Result::unwrap);
                rows.all(|row| &row[at.unwrap()] == "true")
            }
            // This format has only names.
            Format::Bencher => shown.contains("/copy (faulty disks)\": {"),
            Format::OpenMetrics => {
                let mut rows = shown.lines().filter(|row| row.contains('{'));
                rows.all(|row| row.contains(",disks=\"faulty\"}"))
            }
            // At the top, with the configured faults.
            _ => shown.contains("choose nothing by its") && shown.contains("ignored = 0.25"),
        };
        assert!(marked, "{format:?}: {shown}");
    }
}
