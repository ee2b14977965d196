//! Repeats of cells in virtual time without variation, which must be equal. A cell that differs from its first repeat is
//! an error of fsdyno or of the kernel's virtual time: it fails with the first request that differs,
//! and its figures are not used.

use crate::disks::recording;
use fsdyno_disk::record::first_difference_of_files;
use fsdyno_host::image::Scratch;
use fsdyno_model::{
    Cell, CellRecord, DiskRecord, Effective, Failure, FigureName, Outcome, Plan, Stage,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The first cell of each contender and workload, and the block traces that explain a difference.
pub(crate) struct Repeats {
    /// The directory of block traces, unless the plan has one.
    traces: Option<Scratch>,
    /// By contender and workload.
    first: Mutex<BTreeMap<(u32, u32), First>>,
}

struct First {
    cell: Cell,
    figures: Vec<(String, String)>,
    /// Whether there is a block trace of it.
    traced: bool,
}

impl Repeats {
    /// Whether the repeats of a plan must be equal.
    pub fn are_exact(plan: &Plan) -> bool {
        plan.is_one_draw() && plan.most_repeats() > 1
    }

    /// Compares with these cells of an earlier session, and with those that follow.
    pub fn new(traces: Option<Scratch>, recorded: &[CellRecord]) -> Self {
        let mut first = BTreeMap::new();
        for record in recorded
            .iter()
            .filter(|one| one.outcome == Outcome::Measured)
        {
            let Cell {
                contender,
                workload,
                ..
            } = record.cell;
            first.entry((contender, workload)).or_insert_with(|| First {
                cell: record.cell,
                figures: figures(record),
                traced: false,
            });
        }
        Self {
            traces,
            first: Mutex::new(first),
        }
    }

    /// The plan with block traces; none if it has them.
    pub fn traced(&self, plan: &Plan) -> Option<Plan> {
        let directory = self.traces.as_ref()?.path().to_owned();
        Some(Plan {
            disk_trace: Some(DiskRecord {
                directory,
                payloads: false,
            }),
            ..plan.clone()
        })
    }

    /// Compares a cell with its first repeat. The cell fails if they differ.
    pub fn check(&self, plan: &Plan, record: &mut CellRecord) {
        let measured = record.outcome == Outcome::Measured;
        let difference = if measured {
            self.difference(plan, record)
        } else {
            None
        };
        if let Some(message) = difference {
            record.samples.clear();
            record.outcome = Outcome::Failed(Failure {
                stage: Stage::Verify,
                message,
                errno: None,
            });
        }
    }

    fn difference(&self, plan: &Plan, record: &CellRecord) -> Option<String> {
        // A panic leaves complete entries.
        let mut all = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let (cell, figures) = (record.cell, figures(record));
        let Some(first) = all.get(&(cell.contender, cell.workload)) else {
            let first = First {
                cell,
                figures,
                traced: true,
            };
            all.insert((cell.contender, cell.workload), first);
            return None;
        };
        let mut both = first.figures.iter().zip(&figures);
        let different = both.find(|(one, other)| one != other);
        let what = match different {
            Some(((name, one), (_, other))) => format!("{name} was {one}, and then {other}"),
            None if first.figures.len() == figures.len() => {
                self.remove_trace(plan, cell);
                return None;
            }
            None => "other figures were measured".to_owned(),
        };
        let request = match self.first_request(plan, first, cell) {
            Some(request) => format!("; the block traces differ first in {request}"),
            None if first.traced => "; the block traces do not differ".to_owned(),
            None => "; there is no block trace of that one".to_owned(),
        };
        Some(format!(
            "it differs from its repeat in block {}: {what}{request}. Time is virtual, so this is an \
             error of fsdyno or of the kernel. Please report it",
            first.cell.block + 1
        ))
    }

    /// The first entry in which the block traces of two cells differ, as text.
    fn first_request(&self, plan: &Plan, first: &First, cell: Cell) -> Option<String> {
        let directory = self.directory(plan)?;
        (0..disks(plan, cell)).find_map(|disk| {
            let [one, other] =
                [first.cell, cell].map(|cell| recording::file(&directory, cell.index, disk));
            let found = first_difference_of_files(&one, &other).ok().flatten()?;
            Some(format!("disk {disk}, {found}"))
        })
    }

    fn directory(&self, plan: &Plan) -> Option<PathBuf> {
        let own = self.traces.as_ref().map(|traces| traces.path().to_owned());
        own.or_else(|| Some(plan.disk_trace.as_ref()?.directory.clone()))
    }

    /// Removes our trace of a cell that is equal to its first repeat.
    fn remove_trace(&self, plan: &Plan, cell: Cell) {
        let Some(traces) = &self.traces else {
            return;
        };
        for disk in 0..disks(plan, cell) {
            // The directory is removed with all that is in it.
            let _ = fs::remove_file(recording::file(traces.path(), cell.index, disk));
        }
    }
}

fn disks(plan: &Plan, cell: Cell) -> usize {
    let contender = plan.contenders.get(cell.contender as usize);
    contender.map_or(0, |contender| contender.layout.devices as usize)
}

/// The figures that must be equal, by name: those of each phase, and the digest of all requests.
fn figures(record: &CellRecord) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for sample in &record.samples {
        for name in [FigureName::RETURN, FigureName::DURABLE, FigureName::BLOCKS] {
            if let Some(figure) = name.value(sample) {
                all.push((format!("{name} of {}", sample.label), figure.to_string()));
            }
        }
    }
    let effective = record.effective.iter();
    let of_disk = effective.filter(|one| one.source == Effective::DISK);
    all.extend(of_disk.map(|one| ("the summary of the disk".to_owned(), one.text.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_disk::record::{Record, Sink as _, Writer};
    use fsdyno_model::{Contender, Nanos, Sample};
    use std::fs::File;
    use std::path::Path;

    fn record(index: u32, return_ns: u64) -> CellRecord {
        CellRecord {
            cell: Cell {
                index,
                block: index,
                contender: 0,
                workload: 0,
            },
            outcome: Outcome::Measured,
            started_unix_ns: 0,
            took_ns: Nanos(1),
            samples: vec![Sample {
                label: "copy".into(),
                return_ns: Nanos(return_ns),
                ..Sample::default()
            }],
            commands: Vec::new(),
            effective: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn trace(directory: &Path, cell: u32, mark: &str) {
        let file = File::create(recording::file(directory, cell, 0)).unwrap();
        let mut writer = Writer::new(file).unwrap();
        let text = mark.to_owned();
        writer.note(&Record::Mark { at: Nanos(7), text }).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn a_cell_that_differs_from_its_repeat_fails_with_the_first_request() {
        let home = tempfile::tempdir().unwrap();
        let plan = Plan {
            disk_trace: Some(DiskRecord {
                directory: home.path().to_owned(),
                payloads: false,
            }),
            ..Plan::new(vec![Contender::plain("ext4")], Vec::new())
        };
        trace(home.path(), 0, "one");
        trace(home.path(), 2, "other");
        let repeats = Repeats::new(None, &[]);
        assert_eq!(repeats.traced(&plan), None);
        let checked = |mut one: CellRecord| {
            repeats.check(&plan, &mut one);
            one
        };
        for equal in [record(0, 5), record(1, 5)] {
            assert_eq!(checked(equal.clone()), equal);
        }
        let failed = checked(record(2, 6));
        let Outcome::Failed(failure) = &failed.outcome else {
            panic!("{failed:?}");
        };
        let parts = [
            "block 1",
            "return of copy was 5, and then 6",
            "------- one",
            "------- other",
        ];
        for part in parts {
            assert!(
                failure.message.contains(part),
                "{part}: {}",
                failure.message
            );
        }
        assert!(failed.samples.is_empty());
    }
}
