//! The contenders that cannot be made, mounted, unmounted and checked. Each is found once, before
//! the first block or by its first cell. Its other cells then fail with the same cause and without
//! being executed.

use fsdyno_model::{Cell, CellRecord, Nanos, Outcome, Stage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of each contender of a plan, by its number. Copies share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usable(Arc<Mutex<BTreeMap<u32, Known>>>);

#[derive(Debug)]
enum Known {
    /// It was made and mounted.
    Usable,
    Failed(Box<CellRecord>),
}

impl Usable {
    /// Notes a contender that cannot be made, mounted, unmounted and checked.
    pub fn refused(&self, record: &CellRecord) {
        let refused = Known::Failed(Box::new(record.clone()));
        self.known().insert(record.cell.contender, refused);
    }

    /// Notes the first cell of a contender.
    pub fn note(&self, record: &CellRecord) {
        let known = match &record.outcome {
            Outcome::Failed(_) if refuses(record) => Known::Failed(Box::new(record.clone())),
            Outcome::Failed(failure) if is_early(&failure.stage) => return,
            Outcome::Skipped { .. } => return,
            Outcome::Measured | Outcome::Failed(_) => Known::Usable,
        };
        self.known().entry(record.cell.contender).or_insert(known);
    }

    /// The record of a cell whose contender cannot be made and mounted.
    pub fn record(&self, cell: Cell) -> Option<CellRecord> {
        match self.known().get(&cell.contender)? {
            Known::Usable => None,
            Known::Failed(record) => Some(CellRecord {
                cell,
                took_ns: Nanos(0),
                ..CellRecord::clone(record)
            }),
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<u32, Known>> {
        // A panic leaves complete entries.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the stage is one before the file system is mounted.
fn is_early(stage: &Stage) -> bool {
    matches!(stage, Stage::Device | Stage::Make | Stage::Mount)
}

/// Whether a program or the kernel refused the contender itself, before any file was written. Not
/// the death of a guest, nor a directory or an image that could not be created.
pub(crate) fn refuses(record: &CellRecord) -> bool {
    let Outcome::Failed(failure) = &record.outcome else {
        return false;
    };
    is_early(&failure.stage) && is_refused_at(record, &failure.stage)
}

/// Whether a command of a stage failed. Devices are refused only by a program, as that of an array.
pub(crate) fn is_refused_at(record: &CellRecord, stage: &Stage) -> bool {
    let mut commands = record.commands.iter();
    commands.any(|command| {
        let is_of_contender = *stage != Stage::Device || !command.by_system_call;
        let has_failed = command.status.is_some_and(|status| status != 0);
        command.stage == *stage && is_of_contender && has_failed
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{CommandRecord, Failure};

    fn cell(contender: u32, block: u32) -> Cell {
        Cell {
            index: 2 * block + contender,
            contender,
            workload: 0,
            block,
        }
    }

    fn record(cell: Cell, stage: &Stage, status: Option<i32>) -> CellRecord {
        CellRecord {
            cell,
            outcome: Outcome::Failed(Failure {
                stage: stage.clone(),
                message: "why".to_owned(),
                errno: None,
            }),
            started_unix_ns: 1,
            took_ns: Nanos(1),
            samples: Vec::new(),
            commands: vec![CommandRecord {
                stage: stage.clone(),
                argv: vec!["mkfs".to_owned()],
                by_system_call: false,
                status,
                took_ns: Nanos(1),
                stdout: String::new(),
                stderr: String::new(),
            }],
            effective: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_contender_that_was_refused_is_not_executed_again() {
        let usable = Usable::default();
        assert_eq!(usable.record(cell(0, 0)), None);
        usable.note(&record(cell(0, 0), &Stage::Make, Some(1)));
        usable.note(&record(cell(1, 0), &Stage::Verify, Some(1)));
        let again = usable.record(cell(0, 3)).unwrap();
        assert_eq!(again.cell, cell(0, 3));
        assert!(matches!(again.outcome, Outcome::Failed(failure) if failure.message == "why"));
        // It was mounted once: a later refusal is not the contender's.
        usable.note(&record(cell(1, 1), &Stage::Mount, Some(1)));
        assert_eq!(usable.record(cell(1, 2)), None);
    }

    #[test]
    fn a_guest_that_died_and_an_image_that_cannot_be_created_refuse_nothing() {
        let refused = |stage: &Stage, status| refuses(&record(cell(0, 0), stage, status));
        assert!(refused(&Stage::Mount, Some(32)));
        assert!(refused(&Stage::Device, Some(1)));
        assert!(!refused(&Stage::Mount, None));
        assert!(!refused(&Stage::Check, Some(1)));
        let mut image = record(cell(0, 0), &Stage::Device, Some(1));
        image.commands[0].by_system_call = true;
        assert!(!refuses(&image));
        // The next cell decides.
        let usable = Usable::default();
        usable.note(&image);
        usable.note(&record(cell(0, 1), &Stage::Mount, Some(32)));
        assert!(usable.record(cell(0, 2)).is_some());
    }
}
